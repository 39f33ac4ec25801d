"""`hocket simulate`: a federation's plan run on stand-in data, to find its step, local steps and noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.cli.answer import Answer
from hocket.cli.options import numbers
from hocket.errors import BadPlan

if TYPE_CHECKING:
    from hocket.federation.plan.dry_run import PlanDryRun
    from hocket.federation.plan.plan import FederationPlan


def simulate(
    plan: Path,
    /,
    *data: Path,
    records: int = 50,
    seed: int = 0,
    rounds: int | None = None,
    local_steps: str | None = None,
    noise: str | None = None,
    goal: float | None = None,
    seeds: int = 3,
    figure: Path | None = None,
    write: bool = False,
) -> Answer:
    """Try a plan's algorithm with many steps on stand-in data, show what each reaches, and choose.

    The data are made up, of the plan's dimension and class of objectives, or come from files; no member is asked.

    Args:
        plan: The plan, as hocket peer plan wrote it.
        data: Tables of numbers, one per member in the plan's order, the target in the last column.
        records: Made-up records of each member.
        seed: What they are made up from.
        rounds: Rounds to play; by default the plan's.
        local_steps: Local steps to try: 1,2,5. By default the plan's.
        noise: Noise to try: sd=1,3,10. The largest is taken with which the goal is reached.
        goal: The suboptimality gap that is small enough.
        seeds: Runs with noise of their own for each candidate.
        figure: File for the curve, .svg or .png.
        write: Put what was found into the plan, which nobody may have signed.
    """
    from hocket.federation.plan.dry_run import simulate as play
    from hocket.federation.plan.plan_file import read_plan, write_plan

    agreed = read_plan(plan)
    if write and agreed.signatures:
        raise BadPlan(
            f"{plan} was signed by {', '.join(agreed.signatures)}, and a change would void that; draw up a new plan "
            "with hocket peer plan, or simulate without --write"
        )
    name, _, levels = (noise or "").partition("=")
    steps: list[int] = []
    if local_steps is not None:
        steps = numbers("--local-steps", local_steps, write="1,2,5", kind=int, least=1)
    found = play(
        agreed,
        data=data,
        records=records,
        seed=seed,
        rounds=rounds,
        local_steps=steps,
        noise={} if noise is None else {name.strip(): numbers("--noise", levels or noise, write="sd=1,3,10")},
        goal=goal,
        seeds=seeds,
    )
    if figure is not None:
        found.best.figure(figure)
    written: list[str] = []
    if write:
        from hocket.cli.peer.common import audited

        verdict = audited(found.plan)
        write_plan(found.plan, plan)
        written = [
            *(f"Accepted as it is: {problem}" for problem in verdict.problems),
            f"Written into {plan}; its fingerprint is now {found.plan.fingerprint}",
        ]
    return Answer(_data(found, plan, write), [*_lines(found, agreed), *written])


def _data(found: PlanDryRun, plan: Path, written: bool) -> dict[str, Any]:
    from hocket.runs.tidy import finite_rows

    best = found.best
    return {
        "plan": str(plan),
        "best": finite_rows([{"local_steps": found.local_steps} | best.best])[0],
        "step": str(best.step),
        "candidates": finite_rows(found.rows()),
        "at_edge": best.at_edge,
        "remarks": list(found.remarks),
        "written": written,
    }


def _lines(found: PlanDryRun, plan: FederationPlan) -> list[Any]:
    from hocket.report.tables import Table, plain

    rows = found.rows()
    names = [name for name in rows[0] if name not in ("low", "high", "best", "refused", "gap", "diverged")]
    cells = tuple(
        (
            *(plain(float(row[name])) for name in names),
            plain(row["gap"]),
            str(row["diverged"]),
            "best" * row["best"],
        )
        for row in rows
    )
    head = (*(name.replace("_", " ") for name in names), "last gap", "diverged", "")
    chosen = found.best.chosen
    noise = "".join(f", {name} {plain(float(value))}" for name, value in chosen.parameters.items())
    steps = f", {found.local_steps} local steps" if found.local_steps > 1 else ""
    return [
        f"{plan.algorithm.title} among {len(plan.names)} members, {plan.task.dimension} unknowns",
        Table(head, cells, numeric=frozenset(range(len(names) + 2))),
        f"Best: step {plain(chosen.size)}{steps}{noise}; the plan has {plan.step}",
        *(f"Note: {remark}" for remark in found.remarks),
    ]
