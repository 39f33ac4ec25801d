"""Four clinics, their tables, and a study of them."""

from __future__ import annotations

from functools import cache

import numpy as np

from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import draw_up
from hocket.federation.workloads.study import MOST_SUMS, NUMBERS
from hocket.machine import LOOPBACK, scikit_table
from hocket.studies.data.table import Table

STUDY = """
[study]
title = "Breast cancer in four clinics"
formula = "benign ~ radius + texture + smoothness"
family = "binomial"
[columns.radius]
from = "mean radius"
[columns.texture]
from = "mean texture"
[columns.smoothness]
from = "mean smoothness"
"""
MEASURES = (
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave points", "symmetry", "fractal dimension"),
)
COLUMNS = [kind.format(one) for kind in ("mean {}", "{} error", "worst {}") for one in MEASURES]
NAMES = ("ash", "birch", "cedar", "dogwood")


@cache
def tables(names: tuple[str, ...] = NAMES) -> dict[str, Table]:
    """The same rows every time, dealt to four clinics, or to others."""
    data = scikit_table(
        "breast_cancer", "breast_cancer.csv", head=1
    )  # members are processes: no import of a second
    columns = dict(zip(COLUMNS, data[:, :-1].T, strict=True)) | {"benign": data[:, -1].astype(int)}
    deal = np.random.default_rng(0).permutation(len(data)) % len(names)
    return {
        name: Table.of({str(key): cells[deal == place].tolist() for key, cells in columns.items()}, name)
        for place, name in enumerate(names)
    }


def planned(identities, ports, *, topology="complete", colluders=1, study=STUDY, on_drop="stop", **audit):
    cards = [Card.of(one, f"{LOOPBACK}:{port}") for one, port in zip(identities, ports, strict=True)]
    return draw_up(
        cards,
        topology,
        algorithm={"name": "masked-totals", "study": study, "on_drop": on_drop},
        step={"constant": 1.0},
        task={"name": "breast cancer", "dataset": "breast-cancer", "dimension": NUMBERS},
        run={"rounds": MOST_SUMS},
        audit={"colluders": colluders, **audit},
    )
