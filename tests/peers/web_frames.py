"""WebSocket frames as strangers and hostile relays write them."""

from __future__ import annotations

from websockets.frames import Frame, Opcode

__all__ = ["Opcode", "framed"]


def framed(opcode: Opcode, data: bytes = b"", *, mask: bool = False) -> bytes:
    """One frame; anybody who dials masks it."""
    return Frame(opcode, data).serialize(mask=mask)
