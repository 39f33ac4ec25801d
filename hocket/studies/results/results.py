"""Results as they are kept: results.json and coefficients.csv, every digit kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from hocket import __version__
from hocket.files import csv_text, json_value
from hocket.machine import replace_text
from hocket.secagg.summands import flat
from hocket.studies.analysis import Findings, analyse, contributed, promise_of
from hocket.studies.data.rows import Rows
from hocket.studies.disclosure.promise import Promise
from hocket.studies.spec.study import Study
from hocket.studies.together import Analysis

AT_HOME = ("hocket", "rows_by_member", "own_remarks")
"""Keys of results.json that differ between members."""
RESULTS, COEFFICIENTS, PAGE = "results.json", "coefficients.csv", "results.html"


class Released(NamedTuple):
    """One kind of sum that all members have seen."""

    totals: int
    """In how many totals it was."""
    numbers: int
    """Over all of them."""


@dataclass(frozen=True)
class Results:
    """A study and what it found."""

    study: Study
    findings: Findings
    totals: int
    numbers: int
    """Numbers that each member gave, over all totals."""
    rows_by_member: Mapping[str, int] | None = None
    """At home: one's own. In a simulation: everybody's. None where the study promises an ε: a count without noise
    beside it would tell whether a row was left out."""
    own_remarks: tuple[str, ...] = ()
    """At home: what one should know of one's own rows. In a simulation: everybody's. None where there is an ε."""
    members: int | None = None
    transcript: str = ""
    """SHA-256 of the study and every total: the same at all members, whose own arithmetic may differ in last bits. It
    is not written down: somebody who tries all small counts that the results leave open would know them by it."""
    released: Mapping[str, Released] = field(default_factory=dict)
    """What was summed, by name: all that any member has seen of others."""
    promise: Promise | None = None
    """What is promised of any one row, where the study has an ε."""

    @property
    def digest(self) -> str:
        """SHA-256 of what all members have found: the same at each, whatever it keeps of its own rows.

        To eight digits: the sums are the same to the last bit everywhere, what is worked out from them may not be.
        """
        return digest_of(self.data)

    @property
    def data(self) -> dict[str, Any]:
        """What `results.json` holds."""
        question, fit = self.study.question, self.findings.fit
        data: dict[str, Any] = {
            "hocket": __version__,
            "title": question.title,
            "study": self.study.fingerprint,
            "totals": self.totals,
            "numbers": self.numbers,
            "released": {name: one._asdict() for name, one in self.released.items()},
            "rows_by_member": None if self.rows_by_member is None else dict(self.rows_by_member),
        }
        if self.own_remarks:
            data["own_remarks"] = list(self.own_remarks)
        if self.promise is not None:
            data["privacy"] = self.promise.to_json()
        if fit is not None:
            table = {name: dataclasses.asdict(one) for name, one in fit.coefficients.items()}
            data |= {
                "formula": str(self.study.formula),
                "family": fit.family,
                "coefficients": table,
                "rows": fit.rows,
                "confidence": fit.confidence,
                "exponentiated": fit.ratio or None,
                **fit.measures,
                "remarks": list(fit.remarks),
            }
        for name in ("description", "survival", "evaluation"):
            part = getattr(self.findings, name)
            if part is not None:
                data[name] = dataclasses.asdict(part)
        return data

    def save(self, folder: Path) -> Path:
        """Write results.json and, for a model, coefficients.csv; returns where the first lies."""
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / RESULTS, json.dumps(self.data, indent=1, allow_nan=False) + "\n")
        if self.findings.fit is not None:
            replace_text(folder / COEFFICIENTS, coefficients_csv(self.data["coefficients"]))
        return folder / RESULTS


def digest_of(data: Mapping[str, Any]) -> str:
    """The digest of results as a file has them."""
    common = {key: value for key, value in data.items() if key not in AT_HOME}
    rounded = json_value(json.dumps(common), parse_float=lambda number: f"{float(number):.8g}")
    return hashlib.sha256(json.dumps(rounded, sort_keys=True).encode()).hexdigest()


def concluded(rows: Rows) -> Analysis[Results]:
    """A whole study for one member, with account of every number that it gave."""
    analysis, received, totals = analyse(rows), None, 0
    transcript = hashlib.sha256(rows.study.fingerprint.encode())
    released: dict[str, Released] = {}
    while True:
        try:
            total = analysis.send(received)
        except StopIteration as end:
            numbers, promise = sum(one.numbers for one in released.values()), promise_of(rows)
            return Results(
                rows.study,
                end.value,
                totals,
                numbers,
                {rows.name: contributed(rows)} if promise is None else None,
                transcript=transcript.hexdigest(),
                released=dict(sorted(released.items())),
                own_remarks=rows.remarks,
                promise=promise,
            )
        totals += 1
        for name, numbers in kinds(total.values).items():
            before = released.get(name, Released(0, 0))
            released[name] = Released(before.totals + 1, before.numbers + numbers)
        received = yield total
        transcript.update(flat(received).astype("<f8").tobytes())


def kinds(values: Any, within: str = "") -> dict[str, int]:
    """How many numbers of each name a total holds.

    >>> kinds({"model": {"score": np.zeros(3), "own": np.zeros(1)}})
    {'model: score': 3, 'model: own': 1}
    """
    if not isinstance(values, Mapping):
        return {within or "values": int(sum(np.size(leaf) for leaf in jax.tree.leaves(values)))}
    found: dict[str, int] = {}
    for key, part in values.items():
        for name, count in kinds(part, str(key)).items():
            # The outermost and the innermost name say enough.
            title = f"{within}: {name.split(': ')[-1]}" if within else name
            found[title] = found.get(title, 0) + count
    return found


def coefficients_csv(coefficients: Mapping[str, Mapping[str, Any]]) -> str:
    """The coefficients in `results.json` as comma-separated values, every digit kept."""
    rows = [
        [name, *("" if cell is None else repr(cell) for cell in one.values())]
        for name, one in coefficients.items()
    ]
    return csv_text([["term", "estimate", "se", "z", "p", "low", "high"], *rows])
