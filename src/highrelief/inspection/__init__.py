"""What a fit means: stability over halves, comparison of methods, interactions, reports."""
