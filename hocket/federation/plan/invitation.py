"""Invitations: a member's card, and a plan if there is one, in one file that its sender has signed.

It may travel by any mail. A hash tells what was damaged on its way, the signature that nobody else has put it together;
that the sender is who it claims is told by its fingerprint, in words that two people read to each other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from hocket import __version__
from hocket.config.files import dumps
from hocket.config.section import Section, check
from hocket.errors import BadConfig, BadIdentity, BadInput, BadPlan, nearest
from hocket.federation.plan.cards import Card, card_from
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import LONGEST as LONGEST_PLAN
from hocket.federation.plan.plan_file import LONGEST_SIGNATURE, parse_plan, plan_text
from hocket.federation.plan.sections import Text
from hocket.files import read_text, toml_tables
from hocket.links.keys.identity import Identity, check_certificate, verify_text
from hocket.links.text import is_table, shown

LABEL = b"hocket/invitation/1\n"
"""Begins what is hashed."""
PURPOSE = b"hocket/invitation/1"
"""What a sender signs it for."""
VERSION = 1
LONGEST = 2 * LONGEST_PLAN
"""Bytes of a file: a plan's, and as much again for what its quotes take."""
INVITATION, CARD, PLAN = "invitation", "card", "plan"


class InvitationSection(Section):
    """The section [invitation]."""

    version: int = Field(ge=1, description=f"the version of the form, {VERSION}")
    asks: bool = Field(description="true if a card is asked for in return")
    note: Text = Field("", description="words of the sender's, in at most 200 characters")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="64 hexadecimal digits: the hash of the rest")
    signature: str = Field(max_length=LONGEST_SIGNATURE, description="the sender's signature, in base 64")


class PlanText(Section):
    """The section [plan]."""

    text: str = Field(max_length=LONGEST_PLAN, description="a plan's file, as one text")


@dataclass(frozen=True)
class Invitation:
    """What one member hands to another."""

    sender: Card
    plan: FederationPlan | None = None
    """With the signatures that the sender has collected so far."""
    asks: bool = False
    """Whether the sender asks for the receiver's card."""
    note: str = ""

    @property
    def fingerprint(self) -> str:
        """What two people read to each other: the plan's words, or the sender's where there is no plan yet."""
        return self.sender.fingerprint if self.plan is None else self.plan.fingerprint

    def text(self, identity: Identity) -> str:
        """The file, signed by its sender."""
        digest = _digest(self._tables(), asks=self.asks, note=self.note)
        about = {
            "version": VERSION,
            "asks": self.asks,
            "note": self.note,
            "sha256": digest.hex(),
            "signature": base64.b64encode(identity.sign(digest, PURPOSE)).decode(),
        }
        check(InvitationSection, INVITATION, about)  # so that nobody is sent what cannot be read
        heading = (
            f"# From {self.sender.name}, to be opened with: hocket peer accept FILE\n"
            f"# Fingerprint, to compare by voice: {self.fingerprint}\n# Written by hocket {__version__}\n\n"
        )
        return heading + dumps({INVITATION: about, **self._tables()})

    def _tables(self) -> dict[str, Any]:
        plan = {} if self.plan is None else {PLAN: {"text": plan_text(self.plan)}}
        return {CARD: self.sender.table(), **plan}


def _digest(tables: Mapping[str, Any], *, asks: bool, note: str) -> bytes:
    whole = {"version": VERSION, "asks": asks, "note": note, **tables}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(LABEL + text.encode()).digest()


def read_invitation(path: Path) -> Invitation:
    """Read an invitation, and check all that can be checked without its sender; errors name the file."""
    try:
        text = read_text(path, LONGEST)
    except OSError as error:
        raise BadConfig(
            f"{path} cannot be read: {error.strerror}; name the file that hocket peer invite or accept wrote"
        ) from None
    try:
        return parse_invitation(text)
    except BadInput as error:
        raise BadPlan(f"{path}: {error}") from error


def parse_invitation(text: str) -> Invitation:
    """An invitation from its text."""
    tables = toml_tables(text)
    _check_sections(tables)
    about = check(InvitationSection, INVITATION, tables[INVITATION])
    if about.version != VERSION:
        raise BadConfig(
            f"the invitation has version {about.version}, this hocket reads {VERSION}; install the sender's"
        )
    contents = {name: table for name, table in tables.items() if name != INVITATION}
    try:
        digest = _digest(contents, asks=about.asks, note=about.note)
    except (TypeError, ValueError):  # TOML knows dates, and numbers that are not finite
        raise BadConfig("it holds values that no invitation has; ask for it again, as a file") from None
    if digest.hex() != about.sha256:
        raise BadPlan("it was changed on its way: its hash is another; ask for it again, as a file")
    sender = card_from(tables[CARD], CARD)
    check_certificate(sender.certificate_pem, sender.name)
    if not verify_text(sender.certificate_pem, digest, PURPOSE, about.signature):
        raise BadPlan(
            f"it is not signed by {sender.name}, whose card is in it: somebody else put it together; ask {sender.name}"
        )
    plan = parse_plan(check(PlanText, PLAN, tables[PLAN]).text) if PLAN in tables else None
    if plan is not None and plan.card(sender.name) != sender:
        raise BadPlan(
            f"its plan has another card for {sender.name} than its sender's own; ask {sender.name} which one holds"
        )
    return Invitation(sender, plan, about.asks, about.note)


def _check_sections(tables: Mapping[str, Any]) -> None:
    known = (INVITATION, CARD, PLAN)
    if "federation" in tables:
        raise BadConfig("this is a plan and no invitation; to sign it: hocket peer sign")
    for name in tables:
        if name not in known:
            raise BadConfig(
                f"there is no section [{shown(name)}]{nearest(name, known)}; an invitation has [{INVITATION}], "
                f"[{CARD}] and perhaps [{PLAN}]"
            )
    for name in (INVITATION, CARD):
        if not is_table(tables.get(name)):
            raise BadConfig(f"the section [{name}] is missing: this is no invitation, or a part of one")


def check_heard(heard: str, fingerprint: str) -> None:
    """Refuse a fingerprint that is not the one that was heard; how it was written down does not matter.

    >>> check_heard("Babad, bamag", "babad-bamag")
    """
    ours, theirs = re.findall("[a-z]+", heard.lower()), fingerprint.split("-")
    if ours == theirs:
        return
    place = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    what = f"you gave {len(ours)} words" if place is None else f"word {place + 1} is {theirs[place]!r} here"
    raise BadIdentity(
        f"the fingerprint that you heard is not that of this file, which is {fingerprint}: {what}. Have it read to you "
        "again; if it stays another, the file was swapped on its way"
    )
