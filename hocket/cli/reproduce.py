"""`hocket reproduce`: a door to `reproductions`, which lies beside the package in a clone and in no wheel."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

import hocket
from hocket.errors import BadConfig


def reproduce() -> App:
    """The commands of `reproductions`; without them, one that says where they are.

    Only what lies beside the package is opened, or what `python -m reproductions` has opened already: never a folder of
    that name in the place where a command is typed.
    """
    beside = Path(hocket.__file__).parents[1] / "reproductions" / "commands.py"
    if beside.is_file() or "reproductions" in sys.modules:
        return import_module("reproductions.commands").reproduce
    return App(
        name="reproduce",
        help="Reproduce the paper's experiments, in a clone of hocket's repository.",
        help_epilogue="Example: hocket reproduce polynomials",
        default_command=_elsewhere,
    )


def _elsewhere(*words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
    raise BadConfig(
        "the paper's experiments are no part of the installed package; clone hocket's repository and run them there: "
        f"python -m reproductions {' '.join(words) or 'polynomials'}"
    )
