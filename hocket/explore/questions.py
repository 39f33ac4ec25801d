"""What the page may ask, checked at the door, and what can be answered within a moment: guarantees and estimates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, FunctionSharing, RssLb, RssNb
from hocket.config.section import Section, check
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.networks.topologies import DIRECTED, FORMS, parse
from hocket.privacy import guarantees, leakage
from hocket.report.audit_page import SCRIPTS as OF_AUDITS
from hocket.report.audit_page import AuditPage, facts, filled, graph_parts, guarantee_row, script_data
from hocket.report.page import document, render, together
from hocket.runs.view import Threat
from hocket.steps import DEFAULT_STEP

MOST_AGENTS, MOST_LINKS, MOST_ROUNDS, LARGEST_DELTA = 40, 400, 200_000, 1000.0
DEGREE = 4
"""Of the noise functions: as high as the objectives that are played here."""
ESTIMATED = 1000
"""Rounds over which leakage is estimated, at most: a second or two for the largest network."""
MOST_COLLUDERS = 3
HERE = "hocket.explore"
SCRIPTS = ("ask.js", "chart.js", "drawing.js", "live.js", "explorer.js")


class NamedNetwork(Section):
    """A topology by name."""

    topology: str = Field(max_length=60, description="a short text such as 'cycle:5' or 'harary:k=3,n=7'")

    @cached_property
    def network(self) -> Network:
        """The network; a large one is refused before it is built."""
        _refuse_large(self.topology)
        return _small(parse(self.topology).both_ways("the explorer"))


class DrawnNetwork(Section):
    """A network as it was drawn."""

    n: int = Field(ge=2, le=MOST_AGENTS, description=f"2 to {MOST_AGENTS} agents")
    links: list[list[int]] = Field(
        max_length=MOST_LINKS, description=f"up to {MOST_LINKS} links, [[0, 1], …]"
    )

    @cached_property
    def network(self) -> Network:
        """The network; one that falls apart is refused, with its parts."""
        return Network(map(tuple, self.links), n=self.n, name="drawn")  # type: ignore[arg-type]


class Question(DrawnNetwork):
    """A plan to look at: who listens, and what is run."""

    algorithm: Literal["function-sharing", "rss-nb", "rss-lb", "dgd"] = Field(
        description="'function-sharing', 'rss-nb', 'rss-lb' or 'dgd'"
    )
    delta: float = Field(
        1.0, ge=0, le=LARGEST_DELTA, description=f"a noise level Δ from 0 to {LARGEST_DELTA:g}"
    )
    persistent: float = Field(0.0, ge=0, le=1, description="a share of the noise from 0 to 1")
    rounds: int = Field(1000, ge=1, le=MOST_ROUNDS, description=f"1 to {MOST_ROUNDS:,} rounds")
    coalition: list[int] = Field(default=[], description="a list of agents")
    threat: Threat = Field("coalition", description="'coalition', 'states' or 'states+noise'")
    minima: Literal["shared", "apart"] = Field("shared", description="'shared' or 'apart'")
    seed: int = Field(0, ge=0, description="a whole number, zero or more")

    @property
    def planned(self) -> Algorithm:
        """The algorithm with its noise."""
        match self.algorithm:
            case "rss-nb":
                return RssNb(self.delta, persistent=self.persistent)
            case "rss-lb":
                return RssLb(self.delta)
            case "function-sharing":
                return FunctionSharing(degree=DEGREE, bound=self.delta)
            case "dgd":
                return Dgd()


def asked_network(table: Mapping[str, Any]) -> Network:
    """The network that is named or drawn."""
    if "topology" in table:
        return check(NamedNetwork, "network", table).network
    return check(DrawnNetwork, "network", table).network


def asked(table: Mapping[str, Any]) -> Question:
    """A question about a plan."""
    return check(Question, "plan", table)


def _small(network: Network) -> Network:
    if network.n > MOST_AGENTS or len(network.links) > MOST_LINKS:
        raise BadInput(
            f"{network.name} has {network.n} agents and {len(network.links)} links; the explorer takes up to "
            f"{MOST_AGENTS} and {MOST_LINKS}: audit larger ones with hocket audit"
        )
    return network


def _refuse_large(text: str) -> None:
    """Before it is built: a hypercube of 40 dimensions would fill any memory."""
    name, _, values = text.partition(":")
    numbers = [word.rpartition("=")[2].strip() for part in values.split(",")[:2] for word in part.split("x")]
    sizes = [int(number) for number in numbers if number.isdecimal()]
    if name.strip().lower() == "hypercube":
        sizes = [2 ** min(size, 30) for size in sizes]
    if any(size > MOST_AGENTS for size in sizes):
        raise BadInput(
            f"{text!r} is too large: the explorer takes up to {MOST_AGENTS} agents; audit larger networks with "
            "hocket audit"
        )


def about_network(network: Network) -> dict[str, Any]:
    """All that the page shows of a network, no matter who colludes."""
    return {
        "facts": " · ".join(facts(network)),
        "graph": render("stage.html", package=HERE, **graph_parts(network)),
        "guarantees": render("guaranteed.html", package=HERE, guarantees=guaranteed(network)),
        "wide": graph_parts(network)["wide"],
        "data": _data(network),
    }


def _data(network: Network) -> dict[str, Any]:
    """What the page's script begins with: an audit page's, of agents that are known by number."""
    return script_data(AuditPage("", network, ())) | {"labels": None, "chosen": True}


def guaranteed(network: Network) -> list[dict[str, Any]]:
    """P1 and P2 against one colluder, two, and three, as rows of the page's table."""
    most = min(MOST_COLLUDERS, network.n - 2)
    return [guarantee_row(network, guarantees(network, f)) for f in range(1, most + 1)]


def forecast(question: Question) -> dict[str, Any]:
    """What the listener could estimate over rounds, in words and as curves."""
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


def explorer_page(network: Network) -> str:
    """The page as it is first shown."""
    page = AuditPage(
        title="Explore a topology", network=network, verdict=(), guarantees=[guarantees(network, 1)]
    )
    parts = filled(page) | {"guarantees": guaranteed(network), "presets": [], "data": _data(network)}
    limits = {"agents": MOST_AGENTS, "rounds": MOST_ROUNDS, "delta": LARGEST_DELTA}
    forms = {name: example for name, (example, _) in FORMS.items() if name not in DIRECTED}
    style = together("explorer.css", package=HERE)
    script = f"{together(*OF_AUDITS)}\n{together(*SCRIPTS, package=HERE)}"
    return document("explorer.html", HERE, style=style, script=script, **parts, limits=limits, forms=forms)
