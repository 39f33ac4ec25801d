"""The ledger: what the paper claims, what was found, and the page that says so."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hocket.errors import BadInput
from hocket.experiments.work import Watch, unwatched

COMMAND = "hocket reproduce claims"


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
    """Claims that belong together."""

    title: str
    claims: tuple[Claim, ...]


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
    kept = [
        Group(group.title, tuple(c for c in group.claims if not only or c.name in only)) for group in groups
    ]
    return [group for group in kept if group.claims]
