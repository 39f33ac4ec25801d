"""Agreeing on noise with every neighbour, no matter who crashes in the meantime.

Each link goes through NONCE, KEY and READY by itself (see handshake.py), and every step is in the journal before the
neighbour hears of it; so after a crash or a lost connection both ends say again what they can, and come out alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hocket.errors import BadHandshake
from hocket.links.conversation import Conversation
from hocket.links.handshake import Handshake, Offer, PublicKey, Secrets
from hocket.links.journals.journal import Journal
from hocket.links.journals.journal_tables import Agreement
from hocket.links.keys.identity import Identity
from hocket.links.keys.lasting_noise import LastingKey, LastingNoise
from hocket.links.keys.noise_keys import LinkKeys
from hocket.links.wire import Frame, Kind, pack


class Partner(NamedTuple):
    """A neighbour to agree with."""

    agent: int
    certificate: bytes
    terms: str = ""
    """How noise that is kept is dealt on this link; empty if the plan has none."""


@dataclass(frozen=True)
class NoiseAgreement:
    """One member's handshakes on all its links."""

    identity: Identity
    plan: bytes
    me: int
    partners: Mapping[str, Partner]
    journal: Journal
    lasting: LastingNoise | None
    secrets: Secrets
    their_nonces: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def agree(self, conversation: Conversation) -> None:
        """Talk until every neighbour has the same keys in its journal."""
        for name, partner in self.partners.items():
            if self.journal.agreements.of(name) is None:
                self.journal.agreements.offer(name, self.secrets.offer(self.me, partner.agent))
            if name in conversation.connected:
                await self.greet(conversation, name)
        while not all(map(self.has_agreed, conversation.neighbours)):
            await conversation.attend()
        self.keep()

    def has_agreed(self, name: str) -> bool:
        """Whether a neighbour has the same keys in its journal; true where there is nothing to agree on."""
        reached = self.journal.agreements.of(name)
        return name not in self.partners or (reached is not None and reached.confirmed)

    def keep(self) -> None:
        """Put what outlives the run where the next run finds it."""
        if self.lasting is None:
            return
        kept: dict[str, LastingKey] = {}
        for name, partner in self.partners.items():
            if partner.terms and (once := self._reached(name).once) is not None:
                kept[name] = LastingKey(once, partner.terms)
        self.lasting.keep(kept)

    async def greet(self, conversation: Conversation, name: str) -> None:
        """Send a neighbour what it should know when it connects."""
        reached = self.journal.agreements.of(name)
        if reached is not None:
            await self._send(conversation, name, Kind.NONCE, reached.nonce)
            await self._send_ready(conversation, name, reached)

    async def receive(self, conversation: Conversation, name: str, frame: Frame) -> None:
        """Take one step on, and answer."""
        reached = self.journal.agreements.of(name)
        parts = [bytes(part) for part in frame.parts]
        if reached is None:  # it was quicker; it says everything again when this end greets it
            return
        if frame.kind is Kind.NONCE and len(parts) == 1:
            self.their_nonces[name] = parts[0]
            if reached.confirmed and reached.their_nonce != parts[0]:
                raise BadHandshake(
                    f"{name} begins anew in the middle of a run: it has lost its journal; drop it, or begin a new run "
                    "together"
                )
            if not reached.confirmed:
                key = self._handshake(name, reached).key(parts[0])
                await self._send(conversation, name, Kind.KEY, *key)
            await self._send_ready(conversation, name, reached)
        elif frame.kind is Kind.KEY and len(parts) == 3 and name in self.their_nonces:
            nonce = self.their_nonces[name]
            if not reached.confirmed and (reached.ready is None or reached.their_nonce != nonce):
                keys = self._handshake(name, reached).agree(nonce, PublicKey(*parts))
                self.journal.agreements.keep(name, nonce, chain=keys.chain, once=keys.once, ready=keys.ready)
                await self._send_ready(conversation, name, self._reached(name))
        elif (
            frame.kind is Kind.READY
            and len(parts) == 1
            and reached.ready is not None
            and not reached.confirmed
        ):
            self._handshake(name, reached).check_ready(_keys(reached), parts[0])
            self.journal.agreements.confirm(name)

    def _handshake(self, name: str, reached: Agreement) -> Handshake:
        partner = self.partners[name]
        kept = None
        if self.lasting is not None and partner.terms:
            self.lasting.check_terms(name, partner.terms)
            lasting_key = self.lasting.kept(name)
            kept = None if lasting_key is None else lasting_key.once
        # The secret of a confirmed agreement is erased, and no longer needed.
        offer = reached.offer or Offer(b"", reached.nonce)
        return Handshake(self.identity, partner.certificate, self.plan, self.me, partner.agent, offer, kept)

    async def _send_ready(self, conversation: Conversation, name: str, reached: Agreement) -> None:
        if reached.ready is not None:
            await self._send(
                conversation, name, Kind.READY, self._handshake(name, reached).ready(_keys(reached))
            )

    async def _send(self, conversation: Conversation, name: str, kind: Kind, *parts: bytes) -> None:
        await conversation.send(name, pack(Frame(kind, self.plan, parts=parts)))

    def _reached(self, name: str) -> Agreement:
        reached = self.journal.agreements.of(name)
        assert reached is not None
        return reached


def _keys(reached: Agreement) -> LinkKeys:
    return LinkKeys(reached.chain or b"", reached.once or b"", reached.ready or b"")
