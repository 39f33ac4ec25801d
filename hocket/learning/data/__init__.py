"""Data to learn from: MNIST, Reuters and scikit-learn's digits, from your own folder or a checked download."""

from hocket.learning.data.dataset import Dataset, Split
from hocket.learning.data.digits import digits
from hocket.learning.data.loading import load
from hocket.learning.data.mnist import mnist
from hocket.learning.data.reuters import reuters

__all__ = ["Dataset", "Split", "digits", "load", "mnist", "reuters"]
