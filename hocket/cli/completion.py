"""`hocket completion`: a script with which a shell completes commands and options."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from hocket.cli.answer import Answer


def completion(
    shell: Annotated[Literal["bash", "fish", "zsh"], Parameter(help="The shell that is to complete.")], /
) -> Answer:
    """Print a script that lets a shell complete hocket's commands and options; nothing is installed.

    For bash, put this line into ~/.bashrc: eval "$(hocket completion bash)"
    """
    from hocket.cli.app import app

    script = app.generate_completion(prog_name="hocket", shell=shell)
    return Answer({"shell": shell, "script": script}, [script])
