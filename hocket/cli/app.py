"""All commands, and what becomes of their answers, errors and interruptions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import Annotated

from cyclopts import App, CycloptsError, Group, Parameter

from hocket.cli.answer import Answer, complain, give
from hocket.cli.audit import audit
from hocket.cli.demo import demo
from hocket.cli.peer import peer
from hocket.cli.reproduce import reproduce
from hocket.cli.solve import solve
from hocket.cli.version import version
from hocket.errors import HocketError, Interrupted

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
"""Exit codes: an error, a wrong command line, and Ctrl-C (128 + SIGINT, as shells have it)."""

app = App(
    name="hocket",
    help="Solve one problem together, peer to peer, and know what insiders can learn.",
    help_epilogue="Example: hocket demo",
    help_format="plaintext",
    version_flags=(),
)
app.command(audit, help_epilogue="Example: hocket audit --topology cycle:7 --colluders 2 --html audit.html")
app.command(demo, help_epilogue="Example: hocket demo --out demo")
app.command(peer)
app.command(reproduce)
app.command(solve, help_epilogue="Example: hocket solve problem.toml")

app.meta.group_parameters = Group("For every command")


@app.meta.default
def every(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    as_json: Annotated[
        bool,
        Parameter(
            name="--json", negative=(), show_default=False, help="Print one JSON object, nothing else."
        ),
    ] = False,
    versions: Annotated[
        bool,
        Parameter(name="--version", negative=(), show_default=False, help="Print versions and the device."),
    ] = False,
) -> None:
    """Run one command and print its answer."""
    # What a user's own code prints while it runs must not end up among the JSON.
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        answer = version() if versions else app(words, result_action="return_value")
    if isinstance(answer, Answer):  # help has none
        give(answer, as_json=as_json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app.meta(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        return 0
    except CycloptsError as error:
        code, kind, message = MISUSED, "Usage", str(error)
    except Interrupted as error:
        code, kind, message = INTERRUPTED, "Interrupted", str(error)
    except KeyboardInterrupt:
        code, kind, message = INTERRUPTED, "Interrupted", "interrupted"
    except HocketError as error:
        code, kind, message = FAILED, type(error).__name__, str(error)
    # Not from what was parsed: a command line that cannot be parsed may still have asked for JSON.
    complain(kind, message, as_json="--json" in arguments)
    return code
