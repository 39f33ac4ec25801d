"""The small version of the experiment: the curves of all algorithms, to see that everything works."""

from __future__ import annotations

from hocket.experiments.learning.cases import RING, Size

QUICK = Size(
    seeds=1,
    networks=(RING,),
    sweep=(),
    local_steps=(),
    skewed=(),
    epsilons=(),
    epochs=0.2,
    samples=6_000,
)
"""Compiling takes longest, so no method is there that has to be compiled again: neither other H nor DP-SGD."""
