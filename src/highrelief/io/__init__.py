"""The only reader of files: a table on disk becomes samples, classes and names."""
