"""What a real run must know of an algorithm: whom it needs, what it asks a task for, and how it begins from a state."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.algorithm import Algorithm
from hocket.algorithms import (
    EXACT,
    PUSH,
    CertifiedRssNb,
    FunctionSharing,
    JointAverage,
    RssLb,
    RssNb,
)
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.totals import Totals
from hocket.errors import BadAlgorithm
from hocket.facet import Facet
from hocket.noise.stds import is_above_zero


@dataclass(frozen=True)
class Needs:
    """How members carry an algorithm out."""

    sums: bool = False
    """Whether it asks for secure sums, and so for all members until its end."""
    averages: bool = False
    """Whether what it sums are points of the feasible set, so that their mean lies in it, too."""
    restarts: bool = False
    """Whether a run whose sums miss somebody who was dropped is begun anew by those who stay; else it stops."""
    own_gradients: bool = False
    """Whether it takes gradients itself, one at a time, so that nothing can stand for its steps between messages."""


needs: Facet[Needs] = Facet(Needs())
needs.add(Needs(own_gradients=True), *EXACT, *PUSH)
needs.add(Needs(sums=True, averages=True), JointAverage)


@needs.of(Totals)
def _of_totals(algorithm: Totals) -> Needs:
    return Needs(sums=True, restarts=algorithm.on_drop == "restart")


@needs.of(FunctionSharing)
def _of_inner(algorithm: FunctionSharing) -> Needs:
    return needs(algorithm.inner)


def check_stated(algorithm: Algorithm) -> None:
    """Refuse a secure sum that nothing was prepared for: masks may be missing, and members would be dropped from it."""
    if needs(algorithm).sums:
        return
    name = type(algorithm.inner if type(algorithm) is FunctionSharing else algorithm).__name__
    raise BadAlgorithm(
        f"{name} asks for a secure sum, which nothing was prepared for; nothing of it was sent. State it in its file, "
        f"with needs and Needs from hocket.federation.workloads.needs: needs.add(Needs(sums=True), {name}); and draw "
        "up the plan anew, as a plan names the source by its hash"
    )


def masked_start(algorithm: Algorithm) -> Algorithm | str:
    """The algorithm with noise from its first message on, for a start that depends on data; or why it has none.

    The paper's round 1 has no noise, since everybody knows a public start [maths, decision 3]. The end of an earlier
    run depends on the data. Each member starts from the state that it published, which holds no gradient of its own
    that was not mixed under noise; and it sends even that under the fresh noise of round 1. Persistent noise stays
    out of round 1: it enters with the gradients that it hides, and beside a published state it would be seen alone.
    """
    if isinstance(algorithm, RssNb | CertifiedRssNb) and type(algorithm) in (RssNb, CertifiedRssNb):
        if not _deals(algorithm):
            return _bare(algorithm)
        if algorithm.persistent < 1:
            return MaskedStart(algorithm)
        return (
            "with persistent = 1 there is no fresh noise, so round 1 would send a start that depends on data as it "
            "is; choose a smaller persistent="
        )
    if type(algorithm) is RssLb and (algorithm.delta or algorithm.given is not None):
        if not algorithm.unprotected:
            return algorithm  # its noise begins in round 1
        return (
            "unprotected RSS-LB may send states without noise, and a start that depends on data must not be sent so; "
            "give everybody two links and leave unprotected out"
        )
    return _bare(algorithm)


def _deals(algorithm: RssNb | CertifiedRssNb) -> bool:
    """Whether neighbours deal each other any noise; own noise alone would leave round 1 bare, as α_0 = 0."""
    if isinstance(algorithm, CertifiedRssNb):
        return is_above_zero(algorithm.sd)
    return algorithm.given is not None or algorithm.delta > 0


def _bare(algorithm: Algorithm) -> str:
    return (
        f"{type(algorithm).__name__} sends its first state without noise, which tells nothing only if the start is "
        "public. The end of an earlier run depends on the data: beside what neighbours received before, it gives "
        "gradients away, and Theorem 2 is about what is sent from a public start on"
    )


ABLE = (RssNb.name, RssLb.name, CertifiedRssNb.name)
"""What can go on from an earlier run."""
