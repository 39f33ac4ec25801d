"""scikit-learn's digits: 1,797 handwritten digits of 8×8 pixels that come with the package."""

from __future__ import annotations

import numpy as np

from hocket.errors import BadInput
from hocket.learning.data.dataset import Dataset, Split

HELD_OUT = 360
"""One in five."""
SIDE = 8
BRIGHTEST = 16


def digits(*, seed: int = 0) -> Split:
    """Small digits, one in five of them held out by a public seed.

    The choice for tests, and where nothing may be downloaded: too few and too easy to conclude anything from.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise BadInput(
            "the digits come with scikit-learn, which is missing: pip install 'hocket[learning]'"
        ) from error
    pixels, labels = load_digits(return_X_y=True)
    images = np.round(pixels.reshape(-1, SIDE, SIDE) * (255 / BRIGHTEST)).astype(np.uint8)
    order = np.random.default_rng(seed).permutation(len(labels))
    everything = Dataset("scikit-learn's digits", images, labels.astype(np.int32), classes=10)
    return Split(
        everything.take(order[HELD_OUT:], "the digits to learn from"),
        everything.take(order[:HELD_OUT], "the held-out digits"),
    )
