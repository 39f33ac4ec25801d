"""Configuration files: what they build, and what they say when something in them is wrong."""

from __future__ import annotations

import copy
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.config import parse_config, read_config
from hocket.config.files import dumps
from hocket.config.problems import PROBLEMS, SETS
from hocket.config.sections import ALGORITHMS
from hocket.errors import BadConfig

GOOD = {
    "problem": {"kind": "polynomials", "coefficients": [[0, 0, 1], [0, -2, 1], [0, 1, 1]], "box": [-30, 30]},
    "network": {"topology": "cycle:3"},
    "algorithm": {"name": "rss-nb", "delta": 1.0},
    "step": {"a": 1.0, "b": 20, "p": 0.75},
    "run": {"rounds": 10},
}
POLYNOMIALS = {key: value for key, value in GOOD["problem"].items() if key != "box"}


def changed(**sections):
    """The good configuration with keys replaced; a section that is None is left out."""
    tables = copy.deepcopy(GOOD)
    for name, keys in sections.items():
        if keys is None:
            del tables[name]
        elif isinstance(keys, dict) and name in tables:
            tables[name] |= keys
        else:
            tables[name] = keys
    return tables


def refusal(tmp_path, **sections) -> str:
    with pytest.raises(BadConfig) as caught:
        parse_config(changed(**sections), base=tmp_path, source="p.toml").build()
    assert str(caught.value).startswith("p.toml: ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        # Misspelt keys: key, section and the nearest key.
        ({"algorithm": {"detla": 1.0}}, ["[algorithm]", "'detla'", "did you mean 'delta'?"]),
        ({"run": {"tolerence": 0.1}}, ["[run]", "'tolerence'", "did you mean 'tolerance'?"]),
        ({"network": {"wieghts": "paper"}}, ["[network]", "'wieghts'", "did you mean 'weights'?"]),
        ({"problem": {"coeficients": []}}, ["[problem]", "'coeficients'", "did you mean 'coefficients'?"]),
        ({"stepp": {"a": 1.0}}, ["no section [stepp]", "did you mean 'step'?"]),
        ({"algorithm": {"name": "dgd"}}, ["[algorithm]", "no key 'delta'", "its keys are name"]),
        # Missing ones.
        ({"network": None}, ["[network] is missing"]),
        (
            {"problem": {"kind": "logistic"}},
            ["[problem] lacks the key 'data'", "[problem] lacks the key 'feasible'"],
        ),
        ({"problem": {"kind": "function-sharing"}}, ["[problem] kind = 'function-sharing'", "choose one of"]),
        ({"rounds": 5}, ["'rounds'", "before any section"]),
        ({"run": 5}, ["run is not a section"]),
        # Wrong types: key, what was found, what is expected.
        ({"run": {"rounds": "10"}}, ["[run] rounds = '10' (text)", "a whole number of rounds"]),
        ({"run": {"rounds": 10.5}}, ["[run] rounds = 10.5 (a number)"]),
        ({"run": {"rounds": True}}, ["[run] rounds = True (true or false)"]),
        ({"run": {"rounds": 0}}, ["[run] rounds = 0", "at least 1"]),
        ({"run": {"seed": -1}}, ["[run] seed = -1", "zero or more"]),
        ({"run": {"dtype": "float16"}}, ["[run] dtype = 'float16'", "'float64' or 'float32'"]),
        ({"run": {"start": [[1.0], "a"]}}, ["[run] start = [[1.0], 'a'] (a list)", "a row per agent"]),
        ({"run": {"tolerance": 0.0}}, ["[run] tolerance", "a positive number"]),
        ({"step": {"p": float("nan")}}, ["[step] p = nan", "a finite number"]),
        ({"step": {"constant": 0.1}}, ["[step] has constant and a"]),
        ({"algorithm": {"split": "even"}}, ["[algorithm] split = 'even'", "'link' or 'paper'"]),
        ({"problem": {"box": [1.0]}}, ["[problem] box = [1.0]", "[low, high]"]),
        # Kinds.
        (
            {"problem": {"kind": "polynomial"}},
            ["[problem] kind = 'polynomial'", "did you mean 'polynomials'?"],
        ),
        ({"problem": {"kind": 3}}, ["[problem] kind = 3 (a whole number)", "'least-squares'"]),
        ({"algorithm": {"name": "rssnb"}}, ["[algorithm] name = 'rssnb'", "did you mean 'rss-nb'?"]),
        ({"problem": {"feasible": {"kind": "bax"}}}, ["[problem.feasible]", "did you mean 'box'?"]),
        ({"problem": {"feasible": {"kind": "ball"}}}, ["[problem.feasible] lacks the key 'radius'"]),
        ({"problem": {"feasible": {"kind": "everywhere"}}}, ["box = [low, high]", "only one of them"]),
        ({"problem": {"feasible": 3}}, ["[problem] feasible = 3", "[problem.feasible]"]),
        # What the parts themselves refuse is placed in its section.
        ({"algorithm": {"delta": -1.0}}, ["[algorithm] delta = -1.0"]),
        ({"network": {"topology": "cicle:3"}}, ["[network] unknown topology", "did you mean 'cycle'?"]),
        ({"network": {"edges": [[0, 1]]}}, ["[network] needs one of", "topology and edges"]),
        ({"network": {"n": 3}}, ["[network] n is for edges"]),
        ({"network": {"weights": [[1.0]]}}, ["[network]", "(3, 3)"]),
        ({"network": {"topology": "cycle:4"}}, ["3 agents", "4"]),
        ({"run": {"start": 50.0}}, ["[run] agent 0 starts at", "outside"]),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(tmp_path, sections, words):
    message = refusal(tmp_path, **sections)
    assert [word for word in words if word not in message] == [], message


def test_all_mistakes_are_told_at_once(tmp_path):
    message = refusal(tmp_path, algorithm={"detla": 1.0}, run={"rounds": "ten"}, network=None)
    assert len(message.splitlines()) == 3


def test_a_configuration_builds_what_it_says(tmp_path):
    asked = parse_config(changed(run={"seed": 7, "start": [1.0, 2.0, 3.0]}), base=tmp_path).build()
    assert asked["problem"].n == 3
    assert asked["network"].name == "cycle:3"
    assert isinstance(asked["algorithm"], hk.RssNb)
    assert asked["step"] == hk.Power(1.0, 20.0, 0.75)
    assert (asked["rounds"], asked["seed"], asked["start"]) == (10, 7, [1.0, 2.0, 3.0])


def test_a_step_may_be_left_out_or_constant(tmp_path):
    assert parse_config(changed(step=None), base=tmp_path).build()["step"] == hk.Power(1.0, 20, 0.75)
    tables = changed() | {"step": {"constant": 0.1}}
    assert parse_config(tables, base=tmp_path).build()["step"] == hk.Constant(0.1)
    tables = changed() | {"step": {"a": 0.1}}
    assert parse_config(tables, base=tmp_path).build()["step"] == hk.Power(0.1)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_can_be_named(tmp_path, name):
    numbers = {"delta": 0.5, "degree": 2, "bound": 0.5, "epsilon": 1.0, "clip": 2.0, "releases": 10}
    own = {key: value for key, value in numbers.items() if key in ALGORITHMS[name].__dataclass_fields__}
    own |= {"sd": 0.5} if name in ("independent", "certified-rss-nb") else {}
    config = parse_config(changed() | {"algorithm": {"name": name, **own}}, base=tmp_path)
    built = config.build()["algorithm"]
    assert type(built) is ALGORITHMS[name]
    assert {key: getattr(built, key) for key in own} == own


@pytest.mark.parametrize(
    ("feasible", "expected"),
    [
        ({"kind": "box", "low": [-1.0], "high": 2.0}, "Box([-1.], 2.)"),
        ({"kind": "ball", "radius": 2.0}, "Ball(2., center=0.)"),
        ({"kind": "simplex"}, "Simplex(1.)"),
        ({"kind": "everywhere"}, "Everywhere()"),
    ],
)
def test_every_set_can_be_named(tmp_path, feasible, expected):
    assert feasible["kind"] in SETS
    tables = changed() | {"problem": {**POLYNOMIALS, "feasible": feasible}}
    config = parse_config(tables, base=tmp_path)
    assert str(config.build()["problem"].feasible) == expected
    assert tomllib.loads(config.text())["problem"]["feasible"]["kind"] == feasible["kind"]


@pytest.mark.parametrize("kind", ["paper-polynomials", "heterogeneous-polynomials"])
def test_problems_by_name(tmp_path, kind):
    assert kind in PROBLEMS
    tables = changed(network={"topology": "cycle:5"}) | {"problem": {"kind": kind}}
    assert parse_config(tables, base=tmp_path).build()["problem"].n == 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no file"),
        (b"[problem\n", "is not valid TOML"),
        (b"\xff\xfe", "is not text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, content, words):
    if content is not None:
        (tmp_path / "p.toml").write_bytes(content)
    with pytest.raises(BadConfig, match=words):
        read_config(tmp_path / "p.toml")


def test_a_normalised_configuration_reads_back(tmp_path):
    config = parse_config(changed(), base=tmp_path)
    again = parse_config(tomllib.loads(config.text()), base=tmp_path)
    assert again == config


PLAIN = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text())
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1)


NESTED = st.recursive(PLAIN, lambda values: st.lists(values, max_size=4), max_leaves=8)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, NESTED, max_size=4), max_size=4))
def test_written_toml_reads_back(tables):
    assert tomllib.loads(dumps(tables)) == tables
