"""Which samples a member draws is its own secret: not in the plan, another in every run, the same after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from hocket.federation.runtime.noise_shares import ChainStreams, RoundNoise
from hocket.federation.verification.verify import verify_run
from hocket.federation.workloads.task import GradientTask, LocalSteps
from hocket.links.handshake import FromSystem, SeedEscrow
from hocket.problems.sets import Everywhere

from .federation_case import Federation, play
from .quadratic import DIMENSION

SAMPLES = 1000
FLOAT64 = np.dtype(np.float64)


@dataclass
class Drawn:
    """A task that remembers which samples it drew in every round."""

    rows: dict[int, list[int]] = field(default_factory=dict)

    def task(self) -> GradientTask:
        def gradient(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
            self.rows[k] = rng.choice(SAMPLES, 10, replace=False).tolist()
            return 0.01 * np.full(DIMENSION, float(np.mean(self.rows[k])))

        return GradientTask(DIMENSION, gradient)


def played(federation: Federation, secrets=None) -> dict[str, Drawn]:
    drawn = {name: Drawn() for name in federation.names}
    play(
        federation.member(name, task=one.task(), secrets=secrets or FromSystem())
        for name, one in drawn.items()
    )
    return drawn


def test_no_plan_tells_which_samples_are_drawn(tmp_path):
    federation = Federation(tmp_path, rounds=4)
    first = played(federation)
    for name in federation.names:
        federation.wipe(name)
    again = played(federation)
    for name in federation.names:
        for k in range(1, 5):
            assert first[name].rows[k] != again[name].rows[k]  # the same plan, another run
        assert len({tuple(rows) for rows in first[name].rows.values()}) == 4
    ash, birch, _ = federation.names
    assert first[ash].rows[2] != first[birch].rows[2]


def test_a_member_computes_the_same_step_again_from_its_journal():
    """What a crash leaves is the chain in the journal: the same samples follow from it, and no earlier ones."""
    own = SeedEscrow(3).own_chain(0)

    def rows(k: int, chain: bytes) -> list[int]:
        drawn = Drawn()
        noise = RoundNoise(ChainStreams(k, {}, {}, chain, FLOAT64))
        LocalSteps(drawn.task(), 1, noise.batch)(
            np.zeros(DIMENSION), k, step=0.1, feasible=Everywhere(), plus=None
        )
        return drawn.rows[k]

    streams = ChainStreams(1, {}, {}, own, FLOAT64)
    seen = []
    for k in range(1, 4):
        assert rows(k, streams.own_chain) == rows(k, streams.own_chain)
        seen.append(tuple(rows(k, streams.own_chain)))
        streams.advance()
    assert len(set(seen)) == 3
    assert rows(1, own) != rows(1, SeedEscrow(4).own_chain(0))


def test_an_earlier_round_is_made_again_with_its_own_samples():
    noise = RoundNoise(ChainStreams(2, {}, {}, b"later", FLOAT64))
    earlier = ChainStreams(1, {}, {}, b"before", FLOAT64)
    with noise.again(earlier):
        assert noise.batch(1, 0) == earlier.batch(1, 0)
    with pytest.raises(AssertionError, match="round 1"):
        noise.batch(1, 0)


def test_local_steps_draw_apart():
    streams = ChainStreams(1, {}, {}, b"own", FLOAT64)
    assert streams.batch(1, 0) != streams.batch(1, 1)


def test_whoever_is_given_the_keys_can_compute_the_steps_anew(tmp_path):
    federation = Federation(tmp_path, rounds=6)
    cards = [federation.plan.card(name) for name in federation.names]
    federation.plan = federation.signed(federation.drawn(cards, verifiable=True))
    played(federation)
    folders = [federation.member(name).folder.path for name in federation.names]
    tasks = {name: Drawn().task() for name in federation.names}
    assert verify_run(federation.plan, folders, tasks=tasks).recomputed == federation.names
