"""`hocket peer plan`: from everybody's cards one plan, audited before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.options import (
    STEP,
    NoiseBound,
    OutFile,
    Persistent,
    SetParameters,
    algorithm_parameters,
    numbers,
    refuse_existing,
    step_in,
)
from hocket.cli.peer.common import audited, brings, load_task, members_in_words, objectives_in_words
from hocket.cli.peer.epsilon import EpsilonOptions, draft, price_in_words
from hocket.errors import BadConfig
from hocket.federation.state.home import Home
from hocket.files import read_text

NOTHING = EpsilonOptions()
"""No ε is asked for."""

if TYPE_CHECKING:
    from hocket.algorithm import Algorithm
    from hocket.federation.plan.certified_draft import CertifiedDraft
    from hocket.federation.plan.plan import FederationPlan


def plan(
    *cards: Path,
    colluders: int,
    study: Path | None = None,
    topology: str | None = None,
    algorithm: str | None = None,
    noise_bound: NoiseBound = None,
    persistent: Persistent = None,
    parameters: SetParameters = None,
    task: str | None = None,
    rounds: int = 1000,
    dataset: str | None = None,
    objectives: str | None = None,
    dimension: int | None = None,
    promised: EpsilonOptions = NOTHING,
    step: str = STEP,
    local_steps: int = 1,
    box: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    ball: float | None = None,
    weights: str = "paper",
    dtype: str = "float64",
    seed: int = 0,
    after: Path | None = None,
    reach: float = 1e6,
    verifiable: bool = False,
    gradient_size: float = 1.0,
    min_sd: float = 0.1,
    means: int | None = None,
    drop_after: str = "",
    on_drop: Literal["stop", "restart"] = "stop",
    days: int | None = None,
    unsafe: bool = False,
    out: OutFile = Path("plan.toml"),
) -> Answer:
    """Draw up a plan, audit it and write it down; a plan under which somebody is exposed is refused.

    Everybody reads the plan and signs it with `hocket peer sign`; a change after that needs all signatures again. For a
    study, --study and --colluders are enough.

    Args:
        cards: The members' cards.
        colluders: How many members may collude.
        study: A study to be carried out by secure sums over all members.
        topology: cycle, complete, harary:k=3, …, for as many as there are cards; chosen for a study, or by auto for ε.
        algorithm: joint-average, function-sharing, certified-rss-nb, …, or your own FILE.py:CLASS, named by its hash.
        task: What the members call the task, or FILE.py:NAME to read its dimension.
        rounds: How many rounds.
        dataset: A name for the data, by which runs are counted and noise is kept; by default the task's.
        objectives: The class of every objective, for theorems: polynomial:2, quadratic, generalised-linear or any.
        dimension: How many numbers a state has.
        step: a,b,p for a/(k+b)^p, or a constant.
        local_steps: Gradient steps between two exchanges.
        box: Keep states in a box: low,high.
        ball: Keep states in a ball of this radius.
        weights: paper, metropolis or fastest.
        dtype: float64 or float32.
        seed: The public start is drawn from it.
        after: The plan of a finished run: go on from what its members published, masked from round 1.
        reach: How far from zero a number of a message may be; farther out it is refused.
        verifiable: Members keep their noise keys, to disclose them for a verification.
        gradient_size: How large a typical gradient is: the root mean square of its coordinates.
        min_sd: Refuse if colluders could estimate a gradient with a smaller relative error.
        means: How often members average their states by secure sums, to judge convergence; by default 10, with ε never.
        drop_after: Drop a member after so long a silence (24h, 30min), if the others agree and stay safe.
        on_drop: When a study loses a member: stop, or restart without it, which shows what the leaver gave.
        days: How many days the run may take: TLS certificates that expire before are refused.
        unsafe: Plan it even if the audit refuses it.
        out: File for the plan.
    """
    from hocket.config.own_algorithm import is_own
    from hocket.federation.plan.cards import read_card
    from hocket.federation.plan.draft import draw_up
    from hocket.federation.plan.own_code import NO_CODE, OwnCode
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.plan.sections import read_planned_algorithm
    from hocket.links.text import normal_name

    refuse_existing(out, "plan")
    audit: dict[str, Any] = {"colluders": colluders, "unsafe": unsafe}
    if study is not None:
        drawn = _study(cards, study, topology, dataset, on_drop, drop_after, audit)
        return write_drawn(drawn, out, days)
    if algorithm is None or task is None or (topology is None and promised.epsilon is None):
        raise BadConfig(
            "a plan needs --study, or all of --topology, --algorithm and --task; see hocket peer plan --help"
        )
    name, size, declared = _task(task, dimension)
    noise = algorithm_parameters(algorithm, noise_bound, persistent, parameters)
    audit |= {"gradient_size": gradient_size, "min_sd": min_sd}
    asked = {
        "name": name,
        "dataset": dataset or normal_name(name),
        "dimension": size,
        "objectives": objectives or declared,
        "dtype": dtype,
        "seed": seed,
    }
    read = [read_card(path) for path in cards]
    certified = draft(
        promised, read, topology, algorithm, noise, asked, audit, rounds=rounds, weights=weights
    )
    own = OwnCode(named=algorithm) if is_own(algorithm) else NO_CODE
    plain = ({"name": algorithm} if own is NO_CODE else own.table()) | noise
    chosen = plain if certified is None else certified.algorithm
    drawn = draw_up(
        read,
        str(topology) if certified is None else certified.topology,
        algorithm=chosen,
        certificate=None if certified is None else certified.certificate,
        step=step_in(step),
        task=asked,
        run={
            "rounds": rounds,
            "local_steps": local_steps,
            "reach": reach,
            "verifiable": verifiable,
            "drop_after": drop_after,
            "means": _means(means, certified, read_planned_algorithm(chosen, own).build()),
        },
        feasible=_feasible(box, ball),
        audit=audit,
        weights=weights,
        after=None if after is None else read_plan(after, Home.at().own_code),
        own=own,
    )
    return write_drawn(drawn, out, days, price=[] if certified is None else price_in_words(certified))


def _study(
    cards: Sequence[Path],
    file: Path,
    topology: str | None,
    dataset: str | None,
    on_drop: str,
    drop_after: str,
    audit: dict[str, Any],
) -> FederationPlan:
    """A study's plan: all that is left to choose is who is linked with whom."""
    from hocket.algorithms.totals import Totals
    from hocket.federation.plan.cards import read_card
    from hocket.federation.plan.draft import draw_up, study_topology
    from hocket.federation.workloads.study import MOST_SUMS, NUMBERS
    from hocket.links.text import normal_name
    from hocket.studies.spec.study import LARGEST, read_study

    title = read_study(file).question.title
    return draw_up(
        [read_card(path) for path in cards],
        topology or study_topology(len(cards), audit["colluders"]),
        algorithm={"name": Totals.name, "study": read_text(file, LARGEST), "on_drop": on_drop},
        step={"constant": 1.0},
        task={"name": title, "dataset": dataset or normal_name(title), "dimension": NUMBERS},
        run={"rounds": MOST_SUMS, "drop_after": drop_after},
        audit=audit,
    )


def write_drawn(drawn: FederationPlan, out: Path, days: int | None, *, price: Sequence[str] = ()) -> Answer:
    """Audit a plan and write it down."""
    from hocket.federation.audit.survivors import check_drop_rule
    from hocket.federation.monitoring.expiry import expiring, refuse_expiring
    from hocket.federation.plan.plan_file import write_plan

    drawn.check_certificates()
    check_drop_rule(drawn)
    if days is not None:
        refuse_expiring(drawn, days)
    soon = expiring(drawn)
    found = audited(drawn)
    write_plan(drawn, out)
    data = {
        "plan": str(out),
        "hash": drawn.hash.hex(),
        "fingerprint": drawn.fingerprint,
        "expiring": {one.name: f"{one.when:%Y-%m-%d}" for one in soon},
        **found.to_json(),
    }
    accepted = [f"Accepted as it is: {problem}" for problem in found.problems]
    words = [
        *members_in_words(drawn),
        objectives_in_words(drawn),
        "",
        *found.words,
        *price,
        *accepted,
        *(one.words for one in soon),
        "",
        f"Plan: {out}",
        f"Fingerprint, to compare by voice: {drawn.fingerprint}",
        f"Next: give it to every member; each signs it with: hocket peer sign {out}"
        + (f" {brings(drawn)}" if drawn.study is not None else ""),
    ]
    return Answer(data, words)


def _task(task: str, dimension: int | None) -> tuple[str, int, str]:
    """The task's name and dimension, from its file if the dimension was not given; and the class that it says."""
    from hocket.federation.workloads.task_checks import task_class

    _, colon, name = task.rpartition(":")
    if dimension is not None:
        return name if colon else task, dimension, "any"
    if not colon:
        raise BadConfig(
            f"--task {task} does not tell the dimension; give --dimension, or --task FILE.py:NAME"
        )
    found = load_task(task)
    return name, int(found.dimension), str(task_class(found))


def _means(asked: int | None, promised: CertifiedDraft | None, algorithm: Algorithm) -> int:
    """As often as was asked for, or where nothing forbids it."""
    from hocket.federation.workloads.needs import needs

    forbidden = promised is not None or needs(algorithm).sums
    return asked if asked is not None else 0 if forbidden else 10


def _feasible(box: str | None, ball: float | None) -> dict[str, Any] | None:
    if box is not None and ball is not None:
        raise BadConfig("--box and --ball are two feasible sets; give one of them")
    if ball is not None:
        return {"kind": "ball", "radius": ball}
    if box is None:
        return None
    low, high = numbers("--box", box, what="box", write="low,high such as -1,1", counts=(2,))
    return {"kind": "box", "low": low, "high": high}


def again(
    plan: Path,
    /,
    *cards: Path,
    without: tuple[str, ...] = (),
    topology: str | None = None,
    colluders: int | None = None,
    rounds: int | None = None,
    days: int | None = None,
    out: OutFile = Path("plan-again.toml"),
) -> Answer:
    """Draw up a new plan like an earlier one, with its cards and these: a newcomer joins a finished study like this.

    All sign it anew. What the same data told in the earlier run counts: members' own `sign` adds it up.

    Args:
        plan: The earlier plan.
        cards: Cards of newcomers, and renewed ones of its members.
        without: Members who take no part any more.
        topology: Other links; by default the same kind, for as many as there are now.
        colluders: How many may collude; by default as before.
        rounds: How many rounds; by default as before.
        days: How many days the run may take, as for plan.
        out: File for the new plan.
    """
    from hocket.federation.plan.again import draw_up_again
    from hocket.federation.plan.cards import read_card
    from hocket.federation.plan.plan_file import read_plan

    refuse_existing(out, "plan")
    before = read_plan(plan)
    changes: dict[str, Any] = {"topology": topology, "colluders": colluders, "rounds": rounds}
    drawn = draw_up_again(before, [read_card(path) for path in cards], without=without, **changes)
    return write_drawn(drawn, out, days, price=_shown_again(before, drawn))


def _shown_again(before: FederationPlan, drawn: FederationPlan) -> list[str]:
    """What a run with other members shows beside the earlier one."""
    from hocket.federation.workloads.needs import needs
    from hocket.studies.results.seen import DIFFERENCE

    new = ", ".join(name for name in drawn.names if name not in before.names)
    left = ", ".join(name for name in before.names if name not in drawn.names)
    lines = list[str]()
    if needs(drawn.algorithm).sums and left:
        lines.append(f"{DIFFERENCE.format(left=left)}.")
    if needs(drawn.algorithm).sums and new:
        lines.append(
            f"A secure sum without {new} and the same sum with it show, by their difference, what {new} gives: of the "
            f"first sum exactly, and to everybody who has seen both. Tell {new} before it signs."
        )
    return lines
