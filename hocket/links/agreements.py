"""How far this member got with each neighbour in agreeing on noise: the part of a journal that handshakes write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from sqlite3 import Connection
from typing import Any, NamedTuple

from hocket.errors import JournalError
from hocket.links.handshake import Offer


class Agreement(NamedTuple):
    """How far a handshake got."""

    offer: Offer | None
    """This end's secrets, until the neighbour has proved that it needs them no longer."""
    nonce: bytes
    their_nonce: bytes | None
    """The neighbour's, once keys were derived with it."""
    chain: bytes | None
    """Round 1's, until that round begins."""
    once: bytes | None
    ready: bytes | None

    @property
    def confirmed(self) -> bool:
        """Whether the neighbour has these keys in its journal too."""
        return self.offer is None


class Agreements:
    """All agreements of one run, by neighbour."""

    def __init__(
        self,
        read: Callable[..., list[tuple[Any, ...]]],
        writing: Callable[[], AbstractContextManager[Connection]],
    ):
        self._read = read
        self._writing = writing

    def of(self, neighbour: str) -> Agreement | None:
        """How far the handshake with a neighbour got."""
        rows = self._read(
            "SELECT private, nonce, their_nonce, chain, once, ready FROM agreements WHERE neighbour = ?",
            (neighbour,),
        )
        if not rows:
            return None
        private, nonce, *derived = rows[0]
        return Agreement(None if private is None else Offer(private, nonce), nonce, *derived)

    def offer(self, neighbour: str, offer: Offer) -> None:
        """Keep this end's secrets before the neighbour hears of them; they are made once."""
        if self.of(neighbour) is not None:
            raise JournalError(f"an offer to {neighbour} was already made in this run; use that one")
        with self._writing() as write:
            write.execute(
                "INSERT INTO agreements (neighbour, private, nonce) VALUES (?, ?, ?)", (neighbour, *offer)
            )

    def keep(self, neighbour: str, their_nonce: bytes, *, chain: bytes, once: bytes, ready: bytes) -> None:
        """Keep what was derived, before READY says so."""
        reached = self.of(neighbour)
        if reached is None or reached.confirmed:
            raise JournalError(
                f"{neighbour} offers new noise keys in the middle of a run: it has lost its journal; begin a new run "
                "together"
            )
        with self._writing() as write:
            write.execute(
                "UPDATE agreements SET their_nonce = ?, chain = ?, once = ?, ready = ? WHERE neighbour = ?",
                (their_nonce, chain, once, ready, neighbour),
            )

    def confirm(self, neighbour: str) -> None:
        """The neighbour has the keys in its journal: erase the secret they were derived from."""
        with self._writing() as write:
            write.execute("UPDATE agreements SET private = NULL WHERE neighbour = ?", (neighbour,))
