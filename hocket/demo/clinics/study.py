"""Four clinics and one logistic regression, in a second: by secure sums, beside the fit of the pooled rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.demo.clinics.overheard import MaskedRoom
from hocket.machine import scikit_table
from hocket.report.tables import Table
from hocket.studies import Results, parse_study, simulate
from hocket.studies import Table as Rows
from hocket.studies.results.tables import number, p_value

COLUMNS = {"texture": 1, "smoothness": 4, "concavity": 6, "symmetry": 8}
"""Columns of scikit-learn's breast cancer data, by their places."""
SHARES = {"clinic-a": 0.4, "clinic-b": 0.3, "clinic-c": 0.2, "clinic-d": 0.1}
PER = {"texture": 1.0, "smoothness": 0.01, "concavity": 0.01, "symmetry": 0.01}
STUDY: dict[str, Any] = {
    "study": {
        "title": "Which tumours are malignant?",
        "formula": f"malignant ~ {' + '.join(COLUMNS)}",
        "family": "binomial",
    },
    "columns": {name: {"per": per} for name, per in PER.items()},
}
CAPTION = "Four clinics, one logistic regression"


@dataclass(frozen=True)
class Clinics:
    """What the clinics found, and what the pooled rows give."""

    results: Results
    pooled: Float[np.ndarray, " coefficients"]
    room: MaskedRoom
    """Carried the sums, and keeps every message."""

    @property
    def farthest(self) -> float:
        """By what part of it a coefficient is farthest from the pooled one."""
        fit = self.results.findings.fit
        return 0.0 if fit is None else float(np.abs(fit.beta / self.pooled - 1).max())

    @property
    def table(self) -> Table:
        """Coefficients by secure sums and of the pooled rows, side by side."""
        fit = self.results.findings.fit
        found = {} if fit is None else fit.coefficients
        rows = tuple(
            (name, number(one.estimate), number(float(pooled)), number(one.se), p_value(one.p))
            for (name, one), pooled in zip(found.items(), self.pooled, strict=True)
        )
        return Table(("", "by secure sums", "pooled", "se", "p"), rows, CAPTION, frozenset({1, 2, 3, 4}))

    @property
    def data(self) -> dict[str, Any]:
        """As JSON."""
        return self.results.data | {"pooled": self.pooled.tolist(), "farthest": self.farthest}


@cache
def clinics() -> Clinics | None:
    """The study, simulated; None where scikit-learn, which has the data, is not installed."""
    try:
        data = scikit_table("breast_cancer", "breast_cancer.csv", head=1)
    except ImportError:
        return None
    columns = {name: data[:, place] for name, place in COLUMNS.items()}
    columns["malignant"] = 1 - data[:, -1].astype(int)
    place = np.random.default_rng(0).choice([*SHARES], size=len(data), p=[*SHARES.values()])
    tables = {
        clinic: Rows.of({name: cells[place == clinic].tolist() for name, cells in columns.items()}, clinic)
        for clinic in SHARES
    }
    room = MaskedRoom(tuple(SHARES))
    X = np.column_stack([np.ones(len(place)), *(columns[name] / per for name, per in PER.items())])
    found = simulate(parse_study(STUDY), tables, carry=room)
    return Clinics(found, _pooled(X, columns["malignant"]), room)


def _pooled(X: Float[np.ndarray, "rows p"], y: np.ndarray) -> Float[np.ndarray, " p"]:
    """Newton's method on all rows in one place."""
    beta = np.zeros(X.shape[1])
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ beta))
        beta = beta + np.linalg.solve(X.T @ (X * (p * (1 - p))[:, None]), X.T @ (y - p))
    return beta
