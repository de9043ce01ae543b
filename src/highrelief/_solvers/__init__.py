"""From margins to weights: losses, minimizers, fixed points, eigenvectors."""
