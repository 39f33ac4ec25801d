"""The report of one member's part in a run, from the folder that its process left.

It holds what this member may know: its own measurements, the plan that all have signed, and the audit of that plan.
No state, gradient or noise is in it, nor is anything of the others beside their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithms.function_sharing import functions_of
from hocket.config.files import dumps
from hocket.errors import HocketError
from hocket.federation.audit.certificate_check import account_with
from hocket.federation.audit.joint_audit import Sequel
from hocket.federation.audit.plan_audit import PlanAudit, audit_of_plan
from hocket.federation.audit.plan_certificate import certificate_of_plan, in_words
from hocket.federation.monitoring.at_home import LEFT_OUT, may_be_shown
from hocket.federation.monitoring.convergence import diagnosis_of
from hocket.federation.monitoring.metrics import OF_LINKS, is_number, measurements
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import read_plan
from hocket.federation.runtime.convergence import MEASURED
from hocket.federation.state.earlier_runs import EarlierRun, earlier_runs
from hocket.federation.state.run_folder import RunFolder, read_json
from hocket.privacy.wording import counted, judged, listed
from hocket.report.exposure import QUESTION, exposed
from hocket.report.folder import PAGE, theorem_card
from hocket.report.page import AnswerCard, Figure, Page, PageSection
from hocket.report.panels import Panel, PlotLine, sheet
from hocket.report.tables import Table, assumption_table, label_of, plain, settings_table
from hocket.runs.theorems import claim_of_members

OURS = {*OF_LINKS, *MEASURED}
"""What is measured of links, and of the state; everything else that a line of metrics holds is of the task."""
ALONE = "The tables and the picture of this section are of this run alone, without the earlier ones."
PANELS = 3
"""Measurements drawn side by side, at most."""


def write_member_report(
    folder: RunFolder,
    *,
    colluders: int | None = None,
    coalition: Iterable[int] | None = None,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Path:
    """Write the page into the member's folder; returns where it lies. The audit is against as many as was planned."""
    home = folder.home
    plan, status = read_plan(folder.plan, home.own_code), folder.status()
    # A page is passed on: what no ε covers is not on it.
    measured = [may_be_shown(plan, line) for line in measurements(folder.metrics)]
    status |= {"measured": may_be_shown(plan, status["measured"])}
    about = read_json(folder.about) if folder.about.is_file() else {}
    if colluders is None and coalition is None:
        colluders = plan.audit.colluders
    # Nobody knows all objectives, so that only what the plan says can be checked.
    claim = claim_of_members(
        plan.algorithm,
        plan.network,
        plan.step,
        plan.feasible,
        objectives=plan.objectives,
        local_steps=plan.run.local_steps,
        gone=len(status["dropped"]),
    )
    earlier = earlier_runs(home, plan)
    card, exposure = _exposed(
        plan,
        earlier,
        home.accounts.left(plan.run_hash.hex()),
        colluders=colluders,
        coalition=coalition,
        watch=watch,
    )
    page = Page(
        title=f"{status['member']} in a run of {status['task']}",
        facts=[
            counted(len(plan.names), "member"),
            counted(len(plan.links), "link"),
            counted(plan.task.dimension, "unknown"),
            counted(plan.run.rounds, "round"),
            label_of(type(plan.algorithm).__name__),
        ],
        summary=[*_promised(plan, status["dropped"], earlier), _in_words(status, measured), *_losses(status)],
        cards=[_progress(plan, status, measured), theorem_card(claim), card],
        tables=[_last_table(status, measured), _members_table(plan, status)],
        notes=[
            *([LEFT_OUT] if plan.certificate is not None else ["Losses are of this member's own data."]),
            "Lag is how long after its own message a neighbour's came.",
        ],
        details=[assumption_table(claim), *([settings_table(about)] if "versions" in about else [])],
        figures=_figures(measured),
        exposure=exposure,
        configuration=_plan_text(plan),
        commands=["hocket peer run plan.toml --task FILE.py:NAME", "hocket peer status plan.toml"],
    )
    return page.save(folder.path / PAGE)


def _promised(plan: FederationPlan, dropped: Sequence[str], earlier: Sequence[EarlierRun]) -> list[str]:
    """The plan's certificate, worked out again with anybody who was dropped, and its worth after the earlier runs."""
    found = certificate_of_plan(plan, leavers=[plan.agent(name) for name in dropped])
    if plan.certificate is None or found is None:
        return []
    together = account_with(plan, found, earlier, dropped=dropped).epsilon
    more = ""
    if together > found.epsilon(plan.certificate.delta) * (1 + 1e-6):
        more = f" With all earlier runs on these data, {_worth(together)}."
    return [in_words(plan.certificate, found) + more]


def _worth(epsilon: float) -> str:
    return f"ε = {epsilon:.4g}" if math.isfinite(epsilon) else "nothing is promised"


def _exposed(
    plan: FederationPlan, earlier: tuple[EarlierRun, ...], left: Mapping[str, int], **asked: Any
) -> tuple[AnswerCard, PageSection | None]:
    """What this run exposes, and what it does together with all that the same data have served before it."""
    try:
        found = audit_of_plan(plan, **asked)
        card, section = exposed(found)
        if not earlier or section is None:
            return card, section
        sequel = Sequel(plan, earlier, tuple(left.items()))
        known = sequel.worst(found.colluders) if found.coalition is None else sequel.known(found.coalition)
        joint = PlanAudit(plan, found, known, tuple(sequel.problems()), sequel, tuple(sequel.words(known)))
        return _over_all_runs(joint), replace(
            section, words=[joint.answer, *joint.words, *joint.problems, ALONE]
        )
    except HocketError as error:
        return exposed(str(error))


def _over_all_runs(joint: PlanAudit) -> AnswerCard:
    """The card where data have served several runs: the plan that hid least may decide."""
    runs = f"over {counted(joint.worst.runs, 'run')} on these data"
    if joint.covered:
        kept = " under the same noise" if functions_of(joint.plan.algorithm) is not None else ""
        theorem = "" if joint.verdict.claim.theorem is None else joint.verdict.claim.theorem.value
        return AnswerCard(
            QUESTION,
            f"nothing but sums, {runs}{kept} ({theorem})",
            "holds",
            joint.history,
        )
    how = judged(joint.least, joint.plan.audit.gradient_size)
    who = listed(joint.worst.coalition, joint.plan.names)
    tone = "open" if joint.least else "exposed"
    return AnswerCard(QUESTION, f"a gradient {how}, {runs}, to {who}", tone, joint.history)


def _in_words(status: dict[str, Any], measured: list[dict[str, Any]]) -> str:
    done, rounds = status["round"], status["rounds"]
    how = (
        f"has finished all {rounds:,} rounds" if status["finished"] else f"is in round {done:,} of {rounds:,}"
    )
    apart = measured[-1].get("disagreement") if measured else None
    near = "" if apart is None else f"; its neighbours are within {plain(apart)} of its own state"
    return f"{status['member']} {how}{near}."


def _losses(status: dict[str, Any]) -> list[str]:
    if not status["dropped"]:
        return []
    return [f"Dropped on the way, by everybody's vote: {', '.join(status['dropped'])}.", *status["verdict"]]


def _progress(plan: FederationPlan, status: dict[str, Any], measured: list[dict[str, Any]]) -> AnswerCard:
    reasons = [
        f"{name} went from {plain(measured[0][name])} to {plain(measured[-1][name])}."
        for name in _drawn(measured)
    ]
    # That all rounds were played says nothing of the optimum: whether the state still moves says a little.
    known = status["measured"] or (measured[-1] if measured else {})
    found = diagnosis_of(plan, status | {"measured": known})
    tone = (
        "exposed" if found.kind == "diverging" else "holds" if status["finished"] and found.rests else "open"
    )
    words = found.words
    if not status["finished"]:
        standing = "" if found.kind == "unknown" else f", {found.words}"
        words = f"not finished: round {status['round']:,}{standing}"
    return AnswerCard("Has it settled?", words, tone, [*found.why, *reasons])


def _last_table(status: dict[str, Any], measured: list[dict[str, Any]]) -> Table:
    numbers = status["measured"] or (measured[-1] if measured else {})
    rows = [(name.replace("_", " "), plain(value)) for name, value in numbers.items() if is_number(value)]
    lags: dict[str, float] = measured[-1].get("lag", {}) if measured else {}
    rows += [(f"lag of {name}, seconds", plain(lag)) for name, lag in lags.items()]
    return Table(("", ""), tuple(rows), "What was measured last")


def _members_table(plan: FederationPlan, status: dict[str, Any]) -> Table:
    states = dict.fromkeys(status["dropped"], "dropped")
    states.setdefault(status["member"], "this member")
    rows = tuple(
        (str(number), name, ", ".join(plan.neighbours(name)), states.get(name, ""))
        for number, name in enumerate(plan.names)
    )
    return Table(("number", "member", "talks to", ""), rows, "Members", numeric=frozenset({0}))


def _drawn(measured: list[dict[str, Any]]) -> list[str]:
    """What is worth a panel: numbers of the task that are in every line, disagreement last."""
    if not measured:
        return []
    names = [name for name, value in measured[0].items() if name not in OURS and is_number(value)]
    names = [name for name in names if all(name in line for line in measured)]
    return sorted(names, key=lambda name: name == "disagreement")[:PANELS]


def _figures(measured: list[dict[str, Any]]) -> list[Figure]:
    names = _drawn(measured)
    rounds = np.array([line["round"] for line in measured])
    if not names or len(measured) < 2:
        return []
    values = {name: np.array([line[name] for line in measured], dtype=float) for name in names}
    panels = [
        Panel(
            title=f"{name[0].upper()}{name[1:]}",
            across=r"round $k$",
            up=name,
            lines=[PlotLine("", rounds, values[name], style=1)],
            linear="" if (values[name] > 0).all() and np.ptp(np.log(values[name])) > 3 else "up",
        )
        for name in names
    ]
    ends = "; ".join(f"{name} from {plain(values[name][0])} to {plain(values[name][-1])}" for name in names)
    drawing = sheet([panels], size=(9.6, 3.6), alt=f"What this member measured against rounds: {ends}.")
    return [Figure.of(drawing, "What this member measured as rounds went by.")]


def _plan_text(plan: FederationPlan) -> str:
    """The plan without certificates and weights, which are long and say little."""
    tables = {name: table for name, table in plan.tables().items() if name != "cards"}
    tables["network"] = {key: value for key, value in tables["network"].items() if key != "weights"}
    return f"# The plan; its fingerprint is {plan.fingerprint}\n\n{dumps(tables)}"
