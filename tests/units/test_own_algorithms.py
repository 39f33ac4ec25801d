"""Algorithms of a user's own, by file and class: in configurations and on the command line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import hocket as hk
from hocket.claims import only_sums
from hocket.cli.audit import audit
from hocket.cli.solve import solve
from hocket.config import open_folder, read_config, reopen_folder
from hocket.config.own_algorithm import parameters_in, read_any_algorithm
from hocket.config.sections import read_algorithm
from hocket.errors import BadConfig
from hocket.privacy.audit.theorem import privacy_claim
from hocket.problems.objective_class import ObjectiveClass

MINE = """
import hocket as hk


class Mine(hk.Algorithm):
    gain: float = 1.0

    def round(self, agent, state, k):
        received = yield hk.Broadcast(state)
        v = agent.mix(state, received)
        return agent.prox(v - self.gain * agent.step(k) * agent.gradient(v), k)


class Strange(hk.Algorithm):
    lookup: object

    def round(self, agent, state, k):
        yield hk.Broadcast(state)
        return state


class Named(hk.Algorithm):
    sha256: float

    def round(self, agent, state, k):
        yield hk.Broadcast(state)
        return state


class Unfinished(hk.Algorithm):
    pass


seven = 7
"""
CONFIG = """
[problem]
kind = "heterogeneous-polynomials"
[network]
topology = "cycle:5"
[run]
rounds = 20
"""


@pytest.fixture(autouse=True)
def in_a_folder_with_mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    Path("sub").mkdir()


def config(text: str, name: str = "problem.toml") -> Path:
    Path(name).write_text(text + CONFIG)
    return Path(name)


def states(path: Path, **more) -> np.ndarray:
    asked = read_config(path, **more).build()
    return hk.solve(**asked).x


def test_an_own_dgd_comes_to_the_bits_of_dgd():
    mine = states(config('[algorithm]\nname = "mine.py:Mine"\n'))
    np.testing.assert_array_equal(mine, states(config('[algorithm]\nname = "dgd"\n')))


def test_one_without_parameters_fits_on_a_line():
    np.testing.assert_array_equal(
        states(config('algorithm = "mine.py:Mine"\n')), states(config('algorithm = "dgd"\n'))
    )


def test_parameters_stand_beside_the_name_and_are_checked():
    built = read_any_algorithm({"name": "mine.py:Mine", "gain": 0.25}).build()
    assert built.gain == 0.25
    with pytest.raises(BadConfig, match=r"no key 'gian' \(did you mean 'gain'\?\)"):
        read_any_algorithm({"name": "mine.py:Mine", "gian": 0.25})
    with pytest.raises(BadConfig, match=r"gain = 'much' \(text\); expected a number"):
        read_any_algorithm({"name": "mine.py:Mine", "gain": "much"})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine.py:Nobody", "defines no 'Nobody'"),
        ("mine.py:", "write mine.py:Mine"),
        ("none.py:Mine", "there is no file none.py"),
        ("mine.py:seven", "is a int; name a class that is a hocket.Algorithm"),
        ("mine.py:hk", "is a module"),
        ("mine.py:Strange", "lookup of Strange in mine.py is of a kind that no file can hold"),
        ("mine.py:Named", "sha256 of Named in mine.py is what a section calls its algorithm"),
    ],
)
def test_what_cannot_be_meant_is_named(name, said):
    Path("mine.py").write_text(MINE.replace("lookup: object", "lookup: 'Strange | memoryview'"))
    with pytest.raises(BadConfig, match=said):
        read_any_algorithm({"name": name})


def test_a_class_without_rounds_is_blamed_on_its_file():
    with pytest.raises(BadConfig, match=r"mine.py failed .*abstract"):
        read_any_algorithm({"name": "mine.py:Unfinished"}).build()


def test_a_folder_names_the_file_by_place_and_fingerprint():
    path = config('[algorithm]\nname = "mine.py:Mine"\ngain = 0.5\n')
    folder, _ = open_folder(read_config(path), "run", Path("sub/run"))
    kept = reopen_folder(folder)
    assert kept.algorithm.name == f"{Path('mine.py').resolve()}:Mine"
    assert kept.algorithm.build().gain == 0.5
    Path("mine.py").write_text(MINE + "# changed\n")
    with pytest.raises(BadConfig, match=r"mine.py has changed"):
        reopen_folder(folder)


def test_solve_takes_one_in_place_of_the_files():
    path = config('algorithm = "dgd"\n', "sub/problem.toml")
    answer = solve(path, algorithm="mine.py:Mine", parameters=["gain=0.5"], out=Path("out"))
    assert answer.data["folder"] == "out"
    kept = reopen_folder(Path("out")).algorithm
    assert (kept.build().gain, type(kept.build()).__name__) == (0.5, "Mine")
    with pytest.raises(BadConfig, match="leave --algorithm away"):
        solve(Path("out"), algorithm="dgd")
    with pytest.raises(BadConfig, match="--set gain=1 is of --algorithm"):
        solve(path, parameters=["gain=1"])


def test_audit_reads_its_rounds():
    """Without noise a neighbour knows all, as of DGD; the verdict comes from the code alone."""
    found = audit(
        topology="cycle:5", colluders=1, algorithm="mine.py:Mine", parameters=["gain=0.5"], rounds=5
    )
    assert "Under Mine" in found.words[0]
    assert "exactly" in found.words[0]
    with pytest.raises(BadConfig, match=r"--algorithm mine.py:Mine and --sigma"):
        audit(topology="cycle:5", colluders=1, algorithm="mine.py:Mine", sigma=1.0)


def test_parameters_as_they_are_typed():
    assert parameters_in(["a=1", "b = 2.5", "c=true", "d=plain", 'e="x"', "f=[1.0]"]) == {
        "a": 1,
        "b": 2.5,
        "c": True,
        "d": "plain",
        "e": "x",
        "f": [1.0],
    }
    with pytest.raises(BadConfig, match="--set gain sets nothing"):
        parameters_in(["gain"])


class Louder(hk.FunctionSharing):
    """A function sharing that sends what it should hide."""

    def round(self, agent, state, k):
        received = yield hk.Broadcast(state - agent.gradient(state))
        return agent.mix(state, received)


class OpenTotals(hk.Dgd):
    """DGD that claims to send nothing but totals."""

    only_sums = True


class Averaging(hk.JointAverage):
    """Joint averaging that sends what it should give to a sum alone."""

    def round(self, agent, state, k):
        received = yield hk.Broadcast(state.own)
        return self.stepped(agent, agent.mix(state.own, received), k)


@pytest.mark.parametrize(
    "algorithm",
    [
        Louder(2, 1.0),
        OpenTotals(),
        Averaging(),
        hk.FunctionSharing(2, 1.0, inner=OpenTotals()),
    ],
    ids=lambda one: one.title,
)
def test_no_theorem_is_claimed_of_code_that_is_not_hockets(algorithm):
    claim = privacy_claim(algorithm, ObjectiveClass.parse("polynomial:2"), dim=1)
    assert not claim
    mine = algorithm.inner if type(algorithm) is hk.FunctionSharing else algorithm
    assert f"{type(mine).__name__} is not one of hocket's classes, and nothing is known of its code" in str(
        claim
    )
    assert not only_sums(algorithm)
    found = hk.audit(
        hk.Network.cycle(5), algorithm=algorithm, colluders=1, rounds=3, objectives="polynomial:2"
    )
    assert not found.covered
    assert found.certificate is None
    assert not [
        line for line in (*found.verdict, *found.statement) if line.startswith("Secure sums (Theorem T)")
    ]


def test_theorems_are_claimed_of_hocket_s_own():
    assert privacy_claim(hk.FunctionSharing(2, 1.0), ObjectiveClass.parse("polynomial:2"), dim=1)
    assert privacy_claim(hk.JointAverage(), None)
    assert only_sums(hk.JointAverage())
    assert not only_sums(hk.Dgd())


def test_inner_algorithms_are_found_in_both_spellings():
    written = {"name": "function-sharing", "degree": 2, "bound": 1.0}
    one, other = (read_algorithm(written | {"inner": inner}) for inner in ("augdgm", "aug-dgm"))
    assert one == other
    assert isinstance(one.build().inner, hk.AugDgm)


def test_the_fingerprint_is_that_of_the_file():
    digest = hashlib.sha256(MINE.encode()).hexdigest()
    assert read_any_algorithm({"name": "mine.py:Mine", "sha256": digest}).build().gain == 1.0
    with pytest.raises(BadConfig, match="has changed"):
        read_any_algorithm({"name": "mine.py:Mine", "sha256": 64 * "0"})
