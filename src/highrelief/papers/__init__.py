"""The papers' experiments: what they did, what we get, side by side."""
