"""The runs that a member's data have served before a plan's, as this member's home remembers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hocket.algorithms.totals import Totals
from hocket.errors import HocketError
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.accounts import NO_ROWS, Digests, RecordedRun
from hocket.federation.state.digests import SharedRows, shared_with
from hocket.federation.state.home import Home
from hocket.federation.state.served_plan import ServedPlan


@dataclass(frozen=True, eq=False)
class EarlierRun:
    """One run on the same data."""

    served: RecordedRun
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

    @property
    def words(self) -> str:
        """The run in a few words."""
        return self.plan.words if self.plan is not None else f"{self.served.algorithm}, plan unknown"


def earlier_runs(
    home: Home, plan: FederationPlan, *, data: str = "", rows: Digests = NO_ROWS
) -> tuple[EarlierRun, ...]:
    """All runs on the plan's data but the plan's own, from this home's accounts. Where the plan promises an ε, also
    those on other data here of which nobody can tell whether they share rows.

    Runs under other names come first: on the same data, by their digest `data`, or on such as share some of its `rows`.
    Where neither is given, those of the plan's own run are taken, if it was begun.
    """
    mine, accounts = plan.run_hash.hex(), home.accounts
    every = accounts.runs(plan.task.dataset)
    data = data or next((one.data for one in every if one.plan == mine), "")
    rows = rows if len(rows) else accounts.rows(plan.task.dataset)
    own = [_remembered(home, one) for one in every if one.plan != mine]
    return (*_elsewhere(home, plan, data, rows), *own)


def _elsewhere(home: Home, plan: FederationPlan, data: str, rows: Digests) -> Iterator[EarlierRun]:
    """Runs on the same data, or on some of them, that had another name."""
    accounts, promises = home.accounts, ServedPlan.promises(plan)
    for name in accounts.datasets:
        if name == plan.task.dataset:
            continue
        shared = shared_with(home, name, rows)
        for one in accounts.runs(name):
            same = bool(data) and one.data == data
            if one.plan == plan.run_hash.hex():
                continue
            if same or shared is not None:
                yield replace(_remembered(home, one), dataset=name, shared=None if same else shared)
            elif promises and (
                # A study's table and a task's arrays cannot be compared, nor data of which there are no digests.
                plan.study is not None
                or one.algorithm == Totals.name
                or not (one.data and len(rows) and len(accounts.rows(name)))
            ):
                yield replace(_remembered(home, one), dataset=name, assumed=True)


def _remembered(home: Home, served: RecordedRun) -> EarlierRun:
    try:
        plan = ServedPlan.read(served.record, home.own_code)
    except HocketError:
        plan = None
    return EarlierRun(served, plan, served.left)
