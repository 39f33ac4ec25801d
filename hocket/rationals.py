"""Numbers as they are given: whole ones, real ones, and exact ones, which are NumPy object arrays of `Fraction`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from hocket.errors import BadAlgorithm, BadInput, BadProblem

REAL = {"float", "int", "float | None", "int | None", "Stds", "Stds | None"}
"""Types of an algorithm's fields that hold numbers."""


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number that somebody gave; 1e3 is one.

    >>> whole("rounds", 1e3), whole("rounds", 5)
    (1000, 5)
    """
    if not is_number(value) or not math.isfinite(value) or value != int(value) or value < least:
        kind = " (text)" if isinstance(value, str) else ""
        raise BadInput(f"{name} = {value!r}{kind}; give a whole number, {least} or more")
    return int(value)


def is_number(value: Any) -> bool:
    """Whether something is one real number, and no truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_real_fields(kind: type, args: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Refuse what is no real number where an algorithm's field is one, before anything is computed with it."""
    fields = {one.name: one for one in dataclasses.fields(kind) if one.init}
    given = dict(zip(fields, args, strict=False)) | {name: named[name] for name in named if name in fields}
    for name, value in given.items():
        wanted = fields[name].type
        wanted = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", "")
        if wanted in REAL and (what := _unreal(value, wanted)):
            raise BadAlgorithm(
                f"{name} = {value!r} of {kind.__name__} is {what}; give a number, {name}={_read(value)}"
            )


def _unreal(value: Any, wanted: str) -> str:
    """What something is, if it is no number of this type."""
    if isinstance(value, str | bytes):
        return "text"
    if value is None:
        return "" if "None" in wanted else "nothing"
    if np.iscomplexobj(value):
        return "complex"
    kind = type(value).__name__  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if kind in ("list", "tuple", "set", "dict") and "Stds" not in wanted:
        return f"a {kind}"
    return foreign(value)


def _read(value: Any) -> str:
    """The number that text stands for; 1.0 for an example."""
    try:
        return f"{float(value):g}"
    except (TypeError, ValueError):
        return "1.0"


def foreign(value: Any) -> str:
    """What something from another library is; empty where it is none that is known."""
    home = type(value).__module__.partition(".")[0]
    if home == "torch":
        return "a torch tensor"
    if home == "scipy" and hasattr(value, "toarray"):
        return "a SciPy sparse array"
    return ""


def check_dense_real(given: Any, name: str) -> None:
    """Refuse tensors, sparse arrays and complex numbers, with what makes arrays of them."""
    what = foreign(given)
    fixes = {"a torch tensor": ".detach().cpu().numpy()", "a SciPy sparse array": ".toarray()"}
    if what:
        raise BadProblem(f"{name} is {what}; pass a NumPy array, {fixes[what]} of it")
    if isinstance(given, list | tuple):
        rows: Any = given  # pyright: ignore[reportUnknownVariableType]
        for place, one in enumerate(rows):
            check_dense_real(one, f"{name}[{place}]")
        return
    if np.iscomplexobj(given):
        raise BadProblem(
            f"{name} holds complex numbers, and objectives are of real ones; give .real, or real and imaginary part as "
            "coordinates of their own"
        )


def is_exact(x: Any) -> bool:
    """Whether `x` is an object array, that is, holds fractions instead of floats."""
    return x.dtype == object


def as_fractions(values: Any) -> np.ndarray:
    """The same numbers as fractions: every float is one, exactly."""
    given = np.asarray(values)
    return np.array([_fraction(value) for value in given.ravel().tolist()], dtype=object).reshape(given.shape)


def _fraction(value: float | Fraction | np.generic[Any]) -> Fraction:
    # A NumPy integer inside a fraction would overflow where Python's own grows.
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def matching(values: Any, x: Any) -> Any:
    """`values` made ready to meet `x`: as fractions where `x` is exact, as they are otherwise."""
    return as_fractions(values) if is_exact(x) else values
