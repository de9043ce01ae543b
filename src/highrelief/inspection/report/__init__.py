"""A fitted estimator becomes plain contents, and these become one page that needs nothing else."""
