"""What the commands of a member have in common: its identity, and who is in its plan."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.errors import BadIdentity

if TYPE_CHECKING:
    from hocket.federation.plan import FederationPlan
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


# Who is in a plan, a line each. Not as a table: a fingerprint that is cut short could not be compared.


def members_in_words(plan: FederationPlan) -> Iterator[str]:
    """Every member's agent number, name, fingerprint and address, and whether it has signed."""
    width = max(map(len, plan.names))
    for agent, card in enumerate(plan.cards):
        signed = "signed" if card.name in plan.signatures else "not signed"
        yield f"{agent:>2} {card.name:<{width}}  {card.fingerprint}  {card.address or 'dials only'}, {signed}"
