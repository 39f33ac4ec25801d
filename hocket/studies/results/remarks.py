"""What standard errors do not know of: filled-in cells, and rows of the same person."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hocket.studies.data.table import Table
from hocket.studies.spec.columns import MISSING, text_of
from hocket.studies.spec.study import Study

WHO = "id|pid|mrn|patient|subject|person|participant|proband|pat"
ID = re.compile(rf"(?:.*[ _.-])?(?:{WHO})(?:[ _.-]?(?:id|nr|no|num|number|code))?", re.IGNORECASE)
"""Names of columns that say whose a row is: id, patient_id, subject, Pat-Nr."""
CAMEL = re.compile(r".*[a-z](?:ID|Id)")
INDEPENDENT = "Standard errors and p-values hold for rows that are independent of each other."


def on_errors(study: Study) -> tuple[str, ...]:
    """Remarks on a model's standard errors, which all members read alike."""
    filled = [name for name in study.modelled if study.column(name).missing == "mean"]
    means = (
        f"Missing cells of {', '.join(filled)} were filled in with the joint mean; standard errors and p-values ignore "
        "that, and are too small."
    )
    return (*([means] if filled else []), INDEPENDENT)


def repeated_ids(study: Study, table: Table) -> Iterator[str]:
    """Columns of a member's table that look like an id of which several rows have the same; for this member's eyes."""
    if study.formula is None and study.survival is None:
        return
    used = {study.column(name).source or name for name in study.used}
    for name, cells in table.columns.items():
        if name in used or not (ID.fullmatch(name.strip()) or CAMEL.fullmatch(name.strip())):
            continue
        there = [
            text for cell in cells if cell is not None and (text := text_of(cell)).lower() not in MISSING
        ]
        if 1 < (different := len({*there})) < len(there):
            yield (
                f"column {name} looks like an id and has {different:,} different values in {len(there):,} rows; "
                "standard errors hold for independent rows, and are too small where several are of one person: take "
                "one of each"
            )
