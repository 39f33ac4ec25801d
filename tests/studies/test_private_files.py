"""Files of a study that promises an ε hold nothing exact of the rows: whatever tells two neighbouring tables apart
changes with the noise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli.study import _found  # pyright: ignore[reportPrivateUsage]
from hocket.federation.workloads.study import StudyTask
from hocket.noise.discrete_gaussian import Bits
from hocket.studies import Table, parse_study, simulate, simulate_analysis
from hocket.studies.disclosure.promise import Among

MEMBERS = ("anna", "bert", "carl", "dora")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
COLUMNS = {"a": {"range": [0, 1]}, "y": {"range": [0, 1]}, "g": {"levels": ["no", "yes"]}}
STUDIES = {
    "fit": {"study": {"title": "T", "formula": "y ~ a"}},
    "description": {
        "study": {"title": "T"},
        "describe": {"columns": ["a", "g"], "cross": [["g", "g"]], "histograms": 4},
    },
}


def tables(world: int) -> dict[str, Table]:
    """In the other world one cell of one row is missing."""
    rng, found = np.random.default_rng(0), {}
    for name in MEMBERS:
        a, y = rng.random(400).round(3).tolist(), rng.random(400).round(3).tolist()
        g = rng.choice(["no", "yes"], 400).tolist()
        if name == "anna" and world:
            a[0] = g[0] = ""
        found[name] = Table.of({"a": a, "y": y, "g": g}, name)
    return found


def files(part: str, world: int, seed: int, folder: Path) -> dict[str, Any]:
    study = parse_study(STUDIES[part] | {"columns": COLUMNS, "privacy": {"epsilon": 0.5, "delta": 1e-6}})
    data = tables(world)
    tasks = {name: StudyTask(study, table, name, Among(4, 1, MEMBERS)) for name, table in data.items()}

    def bits(name: str) -> Bits:
        return Bits(np.random.default_rng([seed, *name.encode()]).bytes)

    done = simulate_analysis({name: one.analysis() for name, one in tasks.items()}, bits=bits)
    tasks["anna"].write(done.result, MEMBERS, folder)
    found: dict[str, Any] = {
        f"{path.name}, number {place}": number
        for path in sorted(folder.iterdir())
        if path.suffix in (".csv", ".html")
        for place, number in enumerate(_seen(path.read_text()))
    }
    found |= dict(_leaves("results.json", json.loads((folder / "results.json").read_text())))
    simulated = simulate(study, data, bits=bits)
    words = " ".join(str(one) for one in _found(simulated) if isinstance(one, str))
    return found | {f"terminal, number {place}": one for place, one in enumerate(NUMBER.findall(words))}


def _seen(text: str) -> list[str]:
    """Numbers of a file but for drawings, which are made of those in tables."""
    text = re.sub(r"<(svg|style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    return NUMBER.findall(re.sub(r"<[^>]*>", " ", text))


def _leaves(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(f"{where} {key}", one)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(f"{where} {place}", one)
    else:
        yield where, value


@pytest.mark.parametrize("part", STUDIES)
def test_whatever_tells_two_tables_apart_changes_with_the_noise(part, tmp_path):
    """The attack before: rows_by_member in results.json, and the page, held 400 in one world and 399 in the other."""
    worlds = [
        [files(part, world, seed, tmp_path / f"{world}{seed}") for seed in (1, 2, 3)] for world in (0, 1)
    ]
    names = worlds[0][0].keys() & worlds[1][0].keys()
    assert len(names) > 20
    for name in names:
        first, second = ([one.get(name) for one in world] for world in worlds)
        constant = len({*map(str, first)}) == 1 and len({*map(str, second)}) == 1
        assert not constant or first == second, f"{name}: {first[0]} in one world, {second[0]} in the other"


def test_no_exact_count_is_kept(tmp_path):
    found = files("fit", 1, 1, tmp_path)
    assert found["results.json rows_by_member"] is None
    assert "Whose rows?" not in (tmp_path / "results.html").read_text()
    assert "399" not in _seen((tmp_path / "results.html").read_text())
