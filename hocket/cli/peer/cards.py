"""`hocket peer init`, `renew` and `replace`: a key for a member, and a card for the others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.options import AcceptKey, HomeFolder, OutFile, refuse_existing
from hocket.cli.peer.common import members_in_words, new_passphrase, open_identity
from hocket.cli.peer.sign import SignOptions, sign_as
from hocket.errors import BadConfig, HocketError
from hocket.federation.state.home import Home
from hocket.machine import replace_text

if TYPE_CHECKING:
    from hocket.federation.plan.cards import Card
    from hocket.federation.plan.plan import FederationPlan
    from hocket.links.keys.identity import Identity


@Parameter(name="*")
@dataclass(frozen=True)
class KeyOptions:
    """What goes into a member's new keys and card."""

    address: str | None = None
    """host:port at which the others can dial it; leave it away behind a router."""
    relay: tuple[str, ...] = ()
    """host:port of a relay at which others find a member that nobody can dial; may be given several times."""
    days: int = 365
    """How long the new TLS certificate is valid."""
    passphrase: bool = False
    """Also protect the key by a passphrase."""


USUAL = KeyOptions()
"""Nothing is asked for."""
RENEWED = Path("plan-renewed.toml")
CARD = "card.toml"
"""In the folder of an identity: its card, so that a renewed one says where the member is found."""


def make_card(name: str, asked: KeyOptions, *, card: Path, folder: Path, advice: Sequence[str]) -> Answer:
    """New keys into the folder, and the card into its file."""
    from hocket.federation.plan.cards import Card, check_address
    from hocket.links.keys.identity import Identity, check_no_identity

    check_no_identity(folder)
    refuse_existing(card, "card", "--card")
    if asked.address is not None:
        check_address(asked.address, name)
    identity = Identity.create(name, valid_days=asked.days)
    mine = Card.of(identity, asked.address, asked.relay)
    identity.save(folder, new_passphrase() if asked.passphrase else None)
    _write_card(mine, card, folder)
    return _answer(mine, card, folder, advice)


def _write_card(made: Card, path: Path, folder: Path) -> None:
    """Write a card for the others, and keep a copy beside its keys."""
    replace_text(folder / CARD, made.text())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made.text(), encoding="utf-8")


def _answer(made: Card, card: Path, folder: Path, advice: Sequence[str]) -> Answer:
    data = {
        "name": made.name,
        "address": made.address,
        "relays": list(made.relays),
        "fingerprint": made.fingerprint,
        "card": str(card),
        "identity": str(folder),
    }
    fingerprint = f"Fingerprint, to read to the others: {made.fingerprint}"
    return Answer(data, [made.text().rstrip(), "", *advice, fingerprint])


def init(
    *, name: str, asked: KeyOptions = USUAL, card: Path | None = None, home: HomeFolder = None
) -> Answer:
    """Make this member's keys, which stay here, and its card, which is public: give it to the others.

    Read the fingerprint to them by voice: a card that was swapped on its way has another one.

    Args:
        name: This member's name: small letters, digits and hyphens.
        card: File for the card; by default NAME.toml.
    """
    place = Home.at(home)
    path, folder = card or Path(f"{name}.toml"), place.identity
    if not folder.exists():
        place.settle_renewal()
    advice = [
        f"Card: {path} (public: give it to the others)",
        f"Keys: {folder} (secret: back them up, never send them)",
    ]
    return make_card(name, asked, card=path, folder=folder, advice=advice)


def renew(
    plan: Path | None = None,
    /,
    *,
    asked: KeyOptions = USUAL,
    card: Path | None = None,
    out: OutFile = RENEWED,
    home: HomeFolder = None,
) -> Answer:
    """Make a new key and TLS certificate under the same name, before the old one expires or once it was stolen.

    The card keeps its address and relays, unless others are given, and the old key signs the new one, so that the other
    members need not compare fingerprints again. The old key is moved aside, to identity.old-1: as long as a plan names
    it, that plan is run with it. With a plan this member signs it anew; each other member confirms by `sign`.

    Args:
        plan: The plan that is being run: the new card is put into it, for the others to sign.
        card: File for the card; by default NAME-renewed.toml.
        out: File for the new plan.
    """
    from hocket.federation.plan.cards import Card, check_address
    from hocket.federation.plan.plan_file import read_plan, write_plan
    from hocket.links.keys.identity import Identity, is_under_passphrase

    place = Home.at(home)
    place.settle_renewal()
    folder, aside = place.identity, place.aside
    old = open_identity(folder)
    path = card or Path(f"{old.name}-renewed.toml")
    refuse_existing(path, "card", "--card")
    before = None if plan is None else read_plan(plan, place.own_code)
    if before is not None:
        refuse_existing(out, "plan")
    if asked.address is not None:
        check_address(asked.address, old.name)
    address, relays = _found_at(old, asked, before, folder)
    new = Identity.create(old.name, valid_days=asked.days)
    made = Card.of(new, address, relays).renewed_by(old)
    newer = None if before is None else before.with_renewed([made])
    secret = new_passphrase() if asked.passphrase or is_under_passphrase(folder) else None
    # Until the last step all is as it was; after it, the old key is still there.
    try:
        new.save(place.renewed, secret)
        _write_card(made, path, place.renewed)
        if newer is not None:
            write_plan(newer, out)
    except BaseException:
        shutil.rmtree(place.renewed, ignore_errors=True)
        path.unlink(missing_ok=True)
        raise
    os.rename(folder, aside)
    os.rename(place.renewed, folder)
    advice = [
        f"Card: {path}, found at {made.found_at}",
        f"Old keys: {aside} (plans that name them are run with them; destroy them once none does)",
    ]
    answer = _answer(made, path, folder, advice)
    if before is None or newer is None:
        return Answer(
            answer.data | {"old_identity": str(aside)},
            [*answer.words, f"For a plan that is being run: hocket peer replace PLAN {path}"],
        )
    signed = _signed_anew(before, newer, out, new, place)
    data = answer.data | {"old_identity": str(aside), "plan": str(out), "plan_fingerprint": newer.fingerprint}
    return Answer(data, [*answer.words, *signed])


def _found_at(
    old: Identity, asked: KeyOptions, plan: FederationPlan | None, folder: Path
) -> tuple[str | None, tuple[str, ...]]:
    """Where a renewed member is found: at a new place that is given, or else as before."""
    from hocket.federation.plan.cards import read_card

    if asked.address is not None or asked.relay:
        return asked.address, asked.relay
    if plan is not None:
        card = plan.card(old.name)
    elif (folder / CARD).is_file():
        card = read_card(folder / CARD)
    else:
        raise BadConfig(
            f"nothing in {folder} says where others find {old.name}; add --address host:port, or --relay host:port, or "
            "name the plan that has the old card: hocket peer renew PLAN"
        )
    return card.address, card.relays


def _signed_anew(
    before: FederationPlan, newer: FederationPlan, file: Path, new: Identity, home: Home
) -> list[str]:
    """Sign a plan whose run this member has agreed to before, as nothing but cards differs; what is to be done then."""
    from hocket.federation.monitoring.expiry import expiring
    from hocket.federation.state.run_folder import RunFolder

    folder = RunFolder(home.run(newer.run_hash))
    left = home.accounts.left(newer.run_hash.hex())
    late = [one.name for one in expiring(newer, within=timedelta(0), without=left)]
    to_run = "stops its run, and runs it instead of the old plan; until then runs go on with the old key"
    if late:
        return [
            f"Plan: {file}. Expired as well: {', '.join(late)}; each renews in this plan, one after the other: "
            f"hocket peer renew {file} -o PLAN. All sign the last one, and run it instead of the old plan."
        ]
    if folder.consent is None and new.name not in before.signatures:
        return [f"Plan: {file}. Next: each member signs it with hocket peer sign {file}, {to_run}"]
    try:
        signed = sign_as(lambda: new, file, asked=SignOptions(yes=True, accept_unsafe=True), home=home)
    except HocketError as error:
        return [f"Plan: {file}. It is not signed yet: {error}. Sign it with hocket peer sign {file}"]
    return [
        *signed.data["changed"],
        f"Plan: {file}, signed as {new.name}; fingerprint, to compare by voice: {newer.fingerprint}",
        f"Next: each other member confirms with hocket peer sign {file}; then everybody {to_run}",
    ]


def replace(plan: Path, /, *cards: Path, accept_key: AcceptKey = (), out: OutFile = RENEWED) -> Answer:
    """Put renewed cards into a plan. Everybody signs it again, stops, and runs it: the run goes on where it was.

    It shows what changed, and refuses a key that the member's old key has not signed. Nothing else can be changed in
    the middle of a run.

    Args:
        plan: The plan that is being run.
        cards: Renewed cards of its members.
        out: File for the new plan.
    """
    from hocket.federation.plan.cards import read_card
    from hocket.federation.plan.plan_file import read_plan, write_plan
    from hocket.federation.state.known_keys import changes_between
    from hocket.links.keys.identity import check_certificate

    refuse_existing(out, "plan")
    if not cards:
        raise BadConfig("no card was named; make one with hocket peer renew")
    renewed = [read_card(path) for path in cards]
    for card in renewed:
        check_certificate(card.certificate_pem, card.name)
    older = read_plan(plan, Home.at().own_code)
    newer = older.with_renewed(renewed)
    changed = changes_between(older.cards, newer.cards, accept_key)
    write_plan(newer, out)
    data = {
        "plan": str(out),
        "hash": newer.hash.hex(),
        "run": newer.run_hash.hex(),
        "fingerprint": newer.fingerprint,
        "changed": changed,
    }
    words = [
        *changed,
        *members_in_words(newer),
        "",
        f"Plan: {out}",
        f"Fingerprint, to compare by voice: {newer.fingerprint}",
        f"Next: each member signs it with hocket peer sign {out}, stops its run, and runs {out} instead.",
    ]
    return Answer(data, words)
