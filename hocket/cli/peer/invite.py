"""`hocket peer invite` and `accept`: cards and plans from one member to another, in one file each way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.options import HomeFolder, OutFile, refuse_existing
from hocket.cli.peer.cards import USUAL, KeyOptions, make_card
from hocket.cli.peer.common import open_identity, still_to_do
from hocket.cli.peer.sign import ASK, SignOptions, sign_as
from hocket.errors import BadConfig
from hocket.federation.state.home import Home
from hocket.links.text import quoted_lines
from hocket.machine import replace_text

if TYPE_CHECKING:
    from hocket.federation.plan.cards import Card
    from hocket.federation.plan.invitation import Invitation
    from hocket.federation.plan.plan import FederationPlan
    from hocket.links.keys.identity import Identity

CardFile = Annotated[Path | None, Parameter(help="This member's own card; by default NAME.toml.")]


def invite(
    plan: Path | None = None,
    /,
    *,
    card: CardFile = None,
    note: str = "",
    out: OutFile = Path("invitation.toml"),
    home: HomeFolder = None,
) -> Answer:
    """Write one file for all others: this member's card, and the plan with all cards and signatures so far.

    Send it any way you like, and read its fingerprint to those who accept it.
    Before there is a plan, it asks for cards.

    Args:
        plan: The plan to be signed; without one, cards are asked for.
        note: A note to those who open it.
        out: File for the invitation.
    """
    from hocket.federation.plan.invitation import Invitation
    from hocket.federation.plan.plan_file import read_plan

    if plan is None:
        identity = open_identity(Home.at(home).identity)
        made = Invitation(_own_card(identity, card), asks=True, note=note)
    else:
        agreed = read_plan(plan)
        identity = open_identity(Home.at(home).identity_in(agreed))
        agreed.check_names(identity)
        made = Invitation(agreed.card(identity.name), agreed, note=note)
    _write_new(out, made.text(identity), "invitation", "--out")
    data = {"invitation": str(out), "from": identity.name, "fingerprint": made.fingerprint}
    words = [
        f"Invitation: {out} (public: send it to every member)",
        f"Fingerprint, to read to each who accepts it: {made.fingerprint}",
        f"Next: each opens it with: hocket peer accept {out}, and sends back the file that this writes, which you open "
        "with hocket peer accept, too",
    ]
    return Answer(data, words)


def accept(
    file: Path,
    /,
    *,
    fingerprint: str | None = None,
    name: str | None = None,
    asked: KeyOptions = USUAL,
    card: CardFile = None,
    out: OutFile = Path("plan.toml"),
    reply: Path | None = None,
    signing: SignOptions = ASK,
    home: HomeFolder = None,
) -> Answer:
    """Open what another member sent: keep its card, or sign its plan, and write the file that goes back.

    A new member's keys are made on the way: give --name, and --address if it can be dialled; --relay, --days and
    --passphrase are for new keys, too. What others send back is opened with the same command: it keeps their cards, and
    takes their signatures over into the plan.

    Args:
        file: What hocket peer invite or accept wrote.
        fingerprint: The words of its fingerprint as its sender read them to you: refused if they differ.
        name: For a new member: its name.
        out: File for the plan that is in it.
        reply: File to send back; by default NAME-joins.toml or NAME-signed.toml.
    """
    from hocket.federation.plan.invitation import check_heard, read_invitation
    from hocket.federation.state.known_keys import KnownKeys

    found = read_invitation(file)
    if fingerprint is not None:
        check_heard(fingerprint, found.fingerprint)
    if found.plan is not None:
        mine = open_identity(Home.at(home).identity)
        signed = partial(sign_as, lambda: mine, out, asked=signing, home=Home.at(home))
        return _plan(found.plan, found, mine, out, reply, signed, signing.accept_key)
    words = _made(name, asked, card, home)
    mine, keys = open_identity(Home.at(home).identity), KnownKeys.of(Home.at(home))
    words += keys.accept([found.sender], mine.name, signing.accept_key)
    answer = _card(found, mine, card, reply, words, signing.accept_key)
    keys.remember([found.sender])
    return answer


def _made(name: str | None, asked: KeyOptions, card: Path | None, home: Path | None) -> list[str]:
    """A new member's keys, if it has none."""
    folder = Home.at(home).identity
    if (folder / "key").exists():
        if name is not None or asked.address is not None or asked.relay:
            raise BadConfig(
                f"{folder} already holds an identity, with a card of its own; leave --name, --address and --relay away"
            )
        return []
    if name is None:
        raise BadConfig(
            f"there is no identity in {folder}; add --name, and --address if others can dial you, or --relay"
        )
    path = card or Path(f"{name}.toml")
    make_card(name, asked, card=path, folder=folder, advice=[])
    return [f"Keys: {folder} (secret: back them up, never send them). Card: {path}"]


def _card(
    found: Invitation,
    identity: Identity,
    card: Path | None,
    reply: Path | None,
    words: list[str],
    accepted: Collection[str],
) -> Answer:
    """Keep the sender's card, and answer with one's own where it is asked for."""
    from hocket.federation.plan.invitation import Invitation

    sender = found.sender
    if sender.name == identity.name:
        raise BadConfig(f"this is an invitation of your own, {identity.name}; send it to the others")
    kept = Path(f"{sender.name}.toml")
    _keep_card(sender, kept, accepted)
    data = {"from": sender.name, "fingerprint": sender.fingerprint, "card": str(kept), "reply": None}
    words += [
        *_note(found),
        f"Card of {sender.name}: {kept}. Have its fingerprint read to you: {sender.fingerprint}",
    ]
    if found.asks:
        mine = Invitation(_own_card(identity, card))
        path = reply or Path(f"{identity.name}-joins.toml")
        _write_new(path, mine.text(identity), "reply", "--reply")
        data["reply"] = str(path)
        words += [
            f"Send back: {path} (public)",
            f"Fingerprint, to read to {sender.name}: {mine.fingerprint}",
        ]
    return Answer(data, words)


def _plan(
    plan: FederationPlan,
    found: Invitation,
    identity: Identity,
    out: Path,
    reply: Path | None,
    signing: Callable[[], Answer],
    accepted: Collection[str],
) -> Answer:
    """Take a plan, or signatures of it, over; sign it if this member has not."""
    from hocket.federation.plan.invitation import Invitation
    from hocket.federation.plan.plan import difference
    from hocket.federation.plan.plan_file import read_plan, write_plan

    plan.check_names(identity)
    # The plan may have another card in the place of one that was accepted; one's own key is at hand.
    for card in plan.cards:
        if (kept := Path(f"{card.name}.toml")).exists():
            _keep_card(card, kept, (*accepted, identity.name))
    begun = out.exists()
    known = read_plan(out) if begun else plan
    if known.hash != plan.hash:
        raise BadConfig(
            f"{out} is another plan than the one in this file: {difference(known, plan)}; name another file with --out"
        )
    mine = known.with_signatures_of(plan)
    path, to_sign = reply or Path(f"{identity.name}-signed.toml"), identity.name in mine.unsigned
    if to_sign:
        refuse_existing(path, "reply", "--reply")
    words = _note(found)
    data: dict[str, object] = {"from": found.sender.name, "plan": str(out), "fingerprint": mine.fingerprint}
    write_plan(mine, out)
    if to_sign:
        try:
            signed = signing()
        except BaseException:
            if not begun:  # nothing was agreed to, and the same command is to find the place free again
                out.unlink(missing_ok=True)
            raise
        words += [line for line in signed.words[:-1] if isinstance(line, str)]
        mine = read_plan(out)
    words += [
        f"Plan: {out}; its fingerprint, to compare by voice: {mine.fingerprint}",
        still_to_do(mine, out),
    ]
    data |= {"signed": [one for one in mine.names if one in mine.signatures], "unsigned": list(mine.unsigned)}
    data["reply"] = None
    if to_sign:
        _write_new(path, Invitation(mine.card(identity.name), mine).text(identity), "reply", "--reply")
        words.append(f"Send back: {path}, to be opened with hocket peer accept")
        data["reply"] = str(path)
    return Answer(data, words)


def _own_card(identity: Identity, card: Path | None) -> Card:
    """This member's own card, from its file: the address is on it alone."""
    from hocket.federation.plan.cards import read_card

    found = read_card(card or Path(f"{identity.name}.toml"))
    if found.certificate_pem != identity.certificate_pem:
        raise BadConfig(
            f"{card or f'{identity.name}.toml'} is not the card of the identity in this home; name it with --card"
        )
    return found


def _keep_card(card: Card, path: Path, accepted: Collection[str]) -> None:
    """Write a card down, unless that very card is there; in place of another only if its key has signed this one, or
    the operator accepts it."""
    from hocket.federation.plan.cards import read_card

    if path.exists():
        known = read_card(path)
        if known == card:
            return
        if not card.is_renewed_by(known.certificate_pem) and card.name not in accepted:
            raise BadConfig(
                f"{path} is another card of {card.name} than the one in this file; ask {card.name} which one holds, "
                f"and move the other away, or add --accept-key {card.name} if this file's does"
            )
    replace_text(path, card.text())


def _write_new(path: Path, text: str, what: str, option: str) -> None:
    refuse_existing(path, what, option)
    path.write_text(text, encoding="utf-8")


def _note(found: Invitation) -> list[str]:
    """What the sender writes, on lines of its own."""
    return [f"{found.sender.name} writes: {line}" for line in quoted_lines(found.note)]
