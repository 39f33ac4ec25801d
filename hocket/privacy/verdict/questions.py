"""What an audit is asked, checked at the door: against whom, of which run, and whether a theorem covers it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hocket.algorithm import Algorithm
from hocket.errors import BadInput, NoTheorem, NotRecorded
from hocket.networks.network import Network
from hocket.privacy.topology.components import check_colluders, check_hiding
from hocket.privacy.topology.guarantees import refuse_without_theorem
from hocket.privacy.wording import braced, counted
from hocket.steps import Number, Step

if TYPE_CHECKING:
    from hocket.runs.run import Run

FEWEST = 3
"""Agents: one to listen, and two so that one can hide behind the other."""


def adversary(
    network: Network, colluders: int | None, coalition: Iterable[int] | None
) -> tuple[int, tuple[int, ...] | None]:
    """How many collude and, if they were named, who."""
    if network.n < FEWEST:
        raise BadInput(
            f"{network.name} has {counted(network.n, 'agent')}: with one of them listening nobody is left for another "
            f"to hide behind; an audit takes {FEWEST} or more"
        )
    if coalition is None:
        return _any(network, colluders), None
    members = tuple(sorted(check_hiding(coalition, network.n)))
    if colluders is not None and colluders != len(members):
        raise BadInput(
            f"{counted(colluders, 'colluder')} and the coalition {braced(members)} disagree; pass one of them"
        )
    return len(members), members


def _any(network: Network, colluders: int | None) -> int:
    if colluders is None:
        raise BadInput("an audit is against somebody: pass colluders=, a number, or coalition=, their names")
    f = check_colluders(colluders, network.n)
    if f == network.n - 1:
        raise BadInput(
            f"{f} colluders among {network.n} agents leave one, with nothing to hide behind; plan for at most {f - 1}"
        )
    return f


def plan_of(
    run: Run, network: Network, algorithm: str | Algorithm | None, step: Step | Number | None
) -> tuple[Algorithm, Step | Number]:
    """The algorithm and the step of a run that can be audited: it kept its words, and knows its plan."""
    if algorithm is not None:
        raise BadInput("a run says itself which algorithm it played; leave algorithm= away, or the run")
    if run.network.n != network.n or not np.array_equal(run.network.links, network.links):
        raise BadInput(f"this run was on {run.network.name}, not on {network.name}; pass run.network")
    if run.transcript is None:
        raise NotRecorded("this run kept no words to attack; run it again with keep='transcript'")
    if run.algorithm is None or run.step is None:
        raise NotRecorded(
            "this run was loaded from disk, without its algorithm and step; audit it where it was run, or its folder "
            "with `hocket audit --run`"
        )
    return run.algorithm, run.step if step is None else step


def has_theorem(algorithm: str | Algorithm, run: Run | None) -> bool:
    """Whether Theorem 2 covers the algorithm and, of a run, the objectives: polynomials that its noise can match."""
    try:
        refuse_without_theorem(algorithm)
    except NoTheorem:
        return False
    if run is None or run.problem is None or isinstance(algorithm, str):
        return True
    degree, hidden = run.problem.degree, getattr(algorithm, "degree", 0)
    return degree is not None and degree <= hidden
