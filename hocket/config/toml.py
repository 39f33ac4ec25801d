"""TOML: tables, numbers, texts and lists, which is all that a configuration holds."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from hocket.errors import BadConfig


def loads(text: str) -> dict[str, Any]:
    """Tables from TOML; whatever is wrong with it is one kind of error, which says no more than what."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"not valid TOML: {error}") from None
    except RecursionError:
        raise BadConfig("not valid TOML: lists in lists in lists, deeper than any that is meant") from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise BadConfig("not valid TOML: a number has too many digits") from None


def dumps(tables: Mapping[str, Any]) -> str:
    """Tables as TOML that `tomllib` reads back to equal values.

    >>> print(dumps({"step": {"a": 1.0, "p": 0.75}, "run": {"rounds": 10}}), end="")
    [step]
    a = 1.0
    p = 0.75
    <BLANKLINE>
    [run]
    rounds = 10
    """
    return "\n".join(part for name, table in tables.items() for part in _sections(name, table))


def _sections(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    yield "".join([f"[{name}]\n", *(f"{key} = {_value(value)}\n" for key, value in plain.items())])
    for key, value in table.items():
        if key not in plain:
            yield from _sections(f"{name}.{key}", value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON text is a TOML text, save for one control character that JSON may leave as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
