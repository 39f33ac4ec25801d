"""Exact diffusion: adapt, correct, combine."""

from __future__ import annotations

from typing import ClassVar

from hocket.algorithms.exact.nids import Nids


class ExactDiffusion(Nids):
    """ψ = x − α∇f(x), φ = ψ + x − (old ψ), x ← (φ + Bφ)/2 [Yuan, Ying, Zhao and Sayed 2019].

    Choose it to compare with diffusion, and as `Nids` otherwise: save for the first step, which is combined too, they
    are the same recursion, and so is what is done at the border of a set.
    """

    name, title = "exact-diffusion", "Exact diffusion"
    first_alone: ClassVar[bool] = False
