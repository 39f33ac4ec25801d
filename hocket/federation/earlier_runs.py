"""The runs that a member's data have served before a plan's, as this member's home remembers them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hocket.algorithms.totals import Totals
from hocket.errors import HocketError
from hocket.federation.home import Home
from hocket.federation.ledger import Ledger, Served
from hocket.federation.own_code import NO_CODE, OwnCode
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_file import read_plan
from hocket.federation.row_digests import NONE, Digests, SharedRows, kept_rows, shared_with
from hocket.federation.run_folder import RunFolder, read_json
from hocket.federation.served_plan import ServedPlan, record_of
from hocket.files import json_value
from hocket.links.text import is_list, is_table


@dataclass(frozen=True, eq=False)
class EarlierRun:
    """One run on the same data."""

    served: Served
    plan: ServedPlan | None
    """None where nobody remembers it: then nobody can say what the run told."""
    left: Mapping[str, int] = field(default_factory=dict[str, int])
    """Members who were dropped from it, with the last round of each."""
    dataset: str = ""
    """The other name that its data had; empty if it is the plan's own. Noise that is kept is kept by name."""
    shared: SharedRows | None = None
    """The rows that its data share with the plan's, where they are not the same data as a whole."""
    assumed: bool = False
    """Whether nobody can tell which rows it shares: the account of what was promised counts it as if it were all."""

    @property
    def same_data(self) -> bool:
        """Whether it was on the plan's own data, whatever their name."""
        return self.shared is None and not self.assumed

    def to_json(self) -> dict[str, Any]:
        """The run as a folder keeps it, for whoever reads that folder alone: its plan, and who left."""
        return {
            "plan": self.served.plan,
            "algorithm": self.served.algorithm,
            "record": json_value(self.served.record) if self.served.record else None,
            "left": dict(self.left),
            "dataset": self.dataset,
            "shared": None if self.shared is None else [self.shared.shared, self.shared.of],
            "assumed": self.assumed,
        }

    @classmethod
    def read(cls, kept: Any, own: OwnCode = NO_CODE) -> EarlierRun:
        """A run from what a folder kept of it; what cannot be read counts as a plan that nobody remembers."""
        kept = kept if is_table(kept) else {}
        name, algorithm, record, left = (kept.get(key) for key in ("plan", "algorithm", "record", "left"))
        served = Served("", str(name), str(algorithm), record=json.dumps(record) if is_table(record) else "")
        dataset, shared = str(kept.get("dataset") or ""), kept.get("shared")
        return cls(
            served,
            _read(served, own),
            {str(who): int(k) for who, k in left.items()} if is_table(left) else {},
            dataset,
            SharedRows(dataset, int(shared[0]), int(shared[1])) if is_list(shared) else None,
            kept.get("assumed") is True,
        )

    @property
    def words(self) -> str:
        """The run in a few words."""
        return self.plan.words if self.plan is not None else f"{self.served.algorithm}, plan unknown"


def earlier_runs(
    home: Home,
    plan: FederationPlan,
    served: Iterable[Served] | None = None,
    *,
    data: str = "",
    rows: Digests = NONE,
) -> tuple[EarlierRun, ...]:
    """All runs on the plan's data but the plan's own, from the ledger as it is now, or as it was when it was locked.
    Where the plan promises an ε, also those on other data here of which nobody can tell whether they share rows.

    Runs under other names come first: on the same data, by their digest `data`, or on such as share some of its `rows`.
    Where neither is given, those of the plan's own run are taken, if it was begun.
    """
    mine = plan.run_hash.hex()
    every = Ledger(home.ledger(plan.task.dataset)).runs if served is None else tuple(served)
    data = data or next((one.data for one in every if one.plan == mine), "")
    rows = rows if len(rows) else kept_rows(home.rows(plan.task.dataset))
    own = [_remembered(home, one) for one in every if one.plan != mine]
    return (*_elsewhere(home, plan, data, rows), *own)


def _elsewhere(home: Home, plan: FederationPlan, data: str, rows: Digests) -> Iterator[EarlierRun]:
    """Runs on the same data, or on some of them, that had another name."""
    promises = ServedPlan.promises(plan)
    for name, path in home.ledgers.items():
        if name == plan.task.dataset:
            continue
        shared = shared_with(home, name, rows)
        for one in Ledger(path).runs:
            same = bool(data) and one.data == data
            if one.plan == plan.run_hash.hex():
                continue
            if same or shared is not None:
                yield replace(_remembered(home, one), dataset=name, shared=None if same else shared)
            elif promises and (
                # A study's table and a task's arrays cannot be compared, nor data of which there are no digests.
                plan.study is not None
                or one.algorithm == Totals.key
                or not (one.data and len(rows) and len(kept_rows(home.rows(name))))
            ):
                yield replace(_remembered(home, one), dataset=name, assumed=True)


def _remembered(home: Home, served: Served) -> EarlierRun:
    folder = _folder(home, served)
    if not served.record and folder is not None and folder.plan.exists():
        served = served._replace(record=_record_in(folder, home.own_code))
    return EarlierRun(served, _read(served, home.own_code), left_of(folder) | _left_in(served))


def _left_in(served: Served) -> dict[str, int]:
    """Who was dropped, as the ledger remembers it, which outlives folders."""
    return {name: int(k) for name, k in json_value(served.left).items()} if served.left else {}


def _folder(home: Home, served: Served) -> RunFolder | None:
    try:
        return RunFolder(home.run(bytes.fromhex(served.plan)))
    except ValueError:  # a name that some other program gave it
        return None


def _record_in(folder: RunFolder, own: OwnCode) -> str:
    """Of a ledger's line that kept no plan, the one in the run's folder if it is still there and can be read."""
    try:
        return record_of(read_plan(folder.plan, own))
    except HocketError:
        return ""


def _read(served: Served, own: OwnCode) -> ServedPlan | None:
    try:
        return ServedPlan.read(served.record, own) if served.record else None
    except HocketError:
        return None


def left_of(folder: RunFolder | None) -> dict[str, int]:
    """Who was dropped, as far as the run's folder says so; a leaver keeps what it saw."""
    if folder is None or not folder.survivors.exists():
        return {}
    try:
        left = read_json(folder.survivors).get("left")
        gone = folder.dropped
    except (HocketError, OSError):
        return {}
    return {name: int(k) for name, k in left.items() if name in gone} if is_table(left) else {}
