"""All commands, and what becomes of their answers, errors and interruptions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Group, Parameter, UnusedCliTokensError

from hocket import __version__
from hocket.cli.answer import LAYOUT, Answer, complain, give
from hocket.cli.audit import audit
from hocket.cli.bench import bench
from hocket.cli.certify import certify
from hocket.cli.cluster import cluster
from hocket.cli.demo import demo
from hocket.cli.explore import explore
from hocket.cli.options import PARAMETER, add
from hocket.cli.peer import peer
from hocket.cli.relay import relay
from hocket.cli.report import report
from hocket.cli.reproduce import reproduce
from hocket.cli.simulate import simulate
from hocket.cli.solve import solve
from hocket.cli.study import study
from hocket.errors import BadConfig, HocketError, Interrupted, UnsafeRemainder
from hocket.links.text import quoted
from hocket.machine import leave_current_folder

FAILED, MISUSED, EXPOSED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: an error, a wrong command line, a federation whose survivors would be exposed, and Ctrl-C (128 + SIGINT,
as shells have it)."""
EXITS: dict[type, int] = {Interrupted: INTERRUPTED, UnsafeRemainder: EXPOSED}

app = App(
    name="hocket",
    help="Solve one problem together, peer to peer, and know what insiders can learn.",
    help_epilogue="Example: hocket demo",
    help_format="plaintext",
    version_flags=(),
    default_parameter=PARAMETER,
)


def completion(shell: Literal["bash", "fish", "zsh"], /) -> Answer:
    """Print a script that lets a shell complete hocket's commands and options; nothing is installed.

    For bash, put this line into ~/.bashrc: eval "$(hocket completion bash)"

    Args:
        shell: The shell that is to complete.
    """
    script = app.generate_completion(prog_name="hocket", shell=shell)
    return Answer({"shell": shell, "script": script}, [script])


for command, example in (
    (audit, "--topology cycle:7 --colluders 2 --html audit.html"),
    (bench, "bench.toml --out study"),
    (certify, "--topology cycle:5 --colluders 1 --sigma 2 --move '1,4,.6;-.8'"),
    (cluster, ""),
    (completion, "bash"),
    (demo, "--out demo"),
    (explore, "--topology harary:k=3,n=7"),
    (peer, ""),
    (relay, "--admit plan.toml --cert relay.pem --key relay-key.pem"),
    (report, "runs/demo-1"),
    (reproduce(), ""),
    (simulate, "plan.toml --figure steps.svg --write"),
    (solve, "problem.toml"),
    (study, ""),
):
    if isinstance(command, App):
        app.command(command)
    else:
        add(app, command, f"{command.__name__} {example}")


def version() -> Answer:
    """The versions of hocket, Python and JAX, and the device that compiled runs use."""
    jax: Any = import_module("jax")  # not at the door; and its types leave open what a device is
    device = jax.devices()[0]
    data = {
        "hocket": __version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "device": f"{device.platform}: {device.device_kind}",
    }
    return Answer(data, ["hocket {hocket}, Python {python}, JAX {jax} on {device}".format(**data)])


app.meta.group_parameters = Group("For every command")


@app.meta.default
def every(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    as_json: Annotated[bool, Parameter(name="--json", show_default=False)] = False,
    versions: Annotated[bool, Parameter(name="--version", show_default=False)] = False,
) -> int:
    """Run one command and print its answer; returns its exit code.

    Args:
        as_json: Print one JSON object, nothing else.
        versions: Print versions and the device.
    """
    # What a user's own code prints while it runs must not end up among the JSON.
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        answer = version() if versions else app(words, result_action="return_value")
    if isinstance(answer, Answer):  # help has none
        give(answer, as_json=as_json)
        if answer.after is not None:
            answer.after()
        return answer.code
    return 0


def _check_lines(arguments: Sequence[str]) -> None:
    """Refuse a name that would draw lines of its own wherever it is printed: a shell's * also names files that were
    sent by others."""
    for word in arguments:
        if any(one in word for one in LAYOUT):
            raise BadConfig(
                f"the argument {quoted(word)} holds a line break or a tab; rename the file, or leave it away"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if arguments is None:
        leave_current_folder()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _check_lines(arguments)
        code = app.meta(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        return code if isinstance(code, int) else 0  # help returns nothing
    except CycloptsError as error:
        code, kind, message = MISUSED, "Usage", str(error)
        if isinstance(error, UnusedCliTokensError):
            message += " A word by itself belongs to no option here: name it, as in --algorithm rss-nb, or see --help."
    except KeyboardInterrupt:
        code, kind, message = INTERRUPTED, "Interrupted", "interrupted"
    except HocketError as error:
        code, kind, message = EXITS.get(type(error), FAILED), type(error).__name__, str(error)
    except OSError as error:
        if error.filename is None:
            raise
        # A place that was named on the command line, or a full disk: nothing that a traceback would explain.
        code, kind = FAILED, "OSError"
        message = f"{error.filename} cannot be used: {error.strerror}; name another place, or make room and way for it"
    # Not from what was parsed: a command line that cannot be parsed may still have asked for JSON.
    complain(kind, message, as_json="--json" in arguments)
    return code
