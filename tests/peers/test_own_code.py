"""An algorithm of somebody's own over links: the plan has its source's hash, and it is run only where it was named."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import numpy as np
import pytest

from hocket.cli.audit import audit
from hocket.cli.peer import peer
from hocket.config.own_algorithm import digest_of_source
from hocket.errors import BadAlgorithm, BadConfig, BadInput, BadPlan
from hocket.federation.monitoring.member_report import write_member_report
from hocket.federation.plan.own_code import OwnCode
from hocket.federation.plan.plan_file import parse_plan, plan_text, read_plan
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.state.served_plan import ServedPlan, record_of

from .federation_case import Federation, play
from .plans import drawn
from .quadratic import target

MINE = '''
import hocket as hk


class Mine(hk.Algorithm):
    """Noise of pairs on what is said, and a step of a part of the gradient."""

    gain: float = 1.0
    delta: float = 1.0

    def noise(self, setting):
        return hk.RssNb(self.delta).noise(setting)

    def round(self, agent, state, k):
        w = state + agent.step(k) * agent.noise("paired")
        received = yield hk.Broadcast(w)
        v = agent.mix(w, received)
        return agent.prox(v - self.gain * agent.step(k) * agent.gradient(v), k)
'''
NAMES = ("clinic-a", "clinic-b", "clinic-c")


@pytest.fixture(autouse=True)
def in_a_folder_with_mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("HOCKET_PASSPHRASE", raising=False)
    Path("mine.py").write_text(MINE)


def hocket_peer(*words):
    answer = peer([str(word) for word in words], exit_on_error=False, result_action="return_value")
    json.dumps(answer.data, allow_nan=False)
    return answer


def planned(*more):
    for name in NAMES:
        hocket_peer(
            *("init", "--name", name, "--address", f"{name}.example:7000"),
            *("--home", name, "--card", f"{name}.toml"),
        )
    return hocket_peer(
        "plan",
        *(f"{name}.toml" for name in NAMES),
        *("--topology", "complete", "--colluders", 1, "--task", "mean", "--dimension", 1, "--rounds", 5),
        *("--algorithm", "mine.py:Mine", "--set", "gain=0.5", "--noise-bound", 10, *more),
    )


def test_a_plan_names_the_source_by_its_hash_and_is_audited():
    made = planned()
    text = Path("plan.toml").read_text()
    assert 'name = "mine.py:Mine"' in text
    assert f'sha256 = "{digest_of_source(MINE.encode())}"' in text
    assert "gain = 0.5" in text
    assert made.data["safe"] is True
    assert 0 < made.data["least"] < np.inf
    assert made.data["covered"] is False


def test_signing_keeps_the_source_for_all_that_comes_after():
    planned()
    with pytest.raises(BadPlan, match=r"not named here; read that file.*--algorithm mine.py:Mine"):
        hocket_peer("sign", "plan.toml", "--yes", "--home", NAMES[0])
    for name in NAMES:
        hocket_peer("sign", "plan.toml", "--yes", "--home", name, "--algorithm", "mine.py:Mine")
    Path("mine.py").unlink()
    own = Home(Path(NAMES[0])).own_code
    plan = read_plan(Path("plan.toml"), own)
    plan.check_signatures()
    assert plan.algorithm.gain == 0.5
    assert ServedPlan.read(record_of(plan), own).run.algorithm.gain == 0.5
    with pytest.raises(BadPlan, match="not named here"):
        read_plan(Path("plan.toml"))


@pytest.mark.parametrize("command", ["sign", "check", "run"])
def test_another_source_is_refused_by_name(command):
    planned()
    for name in NAMES:
        hocket_peer("sign", "plan.toml", "--yes", "--home", name, "--algorithm", "mine.py:Mine")
    Path("mine.py").write_text(MINE.replace("w = state +", "w = state + 0 *"))
    words = [command, "plan.toml", "--home", NAMES[0], "--algorithm", "mine.py:Mine"]
    with pytest.raises(BadPlan, match=r"mine.py is not the source that the plan names.*bring that file"):
        hocket_peer(*words)
    with pytest.raises(BadInput, match=r"there is no file none.py"):
        hocket_peer(*words[:-1], "none.py:Mine")
    with pytest.raises(BadPlan, match="name the same class"):
        hocket_peer(*words[:-1], "mine.py:Other")


def test_a_source_that_was_changed_at_home_is_refused():
    planned()
    hocket_peer("sign", "plan.toml", "--yes", "--home", NAMES[0], "--algorithm", "mine.py:Mine")
    (kept,) = (Path(NAMES[0]) / "algorithms").iterdir()
    kept.write_text(MINE + "# changed\n")
    with pytest.raises(BadPlan, match="is not the source that the plan names"):
        hocket_peer("status", "plan.toml", "--home", NAMES[0])


def test_a_plan_with_one_of_hockets_takes_no_other(tmp_path):
    Path("plain.toml").write_text(plan_text(drawn()))
    with pytest.raises(BadPlan, match=r"'rss-nb'.*leave --algorithm away"):
        audit(plan=Path("plain.toml"), algorithm="mine.py:Mine")


def test_whoever_has_the_plan_and_the_source_can_audit_it():
    planned()
    assert audit(plan=Path("plan.toml"), algorithm="mine.py:Mine").data["least"] > 0
    with pytest.raises(BadPlan, match="not named here"):
        audit(plan=Path("plan.toml"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"mine.py:Mine"', '"../mine.py:Mine"', "without its folder"),
        ('"mine.py:Mine"', '"/tmp/mine.py:Mine"', "without its folder"),
        ('"mine.py:Mine"', '"mi\\u202ene.py:Mine"', "in plain letters"),
        ('sha256 = "', 'sha256 = "0', "is no hash"),
        ('sha256 = "', 'other = "', "is no hash"),
    ],
)
def test_a_strangers_plan_names_nothing_but_a_file_and_its_hash(old, new, said):
    planned()
    text = Path("plan.toml").read_text().replace(old, new)
    with pytest.raises(BadInput, match=said):
        parse_plan(text, OwnCode(named="mine.py:Mine"))


@pytest.mark.parametrize("place", [None, "", "."])
def test_nothing_beside_a_source_is_imported(monkeypatch, place):
    """The hash covers one file, and so that file must be all, even where Python looks beside it, as after -m."""
    if place is not None:
        monkeypatch.syspath_prepend(place)
    Path("beside_mine.py").write_text("GAIN = 1.0\n")
    Path("mine.py").write_text("import beside_mine\n" + MINE)
    with pytest.raises(BadConfig, match=r"mine.py failed .*No module named 'beside_mine'"):
        planned()


def test_members_run_it_over_links(tmp_path):
    own = OwnCode(named="mine.py:Mine")
    federation = Federation(tmp_path, rounds=150, algorithm=own.table() | {"gain": 0.9}, own=own)
    ends = play(federation.member(name) for name in federation.names)
    mean = np.mean([target(j) for j in range(3)], axis=0)
    for end in ends:
        np.testing.assert_allclose(end.published, mean, atol=0.1)  # the gradients are shaken by 0.01
    home = federation.home("ash")
    home.own_code.keep(federation.plan.algorithm_section)
    assert write_member_report(RunFolder(home.run(federation.plan.run_hash))).is_file()


def test_several_local_steps_are_for_those_that_descend(tmp_path):
    own = OwnCode(named="mine.py:Mine")
    federation = Federation(tmp_path, rounds=3, algorithm=own.table(), own=own)
    cards = [federation.plan.card(name) for name in federation.names]
    federation.plan = federation.signed(federation.drawn(cards, local_steps=2))
    with pytest.raises(BadInput, match=r"Mine takes a gradient by itself.*plan one local step"):
        play(federation.member(name) for name in federation.names)


SUMS = """
import hocket as hk
from hocket.federation.workloads.needs import Needs, needs


class Silent(hk.Algorithm):
    def round(self, agent, state, k):
        total = yield hk.SecureSum(state)
        return agent.descend(total / agent.members, k)


class Masked(Silent):
    def noise(self, setting):
        return hk.RssNb(1.0).noise(setting)


class Late(Masked):
    def round(self, agent, state, k):
        received = yield hk.Broadcast(agent.perturb(state, paired=agent.step(k)))
        total = yield hk.SecureSum(agent.mix(state, received))
        return agent.descend(total / agent.members, k)


class Stated(Silent):
    pass


needs.add(Needs(sums=True), Stated)
"""


def summing(folder, name, **more):
    Path("sums.py").write_text(SUMS)
    own = OwnCode(named=f"sums.py:{name}")
    return Federation(folder, rounds=40, algorithm=own.table(), own=own, **more)


@pytest.mark.parametrize("name", ["Silent", "Masked", "Late"])
def test_a_sum_that_nothing_was_prepared_for_is_refused(tmp_path, name):
    """Without keys it ended in a traceback; with those of other noise it ran, and members could be dropped from it."""
    federation = summing(tmp_path, name)
    cured = (
        rf"{name} asks for a secure sum, .* State it in its file.* needs\.add\(Needs\(sums=True\), {name}\)"
    )

    async def everybody():
        async with asyncio.timeout(60):
            taking = [take_part(federation.member(member)) for member in federation.names]
            return await asyncio.gather(*taking, return_exceptions=True)

    ends = asyncio.run(everybody())
    assert all(isinstance(end, BadAlgorithm) and re.search(cured, str(end)) for end in ends), ends


def test_a_sum_that_was_stated_is_taken_and_takes_nobody_away(tmp_path):
    federation = summing(tmp_path, "Stated")
    ends = play(federation.member(name) for name in federation.names)
    mean = np.mean([target(j) for j in range(3)], axis=0)
    for end in ends:
        np.testing.assert_array_equal(end.published, ends[0].published)
        np.testing.assert_allclose(end.published, mean, atol=0.1)
    cards = [federation.plan.card(name) for name in federation.names]
    with pytest.raises(BadPlan, match="no sum can be taken without a member"):
        federation.drawn(cards, drop_after="24h")


def test_joint_averages_inside_function_sharing_are_sums_too(tmp_path):
    """A member could be dropped in the middle of one, and means of states were taken beside them."""
    inside = {"name": "function-sharing", "degree": 2, "bound": 0.1, "inner": "joint-average"}
    federation = Federation(tmp_path, rounds=40, algorithm=inside)
    ends = play(federation.member(name) for name in federation.names)
    np.testing.assert_array_equal(ends[1].published, ends[0].published)
    cards = [federation.plan.card(name) for name in federation.names]
    for asked, said in (({"drop_after": "24h"}, "no sum can be taken without"), ({"means": 5}, "means = 0")):
        with pytest.raises(BadPlan, match=said):
            federation.drawn(cards, **asked)


def test_own_code_that_has_a_study_is_none(tmp_path):
    """It passed for one, of which nothing is shown but sums, and its runs for runs that told no gradient."""
    Path("told.py").write_text(
        MINE.replace("    gain: float = 1.0", "    gain: float = 1.0\n    study: str = '[study]'")
    )
    own = OwnCode(named="told.py:Mine")
    plan = Federation(tmp_path, rounds=3, algorithm=own.table(), own=own).plan
    assert plan.algorithm.study == "[study]"
    assert plan.study is None
    assert not ServedPlan.of(plan).is_study
