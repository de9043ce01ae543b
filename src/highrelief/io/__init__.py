"""Tables from files: samples, labels and names."""
