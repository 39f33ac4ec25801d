"""Opening this member's identity, with a passphrase where it has one."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.errors import BadIdentity

if TYPE_CHECKING:
    from hocket.links.identity import Identity

VARIABLE = "HOCKET_PASSPHRASE"
HomeOption = Annotated[
    Path | None,
    Parameter(help="This member's folder; by default $HOCKET_HOME or ~/.hocket.", show_default=False),
]


def open_identity(folder: Path) -> Identity:
    """The identity in a folder; its passphrase comes from $HOCKET_PASSPHRASE or is asked for."""
    from hocket.links.identity import Identity, is_under_passphrase

    if not is_under_passphrase(folder):
        return Identity.load(folder)
    return Identity.load(folder, os.environ.get(VARIABLE) or getpass.getpass("Passphrase: "))


def new_passphrase() -> str:
    """A passphrase for a new identity, from $HOCKET_PASSPHRASE or typed twice."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    first = getpass.getpass("Passphrase: ")
    if first != getpass.getpass("Once more: "):
        raise BadIdentity("the two passphrases differ; try again")
    return first
