"""`hocket explore`: the audit page served live."""

from __future__ import annotations

import webbrowser
from typing import Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer

Port = Annotated[int, Parameter(help="Port on this machine; 0 for any that is free.")]
Browser = Annotated[bool, Parameter(negative="--no-browser", help="Open the page in a browser.")]


def explore(*, topology: str = "cycle:7", port: Port = 0, browser: Browser = True) -> Answer:
    """Choose or draw a topology, pick colluders and a plan, and see what is guaranteed, exposed and gained.

    Serves a page on this machine alone, at an address with a token in it, until Ctrl-C.

    Args:
        topology: The network to begin with: cycle:7, harary:k=3,n=7.
    """
    from hocket.explore.app import take_port
    from hocket.explore.questions import asked_network

    served = take_port(asked_network({"topology": topology}), port)
    return Answer(
        {"url": served.url, "topology": topology},
        [f"Explore at {served.url}", "Ctrl-C ends it."],
        after=lambda: serve(served, at=served.once if browser else None),
    )


def serve(served: Any, *, at: str | None) -> None:
    """Open an address that is served on this machine in a browser, if one is given, and serve it until Ctrl-C."""
    if at is not None:
        webbrowser.open(at)  # the port is taken already: a browser that comes early waits
    try:
        served.run()
    except KeyboardInterrupt:
        return  # Ctrl-C ends it, as was printed
