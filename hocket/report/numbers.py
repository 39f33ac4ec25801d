"""Numbers and algorithms as people read them."""

from __future__ import annotations

import math

from hocket.algorithms import BY_CLASS

# Numbers as people read them.


def plain(value: float) -> str:
    """A number in three digits.

    >>> plain(0.25), plain(1.23456e-7), plain(41000), plain(0.0), plain(math.nan)
    ('0.25', '1.23e-7', '41000', '0', 'not known')
    """
    if math.isnan(value):
        return "not known"
    if value == 0 or math.isinf(value) or 1e-3 <= abs(value) < 1e5:
        return f"{value:.0f}" if abs(value) >= 1000 and math.isfinite(value) else f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


# What algorithms are called in reports.


def spoken(name: str) -> str:
    """The paper's name of an algorithm; a user's own class keeps its name."""
    return BY_CLASS[name].label if name in BY_CLASS else name
