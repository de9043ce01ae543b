"""Where rows are worked on, and the plain functions between margins and weights."""
