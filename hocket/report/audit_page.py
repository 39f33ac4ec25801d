"""The page of an audit: one HTML file on which a click makes an agent collude and the page says who is exposed.

What needs more than sets of agents is worked out in Python and passed in; the script on the page only looks at
neighbours and components, so it cannot promise what no theorem does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hocket.algorithms import BY_KEY, COMPARED, in_a_sentence
from hocket.networks.network import Network
from hocket.privacy import Guarantees, Leakage, Repair
from hocket.privacy.wording import SUPPOSED, counted, grouped, known, listed, sentence
from hocket.report.graph_drawing import GraphDrawing, draw_graph
from hocket.report.page import document, together
from hocket.report.tables import Table, plain
from hocket.runs.coverage import ANALYSED

ALGORITHMS = {key: in_a_sentence(BY_KEY[key]) for key in COMPARED if BY_KEY[key] in ANALYSED}
"""What the page judges a coalition under."""
SUMS = "totals"
"""Stands for an algorithm whose agents send nothing but secure sums."""
OTHER = "other"
"""Stands for an algorithm of which nothing follows from sets of agents alone."""
BESIDE = 950
"""Width of a drawing up to which the words stand beside it rather than below."""
LINKS_IN_FULL = 6
"""Links per agent up to which each is drawn in full colour."""
SCRIPTS = ("copy.js", "sort.js", "sets.js", "words.js", "audit.js")
NAME_LENGTH = 16
"""Letters of a name that fit under an agent; the whole is in its tooltip."""


@dataclass(frozen=True)
class AuditPage:
    """What the page of an audit says, from the most important on."""

    title: str
    network: Network
    verdict: Sequence[str]
    """Paragraphs in plain words."""
    answer: str = ""
    """The one sentence that is read; without one, the first paragraph is."""
    rows: Table | None = None
    """Who is known how well to whom, in a few rows."""
    attacks: Table | None = None
    """What every attack on a run came to; None where there was no run."""
    guarantees: Sequence[Guarantees] = ()
    """For f = 1, 2, … colluders, a line of a table each."""
    repair: Repair | None = None
    coalition: Collection[int] = ()
    """Who colludes when the page opens."""
    worst: Collection[int] = ()
    """The worst coalition that was found, a button."""
    leakage: Sequence[Leakage] = ()
    """What was estimated beforehand: a table, and words beside the graph when its coalition is chosen."""
    tables: Sequence[Table] = ()
    """Whatever else was found; every table needs a caption."""
    statement: Sequence[str] = ()
    """What the verdict covers and what it does not, in paragraphs."""
    command: str = ""
    """What to type to get the page again."""
    asking: str = ""
    """What to type before 1,4 to have an estimate for that coalition: "hocket audit --topology cycle:5 --coalition"."""
    algorithms: Mapping[str, str] = field(default_factory=lambda: dict(ALGORITHMS))
    """What the graph judges a coalition under; P1 and P2 are spoken of only where function sharing is among them."""
    gradient_size: float = SUPPOSED
    """What every uncertainty is held against."""

    @property
    def opening(self) -> tuple[str, Sequence[str]]:
        """The answer, and the other paragraphs."""
        return (
            (self.answer, self.verdict) if self.answer else (next(iter(self.verdict), ""), self.verdict[1:])
        )


def audit_page(page: AuditPage) -> str:
    """The page as one HTML file that loads nothing from elsewhere."""
    return document("audit.html", script=together(*SCRIPTS), **filled(page))


def filled(page: AuditPage) -> dict[str, Any]:
    """Everything that the page's template asks for, but for style and script."""
    network = page.network
    return {
        **graph_parts(network),
        "page": page,
        "facts": facts(network),
        "algorithms": page.algorithms,
        "under": f"{page.algorithms[SUMS]} (Theorem T)"
        if SUMS in page.algorithms
        else "function sharing (Theorem 2)",
        "part": "contribution" if SUMS in page.algorithms else "objective",
        "presets": _presets(page),
        "repair": "" if page.repair is None else sentence(page.repair.in_words(network.labels)),
        "added": page.repair.added if page.repair else (),
        "guarantees": [guarantee_row(network, one) for one in page.guarantees],
        "tables": [*page.tables, *([_leakage_table(page)] if page.leakage else [])],
        "data": script_data(page),
    }


def graph_parts(network: Network) -> dict[str, Any]:
    """A network as the templates draw it."""
    drawing = draw_graph(network)
    return {
        "drawing": drawing,
        "wide": drawing.width > BESIDE,
        "faintness": round(min(1.0, LINKS_IN_FULL * network.n / max(1, len(network.links))), 2),
        "agents": [drawn_agent(network, drawing, agent) for agent in range(network.n)],
        "links": network.links.tolist(),
    }


def facts(network: Network) -> list[str]:
    """A network in a few words."""
    return [network.name, counted(network.n, "agent"), counted(len(network.links), "link")]


def _presets(page: AuditPage) -> list[tuple[str, list[int]]]:
    cuts = [one.smallest_cut.coalition for one in page.guarantees if one.smallest_cut is not None]
    presets = {"Smallest cut": min(cuts, key=len, default=()), "Worst coalition": page.worst}
    return [(words, sorted(members)) for words, members in presets.items() if members]


def drawn_agent(network: Network, drawing: GraphDrawing, agent: int) -> dict[str, Any]:
    """One agent as the templates draw it."""
    x, y = drawing.points[agent].round(1).tolist()
    name = "" if network.labels is None else str(network.labels[agent])
    called = f"agent {agent}" + (f" ({name})" if name else "")
    shown = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
    near = network.neighbours(agent)
    title = f"{called}, {counted(len(near), 'neighbour')}"
    return {
        "number": agent,
        "x": x,
        "y": y,
        "name": shown if drawing.named else "",
        "title": title,
        "spoken": f"{title}, honest",
    }


def guarantee_row(network: Network, found: Guarantees) -> dict[str, Any]:
    """One line of the table of guarantees, with a coalition that shows why if they fail."""
    f = found.colluders
    why, example = [], ()
    if found.smallest_cut is not None and not found.p2:
        example = found.smallest_cut.coalition
        why.append(
            f"{grouped(example, network.labels)} {'cuts' if len(example) == 1 else 'cut'} the others apart"
        )
    if found.exposed:
        have = "has" if len(found.exposed) == 1 else "have"
        why.append(f"{listed(found.exposed, network.labels)} {have} no more than {counted(f, 'neighbour')}")
        example = example or network.neighbours(found.exposed[0])
    if found.p1 and found.p2:
        why.append("no coalition of this size surrounds anybody or cuts the others apart")
    return {
        "colluders": f,
        "degree": found.min_degree,
        "connectivity": ("" if found.connectivity_exact else "≥ ") + str(found.vertex_connectivity),
        "p1": found.p1,
        "p2": found.p2,
        "why": "; ".join(why),
        "example": sorted(example),
    }


def _leakage_table(page: AuditPage) -> Table:
    rows, labels = [], page.network.labels
    for one in page.leakage:
        fate = dict.fromkeys(one.honest, "only in sums") | dict.fromkeys(one.identifiable, "ever better")
        fate |= dict.fromkeys(one.exact, "known exactly")
        listener = listed(one.coalition, labels) if one.coalition else "nobody"
        rows += [
            (
                ALGORITHMS.get(one.algorithm, one.algorithm),
                listener,
                one.threat,
                str(agent) if labels is None else str(labels[agent]),
                str(one.rounds),
                plain(one.prior),
                plain(one.sd[agent]),
                known(one.sd[agent], page.gradient_size),
                fate[agent],
            )
            for agent in one.honest
        ]
    return Table(
        ("algorithm", "coalition", "threat", "agent", "rounds", "± before", "± after", "which is", "in time"),
        tuple(rows),
        "What stays unknown of each gradient, as a standard deviation",
        numeric=frozenset({4, 5, 6}),
    )


def script_data(page: AuditPage) -> dict[str, Any]:
    """What the page's script works on."""
    network = page.network
    return {
        "n": network.n,
        "links": network.links.tolist(),
        "added": [list(link) for link in page.repair.added] if page.repair else [],
        "labels": None if network.labels is None else [str(label) for label in network.labels],
        "coalition": sorted(int(member) for member in page.coalition),
        "asking": page.asking,
        "algorithms": dict(page.algorithms),
        "chosen": len(page.algorithms) == 1,
        "estimates": [
            {
                "algorithm": one.algorithm
                if one.algorithm in page.algorithms
                else SUMS
                if SUMS in page.algorithms
                else OTHER,
                "coalition": list(one.coalition),
                "lines": one.in_words(page.gradient_size, network.labels),
            }
            for one in page.leakage
        ],
    }
