"""What `init` and `renew` share: a key and certificate in a member's home, and a card for the others."""

from __future__ import annotations

import os
from pathlib import Path

from hocket.cli.answer import Answer
from hocket.cli.peer.opening import new_passphrase


def make_card(
    name: str,
    *,
    address: str | None,
    days: int,
    passphrase: bool,
    card: Path,
    folder: Path,
    old: Path | None = None,
    advice: list[str],
) -> Answer:
    """Keys into the folder, once what was there is moved to `old`, and the card into its file."""
    from hocket.federation.cards import Card, check_address
    from hocket.links.identity import Identity

    if address is not None:
        check_address(address, name)
    identity = Identity.create(name, valid_days=days)
    mine, secret = Card.of(identity, address), new_passphrase() if passphrase else None
    if old is not None:
        os.rename(folder, old)
    identity.save(folder, secret)
    card.parent.mkdir(parents=True, exist_ok=True)
    card.write_text(mine.text(), encoding="utf-8")
    data = {
        "name": name,
        "address": address,
        "fingerprint": mine.fingerprint,
        "card": str(card),
        "identity": str(folder),
    }
    heard = f"Fingerprint, to read to the others: {mine.fingerprint}"
    return Answer(
        data if old is None else data | {"old_identity": str(old)}, [mine.text().rstrip(), "", *advice, heard]
    )
