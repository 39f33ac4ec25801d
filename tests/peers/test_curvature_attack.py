"""A root that shows one member another sum: it reads that member's curvature, unless masks know their point.

In K4 all sums come from the first member. It shows the last one another average than the others, so that this one alone
steps from elsewhere: the next sum then differs from the one that it foresees by what that member's own curvature does.
Members compare points only in the exchange in which their masked numbers go out already; so it is not the comparison
that keeps the curvature, but that masks of different points do not cancel.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from hocket.federation.runtime.member import Member
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.secure_sum import BEGINNING
from hocket.federation.workloads.task import GradientTask
from hocket.links.events import Received
from hocket.links.keys import noise_keys
from hocket.links.wire import Kind, pack
from hocket.secagg.group import FixedPoint, Words, add, negate

from .hostile import Deviation, Hand, Script
from .hostile_oracles import badly_ended
from .hostile_scripts import AT, opened, reworded
from .hostile_stage import Stage, federation_of, play
from .hostile_sums import ROOT, SUMS_ONLY
from .quadratic import DIMENSION, target

CURVATURES = (1.0, 0.5, 2.0, 1.5)
VICTIM, SHIFT = "elm", 0.5


class ShowsAnother(Script):
    """The root: it shows the victim another sum in one round, and writes down what comes of it."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is not Kind.MESSAGE:
            return [message]
        hand.memory["total", frame.round] = _words(frame.parts[1])
        if frame.round != AT or to != VICTIM:
            return [message]
        other = reworded(frame, lambda word: word + SHIFT * len(CURVATURES))
        hand.memory["shown"] = hashlib.sha256(bytes(frame.parts[0]) + bytes(other.parts[1])).digest()
        return [pack(other)]

    async def hears(self, hand: Hand, event: Any) -> Any:
        frame = opened(event.message) if isinstance(event, Received) else None
        if frame is not None and frame.kind is Kind.MESSAGE and len(frame.parts) == 2:
            while (
                hand.memory["session"].conversation.now.round < frame.round
            ):  # its masks are not there before
                await asyncio.sleep(0.001)
            if ("masks", frame.round) not in hand.memory:
                hand.memory["masks", frame.round] = self._masks(hand, frame.round)
            hand.memory["word", frame.round, event.neighbour] = _words(frame.parts[1])
        return event

    def _masks(self, hand: Hand, k: int) -> Words:
        """What the root's own masks take off the sum of all messages, at the points where it has put members."""
        peer = hand.memory["session"].peer
        total = np.zeros((2, DIMENSION), np.uint64)
        for other in peer.role.present:
            moved = k == AT + 1 and hand.plan.names[other] == VICTIM
            point = hand.memory["shown"] if moved else peer.point
            mask = peer.noise.streams.mask(other, k, 0, point, DIMENSION)
            total = add(total, mask if peer.role.index < other else negate(mask))
        return total


class Curved(Stage):
    """Members with curvatures of their own."""

    def member(self, name: str) -> Member:
        place = self.federation.plan.agent(name)
        curvature, aim = CURVATURES[place], target(place)
        task = GradientTask(DIMENSION, lambda x, k, h, rng: curvature * (x - aim))
        return dataclasses.replace(super().member(name), task=task)


def attacked(folder) -> Curved:
    deviation = Deviation(
        "curvature", "another sum to one", ShowsAnother, algorithms=SUMS_ONLY, coalition=ROOT
    )
    federation = federation_of(folder / "plan", "K4", SUMS_ONLY[0], colluders=1)
    stage = Curved(federation, deviation, folder / "stage")
    play([stage])
    return stage


def curvature_read(stage: Stage) -> np.ndarray:
    """The victim's curvature, from what the root knows: sums over the others, and where it has put them."""
    hand = stage.hostile[ROOT[0]]
    step = hand.member.role().step

    def honest(k: int) -> np.ndarray:
        words = [hand.memory["word", k, name] for name in hand.victims]
        total = hand.memory["masks", k]
        for one in words:
            total = add(total, one)
        return FixedPoint().decode(total)

    means = {k: FixedPoint().decode(hand.memory["total", k]) / len(CURVATURES) for k in range(1, AT + 1)}
    # In round k + 1 the others give Σ (m − α_k c_j (m − t_j)) at the mean m of round k: a line in m, known from sums.
    lines, rises = [], []
    for k in range(1, AT):
        lines.append((len(hand.victims) * means[k] - honest(k + 1)) / step(k))
        rises.append(means[k])
    slope, offset = zip(
        *(np.polyfit(np.array(rises)[:, i], np.array(lines)[:, i], 1) for i in range(DIMENSION)), strict=True
    )
    foreseen = len(hand.victims) * means[AT] - step(AT) * (np.array(slope) * means[AT] + np.array(offset))
    return (1 - (honest(AT + 1) - foreseen) / SHIFT) / step(AT)


def test_masks_that_do_not_know_their_point_give_a_curvature_away(tmp_path, monkeypatch):
    def unbound(self: ChainStreams, neighbour: int, k: int, exchange: int, point: bytes, count: int) -> Any:
        return noise_keys.mask(self.chains[neighbour], exchange, BEGINNING, count)

    monkeypatch.setattr(ChainStreams, "mask", unbound)
    found = curvature_read(attacked(tmp_path))
    np.testing.assert_allclose(found, CURVATURES[3], atol=1e-9)  # a line through three points, float64


def test_masks_that_know_it_show_the_liar_noise_and_all_notice(tmp_path):
    stage = attacked(tmp_path)
    found = curvature_read(stage)
    assert (np.abs(found) > 1e9).all()  # uniform on ±2^63: below with probability 1e-10 each
    assert not list(badly_ended(stage))
    for one in stage.honest.values():
        assert one.finished is None
        assert "was shown other sums than this member" in str(one.error)
        assert ROOT[0] in str(one.error)


def _words(numbers: Any) -> Words:
    return np.frombuffer(bytes(numbers), "<u8").reshape(2, -1).astype(np.uint64)
