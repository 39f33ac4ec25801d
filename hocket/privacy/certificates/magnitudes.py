"""Numbers that a certificate can be worked out from: their squares, and what those are divided by, are doubles too.

Beyond them sums of squares become zero or infinite by themselves, and nothing hidden would look like everything hidden.
What matters is a change beside its noise, so that other units make any sensible question fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hocket.errors import BadInput
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.protected import Protected, Record, Shift, Transfer

LEAST, MOST = 1e-70, 1e70
"""The smallest and the largest number beside zero."""


def check_magnitudes(mechanism: Mechanism | str, protected: Protected) -> None:
    """Refuse noise, or a change, that would be lost in the range of doubles."""
    if isinstance(mechanism, Mechanism):
        for name, value in (
            ("noise between neighbours", mechanism.link_sd),
            ("own noise", mechanism.own_sd),
            ("noise kept over rounds", 0.0 if mechanism.anchor_sd is None else mechanism.anchor_sd),
        ):
            check_magnitude(name, value)
    match protected:
        case Shift(rows=rows):
            check_magnitude("what moves", rows)
        case Transfer(size=size):
            check_magnitude("what moves", size)
        case Record(size=size, held=held):
            several = held if isinstance(held, int) else sum(held.values())
            check_magnitude("what a record changes", [size, size * several])
        case _:
            pass


def check_magnitude(name: str, values: Any) -> None:
    """Refuse a number that is neither zero nor of a size that can be squared."""
    sizes = np.abs(np.asarray(values, dtype=float)).ravel()
    odd = sizes[(sizes != 0) & ~((sizes >= LEAST) & (sizes <= MOST))]
    if len(odd):
        raise BadInput(
            f"{name} is {odd[0]:.3g}, and squares of numbers below {LEAST:g} or above {MOST:g} are lost in doubles; "
            "count in other units"
        )
