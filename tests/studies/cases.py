"""Tables dealt to members, the studies on them, and the pooled fits that they are held against."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.studies import Results, Table, parse_study, read_table, simulate

HEART = tomllib.loads((Path(__file__).parents[2] / "examples/heart.toml").read_text(encoding="utf-8"))
HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
heart_data = pytest.mark.skipif(
    not (Path(os.environ.get("HOCKET_DATA", "/nowhere")) / "heart").is_dir(),
    reason="HOCKET_DATA names no folder with heart/",
)

Columns = Mapping[str, np.ndarray]


@cache
def judges() -> Any:
    """statsmodels, whose imports warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import statsmodels.api as sm

    return sm


@cache
def lifelines() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lifelines
        import lifelines.datasets
        import lifelines.statistics

    return lifelines


@cache
def hospitals() -> dict[str, Table]:
    folder = Path(os.environ["HOCKET_DATA"]) / "heart"
    return {name: read_table(folder / f"{name}.csv") for name in HOSPITALS}


def dealt(columns: Columns, members: int = 3, *, seed: int = 0) -> dict[str, Table]:
    """Rows dealt to members at random, in unequal parts."""
    rows = len(next(iter(columns.values())))
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(members, 5.0))
    place = rng.choice(members, size=rows, p=share)
    names = [f"clinic {chr(ord('A') + j)}" for j in range(members)]
    return {
        name: Table.of({key: cells[place == j].tolist() for key, cells in columns.items()}, name)
        for j, name in enumerate(names)
    }


@cache
def diabetes() -> Columns:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    sex = np.where(data.data[:, 1] == 2, "f", "m")
    columns = dict(zip(data.feature_names, data.data.T, strict=True))
    return columns | {"sex": sex, "progression": data.target, "weight": 0.5 + columns["age"] / 50}


@cache
def cancer() -> Columns:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    return dict(zip(names, data.data.T, strict=True)) | {"benign": data.target.astype(float)}


def asked(formula: str, family: str, *, members: int = 3, data: Columns, **more: Any) -> Results:
    """A study of one formula, simulated."""
    columns = more.pop("columns", {})
    sections = {
        key: more.pop(key) for key in ("penalty", "describe", "evaluate", "disclosure") if key in more
    }
    study = parse_study(
        {
            "study": {"title": "A study", "formula": formula, "family": family, **more},
            "columns": columns,
            **sections,
        }
    )
    return simulate(study, dealt({name: data[name] for name in data}, members))


def table_of(results: Results) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and their errors, in order."""
    fit = results.findings.fit
    assert fit is not None
    found = [*fit.coefficients.values()]
    return np.array([one.estimate for one in found]), np.array([one.se for one in found], dtype=float)
