"""Missing numbers, filled in by the joint mean of those that are there; one total."""

from __future__ import annotations

import numpy as np

from hocket.algorithm import SecureSum
from hocket.errors import BadStudy, NotEstimable
from hocket.studies.data.rows import Rows
from hocket.studies.data.scaling import BITS
from hocket.studies.together import Analysis


def joint_means(rows: Rows) -> Analysis[dict[str, float]]:
    """The means that take the place of what is missing, of columns for which the study says so."""
    names = tuple(name for name in rows.study.modelled if rows.study.column(name).missing == "mean")
    if not names:
        return {}
    kept = rows.modelled
    columns = [rows.column(name, kept) for name in names]
    there = np.array([(~np.isnan(one)).sum() for one in columns], dtype=np.float64)
    sums = np.array([np.nansum(one) for one in columns])
    counts = yield SecureSum({"rows": there}, names={"rows": names})
    for name, count in zip(names, counts["rows"], strict=True):
        if count == 0:
            raise NotEstimable(f"column {name} is missing in every joint row; leave it out")
        if count < rows.study.disclosure.smallest_cell:
            raise BadStudy(
                f"column {name} is there in fewer than {rows.study.disclosure.smallest_cell} joint rows, where "
                f"[disclosure] smallest_cell = {rows.study.disclosure.smallest_cell}: its mean would show them; leave "
                "it out"
            )
    total = yield SecureSum({"sum": sums}, bits=BITS, names={"sum": names})
    means = total["sum"] / counts["rows"]
    return dict(zip(names, map(float, means), strict=True))
