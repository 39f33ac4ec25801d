"""What convergence theorems need to know of an algorithm."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hocket.algorithm import Algorithm
from hocket.algorithms import (
    NOISELESS,
    Centralised,
    CertifiedRssNb,
    Dgd,
    FunctionSharing,
    IndependentNoise,
    JointAverage,
    PrivateDgd,
    RssLb,
    RssNb,
)
from hocket.algorithms.parts.function_noise import is_silent
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.parts.parameters import Given
from hocket.algorithms.totals import Totals
from hocket.facet import Facet

NOTHING_ADDED = (True, "nothing is added to what agents send")
NORMAL = (None, "normal noise given by its standard deviation keeps within no bound for certain")


@dataclass(frozen=True)
class Coverage:
    """Whether the paper analyses an algorithm, and how far its noise carries a state."""

    analysed: bool = False
    """Whether the paper's convergence theorems are about it."""
    altered: str = ""
    """What makes it another algorithm than the one that the paper analyses; empty if nothing."""
    beyond_theorem3: str = ""
    """Why Theorem 3 is not claimed for it all the same."""
    noise_bound: float | None = 0.0
    """Δ: the bound on what is added to its messages, in units of a gradient; None where nobody knows."""
    bounded: tuple[bool | None, str] = NOTHING_ADDED
    """Whether what it adds to its messages stays within a bound in all rounds there may ever be, and why."""
    reach: float | None = None
    """How far outside X a true message may lie, over α_k; None where nothing bounds it, or messages are no states."""
    unproved: tuple[str, ...] = ()
    """What a bound assumes of it that cannot be derived."""


coverage: Facet[Coverage] = Facet(
    Coverage(noise_bound=None, bounded=(None, "what an algorithm of your own adds is not known"))
)
coverage.add(Coverage(analysed=True, reach=0.0), Dgd)
coverage.add(Coverage(), Centralised, Totals, *(kind for kind in NOISELESS if kind is not Dgd))
coverage.add(Coverage(noise_bound=None, bounded=NORMAL), CertifiedRssNb)
coverage.add(
    Coverage(noise_bound=None, bounded=(None, "normal noise keeps within no bound for certain")),
    IndependentNoise,
)
coverage.add(Coverage(reach=0.0), PrivateDgd)


def _within(delta: float, given: Given) -> Coverage:
    if given is None:
        return Coverage(
            True,
            noise_bound=float(delta),
            reach=float(delta),
            bounded=(True, f"its norm is at most Δ = {delta:g}"),
        )
    why = "your own noise takes the place of draws within Δ, and how far it goes is not known"
    return Coverage(True, noise_bound=None, bounded=(None, why))


@coverage.of(RssNb)
def _of_rss_nb(algorithm: RssNb) -> Coverage:
    found = _within(algorithm.delta, algorithm.given)
    if algorithm.given is not None or algorithm.distribution == "uniform" or not algorithm.delta:
        return found
    chance = f"{1 - algorithm.failure:.9g}"
    why = f"normal noise is within Δ = {algorithm.delta:g} with probability {chance}, not for certain"
    return replace(found, bounded=(None, why))


@coverage.of(RssLb)
def _of_rss_lb(algorithm: RssLb) -> Coverage:
    # Pairwise noise cancels whatever it is; balance is up to the one who brings the noise along, and checked in a run.
    unproved = () if algorithm.given is None else ("your own noise is balanced",)
    return replace(_within(algorithm.delta, algorithm.given), unproved=unproved)


@coverage.of(JointAverage)
def _of_joint_average(algorithm: JointAverage) -> Coverage:
    return Coverage(noise_bound=None, bounded=NORMAL) if algorithm.own > 0 else Coverage()


@coverage.of(MaskedStart)
def _of_masked_start(algorithm: MaskedStart) -> Coverage:
    found = coverage(algorithm.algorithm)
    return Coverage(noise_bound=found.noise_bound, bounded=found.bounded, reach=found.reach)


@coverage.of(FunctionSharing)
def _of_function_sharing(algorithm: FunctionSharing) -> Coverage:
    if is_silent(algorithm):
        return coverage(algorithm.inner)
    own = f"own noise of deviation {algorithm.own:g} is part of every objective and cancels nowhere: "
    plain = type(algorithm.inner) is Dgd
    return Coverage(
        analysed=True,
        altered="" if plain else f"{algorithm.inner.title} inside it",
        beyond_theorem3="Theorem 3 is stated for RSS-NB and RSS-LB; its proof also covers FS, as DGD on f_j + p_j, and "
        "hocket.theory.finite_time gives that bound on the α-weighted time average",
        bounded=(False, own + "agents agree on the optimum of another sum")
        if algorithm.own
        else NOTHING_ADDED,
        reach=0.0 if plain else None,
    )


ANALYSED: tuple[type[Algorithm], ...] = (Dgd, RssNb, RssLb, FunctionSharing)
"""What the paper's convergence theorems are about, as it is printed."""
