"""`hocket peer plan`: from everybody's cards one plan, audited before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from hocket.cli.answer import Answer, Parameters
from hocket.cli.audit import step_in
from hocket.cli.peer.common import (
    audited,
    brings,
    load_task,
    members_in_words,
    objectives_in_words,
    refuse_existing,
)
from hocket.cli.peer.epsilon import EpsilonOptions, draft, price_in_words
from hocket.errors import BadConfig
from hocket.federation.home import Home
from hocket.files import read_text

NOTHING = EpsilonOptions()
"""No ε is asked for."""

if TYPE_CHECKING:
    from hocket.federation.plan import FederationPlan


def plan(
    *cards: Annotated[Path, Parameter(help="The members' cards.")],
    colluders: Annotated[int, Parameter(help="How many members may collude.")],
    study: Annotated[
        Path | None,
        Parameter(help="A study to be carried out by sums over all members; then no more need be said."),
    ] = None,
    topology: Annotated[
        str | None,
        Parameter(
            help="cycle, complete, harary:k=3, …, for as many as there are cards; of a study by default complete, or "
            "beyond twelve members few links that withstand one colluder more; with --epsilon also auto."
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        Parameter(
            help="joint-average, rss-nb, function-sharing, rss-lb or dgd; or one of your own in one file, "
            "FILE.py:CLASS, whose source the plan names by its hash."
        ),
    ] = None,
    parameters: Parameters = None,
    task: Annotated[
        str | None, Parameter(help="What the members call the task, or FILE.py:NAME to read its dimension.")
    ] = None,
    rounds: Annotated[int, Parameter(help="How many rounds.")] = 1000,
    dataset: Annotated[
        str | None,
        Parameter(
            help="A name for the data, by which runs are counted and noise is kept; by default the task's."
        ),
    ] = None,
    objectives: Annotated[
        str | None,
        Parameter(
            help="The class that every member's objective is of: polynomial:2, quadratic, generalised-linear or any. "
            "By default what the task's file says; theorems rest on it."
        ),
    ] = None,
    dimension: Annotated[int | None, Parameter(help="How many numbers a state has.")] = None,
    delta: Annotated[
        float | None,
        Parameter(help="Noise bound of rss-nb and rss-lb; with --epsilon, how often its promise may fail."),
    ] = None,
    promised: EpsilonOptions = NOTHING,
    anchor: Annotated[
        float | None, Parameter(help="Share of rss-nb's noise that is drawn once and kept.")
    ] = None,
    degree: Annotated[int | None, Parameter(help="Degree of function-sharing's noise.")] = None,
    bound: Annotated[float | None, Parameter(help="Bound on its coefficients.")] = None,
    inner: Annotated[
        str | None, Parameter(help="What function-sharing carries out, such as aug-dgm; by default dgd.")
    ] = None,
    distribution: Annotated[
        str | None, Parameter(help="uniform, within its bound for certain, or gaussian.")
    ] = None,
    step: Annotated[str, Parameter(help="a,b,p for a/(k+b)^p, or a constant.")] = "1,20,0.75",
    local_steps: Annotated[int, Parameter(help="Gradient steps between two exchanges.")] = 1,
    box: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="Keep states in a box: low,high.")
    ] = None,
    ball: Annotated[float | None, Parameter(help="Keep states in a ball of this radius.")] = None,
    weights: Annotated[str, Parameter(help="paper, metropolis or fastest.")] = "paper",
    dtype: Annotated[str, Parameter(help="float64 or float32.")] = "float64",
    seed: Annotated[int, Parameter(help="The public start is drawn from it.")] = 0,
    after: Annotated[
        Path | None,
        Parameter(
            help="The plan of a finished run: go on from what its members published, masked from round 1."
        ),
    ] = None,
    reach: Annotated[
        float, Parameter(help="How far from zero a number of a word may be; farther out it is refused.")
    ] = 1e6,
    verifiable: Annotated[
        bool,
        Parameter(negative=(), help="Members keep their noise keys, to disclose them for a verification."),
    ] = False,
    gradient_size: Annotated[
        float, Parameter(help="How large a typical gradient is: the root mean square of its coordinates.")
    ] = 1.0,
    min_sd: Annotated[
        float,
        Parameter(help="Refuse if colluders would know a gradient better than to this share of its size."),
    ] = 0.1,
    means: Annotated[
        int | None,
        Parameter(
            help="How often in the run members add up their states under masks, to tell whether all have converged: by "
            "default 10 times; never with --epsilon, which does not cover it."
        ),
    ] = None,
    drop_after: Annotated[
        str,
        Parameter(
            help="Drop a member without operators after so long a silence, such as 24h (s, min, h, d): if all who are "
            "left agree and are more than half, hang together, and what remains is safe. "
            "Refused where that never holds."
        ),
    ] = "",
    on_drop: Annotated[
        Literal["stop", "restart"],
        Parameter(
            help="When a member of a study is dropped: stop; or restart, by those who stay and from the first sum, "
            "which shows everybody by a difference of sums what the leaver gave."
        ),
    ] = "stop",
    days: Annotated[
        int | None,
        Parameter(
            help="How many days the run may take: certificates that run out before are refused; else those of the next "
            "30 days are named."
        ),
    ] = None,
    unsafe: Annotated[bool, Parameter(negative=(), help="Plan it even if the audit refuses it.")] = False,
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="File for the plan.")] = Path("plan.toml"),
) -> Answer:
    """Draw up a plan, audit it and write it down; a plan under which somebody is exposed is refused.

    Everybody reads the plan and signs it with `hocket peer sign`; a change after that needs all signatures again.
    """
    from hocket.config.own_algorithm import is_own, parameters_in
    from hocket.federation.cards import read_card
    from hocket.federation.own_code import NO_CODE, OwnCode
    from hocket.federation.plan_draft import draw_up
    from hocket.federation.plan_file import read_plan
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
    name, size, said = _task(task, dimension)
    noise = {
        "delta": delta,
        "anchor": anchor,
        "degree": degree,
        "bound": bound,
        "distribution": distribution,
        "inner": inner,
    }
    audit |= {"gradient_size": gradient_size, "min_sd": min_sd}
    asked = {
        "name": name,
        "dataset": dataset or normal_name(name),
        "dimension": size,
        "objectives": objectives or said,
        "dtype": dtype,
        "seed": seed,
    }
    read = [read_card(path) for path in cards]
    certified = draft(
        promised, read, topology, algorithm, delta, noise, asked, audit, rounds=rounds, weights=weights
    )
    own = OwnCode(named=algorithm) if is_own(algorithm) else NO_CODE
    plain = {"name": algorithm} if own is NO_CODE else own.table()
    plain |= {key: value for key, value in noise.items() if value is not None} | parameters_in(parameters)
    drawn = draw_up(
        read,
        str(topology) if certified is None else certified.topology,
        algorithm=plain if certified is None else certified.algorithm,
        certificate=None if certified is None else certified.certificate,
        step=step_in(step),
        task=asked,
        run={
            "rounds": rounds,
            "local_steps": local_steps,
            "reach": reach,
            "verifiable": verifiable,
            "drop_after": drop_after,
            "means": _means(means, algorithm, certified is not None),
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
    from hocket.federation.cards import read_card
    from hocket.federation.plan_draft import draw_up, study_topology
    from hocket.federation.study_task import MOST_TOTALS, NUMBERS
    from hocket.links.text import normal_name
    from hocket.studies.study import LARGEST, read_study

    title = read_study(file).question.title
    return draw_up(
        [read_card(path) for path in cards],
        topology or study_topology(len(cards), audit["colluders"]),
        algorithm={"name": Totals.key, "study": read_text(file, LARGEST), "on_drop": on_drop},
        step={"constant": 1.0},
        task={"name": title, "dataset": dataset or normal_name(title), "dimension": NUMBERS},
        run={"rounds": MOST_TOTALS, "drop_after": drop_after},
        audit=audit,
    )


def write_drawn(drawn: FederationPlan, out: Path, days: int | None, *, price: Sequence[str] = ()) -> Answer:
    """Audit a plan and write it down."""
    from hocket.federation.expiry import expiring, refuse_expiring
    from hocket.federation.plan_file import write_plan
    from hocket.federation.remainder import check_drop_rule

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
    from hocket.federation.task_class import task_class

    _, colon, name = task.rpartition(":")
    if dimension is not None:
        return name if colon else task, dimension, "any"
    if not colon:
        raise BadConfig(
            f"--task {task} does not tell the dimension; give --dimension, or --task FILE.py:NAME"
        )
    found = load_task(task)
    return name, int(found.dimension), str(task_class(found))


def _means(asked: int | None, algorithm: str, promised: bool) -> int:
    """As often as was asked for, or where nothing forbids it."""
    from hocket.config.sections import ALGORITHM_SECTIONS as known

    sums = algorithm in known and known[algorithm].algorithm.sums
    return asked if asked is not None else 0 if promised or sums else 10


def _feasible(box: str | None, ball: float | None) -> dict[str, Any] | None:
    if box is not None and ball is not None:
        raise BadConfig("--box and --ball are two feasible sets; give one of them")
    if ball is not None:
        return {"kind": "ball", "radius": ball}
    if box is None:
        return None
    try:
        low, high = (float(word) for word in box.split(","))
    except ValueError:
        raise BadConfig(f"--box {box!r} is no box; write low,high such as -1,1") from None
    return {"kind": "box", "low": low, "high": high}
