"""MNIST: 70,000 handwritten digits of 28×28 pixels (LeCun, Cortes and Burges)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from hocket.errors import BadProblem
from hocket.learning.data.dataset import Dataset, Split
from hocket.learning.data.files import PublishedFile, read

BYTES = 8
"""The code of unsigned bytes, the only kind of numbers in MNIST."""
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"


def read_idx(content: bytes, name: str) -> np.ndarray:
    """The array in an IDX file, unpacked; a file that does not add up is refused by its name.

    >>> read_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]), "tiny")
    array([[7, 8, 9]], dtype=uint8)
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != BYTES:
        raise BadProblem(
            f"{name} is no IDX file of bytes: it begins with {content[:4].hex(' ')}; fetch it again"
        )
    axes = content[3]
    start = 4 + 4 * axes
    if len(content) < start:
        raise BadProblem(f"{name} ends after {len(content)} bytes, inside its header; fetch it again")
    shape = [int.from_bytes(content[place : place + 4], "big") for place in range(4, start, 4)]
    if len(content) - start != math.prod(shape):
        raise BadProblem(
            f"{name} holds {len(content) - start} bytes where its header promises {math.prod(shape)}; fetch it again"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _source(name: str, sha256: str, packed_sha256: str) -> PublishedFile:
    return PublishedFile("mnist", name, sha256, f"{MIRROR}{name}.gz", packed_sha256)


TRAIN_INPUTS = _source(
    "train-images-idx3-ubyte",
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
)
TRAIN_LABELS = _source(
    "train-labels-idx1-ubyte",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
)
TEST_INPUTS = _source(
    "t10k-images-idx3-ubyte",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
)
TEST_LABELS = _source(
    "t10k-labels-idx1-ubyte",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
)


def mnist(data: str | Path | None = None, *, download: bool = False) -> Split:
    """The four original files: 60,000 digits to learn from and 10,000 to judge by.

    The choice for the paper's second figure. Images are 28×28 bytes.
    """

    def part(name: str, inputs: PublishedFile, labels: PublishedFile) -> Dataset:
        return Dataset(
            name,
            read_idx(read(inputs, data, fetch=download), inputs.name),
            read_idx(read(labels, data, fetch=download), labels.name).astype(np.int32),
            classes=10,
        )

    return Split(
        part("MNIST's training set", TRAIN_INPUTS, TRAIN_LABELS),
        part("MNIST's test set", TEST_INPUTS, TEST_LABELS),
    )
