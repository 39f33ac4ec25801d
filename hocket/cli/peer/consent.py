"""Asking before something is signed: on a terminal, or by options that agree beforehand."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from hocket.cli.answer import aside, escaped
from hocket.errors import BadPlan, UnsafePlan

ACCEPTED = "expose"
"""What is typed to sign a plan that its own audit refuses: no answer that fingers give by themselves."""


def obtain(
    name: str, plan: Path, terms: Iterable[str], *, problems: Sequence[str], yes: bool, accept_unsafe: bool
) -> None:
    """Return if this member consents, and raise if not. Unless `yes` was given the terms are shown first.

    `problems` are what the plan's own audit refuses: to accept them, a word of its own is typed.
    """
    typed_out = bool(problems) and not accept_unsafe
    if yes and typed_out:
        last = f"{plan} exposes its members, and nothing was signed; --yes is not enough, add --accept-unsafe to sign"
        raise UnsafePlan("\n".join([*problems, last]))
    if yes:
        return
    options = "--yes and --accept-unsafe" if typed_out else "--yes"
    _show(terms, f"nothing was signed; read the above, and add {options}")
    question = (
        f"This plan exposes its members. Type {ACCEPTED} to sign it as {name} all the same: "
        if typed_out
        else f"Sign as {name}? [y/N] "
    )
    if _typed(question) not in ((ACCEPTED,) if typed_out else ("y", "yes")):
        raise BadPlan(f"not signed: {name} did not agree; {plan} is as it was")


def agree(question: str, terms: Iterable[str], *, yes: bool) -> None:
    """Return if the terms, which are shown, are answered by yes."""
    if yes:
        return
    _show(terms, "nothing was done; add --yes")
    if _typed(f"{question} [y/N] ") not in ("y", "yes"):
        raise BadPlan("nobody said yes: nothing was done")


def _show(terms: Iterable[str], otherwise: str) -> None:
    """What is asked about, for somebody who sits at a terminal."""
    console = aside()
    for line in terms:
        console.print(line)
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadPlan(f"standard input is no terminal, so nobody can be asked: {otherwise}")


def _typed(question: str) -> str:
    """What is answered, in small letters; nothing where the line ends without a word."""
    sys.stderr.write(escaped(question))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower()
