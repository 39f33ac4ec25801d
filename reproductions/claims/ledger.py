"""The ledger: what the paper claims, what was found, and the page that says so."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from hocket.errors import BadInput
from reproductions.experiment import Watch, unwatched

COMMAND = "hocket reproduce claims"
PAGE = "claims.md"
INTRODUCTION = """\
# The paper's claims, one by one

Every claim of Gade and Vaidya, *Private Learning on Networks: Part II* (2017), the check that stands for it, and
what came of it. This page is written by `{command} --out docs`; the command in each row runs that check alone.

*Holds as corrected* means that the claim cannot stand as printed and that what the row puts in its place was checked
instead. A check is a measurement, not a proof: it can refute a claim, and show how closely one holds.
"""


class Verdict(Enum):
    """What became of a claim."""

    HOLDS = "holds"
    CORRECTED = "holds as corrected"
    FAILS = "fails"
    OPEN = "not yet checked"


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    holds: bool
    """Whether the claim holds; as corrected, where it needed that."""
    evidence: str
    """Numbers of this run, in words."""
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, and the check that stands for it."""

    name: str
    """How the command line calls it."""
    where: str
    """The place in the paper."""
    statement: str
    check: Callable[[], Finding] | None = None
    corrected: str = ""
    """What was put in its place, where it cannot stand as printed."""
    awaits: str = ""
    """What has to be there before it can be checked."""

    @property
    def command(self) -> str:
        return f"{COMMAND} --only {self.name}"


@dataclass(frozen=True)
class Group:
    """Claims that belong together, in the order in which their checks are written down."""

    title: str
    claims: list[Claim] = field(default_factory=list[Claim])

    def claim(
        self, name: str, where: str, statement: str, *, corrected: str = "", awaits: str = ""
    ) -> Callable[[Callable[[], Finding]], Claim]:
        """Enters the check that stands for a claim; one that awaits something is not checked yet."""

        def entered(check: Callable[[], Finding]) -> Claim:
            self.claims.append(Claim(name, where, statement, None if awaits else check, corrected, awaits))
            return self.claims[-1]

        return entered


@dataclass(frozen=True)
class Entry:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    finding: Finding | None

    @property
    def evidence(self) -> str:
        return f"awaits {self.claim.awaits}" if self.finding is None else self.finding.evidence


@dataclass(frozen=True)
class Ledger:
    """All entries, group by group."""

    groups: tuple[tuple[str, tuple[Entry, ...]], ...]
    seconds: float

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for _, entries in self.groups for entry in entries)

    def count(self, verdict: Verdict) -> int:
        """How many claims got this verdict."""
        return sum(entry.verdict is verdict for entry in self.entries)


def judge(groups: Sequence[Group], only: Sequence[str] = (), watch: Watch = unwatched) -> Ledger:
    """Run the checks of all claims, or only of those named."""
    began = time.monotonic()
    chosen = _chosen(groups, only)
    wanted = [claim for group in chosen for claim in group.claims]
    entries = {claim.name: _judged(claim) for claim in watch(wanted, total=len(wanted))}
    judged = tuple((group.title, tuple(entries[claim.name] for claim in group.claims)) for group in chosen)
    return Ledger(judged, time.monotonic() - began)


def _judged(claim: Claim) -> Entry:
    if claim.check is None:
        return Entry(claim, Verdict.OPEN, None)
    finding = claim.check()
    if not finding.holds:
        return Entry(claim, Verdict.FAILS, finding)
    return Entry(claim, Verdict.CORRECTED if claim.corrected else Verdict.HOLDS, finding)


def _chosen(groups: Sequence[Group], only: Sequence[str]) -> list[Group]:
    known = [claim.name for group in groups for claim in group.claims]
    for name in only:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the claims are {', '.join(known)}"
            raise BadInput(f"the paper makes no claim called {name!r}; {hint}")
    kept = [Group(group.title, [c for c in group.claims if not only or c.name in only]) for group in groups]
    return [group for group in kept if group.claims]


def paragraphs(ledger: Ledger) -> list[str]:
    """The ledger for the terminal, some lines for each claim."""
    parts = []
    for title, entries in ledger.groups:
        parts.append(f"{title.upper()}\n")
        parts += [
            f"{entry.verdict.value}: {entry.claim.statement} [{entry.claim.where}]\n"
            f"    {_evidence(entry)}\n    {entry.claim.command}\n"
            for entry in entries
        ]
    return parts


def conclusion(ledger: Ledger) -> str:
    """How many claims got which verdict."""
    many = {verdict.value: ledger.count(verdict) for verdict in Verdict}
    counts = ", ".join(f"{word}: {count}" for word, count in many.items())
    return f"{len(ledger.entries)} claims. {counts[0].upper()}{counts[1:]}."


def data(ledger: Ledger) -> dict[str, Any]:
    """The ledger as one JSON object."""
    return {
        "claims": [
            {
                "name": entry.claim.name,
                "group": title,
                "where": entry.claim.where,
                "claim": entry.claim.statement,
                "verdict": entry.verdict.value,
                "corrected": entry.claim.corrected or None,
                "evidence": entry.evidence,
                "numbers": {} if entry.finding is None else entry.finding.numbers,
                "command": entry.claim.command,
            }
            for title, entries in ledger.groups
            for entry in entries
        ],
        "counts": {verdict.value: ledger.count(verdict) for verdict in Verdict},
        "seconds": round(ledger.seconds, 1),
        "conclusion": conclusion(ledger),
    }


def markdown(ledger: Ledger) -> str:
    """The ledger as a page."""
    parts = [INTRODUCTION.format(command=COMMAND), f"**{conclusion(ledger)}**\n"]
    for title, entries in ledger.groups:
        rows = [
            f"| {_cell(entry.claim.statement)} *{_cell(entry.claim.where)}* | **{entry.verdict.value}** "
            f"| {_cell(_evidence(entry))} | `{entry.claim.name}` |"
            for entry in entries
        ]
        parts.append(
            "\n".join(
                [f"## {title}\n", "| claim | verdict | evidence | `--only` |", "|---|---|---|---|", *rows, ""]
            )
        )
    return "\n".join(parts)


def write(ledger: Ledger, folder: Path) -> Path:
    """Write the page into a folder; returns where it lies."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PAGE
    path.write_text(markdown(ledger), encoding="utf-8")
    return path


def _evidence(entry: Entry) -> str:
    text = f"{entry.evidence}."
    return f"Corrected: {entry.claim.corrected} Found: {text}" if entry.claim.corrected else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
