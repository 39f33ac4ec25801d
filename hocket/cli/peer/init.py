"""`hocket peer init`: keys for this member, and a card for the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.new_card import make_card
from hocket.cli.peer.opening import HomeOption
from hocket.errors import BadConfig


def init(
    *,
    name: Annotated[str, Parameter(help="This member's name: small letters, digits and hyphens.")],
    address: Annotated[
        str | None,
        Parameter(help="host:port at which the others can dial it; leave it away behind a router."),
    ] = None,
    days: Annotated[int, Parameter(help="How long the certificate is valid.")] = 365,
    passphrase: Annotated[bool, Parameter(negative=(), help="Also protect the key by a passphrase.")] = False,
    card: Annotated[Path | None, Parameter(help="File for the card; by default NAME.toml.")] = None,
    home: HomeOption = None,
) -> Answer:
    """Make this member's keys, which stay here, and its card, which is public: give it to the others.

    Read the fingerprint to them by voice: a card that was swapped on its way has another one.
    """
    from hocket.federation.home import Home

    path, folder = card or Path(f"{name}.toml"), Home.at(home).identity
    if path.exists():
        raise BadConfig(f"{path} exists; name another file for the card with --card")
    advice = [
        f"Card: {path} (public: give it to the others)",
        f"Keys: {folder} (secret: back them up, never send them)",
    ]
    return make_card(
        name, address=address, days=days, passphrase=passphrase, card=path, folder=folder, advice=advice
    )
