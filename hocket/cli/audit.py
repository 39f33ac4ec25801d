"""`hocket audit`: what insiders can learn on a topology or from a run, and how to repair it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.cli.answer import Answer, bar
from hocket.cli.audit_plan import answer_on_plan, write_page
from hocket.cli.options import (
    STEP,
    Coalition,
    Colluders,
    Edges,
    NoiseBound,
    Persistent,
    SetParameters,
    Topology,
    agents_in,
    algorithm_parameters,
    command_line,
    flags,
    named_network,
    numbers,
    read_step,
    typed,
)
from hocket.errors import BadAlgorithm, BadConfig

if TYPE_CHECKING:
    from hocket.networks.network import Network
    from hocket.privacy import Audit, NoisePlan
    from hocket.runs.run import Run

BESIDE_PLAN = {"plan", "colluders", "html", "algorithm"}
"""What may be given with a plan."""


def audit(
    *,
    topology: Topology = None,
    edges: Edges = None,
    run: Path | None = None,
    plan: Path | None = None,
    colluders: Colluders = None,
    coalition: Coalition = None,
    algorithm: str | None = None,
    parameters: SetParameters = None,
    noise_bound: NoiseBound = None,
    persistent: Persistent = None,
    dim: int | None = None,
    gradient_size: float | None = None,
    objectives: str | None = None,
    local_steps: int | None = None,
    weights: str = "paper",
    rounds: int | None = None,
    sigma: float | None = None,
    step: str = STEP,
    runs: int = 1,
    wanted_sd: float | None = None,
    forbid: str | None = None,
    html: Path | None = None,
) -> Answer:
    """Say what a coalition can learn: proved, estimated and, with a run, attacked; and the cheapest repair.

    Name the network by --topology, --edges, --run or --plan, and the adversary by --colluders or --coalition.

    Args:
        run: A run's folder; it must have kept its messages.
        plan: A federation's plan: needs no key, and shows what its signers are shown.
        algorithm: Audit this one alone: rss-nb, …, or your own FILE.py:CLASS; with --plan, your copy of its algorithm.
        dim: How many numbers a state has, over which --noise-bound is split; 1 by default.
        gradient_size: How large a typical gradient is, per coordinate; a run's own, or 1, by default.
        objectives: What objectives are declared to be: polynomial:2, quadratic, generalised-linear or any.
        local_steps: Steps along gradients between two exchanges; 1 by default.
        weights: paper, metropolis or fastest.
        rounds: Rounds planned; 1000 by default.
        sigma: Standard deviation of one draw per coordinate; 1 by default.
        step: a,b,p for a/(k+b)^p, or a constant.
        runs: Runs on the same data, with the same persistent noise.
        wanted_sd: With --dim: plan RSS-NB's noise so that no gradient is known better than ± this.
        forbid: Links that a repair may not use: 0-2,1-3.
        html: Also write a page on which to try coalitions out.
    """
    given = typed(audit, locals())
    from hocket.privacy import audit as judge
    from hocket.report.audit_rows import attack_rows, readable_rows
    from hocket.report.exposure import findings_table

    if plan is not None:
        return answer_on_plan(plan, colluders=colluders, html=html, algorithm=_beside_plan(given))
    network, recorded = _network(weights, topology, edges, run)
    if colluders is None and coalition is None:
        raise BadConfig(
            "an audit is against somebody: name --colluders, a number, or --coalition, who they are"
        )
    if recorded is not None and wanted_sd is not None:
        raise BadConfig("--wanted-sd plans a run to come; leave --run away and name the topology")
    if wanted_sd is not None and dim is None:
        raise BadConfig(
            "--wanted-sd needs --dim: noise is split over all numbers of a state, so it takes √dim as much"
        )
    course: dict[str, Any] = {"rounds": rounds, "step": None if recorded else read_step(step), "runs": runs}
    course |= {} if dim is None else {"dim": dim}
    found = judge(
        network,
        colluders=colluders,
        coalition=None if coalition is None else agents_in(coalition),
        run=recorded,
        algorithm=_algorithm(
            algorithm, sigma, algorithm_parameters(algorithm, noise_bound, persistent, parameters)
        ),
        sigma=1.0 if sigma is None else sigma,
        gradient_size=gradient_size,
        objectives=objectives,
        local_steps=1 if local_steps is None else local_steps,
        forbidden=[] if forbid is None else [_link(word) for word in forbid.split(",")],
        watch=bar("Estimating"),
        **course,
    )
    noise = None if wanted_sd is None else _noise(found, wanted_sd, course)
    planned = noise if noise is None or isinstance(noise, str) else noise.to_json()
    data, written = found.to_json() | {"noise_plan": planned}, []
    if html is not None:
        data |= {"page": str(_write(found, html, given))}
        written = [f"Page: {html}"]
    words = [
        *([] if found.certificate is None else [found.certificate.statement]),
        found.answer,
        "",
        readable_rows(found),
        *found.verdict,
        *([] if noise is None else [str(noise)]),
        "",
        *filter(None, [attack_rows(found)]),
        findings_table(found.findings),
        *found.statement,
    ]
    return Answer(data, [*words, *written])


def _beside_plan(given: dict[str, Any]) -> str | None:
    """The copy of the plan's algorithm, if one was named; refuses whatever else is of no use beside a plan."""
    from hocket.config.own_algorithm import is_own

    own = given.get("algorithm")
    others = [*given.keys() - BESIDE_PLAN] + ([] if own is None or is_own(own) else ["algorithm"])
    if others:
        away = " and ".join(f"--{name.replace('_', '-')}" for name in sorted(others))
        raise BadConfig(
            f"--plan is audited as it was drawn up, on its own network; leave {away} away: beside it only --colluders, "
            "--html and --algorithm FILE.py:CLASS may be given"
        )
    return own


def _network(
    weights: Any, topology: str | None, edges: Path | None, run: Path | None
) -> tuple[Network, Run | None]:
    given = [f"--{name}" for name, value in (("topology", topology), ("edges", edges), ("run", run)) if value]
    if len(given) != 1:
        raise BadConfig(
            f"an audit needs one of --topology, --edges, --run and --plan, and has {' and '.join(given) or 'none'}"
        )
    if run is None:
        return named_network(topology, edges, "an audit", weights), None
    recorded = recorded_in(run)
    return recorded.network, recorded


def _algorithm(name: str | None, sigma: float | None, given: dict[str, Any]) -> Any:
    """An algorithm by name, or with its own parameters."""
    from hocket.config.own_algorithm import is_own, read_any_algorithm

    bound = "bound" if "bound" in given else "delta"
    if not given and not is_own(name):
        return name
    if "persistent" in given and not given.keys() & {bound, "sd"}:
        raise BadConfig(
            "--persistent is a share of --noise-bound, or of --set sd= with certified-rss-nb; give that as well"
        )
    if name is None:
        what = "--noise-bound is one algorithm's noise" if bound in given else "--set is of one algorithm"
        raise BadConfig(f"{what}; name it, --algorithm rss-nb")
    if sigma is not None:
        said = "--noise-bound" if bound in given else f"--algorithm {name}"
        raise BadConfig(f"{said} and --sigma both say how much noise there is; give one of them")
    return read_any_algorithm({"name": name, **given}).build()


def recorded_in(folder: Path) -> Run:
    """A run from its folder, with the plan that its configuration states."""
    import dataclasses

    from hocket.config import reopen_folder
    from hocket.config.reader import CONFIG
    from hocket.runs.run import Run

    if not (folder / CONFIG).is_file():
        raise BadConfig(
            f"{folder} is no folder of a run: it has no {CONFIG}; name one that `hocket solve` wrote"
        )
    job = reopen_folder(folder).job()
    return dataclasses.replace(Run.load(folder), problem=job.problem, algorithm=job.algorithm, step=job.step)


def _link(text: str) -> tuple[int, int]:
    ends = numbers(
        "--forbid", text, what="link", write="its two agents, 0-2", separator="-", kind=int, counts=(2,)
    )
    return ends[0], ends[1]


def _noise(found: Audit, wanted: float, plan: dict[str, Any]) -> NoisePlan | str:
    """For the coalition that the audit found worst for RSS-NB, or the one named; in words where no noise will do."""
    from hocket.algorithms import RssNb
    from hocket.privacy import plan_noise
    from hocket.privacy.audit.audit import ROUNDS

    worst = next(
        (one for one in found.findings if isinstance(one.option.stands_for, RssNb)), found.findings[0]
    )
    plan = plan | {"rounds": ROUNDS if plan["rounds"] is None else plan["rounds"]}
    try:
        size = found.gradient_size.size
        return plan_noise(found.network, wanted, coalition=worst.coalition, gradient_size=size, **plan)
    except BadAlgorithm as error:
        return f"No plan for the noise of RSS-NB: {error}"


def _write(found: Audit, path: Path, given: dict[str, Any]) -> Path:
    """Write the page, with the command that wrote it and one that asks about another coalition."""
    from hocket.report.verdict_page import verdict_page

    own = ("colluders", "coalition", "forbid", "html")
    same = {name: value for name, value in given.items() if name not in own}
    words = ["hocket", "audit", *flags(same)]
    against: dict[str, Any] = {"colluders": found.colluders}
    if found.coalition is not None:
        against = {"coalition": ",".join(map(str, found.coalition))}
    against |= {"forbid": given.get("forbid"), "html": path}
    page = verdict_page(
        found,
        command=command_line(*words, *flags(against)),
        asking=command_line(*words, "--coalition"),
    )
    return write_page(page, path)
