"""What the commands do: a table on disk becomes a ranking, a smaller table, a comparison, on disk again."""
