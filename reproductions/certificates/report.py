"""What is shown of certificates: results as JSON, data as CSV, and the page."""

from __future__ import annotations

import dataclasses
from typing import Any

from hocket.report.page import Page
from reproductions.certificates.figure import drawing
from reproductions.certificates.runs import FULL, QUICK, Certificates, play
from reproductions.certificates.tables import conclusion, notes, tables
from reproductions.experiment import Experiment


def data(found: Certificates) -> dict[str, Any]:
    """Everything as plain values."""
    run = found.clinics
    return {
        "size": dataclasses.asdict(found.size),
        "told": [
            {
                "theorem": one.case.theorem,
                "mu": one.certificate.mu,
                "fitted": one.told.mu,
                "interval": list(one.told.interval),
                "mu_bound": one.told.mu_bound(),
                "statement": one.certificate.statement,
            }
            for one in found.held
        ],
        "rows": [dataclasses.asdict(row) for row in found.rows],
        "by_link": [
            {
                "graph": one.name,
                "insiders": one.colluders,
                "transfer": one.transfer.gain,
                "record": one.record.gain,
                "worst": list(one.worst),
                "gap": one.gap and list(one.gap),
            }
            for one in found.by_link
        ],
        "clinics": {
            "certificate": run.audit.to_json()["certificate"],
            "topology": run.plan.topology,
            "coefficients": run.coefficients.tolist(),
            "without_noise": run.true.tolist(),
            "error": run.error,
            "apart": run.apart,
            "errors": [dataclasses.asdict(one) for one in found.errors],
        },
        "insiders": [dataclasses.asdict(one) for one in found.insiders],
        "gaps": [dataclasses.asdict(one) | {"times": one.times} for one in found.gaps],
    }


def over_rows(found: Certificates) -> list[dict[str, Any]]:
    """The first panel, a row per point."""
    return [
        {"network": one.network, "insiders": one.colluders, "ratio": ratio, "over_central": float(over)}
        for one in found.over
        for ratio, over in zip(one.ratios, one.over, strict=True)
    ]


def page(found: Certificates) -> Page:
    """What this page says that no other does."""
    return Page(
        title="Certificates: differential privacy that holds against insiders, and its price",
        summary=[
            "Each theorem is held against the best test there is, on messages of real runs. What a certificate costs "
            "stands beside a trusted server and beside everybody for itself; a federation of four clinics goes through "
            "it from plan to coefficients; and published settings of another system are worked out anew with insiders "
            "in the view.",
            found.clinics.audit.words[0],
        ],
        commands=["hocket reproduce certificates"],
    )


CERTIFICATES = Experiment(
    name="certificates",
    doing="Certifying",
    full=FULL,
    quick=QUICK,
    play=play,
    tables=tables,
    notes=notes,
    conclusion=conclusion,
    data=data,
    series=lambda found: {"over_central": over_rows(found)},
    figure=drawing,
    page=page,
)
