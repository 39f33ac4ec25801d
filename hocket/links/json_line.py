"""JSON on one line in which nothing steers a terminal: for files and answers that people look at as well."""

from __future__ import annotations

import json
from typing import Any

from hocket.links.shown import STEERING


def json_line(data: Any, *, allow_nan: bool = True) -> str:
    r"""The data as JSON that reads back to the same; letters stay as they are, what steers a terminal does not.

    >>> json_line({"reason": "Größe \x9b2J\u202e"})
    '{"reason": "Größe \\u009b2J\\u202e"}'
    """
    # JSON itself writes out what is below a space, and leaves the rest to whoever reads it.
    text = json.dumps(data, ensure_ascii=False, allow_nan=allow_nan)
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
