"""What masks do to numbers, for the eye: their bits at home, and on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from hocket.demo.clinics.overheard import Contribution
from hocket.report.figures import INK, Drawing, drawn
from hocket.secagg.group import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def bits_of(numbers: Words) -> Bool[np.ndarray, "numbers 128"]:
    """The bits of each number, the highest first."""
    bytes_ = np.ascontiguousarray(numbers[::-1].T.astype(">u8")).view(np.uint8)
    return np.unpackbits(bytes_.reshape(numbers.shape[1], 16), axis=1).astype(bool)


def masked_and_bare(shown: Contribution) -> Drawing:
    """One member's numbers in one secure sum, bit by bit, bare and masked."""

    def lay_out(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        _bits(left, bits_of(shown.own), "Stays at home", f"{shown.sender}'s numbers, a row each")
        _bits(right, bits_of(shown.sent), "Is sent in its place", "the same, under masks")

    return drawn(
        lay_out,
        size=(9.6, 3.5),
        alt=f"Two pictures. First, {shown.own.shape[1]} numbers of {shown.sender} as rows of 128 bits: long runs of "
        "equal bits, from which the numbers can be read. Second, the same rows as they were sent: no pattern.",
    )


def _bits(axes: Axes, bits: Bool[np.ndarray, "numbers bits"], title: str, label: str) -> None:
    """Bits that are set as dashes of one path: a page that loads nothing has no room for thousands of squares."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    edges = np.diff(np.pad(bits.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, begin = np.nonzero(edges > 0)
    _, end = np.nonzero(edges < 0)
    across, down = [begin, end, end, begin], [rows, rows, rows + 0.8, rows + 0.8]
    dashes = Path.make_compound_path_from_polys(np.stack([np.stack(across, 1), np.stack(down, 1)], axis=2))
    axes.add_patch(PathPatch(dashes, facecolor=INK, linewidth=0))
    axes.set(xlim=(0, bits.shape[1]), ylim=(len(bits), 0), yticks=[], xticks=[0, 64, 128])
    axes.set(xlabel="bit, the highest first", ylabel=label)
    axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
    axes.spines["left"].set_visible(False)
