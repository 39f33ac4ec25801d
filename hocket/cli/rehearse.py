"""`hocket rehearse`: a federation's plan played on stand-in data, to find its step, local steps and noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.errors import BadConfig, BadPlan

if TYPE_CHECKING:
    from hocket.federation.plan import FederationPlan
    from hocket.federation.plan_rehearsal import Rehearsal


def rehearse(
    plan: Annotated[Path, Parameter(help="The plan, as hocket peer plan wrote it.")],
    /,
    *data: Annotated[
        Path,
        Parameter(
            help="Tables of numbers, one per member in the plan's order, the target in the last column; without any, "
            "data are made up."
        ),
    ],
    records: Annotated[int, Parameter(help="Made-up records of each member.")] = 50,
    seed: Annotated[int, Parameter(help="What they are made up from.")] = 0,
    rounds: Annotated[
        int | None, Parameter(help="Rounds to play; by default the plan's.", show_default=False)
    ] = None,
    local_steps: Annotated[
        str | None, Parameter(help="Local steps to try: 1,2,5. By default the plan's.", show_default=False)
    ] = None,
    noise: Annotated[
        str | None,
        Parameter(help="Noise to try: sd=1,3,10. The largest is taken with which the goal is reached."),
    ] = None,
    goal: Annotated[float | None, Parameter(help="The gap that is small enough.")] = None,
    seeds: Annotated[int, Parameter(help="Runs with noise of their own for each candidate.")] = 3,
    figure: Annotated[Path | None, Parameter(help="File for the curve, .svg or .png.")] = None,
    write: Annotated[
        bool, Parameter(negative=(), help="Put what was found into the plan, which nobody may have signed.")
    ] = False,
) -> Answer:
    """Try a plan's algorithm with many steps on stand-in data, show what each reaches, and choose.

    The data are made up, of the plan's dimension and class of objectives, or come from files; no member is asked.
    """
    from hocket.federation.plan_file import read_plan, write_plan
    from hocket.federation.plan_rehearsal import rehearse as play

    agreed = read_plan(plan)
    if write and agreed.signatures:
        raise BadPlan(
            f"{plan} was signed by {', '.join(agreed.signatures)}, and a change would void that; draw up a new plan "
            "with hocket peer plan, or rehearse without --write"
        )
    found = play(
        agreed,
        data=data,
        records=records,
        seed=seed,
        rounds=rounds,
        local_steps=_numbers(local_steps, "--local-steps"),
        noise=_noise(noise),
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
    return Answer(_data(found, plan, write), [*_words(found, agreed), *written])


def _data(found: Rehearsal, plan: Path, written: bool) -> dict[str, Any]:
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


def _words(found: Rehearsal, plan: FederationPlan) -> list[Any]:
    from hocket.report.tables import Table, plain

    rows = found.rows()
    names = [name for name in rows[0] if name not in ("low", "high", "best", "refused", "gap", "diverged")]
    lines = tuple(
        (
            *(plain(float(row[name])) for name in names),
            plain(row["gap"]),
            str(row["diverged"]),
            "best" if row["best"] else "",
        )
        for row in rows
    )
    table = Table(
        (*(name.replace("_", " ") for name in names), "last gap", "diverged", ""),
        lines,
        numeric=frozenset(range(len(names) + 2)),
    )
    chosen = found.best.chosen
    noise = "".join(f", {name} {plain(float(value))}" for name, value in chosen.parameters.items())
    steps = f", {found.local_steps} local steps" if found.local_steps > 1 else ""
    return [
        f"{plan.algorithm.title} among {len(plan.names)} members, {plan.task.dimension} unknowns",
        table,
        f"Best: step {plain(chosen.size)}{steps}{noise}; the plan has {plan.step}",
        *(f"Note: {remark}" for remark in found.remarks),
    ]


def _numbers(text: str | None, option: str) -> list[int]:
    if text is None:
        return []
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise BadConfig(f"{option} {text!r} are no numbers of steps; write 1,2,5")
    return numbers


def _noise(text: str | None) -> dict[str, list[float]]:
    if text is None:
        return {}
    name, equals, values = text.partition("=")
    try:
        found = [float(word) for word in values.split(",")]
    except ValueError:
        found = []
    if not equals or not found:
        raise BadConfig(f"--noise {text!r} names no levels; write sd=1,3,10")
    return {name.strip(): found}
