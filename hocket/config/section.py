"""What all sections of a file share, and what errors say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hocket.errors import BadConfig, nearest

LONGEST = 40
"""Characters of a wrong value that an error shows."""
MOST = 20
"""Mistakes in one section that an error names."""


class Section(BaseModel):
    """One section: its keys, their types, and nothing else. A field's description says what it expects."""

    # strict: TOML has types of its own, so "10" is not meant as a number.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


AnySection = TypeVar("AnySection", bound=Section)
Value = Mapping[str, Any] | list[Any] | str | float | None
"""What a file may have in place of a section."""


def check(model: type[AnySection], name: str, table: Value) -> AnySection:
    """The section as a model, or one error that names what is wrong with it."""
    if not isinstance(table, Mapping):
        raise BadConfig(f"[{name}] is {shown(table)}; write it as a section, with its keys below")
    try:
        return model(**table)
    except ValidationError as error:
        # A value that fits no member of a union is reported once per member: a key is named once.
        wrong = {str(part["loc"][0]): part for part in reversed(error.errors())}
        complaints = [_complain(model, name, table, key, part) for key, part in reversed(wrong.items())]
        raise BadConfig("\n".join(complaints[:MOST])) from None


def choose(
    kinds: Mapping[str, type[AnySection]], key: str, name: str, table: Mapping[str, Any]
) -> type[AnySection]:
    """The model for a section that comes in several kinds, told apart by the value of one key."""
    known = ", ".join(map(repr, kinds))
    if key not in table:
        raise BadConfig(f"[{name}] lacks the key {key!r}; choose one of {known}")
    value = table[key]
    if not isinstance(value, str) or value not in kinds:
        found = _cut(repr(value)) if isinstance(value, str) else shown(value)
        raise BadConfig(f"[{name}] {key} = {found}{nearest(value, kinds)}; choose one of {known}")
    return kinds[value]


def shown(value: object) -> str:
    """A value as an error shows it, with what it is."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        text = "one of very many digits"
    names: dict[type[Any], str] = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "a table",
    }
    kind = names.get(type(value), type(value).__name__)
    return f"{_cut(text)} ({kind})"


def _complain(model: type[Section], name: str, table: Mapping[str, Any], key: str, wrong: Any) -> str:
    fields, kind = {one.alias or key: one for key, one in model.model_fields.items()}, wrong["type"]
    if kind == "extra_forbidden":
        return (
            f"[{name}] has no key {_cut(repr(key))}{nearest(key, fields)}; its keys are {', '.join(fields)}"
        )
    expected = fields[key].description
    if kind == "missing":
        return f"[{name}] lacks the key {key!r}; give {expected}"
    fix = f"; {wrong['ctx']['error']}" if kind == "value_error" else ""  # what a validator of ours says
    return f"[{name}] {key} = {shown(table[key])}; expected {expected}{fix}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
