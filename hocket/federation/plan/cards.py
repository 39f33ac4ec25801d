"""Cards: what a member gives to the others so that they can name it in a plan. Nothing on a card is secret."""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from hocket import __version__
from hocket.config.files import dumps
from hocket.config.section import Section, check
from hocket.errors import BadConfig, BadIdentity, BadPlan
from hocket.files import read_text, toml_tables
from hocket.links.keys.identity import Identity, check_name, fingerprint, name_in, verify_text
from hocket.links.relay.outbound import RelayName
from hocket.links.text import is_table

ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
LAST_PORT = (1 << 16) - 1
LONGEST = 100_000
"""Bytes of a card's file: far beyond any, and little enough to read from a stranger."""
MOST_ADDRESS = 300
MOST_RELAYS = 8
RENEWAL = b"hocket/renewal/1"
"""What a member's old key signs its new certificate for."""
MOST_RENEWAL = 200
"""Characters; a signature of ours has about 100."""
MOST_CERTIFICATE = 10_000
"""Characters; a certificate of ours has about 600."""


class CardSection(Section):
    """The section [card] of a card."""

    name: str = Field(max_length=MOST_ADDRESS, description="the member's name")
    address: str | None = Field(
        None,
        max_length=MOST_ADDRESS,
        description="text such as 'host.example:7000'; left out if nobody can dial it",
    )
    relays: list[Annotated[str, Field(max_length=MOST_ADDRESS)]] = Field(
        default_factory=list[str],
        max_length=MOST_RELAYS,
        description="where others find it who cannot be dialled, such as ['relay.example:443']",
    )
    certificate: str = Field(
        max_length=MOST_CERTIFICATE, description="the certificate in base 64, as hocket peer init wrote it"
    )
    renewal: str | None = Field(
        None,
        max_length=MOST_RENEWAL,
        description="the signature of the certificate by the key before it, as hocket peer renew wrote it",
    )


@dataclass(frozen=True)
class Card:
    """A member's name, address and certificate."""

    name: str
    address: str | None
    """Where others can dial it; None if it can only dial itself, as from behind a router."""
    certificate: str
    """In base 64, on one line: a card survives any mail program."""
    relays: tuple[str, ...] = ()
    """Where others find it if it has no address, the first of them first."""
    renewal: str | None = None
    """What the member's key before this one says of this certificate, in base 64; None where there was none."""

    def __post_init__(self) -> None:
        check_name(self.name)
        for relay in self.relays:
            RelayName(relay)
        if len({*self.relays}) < len(self.relays):
            raise BadPlan(f"the card of {self.name} names a relay twice; name each once")
        if self.address is not None:
            check_address(self.address, self.name)
        try:
            owner = name_in(self.certificate_pem)
        except BadIdentity:
            raise BadPlan(
                f"the certificate on the card of {self.name} is damaged; ask {self.name} for the card again"
            ) from None
        if owner != self.name:
            raise BadPlan(
                f"the card of {self.name} holds the certificate of {owner!r}; ask {self.name} for its own card"
            )

    @classmethod
    def of(cls, identity: Identity, address: str | None, relays: Sequence[str] = ()) -> Card:
        """The card of an identity that is reached at this address, or through these relays."""
        der = ssl.PEM_cert_to_DER_cert(identity.certificate_pem.decode())
        return cls(identity.name, address, base64.b64encode(der).decode(), tuple(relays))

    def renewed_by(self, old: Identity) -> Card:
        """The card with the word of the member's old key for the new one."""
        signature = old.sign(_renewal_message(self), RENEWAL)
        return replace(self, renewal=base64.b64encode(signature).decode())

    def is_renewed_by(self, old: bytes) -> bool:
        """Whether the key of this certificate, in PEM, has signed this card's certificate in its own place."""
        return self.renewal is not None and verify_text(old, _renewal_message(self), RENEWAL, self.renewal)

    @cached_property
    def certificate_pem(self) -> bytes:
        """The certificate as TLS libraries read it."""
        try:
            return ssl.DER_cert_to_PEM_cert(base64.b64decode(self.certificate, validate=True)).encode()
        except ValueError:  # binascii's own, or that of letters beyond ASCII
            raise BadIdentity("this is no base 64") from None

    @property
    def fingerprint(self) -> str:
        """The certificate's digest in words, to compare by voice."""
        return fingerprint(self.certificate_pem)

    def table(self) -> dict[str, Any]:
        """The card as plain values."""
        where: dict[str, Any] = {} if self.address is None else {"address": self.address}
        # A card without relays has the form, and its plan the hash, that it always had.
        through = {"relays": list(self.relays)} if self.relays else {}
        again = {} if self.renewal is None else {"renewal": self.renewal}
        return {"name": self.name, **where, **through, "certificate": self.certificate, **again}

    @property
    def found_at(self) -> str:
        """How others reach this member, in words."""
        if self.address is not None:
            return self.address
        return f"through {' or '.join(self.relays)}" if self.relays else "dials only"

    def text(self) -> str:
        """The card as TOML."""
        heading = f"# The card of {self.name}; read its fingerprint to the others: {self.fingerprint}\n"
        return heading + f"# Written by hocket {__version__}\n" + dumps({"card": self.table()})


def read_card(path: Path) -> Card:
    """Read a card from its file; errors name the file."""
    try:
        tables = toml_tables(read_text(path, LONGEST))
    except OSError as error:
        raise BadConfig(
            f"{path} cannot be read: {error.strerror}; name the card that `hocket peer init` wrote"
        ) from None
    except BadConfig as error:
        raise BadConfig(f"{path} is no card: {error}; ask for it again") from None
    if set(tables) != {"card"} or not is_table(tables["card"]):
        raise BadConfig(f"{path} is no card: it needs the section [card] and nothing else")
    try:
        return card_from(tables["card"], "card")
    except (BadConfig, BadPlan, BadIdentity) as error:
        raise BadConfig(f"{path}: {error}") from error


def card_from(table: dict[str, Any], section: str) -> Card:
    """A card from plain values."""
    given = check(CardSection, section, table)
    return Card(given.name, given.address, given.certificate, tuple(given.relays), given.renewal)


def _renewal_message(card: Card) -> bytes:
    return base64.b64decode(card.certificate)


def check_address(address: str, name: str) -> None:
    """Refuse what nobody can dial."""
    found = ADDRESS.fullmatch(address)
    if found is None or not 1 <= int(found[2]) <= LAST_PORT:
        raise BadPlan(
            f"the address {address!r} of {name} cannot be dialled; write host:port, such as clinic.example:7000, "
            "or leave it out if nobody can reach this member"
        )
