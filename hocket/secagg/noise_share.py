"""One member's share of the noise on a total: whole numbers of a grid, drawn without rounding.

The numbers of such a total lie on the grid themselves, so that sum and noise are exact, and what everybody is shown is
a sum of whole numbers and discrete Gaussians: floats have no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from hocket.errors import BadInput
from hocket.noise.discrete_gaussian import Bits, discrete_gaussians
from hocket.secagg.group import Words, add
from hocket.secagg.summands import flat

GRID_BITS = 28
"""Bits after the point of numbers that are summed with noise."""
EXACT = 2.0**53
"""Whole numbers below this a double holds without rounding."""
LOW = (1 << 64) - 1


def variances(values: Any, noise: Any) -> list[int]:
    """σ² of each number's noise, in units of the grid squared; `noise` is like `values`, with one for each array."""
    if noise is None or isinstance(noise, int):
        return [noise or 0] * flat(values).size
    assert isinstance(values, Mapping)
    parts = cast("Mapping[str, Any]", values)
    # In the order in which a tree's leaves are taken.
    return [one for key in sorted(parts) for one in variances(parts[key], noise.get(key))]


def with_noise(own: Words, values: Any, noise: Any, bits_after: int, draw: Bits) -> Words:
    """A member's numbers in the group, with its share of the noise."""
    if noise is None:
        return own
    sizes = variances(values, noise)
    scaled = flat(values) * 2.0**GRID_BITS
    hidden = np.array([size > 0 for size in sizes])
    if not ((scaled == np.round(scaled)) & (np.abs(scaled) < EXACT))[hidden].all():
        raise BadInput(
            f"numbers that noise is added to must be multiples of 2^-{GRID_BITS} below 2^{53 - GRID_BITS}; put them on "
            "the grid first"
        )
    shift = bits_after - GRID_BITS
    drawn = [(one << shift) % (1 << 128) for one in discrete_gaussians(draw, sizes)]
    words = np.array([[one & LOW for one in drawn], [one >> 64 for one in drawn]], dtype=np.uint64)
    return add(own, words)
