"""The plan by which a run was played, as far as an audit of it depends on it."""

from __future__ import annotations

import numpy as np

from hocket.algorithm import Algorithm
from hocket.errors import BadInput, NotRecorded
from hocket.networks.network import Network
from hocket.runs.run import Run
from hocket.steps import Number, Step


def plan_of(
    run: Run, network: Network, algorithm: str | Algorithm | None, step: Step | Number | None
) -> tuple[Algorithm, Step]:
    """The algorithm and the step of a run that can be audited: it kept its words, and knows its plan."""
    if algorithm is not None:
        raise BadInput("a run says itself which algorithm it played; leave algorithm= away, or the run")
    if step is not None:
        raise BadInput("a run says itself which steps it took; leave step= away, or the run")
    if run.network.n != network.n or not np.array_equal(run.network.links, network.links):
        raise BadInput(f"this run was on {run.network.name}, not on {network.name}; pass run.network")
    run.check_heard("what its words gave away")
    if run.transcript is None:
        raise NotRecorded("this run kept no words to attack; run it again with keep='transcript'")
    if run.algorithm is None or run.step is None:
        raise NotRecorded(
            "this run was loaded from disk, without its algorithm and step; audit it where it was run, or its folder "
            "with `hocket audit --run`"
        )
    return run.algorithm, run.step


def local_steps_of(run: Run) -> int:
    """How many steps every agent took between two exchanges."""
    return int(run.settings.get("learning", {}).get("local_steps", 1))
