"""What masks do to numbers, for the eye: bits at home, bits on the way, and how often each first digit comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from hocket.experiments.clinics.overheard import Part
from hocket.noise.group import Words
from hocket.report.figures import INK, STYLES, Drawing, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE = STYLES[1][0]
DIGITS = 16
"""Values of a hexadecimal digit."""


def bits_of(words: Words) -> Bool[np.ndarray, "numbers 128"]:
    """The bits of each number, the highest first."""
    bytes_ = np.ascontiguousarray(words[::-1].T.astype(">u8")).view(np.uint8)
    return np.unpackbits(bytes_.reshape(words.shape[1], 16), axis=1).astype(bool)


def bytes_of(parts: Sequence[Part]) -> np.ndarray:
    """All bytes that were sent."""
    return np.concatenate([np.packbits(bits_of(part.sent)) for part in parts])


def first_digits(words: Sequence[Words]) -> np.ndarray:
    """How many numbers begin with each hexadecimal digit."""
    return np.bincount(np.concatenate([one[1] for one in words]) >> np.uint64(60), minlength=DIGITS)


def masked_and_bare(shown: Part, parts: Sequence[Part]) -> Drawing:
    """One member's numbers of one total, bit by bit, bare and masked; beside it the first digits of all numbers."""
    bare = first_digits([part.own for part in parts])
    masked = first_digits([part.sent for part in parts])

    def lay_out(figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.95))
        _bits(left, bits_of(shown.own), "Stays at home", f"{shown.sender}'s numbers, a row each")
        _bits(middle, bits_of(shown.sent), "What is sent in its place", "the same, under masks")
        _digits(right, bare, masked)

    share = masked / masked.sum()
    return drawn(
        lay_out,
        size=(9.6, 3.5),
        alt=f"Three pictures. First, {shown.own.shape[1]} numbers of {shown.sender} as rows of 128 bits: long runs of "
        "equal bits, from which the numbers can be read. Second, the same rows as they were sent: no pattern. Third, "
        f"how many of {masked.sum()} numbers begin with each hexadecimal digit: bare ones with 0 "
        f"({bare[0] / bare.sum():.0%}) or f ({bare[-1] / bare.sum():.0%}), masked ones with every digit alike, from "
        f"{share.min():.1%} to {share.max():.1%}.",
    )


def _bits(axes: Axes, bits: Bool[np.ndarray, "numbers bits"], title: str, label: str) -> None:
    """Bits that are set as dashes of one path: a page that loads nothing has no room for thousands of squares."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rows, begin = np.nonzero(bits & ~np.roll(bits, 1, axis=1) | (bits & (np.arange(bits.shape[1]) == 0)))
    _, last = np.nonzero(
        bits & ~np.roll(bits, -1, axis=1) | (bits & (np.arange(bits.shape[1]) == bits.shape[1] - 1))
    )
    across, down = [begin, last + 1, last + 1, begin], [rows, rows, rows + 0.8, rows + 0.8]
    dashes = Path.make_compound_path_from_polys(np.stack([np.stack(across, 1), np.stack(down, 1)], axis=2))
    axes.add_patch(PathPatch(dashes, facecolor=INK, linewidth=0))
    axes.set(
        xlim=(0, bits.shape[1]),
        ylim=(len(bits), 0),
        yticks=[],
        xticks=[0, 64, 128],
        xlabel="bit, the highest first",
    )
    axes.set_ylabel(label)
    axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
    axes.spines["left"].set_visible(False)


def _digits(axes: Axes, bare: np.ndarray, masked: np.ndarray) -> None:
    places = np.arange(DIGITS)
    axes.bar(
        places, bare / bare.sum(), width=0.8, facecolor="none", edgecolor=INK, linewidth=1, label="at home"
    )
    axes.bar(places, masked / masked.sum(), width=0.8, color=BLUE, label="as sent")
    axes.axhline(1 / DIGITS, color=INK, linewidth=1, linestyle=":", label="1 in 16")
    axes.set_xticks(places, [f"{place:x}" for place in places])
    axes.set(xlabel="first digit, hexadecimal", ylabel=f"share of all {masked.sum()} numbers", ylim=(0, 1))
    axes.set_title("All totals together", loc="left", fontweight="bold", fontsize=11)
    axes.legend(loc="upper center")
