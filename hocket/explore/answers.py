"""The explorer's page, and what can be answered within a moment: guarantees, and what a listener could estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from hocket.engines.solver import DEFAULT_STEP
from hocket.explore.questions import LARGEST_DELTA, MOST_AGENTS, MOST_ROUNDS, Question
from hocket.networks.network import Network
from hocket.networks.topologies import FORMS
from hocket.privacy import guarantees, leakage
from hocket.report.audit_page import AuditPage, facts, filled, graph_parts, guarantee_row
from hocket.report.page import render, together

# What can be answered within a moment: the graph, its guarantees, and what a listener could estimate.

ESTIMATED = 1000
"""Rounds over which leakage is foretold, at most: a second or two for the largest network."""
MOST_COLLUDERS = 3


def about_network(network: Network) -> dict[str, Any]:
    """All that the page shows of a network, whoever colludes."""
    return {
        "facts": " · ".join(facts(network)),
        "graph": render("stage.html", package="hocket.explore", **graph_parts(network)),
        "guarantees": render("guaranteed.html", package="hocket.explore", guarantees=guaranteed(network)),
        "wide": graph_parts(network)["wide"],
        "data": {
            "n": network.n,
            "links": network.links.tolist(),
            "added": [],
            "labels": None,
            "coalition": [],
            "asking": "",
            "chosen": True,
            "estimates": [],
        },
    }


def guaranteed(network: Network) -> list[dict[str, Any]]:
    """P1 and P2 against one colluder, two, and three, as rows of the page's table."""
    most = min(MOST_COLLUDERS, network.n - 2)
    return [guarantee_row(network, guarantees(network, f)) for f in range(1, most + 1)]


def foretold(question: Question) -> dict[str, Any]:
    """What the listener could estimate as rounds go by, in words and as curves."""
    found = leakage(
        question.network,
        question.planned,
        rounds=min(question.rounds, ESTIMATED),
        coalition=question.coalition,
        threat=question.threat,
        step=DEFAULT_STEP,
    )
    sd = np.where(found.history["sd"] > 0, found.history["sd"], 0.0)
    return {
        "algorithm": question.algorithm,
        "coalition": list(found.coalition),
        "lines": str(found).splitlines(),
        "rounds": found.history["round"].tolist(),
        "sd": {str(agent): sd[:, agent].tolist() for agent in found.honest},
        "exact": list(found.exact),
        "prior": found.prior,
        "planned": question.rounds,
    }


# The explorer's page: the audit page, with controls for what a static page cannot change.

HERE = "hocket.explore"
SCRIPTS = ("ask.js", "chart.js", "drawing.js", "live.js", "explorer.js")


def explorer_page(network: Network) -> str:
    """The page as it is first shown."""
    page = AuditPage(
        title="Explore a topology", network=network, verdict=(), guarantees=[guarantees(network, 1)]
    )
    parts = filled(
        page,
        more_style=together("explorer.css", package=HERE),
        more_script="\n" + together(*SCRIPTS, package=HERE),
    )
    parts |= {"guarantees": guaranteed(network), "presets": [], "data": about_network(network)["data"]}
    limits = {"agents": MOST_AGENTS, "rounds": MOST_ROUNDS, "delta": LARGEST_DELTA}
    forms = {name: example for name, (example, _) in FORMS.items()}
    return render("explorer.html", package=HERE, **parts, limits=limits, forms=forms)
