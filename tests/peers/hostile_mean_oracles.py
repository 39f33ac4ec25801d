"""What has to hold for the means of the whole: a member's own states under all its masks, told once, and nobody's words
but those that they said themselves."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import reduce
from types import SimpleNamespace

import numpy as np

from hocket.federation.membership.roster import Roster
from hocket.federation.monitoring.metrics import Log
from hocket.federation.runtime.convergence import EXCHANGE, JointMeans, folded, told_after
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.secure_sum import BEGINNING, link_masks
from hocket.links.journals.journal import Journal
from hocket.links.wire import Limits, unpack
from hocket.secagg.group import add

from .hostile import Honest

Planned = Callable[[int], ChainStreams]
"""The planned noise of a round."""


def told_by(one: Honest) -> dict[int, set[bytes]]:
    """By round, the masked numbers of its own that left an honest member."""
    found: dict[int, set[bytes]] = defaultdict(set)
    for said in one.means:
        name, told, _ = map(bytes, unpack(said.message, Limits(len(said.message))).parts)
        if name.decode() == one.member.name:
            found[said.round].add(told)
    return found


def unplanned_means(one: Honest, planned: Planned) -> Iterator[str]:
    """Numbers told twice under the same masks, under fewer masks than planned, or where none are due."""
    plan, role = one.member.plan, one.member.role()
    due, point = told_after(plan), JointMeans._point.func(SimpleNamespace(plan=plan))
    for k, different in told_by(one).items():
        if len(different) > 1:
            yield f"{len(different)} different words for the mean after round {k}"
        if k not in due:
            yield f"a word for the mean after round {k}, where none is due"
            continue
        allowed = set[bytes]()
        for states in itertools.product(one.states.get(k, []), one.states.get(k + 1, [])):
            own = np.concatenate([folded(state, plan.run_hash) for state in states])
            numbers = point.encode(own, members=len(plan.names))
            masks = link_masks(role, planned(k), own.size, k, EXCHANGE, BEGINNING)
            allowed.add(reduce(add, masks, numbers).astype("<u8").tobytes())
        if not different <= allowed:
            yield f"its word for the mean after round {k} is not its own state under all its masks"


def believed(one: Honest, honest: dict[str, Honest]) -> Iterator[str]:
    """Words that an honest member took for another's, who never said them; and words that no mean is made of."""
    journal = one.member.folder.journal
    if not journal.exists():
        return
    plan, said = one.member.plan, {name: told_by(other) for name, other in honest.items()}
    with Journal.open(journal, plan.run_hash) as kept:
        rows = kept.state_sums.database.read("SELECT round, member, masked FROM state_sums", ())
        for k, name, told in rows:
            if k not in told_after(plan) or name not in plan.names:
                yield f"it keeps a word of {name} for the mean after round {k}"
            elif name in honest and name != one.member.name and told not in said[name].get(k, ()):
                yield f"it keeps a word for the mean after round {k} that {name} never said"
        means = JointMeans(
            Roster(plan, one.member.identity, kept.run), kept.state_sums, Log(one.member.folder.log), _nobody
        )
        if means.measured and not np.isfinite(list(means.measured.values())).all():
            yield f"its means are no numbers: {means.measured}"


async def _nobody(frame: object, source: str) -> None: ...
