"""Files that a configuration names, and folders that hold all a run needs to be repeated."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hocket.config import new_folder, open_folder, parse_config, read_config, reopen_folder
from hocket.config.files import dumps, load_name
from hocket.errors import BadConfig

BASE = {
    "problem": {"kind": "polynomials", "coefficients": [[0, 0, 1], [0, -2, 1], [0, 1, 1]], "box": [-30, 30]},
    "network": {"topology": "cycle:3"},
    "algorithm": {"name": "dgd"},
    "run": {"rounds": 10},
}


def with_data(tmp_path, kind, **arrays):
    """A configuration file in a folder of its own, with data beside it."""
    np.savez(tmp_path / "data.npz", **arrays)
    problem = {"kind": kind, "data": "data.npz", "feasible": {"kind": "ball", "radius": 10.0}}
    (tmp_path / "p.toml").write_text(dumps(BASE | {"problem": problem}))
    return tmp_path / "p.toml"


@pytest.mark.parametrize(
    ("kind", "first", "second"), [("least-squares", "A", "b"), ("logistic", "features", "labels")]
)
def test_data_lie_beside_the_file(tmp_path, monkeypatch, kind, first, second):
    rng = np.random.default_rng(0)
    rows, signs = rng.normal(size=(3, 4, 2)), np.where(rng.normal(size=(3, 4)) > 0, 1.0, -1.0)
    path = with_data(tmp_path, kind, **{first: rows, second: signs})
    monkeypatch.chdir("/")
    problem = read_config(path).build()["problem"]
    assert (problem.n, problem.dim) == (3, 2)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"A": np.ones((3, 4, 2))}, "no array 'b'"),
        ({"A": np.ones(3), "b": np.ones((3, 4))}, "A in"),
        ({"A": np.ones((3, 4, 2)), "b": np.array([[{}]] * 3, dtype=object)}, "without objects"),
        ({"A": np.ones((3, 4, 2)), "b": np.ones((2, 4))}, "3 agents and b for 2"),
    ],
    ids=str,
)
def test_data_that_do_not_fit_are_refused(tmp_path, arrays, words):
    with pytest.raises(BadConfig, match=words):
        read_config(with_data(tmp_path, "least-squares", **arrays)).build()


def test_data_that_are_not_there_are_refused(tmp_path):
    path = with_data(tmp_path, "least-squares")
    (tmp_path / "data.npz").unlink()
    with pytest.raises(BadConfig, match="relative to the configuration file"):
        read_config(path).build()
    (tmp_path / "data.npz").write_text("not an archive")
    with pytest.raises(BadConfig, match=r"write it with numpy\.savez"):
        read_config(path).build()


MINE = """
import hocket as hk
from beside import rows
problem = hk.polynomials(rows, box=(-1, 1))
def make():
    return problem
def wrong():
    return 3
def failing():
    return 1 / 0
"""


def with_python(tmp_path, name, text=MINE):
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "beside.py").write_text("rows = [[0, 0, 1], [0, 1, 1], [0, -1, 1]]")
    return parse_config(BASE | {"problem": {"python": name}}, base=tmp_path, source="p.toml")


@pytest.mark.parametrize("name", ["mine.py:problem", "mine.py:make"])
def test_a_problem_from_python(tmp_path, name):
    assert with_python(tmp_path, name).build()["problem"].n == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine.py", "names no file"),
        ("yours.py:problem", "there is no file"),
        ("mine.py:missing", "defines no 'missing'"),
        ("mine.py:wrong", "gives a int"),
        ("mine.py:failing", "failed in mine.py, line 10: ZeroDivisionError"),
        ("data.txt:problem", "must end in .py"),
    ],
)
def test_python_that_gives_no_problem_is_refused(tmp_path, name, words):
    (tmp_path / "data.txt").write_text("")
    with pytest.raises(BadConfig, match=words):
        with_python(tmp_path, name).build()


ANNOTATED = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
import equinox as eqx
import hocket as hk
@dataclass(frozen=True)
class Row:
    names: ClassVar[tuple[str, ...]] = ("constant", "slope", "bend")
    slope: float
class Family(eqx.Module):
    rows: tuple[Row, ...]
    bend: float = eqx.field(static=True)
    def coefficients(self):
        return [[0, row.slope, self.bend] for row in self.rows]
problem = hk.polynomials(Family((Row(0), Row(1), Row(-1)), 1.0).coefficients(), box=(-1, 1))
"""


def test_annotations_in_python_may_be_texts(tmp_path):
    """Dataclasses look their module up by its name, and so must find it."""
    assert with_python(tmp_path, "mine.py:problem", ANNOTATED).build()["problem"].n == 3


def test_a_file_of_the_users_takes_no_other_modules_name(tmp_path):
    path = tmp_path / "json.py"
    path.write_text("answer = 42")
    before = sys.modules["json"]
    assert load_name(path, "answer") == 42
    assert sys.modules["json"] is before


def test_a_file_that_failed_leaves_no_module_behind(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    before = set(sys.modules)
    with pytest.raises(BadConfig, match="ZeroDivisionError"):
        load_name(path, "answer")
    assert set(sys.modules) == before


def test_links_from_a_file(tmp_path):
    (tmp_path / "links.txt").write_text("# a triangle\n0 1\n1, 2  # this one too\n\n0 2\n")
    tables = BASE | {"network": {"edges_file": "links.txt", "weights": "metropolis"}}
    network = parse_config(tables, base=tmp_path).build()["network"]
    assert network.links.tolist() == [[0, 1], [0, 2], [1, 2]]
    (tmp_path / "links.txt").write_text("0 1\n1 to 2\n")
    with pytest.raises(BadConfig, match=r"line 2: '1 to 2' is no link"):
        parse_config(tables, base=tmp_path).build()


def test_links_and_a_matrix(tmp_path):
    weights = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    tables = BASE | {"network": {"edges": [[0, 1], [1, 2], [0, 2]], "n": 3, "weights": weights}}
    np.testing.assert_array_equal(parse_config(tables, base=tmp_path).build()["network"].B, weights)


def test_a_folder_holds_its_own_data(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    path = with_data(source, "least-squares", A=np.ones((3, 4, 2)), b=np.ones((3, 4)))
    folder, _ = open_folder(read_config(path), "p", tmp_path / "run")
    (source / "data.npz").unlink()
    assert reopen_folder(folder).build()["problem"].n == 3


def test_large_data_are_referred_to_and_may_not_change(tmp_path, monkeypatch):
    monkeypatch.setattr("hocket.config.reader.COPIED", 0)
    path = with_data(tmp_path, "least-squares", A=np.ones((3, 4, 2)), b=np.ones((3, 4)))
    folder, _ = open_folder(read_config(path), "p", tmp_path / "run")
    assert not (folder / "inputs").exists()
    assert reopen_folder(folder).build()["problem"].n == 3
    with_data(tmp_path, "least-squares", A=np.zeros((3, 4, 2)), b=np.ones((3, 4)))
    with pytest.raises(BadConfig, match="has changed"):
        reopen_folder(folder).build()


def test_code_is_referred_to_and_may_not_change(tmp_path):
    folder, _ = open_folder(with_python(tmp_path, "mine.py:problem"), "p", tmp_path / "run")
    assert reopen_folder(folder).build()["problem"].n == 3
    (tmp_path / "mine.py").write_text(MINE + "\n")
    with pytest.raises(BadConfig, match="has changed"):
        reopen_folder(folder).build()


def test_folders_are_numbered_and_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [str(new_folder("p")) for _ in range(2)] == ["runs/p-1", "runs/p-2"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    with pytest.raises(BadConfig, match="full is not empty; name a new folder"):
        new_folder("p", tmp_path / "full")
    with pytest.raises(BadConfig, match="is a file"):
        new_folder("p", tmp_path / "full" / "letter.txt")
    open_folder(parse_config(BASE, base=tmp_path), "p", tmp_path / "run")
    with pytest.raises(BadConfig, match=r"go on with it \(hocket solve"):
        new_folder("p", tmp_path / "run")
    with pytest.raises(BadConfig, match=r"it has no config\.toml"):
        reopen_folder(tmp_path / "full")
