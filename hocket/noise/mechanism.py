"""What a certificate needs to know of an algorithm's noise: where it enters, and how large it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Mechanism:
    """The normal noise that stands between an agent's data and its messages.

    Deviations are of one number. Pairwise noise is dealt as two directed draws per link, so that what a link adds to
    its ends has twice the variance of one.
    """

    on: Literal["objective", "gradients"]
    """`objective`: drawn once, added to coefficients, and all that is sent follows from the sum. `gradients`: drawn
    afresh in every round, added to what a step moves a state by, and scaled by that step."""
    link_sd: Float[np.ndarray, "phases links"]
    """σ: of one directed draw that is not kept for rounds to come (or, on objectives, of the only one)."""
    own_sd: float = 0.0
    """τ: of noise that an agent draws for itself, and that nothing cancels."""
    persistent_sd: Float[np.ndarray, " links"] | None = None
    """σ_c: of one directed draw of pairwise noise that is kept over rounds; None without. It counts for a shift that is
    the same in every round, and never for a record: gradients of alternating sign see fresh noise alone."""
    projects: Literal["nowhere", "before the step", "after the step"] = "nowhere"
    """Where states are projected onto X. After the step it takes away what is certified of a move between agents,
    unless X is the whole space: a state on the edge of X shows its noise bare. What is certified of a record by noise
    of an agent's own stands: a projection never drives two states farther apart than their gradients did."""
    exact: bool = False
    """Whether what is hidden and what hides it are whole numbers on one public grid, and their sum is exact; else a
    certificate is about real numbers, and rounding can void it."""
    masked: bool = False
    """Whether what is dealt between neighbours are masks, uniform in a finite group, which hide more than normal noise
    of any deviation: `link_sd` is then a number that they exceed."""
    sensitivity: float | None = None
    """S: how far replacing one record can move, in norm, what noise is added to; None where nothing bounds it."""
    start: Literal["public", "published"] = "public"
    """Where agents begin: from what nobody's data decided, or from what they published in runs before, under noise from
    the first message on."""
