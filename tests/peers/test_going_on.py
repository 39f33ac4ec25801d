"""A new plan that goes on from what an earlier run published: masked from its first message, or refused."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from hocket.engines.solver import solve
from hocket.errors import BadConfig, BadInput, BadPlan, JournalError, RunStopped
from hocket.federation.plan.plan_file import parse_plan, plan_text
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.participation import take_part
from hocket.federation.verification.replay import replayed
from hocket.federation.workloads.task import GradientTask
from hocket.links.wire import Kind, Limits, unpack
from hocket.problems.problem import Problem

from .federation_case import ESCROW, Federation, play
from .quadratic import DIMENSION, target

ALGORITHMS = {
    "rss-nb": {"name": "rss-nb", "delta": 1.0},
    "persistent": {"name": "rss-nb", "delta": 1.0, "persistent": 0.5},
    "rss-lb": {"name": "rss-lb", "delta": 1.0},
}
WHOLE = {"name": "certified-rss-nb", "sd": 0.1, "own": 0.01, "clip": 5.0, "grid": 2.0**-20}


def go_on(federation: Federation, **changes: Any) -> None:
    """A plan that begins where the last one ended, signed by all."""
    cards = [federation.plan.card(name) for name in federation.names]
    federation.plan = federation.signed(federation.drawn(cards, after=federation.plan, **changes))


def finished(federation: Federation) -> np.ndarray:
    """Everybody's published states after a run."""
    return np.stack([end.published for end in play(federation.member(name) for name in federation.names)])


@pytest.mark.parametrize("algorithm", [*ALGORITHMS.values(), WHOLE], ids=[*ALGORITHMS, "whole numbers"])
def test_a_run_goes_on_from_what_was_published(tmp_path, algorithm):
    """Both runs together are worth more than the first alone, and the second equals its replay."""
    federation = Federation(tmp_path, rounds=3, algorithm=algorithm)
    before = finished(federation)
    first = federation.plan
    go_on(federation, rounds=60)
    assert federation.plan.run.start == first.run_hash.hex()
    assert federation.plan.run_hash != first.run_hash
    ends = play(federation.member(name, task=exact(name, federation)) for name in federation.names)
    mean = np.mean([target(j) for j in range(3)], axis=0)
    after = np.stack([end.published for end in ends])
    assert np.abs(after - mean).max() < 0.5 * np.abs(before - mean).max()
    replay = simulated(federation, before, kept=first.run_hash)
    # float64, 60 rounds, sums in another order.
    np.testing.assert_allclose(np.stack([end.x for end in ends]), replay, atol=1e-12, rtol=0)


def exact(name: str, federation: Federation) -> GradientTask:
    """A member's task without anything random, which the simulator can have too."""
    aim = target(federation.plan.agent(name))
    return GradientTask(DIMENSION, lambda x, k, h, rng: x - aim)


def simulated(federation: Federation, start: np.ndarray, *, kept: bytes) -> np.ndarray:
    """The same run in the simulator, on the escrow's noise; persistent noise is that of the run that dealt it first."""
    members = [federation.member(name) for name in federation.names]
    roles = [member.role() for member in members]
    streams = []
    for role in roles:
        links = {other: sorted((role.index, other)) for other in role.neighbours}
        chains = {other: ESCROW.keys(federation.plan.run_hash, *pair).chain for other, pair in links.items()}
        once = {other: ESCROW.keys(kept, *pair).once for other, pair in links.items()}
        streams.append(ChainStreams(1, chains, once, ESCROW.own_chain(role.index), role.dtype))
    problem = Problem(
        lambda x, aim: ((x - aim) ** 2).sum() / 2,
        np.stack([target(j) for j in range(len(members))]),
        feasible=federation.plan.feasible,
        dim=DIMENSION,
    )
    run = solve(
        problem,
        federation.plan.network,
        replayed(roles, streams),
        rounds=federation.plan.run.rounds,
        step=federation.plan.step,
        start=np.stack([federation.plan.feasible.project(row) for row in start]),
        progress=False,
    )
    return run.x


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_the_first_word_is_under_noise(tmp_path, algorithm):
    """From a public start RSS-NB says it as it is; from an old state nobody hears that state."""
    federation = Federation(tmp_path, rounds=5, algorithm=algorithm)
    before = finished(federation)
    go_on(federation)
    said = first_words(federation)
    start = federation.plan.feasible.project(before[0])
    assert said
    for word in said:
        away = np.abs(word - start)
        assert (away > 1e-6).all()
        assert np.linalg.norm(away) <= federation.plan.step(1) * algorithm["delta"]


def first_words(federation: Federation) -> list[np.ndarray]:
    """What ash says in round 1, to whomever."""
    received: list[np.ndarray] = []

    class Eavesdropped:
        """Ash's channels, with an ear on what goes out."""

        def __init__(self, channels: Any):
            self.channels = channels

        def __getattr__(self, name: str) -> Any:
            return getattr(self.channels, name)

        async def send(self, neighbour: str, message: bytes) -> None:
            frame = unpack(message, Limits(len(message)))
            if frame.kind is Kind.MESSAGE and frame.round == 1:
                received.append(np.array(frame.parts[0]))
            await self.channels.send(neighbour, message)

    async def scene() -> None:
        ash = federation.member("ash")
        listening = take_part(ash, channels=Eavesdropped(await ash.open_channels()))
        others = [take_part(federation.member(name)) for name in federation.names if name != "ash"]
        await asyncio.gather(listening, *others)

    asyncio.run(asyncio.wait_for(scene(), 60))
    return received


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        ({"name": "dgd"}, "Dgd sends its first state without noise"),
        ({"name": "rss-nb", "delta": 0.0}, "RssNb sends its first state without noise"),
        ({"name": "certified-rss-nb", "sd": 0.0}, "CertifiedRssNb sends its first state without noise"),
        (
            {"name": "certified-rss-nb", "sd": 0.0, "own": 0.1},
            "CertifiedRssNb sends its first state without noise",
        ),
        (
            {"name": "function-sharing", "degree": 2, "bound": 0.1},
            "Theorem 2 is about what is sent from a public",
        ),
        ({"name": "rss-nb", "delta": 1.0, "persistent": 1.0}, "with persistent = 1 there is no fresh noise"),
        (
            {"name": "rss-lb", "delta": 1.0, "unprotected": True},
            "unprotected RSS-LB may send states without noise",
        ),
    ],
    ids=[
        "dgd",
        "no noise",
        "no pairs",
        "own noise alone",
        "function-sharing",
        "no fresh noise",
        "unprotected",
    ],
)
def test_a_first_word_without_noise_is_refused(tmp_path, algorithm, said):
    federation = Federation(tmp_path)
    federation.algorithm = algorithm
    with pytest.raises(BadPlan, match=said):
        go_on(federation)


def test_whoever_was_not_there_before_has_nothing_to_go_on_from(tmp_path):
    federation = Federation(tmp_path, members=4, topology="complete")
    cards = [federation.plan.card(name) for name in federation.names]
    three = federation.drawn(cards[:3])
    with pytest.raises(BadPlan, match="elm took no part in the run"):
        federation.drawn(cards, after=three)
    federation.options = {"dtype": "float32"}
    with pytest.raises(BadPlan, match=r"the task has dtype float32, and the run .* had float64"):
        go_on(federation)


def test_a_run_that_was_not_finished_cannot_be_gone_on_from(tmp_path):
    federation = Federation(tmp_path, members=2, topology="path", rounds=30)
    begun = federation.plan
    go_on(federation)
    with pytest.raises(BadInput, match=r"ash is to go on from the run in .*, and there is none"):
        federation.member("ash").start()

    async def given_up() -> None:
        first = federation.member("ash", plan=begun)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(take_part(first), 1.0)

    asyncio.run(given_up())
    with pytest.raises(RunStopped, match=r"ash has not finished the run in .*: it is in round 0 of 30"):
        federation.member("ash").start()


def test_once_begun_the_earlier_run_is_not_needed(tmp_path):
    federation = Federation(tmp_path, rounds=20)
    play(federation.member(name) for name in federation.names)
    first = federation.member("ash").folder
    go_on(federation, rounds=40)
    play(federation.member(name) for name in federation.names)
    first.journal.unlink()
    again = play(federation.member(name, linger=0.1) for name in federation.names)
    np.testing.assert_array_equal(again[0].published, federation.ended("ash").published)
    with pytest.raises(JournalError, match="there is no journal"):
        federation.member("ash").start()


def test_the_plan_says_from_where(tmp_path):
    federation = Federation(tmp_path)
    assert federation.plan.run.start == "public"
    go_on(federation)
    text = plan_text(federation.plan)
    assert parse_plan(text).run.start == federation.plan.run.start
    with pytest.raises(BadConfig, match="'public', or the hash of the run"):
        parse_plan(text.replace(federation.plan.run.start, "yesterday"))
