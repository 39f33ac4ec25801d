"""No row may carry a column: where one row makes up more than half of a sum, the sum is about that row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from hocket.studies.design_matrix import design_matrix
from hocket.studies.rows import Rows

MOST = 0.5
"""Of Σ|x| and Σx²: what one row may carry, of a column as it is and about its mean."""


def dominated(rows: Rows) -> Iterator[str]:
    """Terms that one of this member's rows carries, by name; the row and its value are not named."""
    study, kept = rows.study, rows.modelled
    if study.formula is None or study.privacy is not None or not kept.any():
        return
    values = {name: rows.column(name, kept) for name in study.formula.columns}
    values = {name: np.where(np.isnan(one), np.nanmean(one), one) for name, one in values.items()}
    with np.errstate(all="ignore"):
        design = design_matrix(study.formula, study.columns, values, int(kept.sum()), intercept=False)
    weighing = [name for name in (study.question.weights,) if name]
    terms = [*design.X.T, *(rows.column(name, kept) for name in weighing)]
    for name, x in zip((*design.names, *weighing), terms, strict=True):
        if not np.isin(x, (0, 1)).all() and carried(x) > MOST:
            yield (
                f"one row carries more than half of the term {name} here, so that its sums would be about that row; "
                f"leave {name} out, take log() or a lower power of it, or narrow its range ([columns] range) and mend "
                "the cell if it is wrong"
            )


def carried(x: Float[np.ndarray, " rows"]) -> float:
    """The largest part that one row has in Σ|x| or Σx², of the column as it is or about its mean."""
    x = x / (np.abs(x).max(initial=0.0) or 1.0)  # so that no square is beyond what a float holds
    about = x - x.mean()
    spread = np.abs(about).max(initial=0.0) > 1e-12
    sizes = [np.abs(x), np.abs(about)] if spread else [np.abs(x)]
    parts = [size**power for size in sizes for power in (1, 2)]
    return max((float(part.max() / part.sum()) for part in parts if part.sum() > 0), default=0.0)
