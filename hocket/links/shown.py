"""Text that came from another end, made fit to be shown: short, and without characters that steer a terminal."""

from __future__ import annotations

import re

MOST = 200
ELLIPSIS = "…"
STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: they move cursors, clear screens and forge lines of a log
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction: they show text in another order
    "\u2028\u2029"  # they end lines
    "\ud800-\udfff]"  # lone surrogates: they cannot be written as UTF-8
)


def shown(text: str, most: int = MOST) -> str:
    r"""The text as it may be printed or logged: what steers is written out, what is too long ends in an ellipsis.

    >>> shown("birch\x1b[2J\u202e")
    'birch\\x1b[2J\\u202e'
    >>> shown("very long", most=5)
    'very…'
    """
    # Cut first: whatever was sent, no more than this is looked at.
    written = STEERING.sub(_written_out, text[: most + 1])
    return written if len(written) <= most else written[: most - 1] + ELLIPSIS


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
