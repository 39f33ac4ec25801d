"""Members taking part in a run: alone in their decisions, together in the result."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hocket.errors import BadInput, BadPlan, JournalError, LinkError
from hocket.federation.membership.votes import check_leaver
from hocket.federation.monitoring.metrics import Metrics
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished
from hocket.federation.workloads.task import GradientTask
from hocket.problems.sets import Box

from .federation_case import Federation, free_ports, play
from .quadratic import DIMENSION, target


def test_members_come_to_the_mean_of_their_targets(tmp_path):
    federation = Federation(tmp_path, rounds=300)
    ends = play(federation.member(name) for name in federation.names)
    mean = np.mean([target(j) for j in range(3)], axis=0)
    for name, end in zip(federation.names, ends, strict=True):
        np.testing.assert_allclose(end.published, mean, atol=0.05)  # the gradients are shaken by 0.01
        assert not np.array_equal(end.x, end.published)
        np.testing.assert_array_equal(
            np.load(federation.member(name).folder.path / "published.npy"), end.published
        )


def test_a_result_is_there_before_anybody_is_stayed_for(tmp_path):
    """Anybody who starts a finished run again is answered at once; and in a run the result waits for no slow
    neighbour."""
    federation = Federation(tmp_path)
    there: list[bool] = []

    def found(finished: Finished) -> None:
        there.append((federation.member("ash").folder.path / "published.npy").exists())

    async def everybody() -> None:
        others = (take_part(federation.member(name)) for name in federation.names[1:])
        await asyncio.gather(take_part(federation.member("ash"), found=found), *others)

    asyncio.run(asyncio.wait_for(everybody(), 60))
    assert there == [True]
    [again] = play([federation.member("ash", linger=3600.0)])  # alone
    assert again.waiting_for == ()
    np.testing.assert_array_equal(again.published, federation.ended("ash").published)


def test_a_member_behind_a_router_dials_all_its_links(tmp_path):
    federation = Federation(tmp_path)
    cards = [federation.plan.card(name) for name in federation.names]
    hidden = type(cards[0])(cards[0].name, None, cards[0].certificate)
    federation.plan = federation.signed(federation.drawn([hidden, *cards[1:]]))
    assert set(federation.plan.dials(hidden.name)) == set(federation.plan.neighbours(hidden.name))
    assert len(play(federation.member(name) for name in federation.names)) == 3


def test_traffic_of_rss_nb_equals_that_of_dgd(tmp_path):
    """Noise never travels: a handshake at the beginning is all that it costs."""

    def bytes_sent(name: str, algorithm: dict[str, Any]) -> int:
        (tmp_path / name).mkdir()
        federation = Federation(tmp_path / name, rounds=100, algorithm=algorithm)
        play(federation.member(one) for one in federation.names)
        lines = federation.member("ash").folder.metrics.read_text().splitlines()
        return json.loads(lines[-1])["bytes_sent"]

    plain = bytes_sent("dgd", {"name": "dgd"})
    noisy = bytes_sent("rss-nb", {"name": "rss-nb", "delta": 1.0})
    handshake = 2 * 500  # two neighbours: nonce, key with its signature, ready
    assert plain <= noisy <= 1.02 * plain + handshake


def test_status_log_and_metrics_hold_no_state(tmp_path):
    federation = Federation(tmp_path, rounds=30)
    ends = play(federation.member(name) for name in federation.names)
    folder = federation.member("ash").folder
    texts = [path.read_text() for path in (folder.log, folder.metrics, folder.path / "status.json")]
    for number in (*ends[0].x, *ends[0].published):
        assert not any(repr(float(number))[:12] in text for text in texts)
    assert json.loads(texts[2])["finished"]
    assert json.loads(texts[1].splitlines()[-1])["round"] == 30
    assert {json.loads(line)["event"] for line in texts[0].splitlines()} >= {"joined", "running", "finished"}


@pytest.mark.parametrize(
    "number",
    [np.float64(0.5), np.float32(0.5), np.array(0.5), jnp.float32(0.5), 0.5],
    ids=lambda x: type(x).__name__,
)
def test_a_measure_may_be_a_number_of_any_library(tmp_path, number):
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.record({"round": 7, "loss": number}, {"birch": np.float64(0.25)})
    metrics.close()
    kept = json.loads(metrics.path.read_text())
    assert (kept["round"], kept["loss"], kept["lag"]) == (7, 0.5, {"birch": 0.25})
    assert json.loads(json.dumps(metrics.latest)) == {"round": 7, "loss": 0.5}
    lines = metrics.exposition().splitlines()
    assert "hocket_loss 0.5" in lines
    assert 'hocket_lag_seconds{neighbour="birch"} 0.25' in lines


def test_prometheus_reads_every_line(tmp_path):
    """Whatever a task calls its measures; what is no number is for the file alone."""
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.record({"held-out loss": 0.5, "worst": float("nan"), "phase": "warm", "by_class": [1.0, 2.0]}, {})
    metrics.close()
    read = {
        family.name: family.samples[0].value
        for family in text_string_to_metric_families(metrics.exposition())
    }
    assert read.pop("hocket_worst") != 0
    assert read == {"hocket_held_out_loss": 0.5}


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=2) as answer:
        return answer.read().decode()


def test_a_plan_that_not_all_have_signed_is_not_run(tmp_path):
    federation = Federation(tmp_path)
    federation.plan = federation.drawn([federation.plan.card(name) for name in federation.names])
    with pytest.raises(BadPlan, match="lacks the signature"):
        play([federation.member("ash")])


def test_a_task_of_another_dimension_is_refused(tmp_path):
    federation = Federation(tmp_path)
    wide = GradientTask(DIMENSION + 1, lambda x, k, h, rng: x)
    with pytest.raises(BadInput, match="the task has dimension 4 and the plan 3"):
        play([federation.member("ash", task=wide)])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x, k, h, rng: np.zeros(2), "has shape"),
        (lambda x, k, h, rng: np.full(3, np.nan), "not finite"),
    ],
    ids=["shape", "nan"],
)
def test_a_gradient_that_cannot_be_used_names_its_round(tmp_path, function, said):
    federation = Federation(tmp_path)
    with pytest.raises(BadInput, match=f"gradient in round 1 .*{said}"):
        play(
            [
                federation.member("ash", task=GradientTask(DIMENSION, function)),
                *(federation.member(name) for name in federation.names[1:]),
            ]
        )


def test_a_second_process_for_one_member_is_refused(tmp_path):
    federation = Federation(tmp_path)
    with pytest.raises(JournalError, match="in use by process"):
        play([federation.member("ash"), federation.member("ash", listen=f"127.0.0.1:{free_ports(1)[0]}")])


def test_members_with_plans_that_differ_do_not_begin(tmp_path):
    federation = Federation(tmp_path, members=2, topology="path")
    others = federation.signed(
        federation.drawn([federation.plan.card(name) for name in federation.names], rounds=21)
    )
    ash, birch = federation.member("ash"), federation.member("birch", plan=others)

    async def scene() -> None:
        running = [asyncio.create_task(take_part(member)) for member in (ash, birch)]
        while "run different plans" not in (ash.folder.log.read_text() if ash.folder.log.exists() else ""):
            await asyncio.sleep(0.1)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert ash.folder.status()["round"] == 0


def test_survivors_go_on_when_all_of_them_say_so(tmp_path):
    federation = Federation(tmp_path, members=4, topology="complete", rounds=40)
    survivors = federation.names[:3]  # elm never comes

    def cast(name: str) -> None:
        folder = federation.member(name).folder
        folder.make()
        (folder.votes / "elm.vote").touch()

    async def scene() -> list[Finished]:
        running = [asyncio.create_task(take_part(federation.member(name))) for name in survivors]
        for name in survivors[:-1]:
            cast(name)
        await asyncio.sleep(2.5)
        assert not any(task.done() for task in running)  # one vote is missing
        cast(survivors[-1])
        async with asyncio.timeout(60):
            return await asyncio.gather(*running)

    ends = asyncio.run(scene())
    status = federation.member("ash").folder.status()
    assert status["dropped"] == ["elm"]
    assert len(ends) == 3
    mean = np.mean([target(j) for j in range(3)], axis=0)
    np.testing.assert_allclose(ends[0].published, mean, atol=0.2)


def test_whoever_holds_the_others_together_cannot_be_dropped(tmp_path):
    federation = Federation(tmp_path, topology="path")
    with pytest.raises(BadPlan, match="without birch the others fall apart"):
        check_leaver(federation.plan, "ash", frozenset({"birch"}))
    with pytest.raises(BadPlan, match="ash is you; to leave, stop"):
        check_leaver(federation.plan, "ash", frozenset({"ash"}))


def test_a_neighbour_that_deviates_pauses_the_run_and_loses_nothing(tmp_path):
    """Birch leaves the feasible set; ash names it and stops. When birch runs the right task, both go on."""
    federation = Federation(tmp_path, members=2, topology="path", algorithm={"name": "dgd"}, rounds=20)
    write_plan(federation.plan, federation.plan_file)
    far = Box(-99.0, 99.0)

    class Deviating(Member):
        def role(self, gone: frozenset[str] = frozenset()) -> Any:
            return replace(super().role(gone), feasible=far)

    def push(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(DIMENSION, -60.0 if k == 5 else 0.0)

    right = federation.member("birch")
    wrong = Deviating(
        right.plan, right.identity, GradientTask(DIMENSION, push), right.home, secrets=right.secrets
    )

    async def scene() -> None:
        birch = asyncio.create_task(take_part(wrong))
        with pytest.raises(LinkError, match=r"birch said a word .* outside the feasible set in round 6"):
            await take_part(federation.member("ash"))
        birch.cancel()
        await asyncio.gather(birch, return_exceptions=True)

    asyncio.run(asyncio.wait_for(scene(), 60))
    assert federation.member("ash").folder.status()["round"] == 6


@pytest.mark.parametrize(
    "algorithm",
    [{"name": "rss-nb", "delta": 1.0, "persistent": 0.5}, {"name": "rss-lb", "delta": 1.0}],
    ids=["nb", "lb"],
)
def test_a_crash_after_somebody_left_says_the_same_words(tmp_path, algorithm):
    """Elm leaves in the middle; ash stops in the round in which it drops elm, and comes back."""
    federation = Federation(tmp_path, members=4, topology="complete", rounds=60, algorithm=algorithm)
    survivors = federation.names[:3]

    def fails(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(DIMENSION, np.nan if k == 6 else 0.0)

    async def scene() -> list[Finished]:
        running = {name: asyncio.create_task(take_part(federation.member(name))) for name in survivors}
        with pytest.raises(BadInput, match="in round 6"):
            await take_part(federation.member("elm", task=GradientTask(DIMENSION, fails)))
        status = federation.member("ash").folder
        for name in survivors:
            federation.vote(name, "elm")
        while '"dropped"' not in status.log.read_text():
            await asyncio.sleep(0.001)
        running["ash"].cancel()
        await asyncio.gather(running["ash"], return_exceptions=True)
        running["ash"] = asyncio.create_task(take_part(federation.member("ash")))
        async with asyncio.timeout(60):
            return await asyncio.gather(*(running[name] for name in survivors))

    ends = asyncio.run(scene())
    assert federation.member("ash").folder.status()["dropped"] == ["elm"]
    assert max(float(np.abs(end.published - ends[0].published).max()) for end in ends) < 1.0


def test_a_word_that_breaks_a_neighbours_task_is_named(tmp_path):
    """Without a set of its own to stay in, a member can drive others where their gradients overflow; it is told who."""
    federation = Federation(tmp_path, algorithm={"name": "dgd"}, feasible={"kind": "everywhere"})

    def steep(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(x)

    def push(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(DIMENSION, -8e5 if k == 2 else 0.0)

    async def scene() -> list[Any]:
        tasks = {"ash": steep, "birch": steep, "cedar": push}
        running = [
            asyncio.create_task(take_part(federation.member(name, task=GradientTask(DIMENSION, one))))
            for name, one in tasks.items()
        ]
        await asyncio.wait(running[:2], timeout=60)
        running[2].cancel()
        return await asyncio.gather(*running, return_exceptions=True)

    ends = asyncio.run(scene())
    for end in ends[:2]:
        assert isinstance(end, BadInput)
        assert "is not finite" in str(end)
        assert "that of cedar was the farthest out" in str(end)
