"""`hocket peer init`, `renew` and `replace`: a key for a member, and a card for the others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.common import (
    HomeOption,
    members_in_words,
    new_passphrase,
    open_identity,
    refuse_existing,
)
from hocket.errors import BadConfig
from hocket.federation.home import Home


@Parameter(name="*")
@dataclass(frozen=True)
class KeyOptions:
    """What goes into a member's new keys and card."""

    address: Annotated[
        str | None,
        Parameter(help="host:port at which the others can dial it; leave it away behind a router."),
    ] = None
    relay: Annotated[
        tuple[str, ...],
        Parameter(
            help="host:port of a relay at which others find a member that nobody can dial; may be given several times."
        ),
    ] = ()
    days: Annotated[int, Parameter(help="How long the new certificate is valid.")] = 365
    passphrase: Annotated[bool, Parameter(negative=(), help="Also protect the key by a passphrase.")] = False


USUAL = KeyOptions()
"""Nothing is asked for."""


def make_card(
    name: str,
    asked: KeyOptions,
    *,
    card: Path,
    folder: Path,
    old: Path | None = None,
    advice: list[str],
) -> Answer:
    """Keys into the folder, once what was there is moved to `old`, and the card into its file."""
    from hocket.federation.cards import Card, check_address
    from hocket.links.identity import Identity

    refuse_existing(card, "card", "--card")
    if asked.address is not None:
        check_address(asked.address, name)
    identity = Identity.create(name, valid_days=asked.days)
    mine = Card.of(identity, asked.address, asked.relay)
    secret = new_passphrase() if asked.passphrase else None
    if old is not None:
        os.rename(folder, old)
    identity.save(folder, secret)
    card.parent.mkdir(parents=True, exist_ok=True)
    card.write_text(mine.text(), encoding="utf-8")
    data = {
        "name": name,
        "address": asked.address,
        "relays": list(asked.relay),
        "fingerprint": mine.fingerprint,
        "card": str(card),
        "identity": str(folder),
    }
    heard = f"Fingerprint, to read to the others: {mine.fingerprint}"
    return Answer(
        data if old is None else data | {"old_identity": str(old)}, [mine.text().rstrip(), "", *advice, heard]
    )


def init(
    *,
    name: Annotated[str, Parameter(help="This member's name: small letters, digits and hyphens.")],
    asked: KeyOptions = USUAL,
    card: Annotated[Path | None, Parameter(help="File for the card; by default NAME.toml.")] = None,
    home: HomeOption = None,
) -> Answer:
    """Make this member's keys, which stay here, and its card, which is public: give it to the others.

    Read the fingerprint to them by voice: a card that was swapped on its way has another one.
    """
    path, folder = card or Path(f"{name}.toml"), Home.at(home).identity
    advice = [
        f"Card: {path} (public: give it to the others)",
        f"Keys: {folder} (secret: back them up, never send them)",
    ]
    return make_card(name, asked, card=path, folder=folder, advice=advice)


def renew(
    *,
    asked: KeyOptions = USUAL,
    card: Annotated[Path | None, Parameter(help="File for the card; by default NAME-renewed.toml.")] = None,
    home: HomeOption = None,
) -> Answer:
    """Make a new key and certificate under the same name, before the old certificate expires or once it was stolen.

    The old identity is moved aside, to identity.old: until everybody has signed the plan with the new card, that is
    the one the plan knows.
    """
    folder = Home.at(home).identity
    name = open_identity(folder).name
    path, old = card or Path(f"{name}-renewed.toml"), folder.with_name(folder.name + ".old")
    for taken, cure in ((path, "name another file with --card"), (old, "move it away first")):
        if taken.exists():
            raise BadConfig(f"{taken} exists; {cure}")
    advice = [
        f"Card: {path}. Put it into the plan with: hocket peer replace PLAN {path}",
        f"Old keys: {old} (destroy them once the new plan is signed by all)",
    ]
    return make_card(name, asked, card=path, folder=folder, old=old, advice=advice)


def replace(
    plan: Annotated[Path, Parameter(help="The plan that is being run.")],
    /,
    *cards: Annotated[Path, Parameter(help="Renewed cards of its members.")],
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="File for the new plan.")] = Path(
        "plan-renewed.toml"
    ),
) -> Answer:
    """Put renewed cards into a plan. Everybody signs it again, stops, and runs it: the run goes on where it was.

    Nothing else can be changed in the middle of a run.
    """
    from hocket.federation.cards import read_card
    from hocket.federation.plan_file import read_plan, write_plan
    from hocket.links.identity import check_certificate

    refuse_existing(out, "plan")
    if not cards:
        raise BadConfig("no card was named; make one with hocket peer renew")
    renewed = [read_card(path) for path in cards]
    for card in renewed:
        check_certificate(card.certificate_pem, card.name)
    newer = read_plan(plan, Home.at().own_code).with_renewed(renewed)
    write_plan(newer, out)
    data = {
        "plan": str(out),
        "hash": newer.hash.hex(),
        "run": newer.run_hash.hex(),
        "fingerprint": newer.fingerprint,
    }
    words = [
        *members_in_words(newer),
        "",
        f"Plan: {out}",
        f"Fingerprint, to compare by voice: {newer.fingerprint}",
        f"Next: each member signs it with hocket peer sign {out}, stops its run, and runs {out} instead.",
    ]
    return Answer(data, words)
