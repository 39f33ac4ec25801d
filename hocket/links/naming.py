"""Names of datasets: one spelling for each, as runs are counted and noise is kept by name."""

from __future__ import annotations

import re
import unicodedata

NORMAL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST = 100
"""Characters of a name."""


def normal_name(text: str) -> str:
    """The one spelling of a name: small letters and digits, with a hyphen for everything between them.

    >>> normal_name("Trial_7"), normal_name("trial-7"), normal_name(" Größe (neu)")
    ('trial-7', 'trial-7', 'gro-e-neu')
    """
    plain = unicodedata.normalize("NFKD", text[: 4 * LONGEST]).lower()
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.sub(r"[^a-z0-9]+", "-", bare).strip("-")[:LONGEST].rstrip("-") or "data"
