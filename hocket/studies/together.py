"""Several analyses at once: they share their totals, so that all of them take as many as the longest alone."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from hocket.algorithm import SecureSum

Result = TypeVar("Result")
Analysis = Generator[SecureSum, Any, Result]
"""One member's part in a joint computation: it yields its own numbers, and is given the sums over all members."""


def together(analyses: Mapping[str, Analysis[Any]]) -> Analysis[dict[str, Any]]:
    """Run analyses side by side; returns what each comes to, by its name."""
    asked, results = dict[str, SecureSum](), dict[str, Any]()
    received: dict[str, Any] = dict.fromkeys(analyses)
    while True:
        for name, total in received.items():
            try:
                asked[name] = analyses[name].send(total)
            except StopIteration as end:
                asked.pop(name, None)
                results[name] = end.value
        if not asked:
            return results
        # Numbers that need other precisions go in totals of their own.
        bits = next(iter(asked.values())).bits
        now = {name: total for name, total in asked.items() if total.bits == bits}
        received = yield SecureSum(
            {name: total.values for name, total in now.items()},
            bits=bits,
            names={name: total.names for name, total in now.items()},
            noise={name: total.noise for name, total in now.items()}
            if any(total.noise is not None for total in now.values())
            else None,
        )
