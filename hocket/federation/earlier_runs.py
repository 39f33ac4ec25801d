"""The runs that a member's data have served before a plan's, as this member's home remembers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hocket.errors import HocketError
from hocket.federation.home import Home
from hocket.federation.ledger import Ledger, Served
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_file import read_plan
from hocket.federation.run_folder import RunFolder, read_json
from hocket.federation.served_plan import ServedPlan
from hocket.links.text import is_table


@dataclass(frozen=True, eq=False)
class EarlierRun:
    """One run on the same data."""

    served: Served
    plan: ServedPlan | None
    """None where nobody remembers it: then nobody can say what the run told."""
    left: Mapping[str, int] = field(default_factory=dict[str, int])
    """Members who were dropped from it, with the last round of each."""

    @property
    def words(self) -> str:
        """The run in a few words."""
        return self.plan.words if self.plan is not None else f"{self.served.algorithm}, plan unknown"


def earlier_runs(
    home: Home, plan: FederationPlan, served: Iterable[Served] | None = None
) -> tuple[EarlierRun, ...]:
    """All runs on the plan's data but the plan's own, from the ledger as it is now, or as it was when it was locked."""
    every = Ledger(home.ledger(plan.task.dataset)).runs if served is None else served
    return tuple(_remembered(home, one) for one in every if one.plan != plan.run_hash.hex())


def _remembered(home: Home, served: Served) -> EarlierRun:
    return EarlierRun(served, _plan(home, served), _left(_folder(home, served)))


def _folder(home: Home, served: Served) -> RunFolder | None:
    try:
        return RunFolder(home.run(bytes.fromhex(served.plan)))
    except ValueError:  # a name that some other program gave it
        return None


def _plan(home: Home, served: Served) -> ServedPlan | None:
    """The plan in the ledger's line; of lines that kept none, the one in the run's folder if it is still there."""
    folder = _folder(home, served)
    try:
        if served.record:
            return ServedPlan.read(served.record)
        return ServedPlan.of(read_plan(folder.plan)) if folder is not None and folder.plan.exists() else None
    except HocketError:
        return None


def _left(folder: RunFolder | None) -> dict[str, int]:
    """Who was dropped, as far as the run's folder says so; a leaver keeps what it saw."""
    if folder is None or not folder.survivors.exists():
        return {}
    try:
        left = read_json(folder.survivors).get("left")
        gone = folder.dropped
    except (HocketError, OSError):
        return {}
    return {name: int(k) for name, k in left.items() if name in gone} if is_table(left) else {}
