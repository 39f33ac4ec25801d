"""The explorer's page: the audit page, with controls for what a static page cannot change."""

from __future__ import annotations

from hocket.explore.answers import about_network, guaranteed
from hocket.explore.questions import LARGEST_DELTA, MOST_AGENTS, MOST_ROUNDS
from hocket.network import Network
from hocket.privacy import guarantees
from hocket.report.audit_page import AuditPage, filled
from hocket.report.templates import render, together
from hocket.topologies import FORMS

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
