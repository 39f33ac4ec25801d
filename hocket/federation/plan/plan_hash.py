"""What names a plan: a hash of all that is agreed, as plain values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

LABEL = b"hocket/plan/1\n"
RUN_LABEL = b"hocket/run/1\n"
"""Begin what is hashed."""
PURPOSE = b"hocket/plan/1"
"""What members sign a plan for."""
SIGNATURES = "signatures"
"""The one section that is not hashed."""
LONGEST = 10_000_000
"""Bytes of a plan: far beyond any, and little enough to read from a stranger."""


def hash_of(label: bytes, tables: Mapping[str, Any]) -> bytes:
    """32 bytes that do not depend on how a file is laid out."""
    text = json.dumps(tables, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(label + text.encode()).digest()
