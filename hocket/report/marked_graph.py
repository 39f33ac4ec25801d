"""A graph with one coalition marked on it, and whom it knows: a picture, where the audit page has a tool."""

from __future__ import annotations

from typing import NamedTuple

from hocket.network import Network
from hocket.privacy import exposure
from hocket.privacy.findings import Finding
from hocket.privacy.wording import named
from hocket.report.audit_page import graph_parts
from hocket.report.page import Figure
from hocket.report.templates import render

LARGEST = 60
"""Agents up to which a graph can be read on a page that does not scroll."""


class Mark(NamedTuple):
    """How an agent is drawn: a class of the style sheet, and a sign beside it."""

    kind: str
    sign: str = ""


def marked_graph(network: Network, found: Finding) -> Figure | None:
    """The graph, with a finding's coalition and whom it knows; None where there are too many agents to be seen."""
    if network.n > LARGEST:
        return None
    parts = graph_parts(network)
    for agent in parts["agents"]:
        agent["mark"] = mark(network, found, agent["number"])
    svg = render("picture.html", **parts, coalition=found.coalition)
    words = f"Under {found.label}: {_described(found)}"
    return Figure(svg, f"Graph of {network.name}. {words}", words)


def mark(network: Network, found: Finding, agent: int) -> Mark:
    """As the audit page marks an agent."""
    if agent in found.coalition:
        return Mark("colluder")
    if agent in found.exact:
        return Mark("exact", "!")
    if found.basis == "estimate":
        return Mark("open")
    judged = exposure(network, found.coalition)
    if judged.p2:
        return Mark("hidden")
    groups = [part for part in judged.components if len(part) > 1]
    place = next(place for place, part in enumerate(groups) if agent in part)
    return Mark(f"group tint-{place % 6}", chr(ord("A") + place % 26))


def _described(found: Finding) -> str:
    parts = [f"squares collude: {named(found.coalition)}"]
    if found.exact:
        parts.append(f"“!”, known exactly: {named(found.exact)}")
    if found.averaged:
        parts.append(f"dashed, known ever better as noise averages out: {named(found.averaged)}")
    if found.hidden and found.basis == "estimate":
        parts.append(f"dashed, not identifiable but without a theorem: {named(found.hidden)}")
    elif found.hidden:
        parts.append(f"hidden but for sums: {named(found.hidden)}")
    return f"{'; '.join(parts)}. Red links are heard by the coalition."
