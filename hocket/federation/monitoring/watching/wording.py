"""Times, sizes and events as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hocket.links.text import is_list, is_table


def duration(seconds: float) -> str:
    """A time in words, in its two largest units.

    >>> duration(0.4), duration(75), duration(7_200), duration(200_000)
    ('less than a second', '1 min 15 s', '2 h', '2 days 7 h')
    """
    if seconds < 1:
        return "less than a second"
    left, parts = round(seconds), list[str]()
    for unit, size in ((" days", 86_400), (" h", 3_600), (" min", 60), (" s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count:,}{' day' if unit == ' days' and count == 1 else unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def lag_in_words(seconds: float | None) -> str:
    """How long after this member's message another came.

    >>> lag_in_words(0.0), lag_in_words(0.0123), lag_in_words(0.25), lag_in_words(2.5)
    ('was there first', '12 ms later', '250 ms later', '2.5 s later')
    """
    if seconds is None:
        return ""
    if seconds <= 0:
        return "was there first"
    if seconds >= 1:
        return f"{seconds:.3g} s later"
    return f"{1000 * seconds:.2g} ms later" if seconds < 0.1 else f"{1000 * seconds:.0f} ms later"


def size_in_words(count: float) -> str:
    """Bytes in the unit that suits them.

    >>> size_in_words(512), size_in_words(2_500), size_in_words(3.2e6)
    ('512 B', '2.5 kB', '3.2 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def event_in_words(line: Mapping[str, Any]) -> str:
    """A line of a log, without its time."""
    about = {key: value for key, value in line.items() if key not in ("time", "event")}
    who = f" {about.pop('neighbour')}" if "neighbour" in about else ""
    rest = [
        _short(value) if key in ("reason", "words") else f"{key.replace('_', ' ')} {_short(value)}"
        for key, value in about.items()
        if value not in ([], {}, "")
    ]
    return f"{line.get('event', '?')}{who}{': ' if rest else ''}{', '.join(rest)}"


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_list(value):
        return " ".join(map(str, value))
    return ", ".join(f"{key}: {one}" for key, one in value.items()) if is_table(value) else str(value)
