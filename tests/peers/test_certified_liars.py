"""Under a signed certificate: a liar learns nothing from who stops, and nothing that is passed on shows more than that
messages do.

The attack: a lie within the plan's reach leads a member where one of its records, or its one record in another world,
makes its gradient overflow. A member that stopped there said in which world it is.
"""

from __future__ import annotations

import asyncio
import dataclasses
import html
import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli import main
from hocket.cli.peer.run import _until_stopped
from hocket.engines.progress import Bar
from hocket.errors import BadInput
from hocket.federation.audit.certificate_check import check_certificate
from hocket.federation.monitoring.at_home import LEFT_OUT, MARK
from hocket.federation.monitoring.metrics import Metrics
from hocket.federation.monitoring.watching.page import watch_page
from hocket.federation.monitoring.watching.snapshot import look
from hocket.federation.plan.cards import Card
from hocket.federation.plan.certified_draft import Wanted, certified_draft
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.runtime.convergence import Movement
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.home import Home
from hocket.federation.workloads.task import GradientTask, LocalSteps, Vector, is_repeatable, known_seeds
from hocket.federation.workloads.task_checks import check_records
from hocket.links.wire import pack
from hocket.problems.sets import Everywhere

from .federation_case import Federation
from .hostile import Deviation
from .hostile_scripts import OnWords, reworded
from .hostile_stage import Stage
from .hostile_stage import play as play_scenes

DIM, ROUNDS, SEEDS = 3, 8, (0, 1)
MEMBER = Wanted(1.0, 1e-6, 1, protect="member", clip=1.0)
LIE = 2e5
"""Within the plan's reach of 1e6."""


class Certified(Federation):
    """Four members under ε = 1 for all that one of them does."""

    def drawn(
        self, cards: list[Card], *, after: FederationPlan | None = None, **changes: Any
    ) -> FederationPlan:
        found = certified_draft(
            cards, "complete", "certified-rss-nb", MEMBER, dimension=DIM, objectives="any", rounds=self.rounds
        )
        return draw_up(
            cards,
            found.topology,
            algorithm=found.algorithm,
            step={"constant": 0.01},
            task={"name": "visits", "dataset": "visits", "dimension": DIM},
            run={"rounds": self.rounds} | changes,
            feasible={"kind": "everywhere"},
            audit={"colluders": 1, "min_sd": 0.0},
            certificate=found.certificate,
        )


def visits(seed: int, name: int, *, world: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty records of a Poisson regression; in world 1 the first one of birch is another."""
    rng = np.random.default_rng([seed, name])
    rows = -np.abs(rng.normal(size=(20, DIM))) * 0.3
    counts = rng.poisson(1.0, size=20).astype(float)
    rows[0] *= 1 - 2 * world
    return rows, counts


def overflows(rows: np.ndarray, counts: np.ndarray, x: Vector) -> Vector:
    with np.errstate(over="ignore"):
        return rows.T @ (np.exp(rows @ x) - counts) / len(counts)


def raises(rows: np.ndarray, counts: np.ndarray, x: Vector) -> Vector:
    """As libraries do that look at what comes out."""
    return rows.T @ (np.array([math.exp(one) for one in rows @ x]) - counts) / len(counts)


def mentions(rows: np.ndarray, counts: np.ndarray, x: Vector) -> Vector:
    """Warnings as errors, as some have them."""
    with np.errstate(over="raise"):
        return rows.T @ (np.exp(rows @ x) - counts) / len(counts)


Gradient = Callable[[np.ndarray, np.ndarray, Vector], Vector]


def task_of(gradient: Gradient, rows: np.ndarray, counts: np.ndarray) -> GradientTask:
    return GradientTask(DIM, lambda x, k, h, rng: gradient(rows, counts, x))


@dataclasses.dataclass
class Scene(Stage):
    """One liar among four; what birch has, depends on the world."""

    world: int = 0
    seed: int = 0
    gradient: Gradient = overflows

    def member(self, name: str) -> Member:
        here = self.federation.plan.agent(name)
        data = visits(self.seed, here, world=self.world * (name == "birch"))
        usual = self.federation.member(name, task=task_of(self.gradient, *data), linger=0.5)
        home = Home(self.folder / name)
        self.federation.consent(name, usual.plan, home)
        return dataclasses.replace(usual, home=home, secrets=self.secrets)


def lie(hand: Any, to: str, frame: Any, message: bytes) -> list[bytes]:
    return [pack(reworded(frame, lambda word: np.full_like(word, LIE)))]


@pytest.mark.parametrize("gradient", [overflows, raises, mentions])
def test_who_goes_on_tells_a_liar_nothing(tmp_path: Path, gradient: Gradient) -> None:
    deviation = Deviation("large", "a lie within the reach", lambda: OnWords(lie, at=3))
    scenes = [
        Scene(
            Certified(tmp_path / f"{seed}-{world}", members=4, rounds=ROUNDS),
            deviation,
            tmp_path / f"{seed}-{world}" / "stage",
            coalition=("elm",),
            world=world,
            seed=seed,
            gradient=gradient,
        )
        for seed in SEEDS
        for world in (0, 1)
    ]
    assert check_certificate(scenes[0].federation.plan) is not None
    zeroed = []
    for scene in play_scenes(scenes):
        birch = scene.honest["birch"]
        assert birch.error is None, scene.world
        assert max(birch.states) == ROUNDS + 1
        zeroed.append("gradient counted as zero" in birch.member.folder.log.read_text())
    assert zeroed == [False, True] * len(SEEDS)  # the lie met the record that it was meant for


def test_a_gradient_that_cannot_be_used_counts_as_zero_where_a_certificate_stands():
    told: list[tuple[int, str]] = []
    steps = partial(LocalSteps, count=2, seeds=known_seeds)
    for made, reason in (
        (lambda x: x / np.zeros_like(x), "not finite"),
        (lambda x: 1 / 0, "the task raised ZeroDivisionError"),
        (lambda x: np.full(x.shape, 1e300), "not finite"),  # which a float32 cannot hold
    ):
        task = GradientTask(2, lambda x, k, h, rng, made=made: np.asarray(made(x)))
        with np.errstate(all="ignore"):
            saturating = steps(task, counted_as_zero=lambda k, why: told.append((k, why)))
            x = saturating(np.ones(2, np.float32), 7, step=0.1, feasible=Everywhere(), plus=None)
            np.testing.assert_array_equal(x, np.ones(2))
            assert told[-1] == (7, reason)
            with pytest.raises((BadInput, ZeroDivisionError)):
                steps(task)(np.ones(2, np.float32), 7, step=0.1, feasible=Everywhere(), plus=None)


def test_a_step_beyond_all_numbers_is_not_taken_where_a_certificate_stands():
    asked: list[Vector] = []

    def gradient(x: Vector, k: int, h: int, rng: Any) -> Vector:
        asked.append(x)
        return np.full(2, 1e308)

    steps = LocalSteps(GradientTask(2, gradient), 3, known_seeds, lambda k, why: None)
    with np.errstate(over="ignore"):
        steps(np.zeros(2), 1, step=100.0, feasible=Everywhere(), plus=None)
    assert len(asked) == 3
    assert np.isfinite(asked).all()


def test_a_certified_run_begins_whatever_the_gradient_is_at_its_start():
    nowhere = GradientTask(2, lambda x, k, h, rng: np.full(2, np.nan))
    assert is_repeatable(nowhere, np.zeros(2), certified=True)
    with pytest.raises(BadInput, match="not finite"):
        is_repeatable(nowhere, np.zeros(2))
    with pytest.raises(BadInput, match=r"shape \(3,\)"):  # which no data change
        is_repeatable(GradientTask(2, lambda x, k, h, rng: np.zeros(3)), np.zeros(2), certified=True)


def test_partial_fit_that_overflows_stops_nobody():
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    from hocket.federation.workloads.adapters.partial_fit import PartialFitTask

    rng = np.random.default_rng(0)
    model = linear_model.SGDRegressor(alpha=0.0, learning_rate="constant", eta0=1e300, shuffle=False)
    task = PartialFitTask(model, rng.normal(size=(40, 2)), rng.normal(size=40))
    far = np.full(3, 1e6)
    told: list[str] = []
    steps = LocalSteps(task, 1, known_seeds, lambda k, why: told.append(why))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(steps.gradient(far, 1, 0), np.zeros(3))
        with pytest.raises(ValueError, match=r"overflow|infinity|finite"):
            LocalSteps(task, 1, known_seeds).gradient(far, 1, 0)
    assert told


class Careless:
    """A task that clips by itself, and forgets records whose gradient is not finite."""

    dimension = DIM
    objectives = "any"

    def __init__(self, count: Callable[[np.ndarray], np.ndarray]):
        self.count = count

    def start(self, seed: int) -> Vector:
        return np.zeros(DIM)

    def sensitivity(self, *, replace: bool = False) -> float:
        return 0.1

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        rows, counts = visits(0, 0, world=0)
        with np.errstate(all="ignore"):
            each = rows * (np.exp(rows @ x) - counts)[:, None]
            cut = each * np.minimum(1, 1 / np.linalg.norm(each, axis=1))[:, None]
        return self.count(cut).sum(axis=0) / 20


def test_a_task_that_clips_and_is_not_finite_far_out_is_refused():
    from .test_certified_plans import drawn

    plan = drawn(Wanted(1.0, 1e-6, 1, sensitivity=0.1), key="certified-rss-nb", objectives="any")
    check_records(Careless(lambda each: np.where(np.isfinite(each).all(axis=1)[:, None], each, 0)), plan)
    with pytest.raises(
        BadInput, match=r"at -1e\+06 in every coordinate.* gradient is not finite.* as Clipped"
    ):
        check_records(Careless(lambda each: each), plan)


SECRET = 0.123456
"""What the task measures on its own data."""


def measured(x: Vector) -> dict[str, float]:
    return {"loss": SECRET, "movement": SECRET}


@pytest.fixture
def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Member, list[str], list[Vector], list[Vector]]:
    """A certified run of four; of the first one, what its port served, and which states were looked at."""
    served: list[str] = []
    moved: list[Vector] = []
    mixed: list[Vector] = []
    federation = Certified(tmp_path, members=4, rounds=ROUNDS)
    members = [
        federation.member(
            name,
            task=dataclasses.replace(
                task_of(overflows, *visits(0, place, world=0)), measures=fails if place else measured
            ),
        )
        for place, name in enumerate(federation.names)
    ]
    record, look_at = Metrics.record, Movement.pass_by

    def recorded(self: Metrics, *given: Any, **named: Any) -> None:
        record(self, *given, **named)
        served.append(self.exposition())

    def passed(self: Movement, k: int, x: Vector) -> None:
        moved.append(x)
        look_at(self, k, x)

    monkeypatch.setattr("hocket.federation.monitoring.metrics.EVERY", 0.0)
    monkeypatch.setattr(Metrics, "record", recorded)
    monkeypatch.setattr(Movement, "pass_by", passed)

    async def everybody() -> None:
        async with asyncio.timeout(60):
            first = take_part(members[0], watch=lambda played, _: mixed.append(played.mixed))
            await asyncio.gather(first, *(take_part(one) for one in members[1:]))

    asyncio.run(everybody())
    return members[0], served, moved, mixed


def fails(x: Vector) -> dict[str, float]:
    raise ValueError("no loss here")


def test_what_is_passed_on_of_a_certified_run_follows_from_messages(ran, capsys):
    member, served, moved, mixed = ran
    assert len(served) == 4 * ROUNDS
    assert "hocket_movement " in served[-1]
    assert "loss" not in "".join(served)
    assert str(SECRET) not in "".join(served)
    assert len(mixed) == ROUNDS
    assert all(any(np.array_equal(one, state) for state in moved) for one in mixed)
    assert len(moved) == 4 * ROUNDS  # and no other state was looked at
    lines = [json.loads(line) for line in member.folder.metrics.read_text().splitlines()]
    assert lines[-1]["loss"] == SECRET
    assert lines[-1]["movement"] != SECRET  # a task cannot take such a name
    plan = str(member.folder.plan)
    assert main(["report", str(member.folder.path)]) == 0
    page = (member.folder.path / "report.html").read_text()
    seen = look(member.plan, member.folder, member.name)
    assert [one.name for one in seen.measured if one.at_home] == ["loss"]
    web = watch_page(seen.to_pass_on())
    for text in (page, web):
        shown = html.unescape(text).replace("\N{NO-BREAK SPACE}", " ")
        assert LEFT_OUT in shown
        assert "loss" not in shown.replace(LEFT_OUT, "").lower().replace("gloss", "")
        assert str(SECRET) not in shown
    capsys.readouterr()
    home = str(member.home.folder)
    assert main(["peer", "status", plan, "--home", home]) == 0
    assert f"loss: {SECRET} ({MARK})" in capsys.readouterr().out
    assert main(["peer", "watch", plan, "--home", home]) == 0
    assert f"loss: {SECRET} ({MARK})" in capsys.readouterr().out
    assert main(["peer", "status", plan, "--home", home, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["at_home"] == ["loss"]


def test_a_measure_that_fails_stops_nobody_where_a_certificate_stands(ran):
    member, *_ = ran
    other = member.home.folder.parent / "birch" / "runs"
    log = next(other.glob("*/log.jsonl")).read_text()
    assert "measure failed" in log
    assert "no loss here" not in log  # what it says may hold data


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_that_overflows_stops_nobody_where_warnings_are_errors(dtype):
    """A gradient that is finite, and its step that is not: the member stopped, which showed its record."""
    large = np.finfo(dtype).max / 2
    steps = LocalSteps(GradientTask(2, lambda x, k, h, rng: x + large), 1, known_seeds, lambda k, why: None)
    start = np.zeros(2, dtype)
    found = steps(start, 1, step=dtype(10.0), feasible=Everywhere(), plus=None)
    assert found.tolist() == start.tolist()


@pytest.mark.parametrize("size", [1e-170, 1e-310, 1e300])
def test_no_rounding_stops_a_member_whose_task_made_numpy_raise(tmp_path: Path, size: float) -> None:
    """`np.seterr(all="raise")` in a task's file is for all of its process: a gradient so small that its square is zero
    stopped its member, which showed a record as an overflow did."""
    federation = Certified(tmp_path, members=4, rounds=2)
    small = GradientTask(DIM, lambda x, k, h, rng: np.full_like(x, size))

    async def everybody() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(
                *(take_part(federation.member(name, task=small)) for name in federation.names)
            )

    with np.errstate(all="raise"):
        asyncio.run(everybody())


def test_what_a_terminal_shows_of_a_certified_run_follows_from_messages(tmp_path, monkeypatch):
    """`hocket peer run` shows a task's loss as rounds go by, and not under a certificate."""
    shown: list[dict[str, float]] = []
    monkeypatch.setattr(Bar, "update", lambda bar, done, **measured: shown.append(measured))
    monkeypatch.setattr("hocket.federation.monitoring.metrics.EVERY", 0.0)
    federation = Certified(tmp_path, members=4, rounds=ROUNDS)
    first, *others = (
        federation.member(
            name, task=dataclasses.replace(task_of(overflows, *visits(0, place, world=0)), measures=measured)
        )
        for place, name in enumerate(federation.names)
    )

    async def everybody() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(_until_stopped(first, []), *(take_part(one) for one in others))

    asyncio.run(everybody())
    assert len(shown) == ROUNDS
    assert {name for one in shown for name in one} == {"disagreement", "lag", "MB"}
