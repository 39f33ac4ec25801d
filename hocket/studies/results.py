"""Results as they are kept: results.json and coefficients.csv, every digit kept."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.machine import replace_text
from hocket.studies.analysis import Findings
from hocket.studies.study import Study

RESULTS, COEFFICIENTS, PAGE = "results.json", "coefficients.csv", "results.html"


@dataclass(frozen=True)
class Results:
    """A study and what it found."""

    study: Study
    findings: Findings
    totals: int
    numbers: int
    """Numbers that each member gave, over all totals."""
    rows_by_member: Mapping[str, int] | None = None
    """At home: one's own. In a rehearsal: everybody's."""
    members: int | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of what all members have found: the same at each, whatever it keeps of its own rows.

        To eight digits: the sums are the same to the last bit everywhere, what is worked out from them may not be.
        """
        common = {key: value for key, value in self.data.items() if key != "rows_by_member"}
        rounded = json.loads(json.dumps(common), parse_float=lambda number: f"{float(number):.8g}")
        return hashlib.sha256(json.dumps(rounded, sort_keys=True).encode()).hexdigest()

    @property
    def data(self) -> dict[str, Any]:
        """What `results.json` holds."""
        question, fit = self.study.question, self.findings.fit
        data: dict[str, Any] = {
            "title": question.title,
            "study": self.study.fingerprint,
            "totals": self.totals,
            "numbers": self.numbers,
            "rows_by_member": None if self.rows_by_member is None else dict(self.rows_by_member),
        }
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
            replace_text(folder / COEFFICIENTS, coefficients_csv(self))
        return folder / RESULTS


def coefficients_csv(results: Results) -> str:
    """The table of coefficients as comma-separated values, every digit kept."""
    fit = results.findings.fit
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["term", "estimate", "se", "z", "p", "low", "high"])
    for name, one in ({} if fit is None else fit.coefficients).items():
        writer.writerow([name, *("" if cell is None else repr(cell) for cell in dataclasses.astuple(one))])
    return text.getvalue()
