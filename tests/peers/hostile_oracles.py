"""What has to hold for every honest member, whatever others do: one word a round, under all the noise of the plan."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from hocket.agent import Agent
from hocket.algorithms import RssLb
from hocket.errors import BadPlan, HocketError
from hocket.federation.membership.votes import check_survivors
from hocket.federation.runtime.noise_shares import ChainStreams, shares
from hocket.federation.runtime.payload import WireMessages, arrays_for
from hocket.federation.runtime.peer import Played
from hocket.federation.runtime.role import MemberRole
from hocket.federation.workloads.needs import needs
from hocket.federation.workloads.task import LocalSteps
from hocket.links.keys.noise_keys import LinkKeys, next_chain
from hocket.links.wire import Limits, unpack

from .federation_case import ESCROW
from .hostile import Honest, Said
from .hostile_mean_oracles import believed, unplanned_means
from .hostile_stage import Stage
from .hostile_sum_oracles import unplanned_sums

CLOSE = 1e-9
"""float64, states of at most 10: sums of a few numbers in another order differ by 1e-14."""
MOST_LOG = 1 << 16
MOST_JOURNAL = 1 << 20
MOST_QUEUED = 1 << 10
"""Bytes of log and journal, and messages, that no neighbour makes an honest member exceed in a short run."""
LONGEST_TURN = 5.0
"""Seconds that one honest member may keep all others in its process from their turn."""


def broken(stage: Stage) -> list[str]:
    """Everything that did not hold, in words; empty if the promise was kept."""
    found = [
        f"{name}: {words}"
        for name, one in stage.honest.items()
        for words in (
            *said_twice(one, by_receiver=_to_each(one)),
            *unplanned(stage, one),
            *unplanned_means(one, functools.partial(streams, stage, one)),
            *believed(one, stage.honest),
            *grown(stage, one),
        )
    ]
    found += [f"{name}: {words}" for name, words in badly_ended(stage)]
    if stage.slowest > LONGEST_TURN:
        found.append(f"nobody had its turn for {stage.slowest:.1f} s")
    return found


def _to_each(one: Honest) -> bool:
    """Whether neighbours are told different words: of a sum, numbers go along a tree and to others the point alone."""
    algorithm = one.member.role().algorithm
    return isinstance(algorithm, RssLb) or needs(algorithm).sums


def check(stages: Iterable[Stage]) -> None:
    """Fail with everything that did not hold, deviation by deviation."""
    found = {f"{stage.deviation.name} ({stage.deviation.what})": broken(stage) for stage in stages}
    words = [f"{name}\n    " + "\n    ".join(lines[:6]) for name, lines in found.items() if lines]
    assert not words, f"{len(words)} of {len(found)} deviations did harm:\n" + "\n".join(words)


def said_twice(one: Honest, *, by_receiver: bool) -> Iterator[str]:
    """Different words for one exchange: two words under one noise tell their difference."""
    words: dict[Any, set[bytes]] = defaultdict(set)
    for said in one.said:
        words[said.round, said.exchange, said.receiver if by_receiver else None].add(said.message)
    for (k, exchange, _), different in sorted(words.items(), key=str):
        if len(different) > 1:
            yield f"{len(different)} different words for exchange {exchange} of round {k}"


def unplanned(stage: Stage, one: Honest) -> Iterator[str]:
    """Words and states that are not those of the plan's noise, all links between honest members included."""
    for k, states in one.states.items():
        if len(states) > 1:
            yield f"{len(states)} different states at the beginning of round {k}"
    if needs(one.member.role().algorithm).sums:
        yield from unplanned_sums(one, functools.partial(streams, stage, one))
        return
    for said in {(said.round, said.message): said for said in one.said}.values():
        off = min(_off(stage, one, said, role) for role in _seats(stage, one))
        if off > CLOSE:
            yield f"its word of round {said.round} is {off:.3g} away from its state under the planned noise"
    for played in one.played:
        roles = list(_seats(stage, one))
        pairs = [
            pair for pair in itertools.product(roles, roles) if len(pair[1].present) == len(played.received)
        ]
        planned = [_next_state(stage, one, played, *pair) for pair in pairs]
        off = min((float(np.abs(state - played.x).max()) for state in planned), default=np.inf)
        if off > CLOSE:
            yield f"its state after round {played.k} is {off:.3g} away from the planned step"


def badly_ended(stage: Stage) -> Iterator[tuple[str, str]]:
    """Anybody who neither finished, nor named a culprit, nor waits for one."""
    excused = set(stage.coalition)
    for name, one in stage.honest.items():
        if one.error is not None:
            if not isinstance(one.error, HocketError):
                yield name, f"crashed with {type(one.error).__name__}: {one.error}"
            elif not any(culprit in str(one.error) for culprit in stage.coalition):
                yield name, f"stopped without naming {' or '.join(stage.coalition)}: {one.error}"
            excused.add(name)
        elif one.finished is not None:
            excused.add(name)
            if stage.deviation.refused and set(stage.coalition) & set(one.member.plan.neighbours(name)):
                yield name, "finished, as if nothing had been said"
    waiting = {name: one for name, one in stage.honest.items() if name not in excused}
    if stage.deviation.voted_out and _hang_together(stage):
        yield from ((name, "still waits for one whom all have voted to drop") for name in waiting)
    # Anybody who waits for one who waits for a culprit waits for it as well.
    while found := {
        name for name, one in waiting.items() if excused & set(one.status.get("waiting_for", ()))
    }:
        excused |= found
        for name in found:
            del waiting[name]
    for name, one in waiting.items():
        yield name, f"is stuck, and its status says: {one.status.get('waiting_for')}"


def _hang_together(stage: Stage) -> bool:
    """Whether the honest members can go on by themselves."""
    try:
        check_survivors(stage.federation.plan, frozenset(stage.coalition))
    except BadPlan:
        return False
    return True


def grown(stage: Stage, one: Honest) -> Iterator[str]:
    """What others made larger than a run needs."""
    if one.log_bytes > MOST_LOG:
        yield f"its log has {one.log_bytes:,} bytes"
    if one.journal_bytes > MOST_JOURNAL:
        yield f"its journal has {one.journal_bytes:,} bytes"
    if one.most_kept > 3 * len(stage.federation.names):
        yield f"it kept {one.most_kept} words at once"
    if one.most_queued > MOST_QUEUED:
        yield f"{one.most_queued:,} messages to one neighbour waited to go out"
    reasons = {} if one.session is None else one.session.reasons
    if len(reasons) > len(stage.federation.names):
        yield f"it keeps {len(reasons)} reasons"
    if sum(len(str(reason)) for reason in reasons.values()) > 1 << 14:
        yield "it keeps reasons of any length"


def _seats(stage: Stage, one: Honest) -> Iterator[MemberRole]:
    """The member's role as planned; and without those whom its own operator voted to drop."""
    role = one.member.role()
    yield role
    voted = stage.coalition if stage.deviation.voted_out else ()
    neighbours = [stage.federation.plan.agent(leaver) for leaver in voted]
    gone = [other for other in neighbours if other in role.neighbours]
    for count in range(1, len(gone) + 1):
        for some in itertools.combinations(gone, count):
            yield replace(role, dropped=frozenset(some))


def streams(stage: Stage, one: Honest, k: int) -> ChainStreams:
    """The planned noise of round k: of links between honest members from the escrow, of others as it was agreed."""
    plan, role = stage.federation.plan, one.member.role()
    pairs = {other: sorted((role.index, other)) for other in role.neighbours}
    keys = {other: _keys(plan.run_hash, *pair) for other, pair in pairs.items()}
    chains = {other: _later(key.chain, k - 1) for other, key in keys.items()}
    once = {other: key.once for other, key in keys.items()}
    for other in role.neighbours:
        if plan.names[other] in stage.coalition:
            seen = [(r, *found) for r, found in one.keys.items() if r <= k and other in found[0]]
            for r, agreed, kept in seen[-1:]:
                chains[other], once[other] = _later(agreed[other], k - r), kept.get(other, once[other])
    return ChainStreams(k, chains, once, _later(ESCROW.own_chain(role.index), k - 1), role.dtype)


@functools.lru_cache
def _keys(plan: bytes, i: int, j: int) -> LinkKeys:
    return ESCROW.keys(plan, i, j)


def _later(chain: bytes, rounds: int) -> bytes:
    for _ in range(rounds):
        chain = next_chain(chain)
    return chain


def planned_talk(stage: Stage, one: Honest, role: MemberRole, k: int, x: np.ndarray) -> Any:
    """The round as the plan has it, from a state."""
    drawn = streams(stage, one, k)
    descend = LocalSteps(one.member.task, 1, drawn.batch)
    agent = Agent(
        index=role.index,
        alpha=role.step,
        objective=_nothing,
        feasible=role.plain_set,
        shares=shares(role, drawn, k),
        local=descend,
    )
    return role.round(agent, x, k)


def _nothing(v: Any) -> Any:
    raise AssertionError


def _off(stage: Stage, one: Honest, said: Said, role: MemberRole) -> float:
    """How far a word is from the planned one, at any of the states with which the round began."""
    [word] = unpack(said.message, Limits(len(said.message))).parts
    receiver, far = stage.federation.plan.agent(said.receiver), np.inf
    for x in one.states.get(said.round, []):
        planned = arrays_for(role, next(planned_talk(stage, one, role, said.round, x)))
        [array] = planned.get(None) or planned.get(receiver) or [np.full_like(x, np.inf)]
        far = min(far, float(np.abs(array - word).max()))
    return far


def _next_state(
    stage: Stage, one: Honest, played: Played, spoke: MemberRole, received: MemberRole
) -> np.ndarray:
    """Where the planned step leads from what was received, noise functions included."""
    talk = planned_talk(stage, one, spoke, played.k, one.states[played.k][0])
    outgoing = next(talk)
    own, weights = received.weights(played.k)
    structure = jax.tree.structure(np.zeros(1))
    words = [jax.tree.unflatten(structure, [word]) for word in played.received]
    try:
        talk.send(WireMessages(own, list(weights.values()), words))
    except StopIteration as end:
        return np.asarray(end.value)
    raise AssertionError(f"more than one exchange after {outgoing}")
