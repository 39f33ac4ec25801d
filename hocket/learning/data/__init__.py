"""Data to learn from: labelled samples, scikit-learn's digits, and MNIST from your own folder or a checked download."""

from hocket.learning.data.dataset import Dataset, Split, digits
from hocket.learning.data.mnist import mnist

__all__ = ["Dataset", "Split", "digits", "mnist"]
