"""Runs and checkpoints on disk come back as they were, or are refused with a reason."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

import hocket as hk
from hocket.claims import withholds_x
from hocket.errors import BadInput
from hocket.runs.run import Ending
from hocket.runs.storage import read_arrays, write_arrays
from tests.laws.table import quadratics
from tests.units.engine_cases import RING, SIX, STEP, play

PERSISTENT = hk.RssNb(1.0, persistent=0.5)


def check_same(first: Any, second: Any) -> None:
    """Equal field by field, arrays bit by bit."""
    assert type(first) is type(second)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        for field in dataclasses.fields(first):
            if field.name not in ("problem", "step", "algorithm", "last_exchange", "count_messages"):
                check_same(getattr(first, field.name), getattr(second, field.name))
        if isinstance(first, hk.Run):
            assert first.messages == second.messages
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            check_same(first[name], second[name])
    elif isinstance(first, tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            check_same(one, other)
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    else:
        assert first == second or (first != first and second != second)  # NaN is NaN


RUNS = {
    "metrics": lambda: play(PERSISTENT),
    "path": lambda: play(hk.Dgd(), keep="path"),
    "transcript": lambda: play(PERSISTENT, keep="transcript"),
    "states that stay at home": lambda: play(hk.CertifiedRssNb(1.0, 0.1)),
    "words to each": lambda: play(hk.RssLb(1.0), keep="transcript"),
    "no words at all": lambda: play(hk.Centralised(), keep="transcript"),
    "single precision, no average": lambda: play(hk.Dgd(), dtype=np.float32, time_average=False),
    "an unknown optimum": lambda: play(
        hk.Dgd(),
        problem=hk.Problem(
            lambda x, a: jnp.cos(x @ a), np.ones((6, 2)), feasible=hk.Ball(3.0), dim=2, convex=False
        ),
        step=lambda k: 0.1,
    ),
    "a network that varies": lambda: play(
        hk.Dgd(), network=hk.Network.varying([SIX, RING]), keep="transcript"
    ),
    "fractions": lambda: play(
        hk.RssNb(1.0), step=hk.Power(1, 5, 1), rounds=3, start=Fraction(1, 3), engine="exact"
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_back_as_it_was(name, tmp_path):
    run = RUNS[name]()
    assert run.save(tmp_path / "run") == tmp_path / "run"
    back = hk.Run.load(tmp_path / "run")
    check_same(run, back)
    if withholds_x(run.algorithm):
        check_same(run.released, back.released)
    assert back.problem is None
    assert back.step is None
    assert back.algorithm is None
    assert repr(back) == repr(run)
    assert (back.rounds, back.theorem) == (run.rounds, run.theorem)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"run.json", "run.npz"}


def test_names_of_agents_are_kept(tmp_path):
    graph = nx.Graph([("oslo", "rome"), ("rome", (1, 2)), ((1, 2), "oslo")])
    run = hk.solve(quadratics(3, 2, seed=0), hk.Network(graph), hk.Dgd(), step=STEP, rounds=3)
    assert hk.Run.load(run.save(tmp_path)).network.labels == ("oslo", "rome", "(1, 2)")


def test_a_loaded_transcript_still_shows_what_a_coalition_saw(tmp_path):
    run = play(PERSISTENT, keep="transcript")
    view = hk.Run.load(run.save(tmp_path)).view({2})
    np.testing.assert_array_equal(view.words[0][2, 3], run.view({2}).words[0][2, 3])
    assert view.objectives is None  # code is not stored


def test_a_run_knows_its_step_and_algorithm():
    run = play(PERSISTENT)
    assert run.step is STEP
    assert run.algorithm is PERSISTENT


def test_numbers_of_any_length_are_stored_exactly(tmp_path):
    """Python refuses to print integers of more than 4,300 decimal digits, which exact runs soon have."""
    long = Fraction(3**10_000, 7**9_000)
    table = np.array([[long, Fraction(-1, 3)], [Fraction(0), 1 / long]], dtype=object)
    write_arrays(
        tmp_path / "a.npz", {"x": table, "plain": np.arange(3), "none": np.empty((0, 2), dtype=object)}
    )
    back = read_arrays(tmp_path / "a.npz")
    assert (back["x"] == table).all()
    assert back["plain"].tolist() == [0, 1, 2]
    assert back["none"].shape == (0, 2)


def test_nothing_that_could_run_code_is_stored_or_read(tmp_path):
    with pytest.raises((TypeError, ValueError)):
        write_arrays(tmp_path / "a.npz", {"x": np.array([{"a": 1}], dtype=object)})
    np.savez(tmp_path / "b.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(BadInput, match=r"b\.npz cannot be read"):
        read_arrays(tmp_path / "b.npz")


def test_words_are_stored_in_a_form_that_all_programs_read(tmp_path):
    folder = play(hk.Dgd(), step=hk.Power(1, 0, 0.5)).save(tmp_path)
    words = json.loads((folder / "run.json").read_bytes().decode("utf-8"))
    assert "α" in words["claim"]["statement"]
    assert words["settings"]["algorithm"] == {"name": "Dgd"}


def test_half_a_file_never_replaces_a_whole_one(tmp_path, monkeypatch):
    run = play(hk.Dgd())
    run.save(tmp_path)
    monkeypatch.setattr(np, "savez", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run.save(tmp_path)
    monkeypatch.undo()
    check_same(run, hk.Run.load(tmp_path))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("run.json", b"{", "run.json cannot be read"),
        ("run.json", b'{"format": 99}', "written in format 99; this version reads format 1"),
        ("run.npz", b"PK\x03\x04 cut short", "run.npz cannot be read"),
        ("run.npz", b"", "run.npz cannot be read"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, says):
    play(hk.Dgd()).save(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=says):
        hk.Run.load(tmp_path)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"holds no run: run\.json is missing"):
        hk.Run.load(tmp_path)


def squares(scale: float) -> Any:
    """A loss made anew, as in another process."""

    def loss(x: Any, a: Any) -> Any:
        return scale * jnp.sum((x - a) ** 2)

    return loss


def of_code(loss: Any) -> hk.Problem:
    return hk.Problem(loss, np.arange(12.0).reshape(6, 2) / 12, feasible=hk.Box(-5, 5), dim=2, optimum=0.0)


def test_a_checkpoint_knows_code_by_what_it_computes(tmp_path):
    whole = play(hk.Dgd(), problem=of_code(squares(1.0)))
    play(hk.Dgd(), problem=of_code(squares(1.0)), rounds=7, checkpoint=tmp_path)
    resumed = play(hk.Dgd(), problem=of_code(squares(1.0)), checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.time_average, whole.time_average)
    with pytest.raises(BadInput, match="belongs to another run"):
        play(hk.Dgd(), problem=of_code(squares(2.0)), checkpoint=tmp_path)


def test_a_checkpoint_of_a_version_that_measured_other_things_is_refused(tmp_path):
    play(hk.Dgd(), rounds=7, checkpoint=tmp_path)
    path = tmp_path / "checkpoint.npz"
    arrays = read_arrays(path)
    del arrays["history/looked_at"]
    write_arrays(path, arrays)
    with pytest.raises(BadInput, match="was written by another version of hocket"):
        play(hk.Dgd(), checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 5}, "belongs to another run"),
        ({"start": 1.0}, "belongs to another run: .*start"),
        ({"dtype": np.float32}, "belongs to another run"),
        ({"network": RING}, "belongs to another run"),
        ({"problem": quadratics(6, 2, 2)}, "belongs to another run"),
        ({"algorithm": hk.RssNb(2.0)}, "belongs to another run"),
        ({"grad_at": "projected"}, "belongs to another run"),
        ({"step": hk.Power(1.0, 5, 0.8)}, r"other step sizes than Power\(a=1.0, b=5, p=0.8\)"),
        ({"rounds": 3}, "already at round 7; ask for at least as many rounds"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_checkpoint_is_resumed_by_its_own_run_only(tmp_path, change, says):
    asked = {"algorithm": hk.RssNb(1.0), "checkpoint": tmp_path}
    play(rounds=7, **asked)
    with pytest.raises(BadInput, match=says):
        play(**asked | change)


@pytest.mark.parametrize("tolerance", [10.0, 1e-3])
def test_a_run_that_converged_is_over_when_it_is_asked_for_again(tmp_path, tolerance):
    """However often and with however many rounds; a stricter tolerance goes on."""
    asked = {"tolerance": tolerance, "checkpoint": tmp_path}
    first, again, more = (play(hk.Dgd(), rounds=rounds, **asked) for rounds in (5000, 5000, 9000))
    assert first.outcome.ending is Ending.CONVERGED
    for later in (again, more):
        assert str(later.outcome) == str(first.outcome)
        check_same(later.history, first.history)
        np.testing.assert_array_equal(later.x, first.x)
    stricter = play(hk.Dgd(), rounds=9000, **asked | {"tolerance": first.gap / 2})
    assert stricter.outcome.ending is Ending.CONVERGED
    assert stricter.rounds > first.rounds


def test_a_finished_run_asked_again_is_read_from_its_checkpoint(tmp_path):
    first, again = (play(PERSISTENT, checkpoint=tmp_path) for _ in range(2))
    check_same(first, again)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 cut short", None], ids=["empty", "cut", "another archive"]
)
def test_a_damaged_checkpoint_is_named(tmp_path, content):
    if content is None:
        np.savez(tmp_path / "checkpoint.npz", x=np.ones(3))
    else:
        (tmp_path / "checkpoint.npz").write_bytes(content)
    with pytest.raises(BadInput, match=r"checkpoint\.npz .*delete it to start afresh"):
        play(hk.Dgd(), checkpoint=tmp_path)


def test_a_run_of_somebody_else_s_is_bounded_before_it_is_read(tmp_path):
    play(PERSISTENT, rounds=2).save(tmp_path)
    with (tmp_path / "run.json").open("r+b") as sparse:
        sparse.truncate(10_000_001)
    with pytest.raises(BadInput, match=r"run\.json has 10,000,001 bytes, where 10,000,000 are the most"):
        hk.Run.load(tmp_path)
