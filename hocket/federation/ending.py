"""The last states of a run that a member has finished, from its journal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hocket.errors import RunStopped
from hocket.federation.plan import FederationPlan
from hocket.federation.run_folder import RunFolder
from hocket.links.journal import Journal
from hocket.links.wire import Limits, unpack


class Ended(NamedTuple):
    """Both are this member's own; only one may leave it."""

    x: np.ndarray
    """Its state after the last step, which holds its last gradient."""
    published: np.ndarray
    """What one more exchange under noise made of it."""


def ended(folder: RunFolder, plan: FederationPlan, name: str) -> Ended:
    """How a member's run of this plan ended; refused if it has not."""
    # Nothing is said from here, so a copy will do.
    with Journal.open(folder.journal, plan.run_hash, create=False, vouched=True) as journal:
        position = journal.position
    if position is None or position.round != plan.run.rounds + 2:
        at = 0 if position is None else position.round
        raise RunStopped(
            f"{name} has not finished the run in {folder.path}: it is in round {at} of {plan.run.rounds}; finish it "
            "with hocket peer run",
            round=at,
        )
    x, published, *_ = unpack(position.state, Limits(len(position.state)), plan=plan.run_hash).parts
    return Ended(np.array(x), np.array(published))
