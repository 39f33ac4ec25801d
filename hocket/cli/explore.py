"""`hocket explore`: the audit page served live."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from typing import Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.errors import BadConfig


def explore(
    *,
    topology: Annotated[
        str, Parameter(help="The network to begin with: cycle:7, harary:k=3,n=7.")
    ] = "cycle:7",
    port: Annotated[int, Parameter(help="Port on this machine; 0 for any that is free.")] = 0,
    browser: Annotated[bool, Parameter(help="Open the page in a browser.")] = True,
) -> Answer:
    """Choose or draw a topology, pick colluders and a plan, and see what is guaranteed, exposed and gained.

    Serves a page on this machine alone, at an address with a token in it, until Ctrl-C.
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise BadConfig(
            f"hocket explore needs {' and '.join(missing)}, which is not installed; install it with: "
            "pip install 'hocket[explore]'"
        )
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
        webbrowser.open(at)  # the port is taken already: whoever comes early waits
    try:
        served.run()
    except KeyboardInterrupt:
        return  # as it was told
