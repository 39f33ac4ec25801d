"""`hocket audit`: what insiders can learn on a topology or from a run, and how to mend it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer, Parameters, bar
from hocket.cli.audit_of_plan import answer_on_plan, write_page
from hocket.errors import BadAlgorithm, BadConfig

if TYPE_CHECKING:
    from hocket.networks.network import Network
    from hocket.privacy import Audit, NoisePlan
    from hocket.runs.run import Run
    from hocket.steps import Step


STEP = "1,20,0.75"
Topology = Annotated[str | None, Parameter(help="A named topology: cycle:7, grid:3x4, harary:k=3,n=7.")]
Edges = Annotated[Path | None, Parameter(help="A file of links, two agent numbers a line.")]
Colluders = Annotated[int | None, Parameter(help="Against any so many members.")]
Coalition = Annotated[str | None, Parameter(help="Against these members: 1,4.")]


def audit(
    *,
    topology: Topology = None,
    edges: Edges = None,
    run: Annotated[Path | None, Parameter(help="A run's folder; it must have kept its words.")] = None,
    plan: Annotated[
        Path | None,
        Parameter(help="A federation's plan: needs no key, and shows what whoever signs is shown."),
    ] = None,
    colluders: Colluders = None,
    coalition: Coalition = None,
    algorithm: Annotated[
        str | None,
        Parameter(
            help="Audit this one alone: rss-nb, function-sharing, …, or one of your own, FILE.py:CLASS; with --plan, "
            "your copy of the one that it runs."
        ),
    ] = None,
    parameters: Parameters = None,
    delta: Annotated[float | None, Parameter(help="Its own noise bound, in place of --sigma.")] = None,
    anchor: Annotated[
        float | None, Parameter(help="With --delta: the share of noise that is drawn once and kept.")
    ] = None,
    dim: Annotated[
        int | None, Parameter(help="How many numbers a state has, over which --delta is dealt; 1 by default.")
    ] = None,
    gradient_size: Annotated[
        float | None,
        Parameter(help="How large a typical gradient is, per coordinate; a run's own, or 1, by default."),
    ] = None,
    objectives: Annotated[
        str | None,
        Parameter(
            help="What objectives are declared to be: polynomial:2, quadratic, generalised-linear or any."
        ),
    ] = None,
    local_steps: Annotated[
        int | None, Parameter(help="Steps along gradients between two exchanges; 1 by default.")
    ] = None,
    weights: Annotated[str, Parameter(help="paper, metropolis or fastest.")] = "paper",
    rounds: Annotated[int | None, Parameter(help="Rounds planned; 1000 by default.")] = None,
    sigma: Annotated[
        float | None, Parameter(help="Standard deviation of one draw per coordinate; 1 by default.")
    ] = None,
    step: Annotated[str, Parameter(help="a,b,p for a/(k+b)^p, or a constant.")] = STEP,
    runs: Annotated[int, Parameter(help="Runs on the same data, with anchors kept.")] = 1,
    wanted_sd: Annotated[
        float | None,
        Parameter(help="With --dim: plan RSS-NB's noise so that no gradient is known better than ± this."),
    ] = None,
    forbid: Annotated[str | None, Parameter(help="Links that a repair may not use: 0-2,1-3.")] = None,
    html: Annotated[Path | None, Parameter(help="Also write a page on which to try coalitions out.")] = None,
) -> Answer:
    """Say what a coalition can learn: proved, estimated and, with a run, attacked; and the cheapest way to mend it.

    Name the network by --topology, --edges, --run or --plan, and the adversary by --colluders or --coalition.
    """
    from hocket.config.own_algorithm import is_own
    from hocket.privacy import audit as judge
    from hocket.report.audit_rows import attack_rows, readable_rows
    from hocket.report.exposure import findings_table

    source = {"topology": topology, "edges": edges, "run": run}
    source = {key: value for key, value in source.items() if value is not None}
    numbers = {
        "delta": (delta, None),
        "anchor": (anchor, None),
        "dim": (dim, None),
        "gradient-size": (gradient_size, None),
        "objectives": (objectives, None),
        "local-steps": (local_steps, None),
        "sigma": (sigma, None),
        "step": (step, STEP),
        "runs": (runs, 1),
        "set": (parameters, None),
    }
    changed = {key: value for key, (value, usual) in numbers.items() if value != usual}
    if plan is not None:
        named = None if is_own(algorithm) else algorithm
        own = (coalition, named, rounds, wanted_sd, forbid)
        _refuse_beside_plan(source, bool(changed) or any(value is not None for value in own))
        return answer_on_plan(plan, colluders=colluders, html=html, algorithm=algorithm)
    network, recorded = _network(weights, topology, edges, run)
    if colluders is None and coalition is None:
        raise BadConfig(
            "an audit is against somebody: name --colluders, a number, or --coalition, who they are"
        )
    if recorded is not None and wanted_sd is not None:
        raise BadConfig("--wanted-sd plans a run to come; leave --run away and name the topology")
    if wanted_sd is not None and dim is None:
        raise BadConfig(
            "--wanted-sd needs --dim: noise is dealt over all numbers of a state, so it takes √dim as much"
        )
    course: dict[str, Any] = {"rounds": rounds, "step": None if recorded else read_step(step), "runs": runs}
    course |= {} if dim is None else {"dim": dim}
    found = judge(
        network,
        colluders=colluders,
        coalition=None if coalition is None else agents_in(coalition),
        run=recorded,
        algorithm=_algorithm(algorithm, delta, anchor, sigma, parameters),
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
        weighed = {} if weights == "paper" else {"weights": weights}
        asked = source | {"algorithm": algorithm, "rounds": rounds} | changed | weighed
        data |= {"page": str(_write(found, html, asked, forbid))}
        written = [f"Page: {html}"]
    words = [
        *found.certified,
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


def _network(
    weights: Any, topology: str | None, edges: Path | None, run: Path | None
) -> tuple[Network, Run | None]:
    given = [f"--{name}" for name, value in (("topology", topology), ("edges", edges), ("run", run)) if value]
    if len(given) != 1:
        raise BadConfig(
            f"an audit needs one of --topology, --edges, --run and --plan, and has {' and '.join(given) or 'none'}"
        )
    if run is None:
        return named_network(topology, edges, "audit", weights), None
    recorded = recorded_in(run)
    return recorded.network, recorded


def named_network(topology: str | None, edges: Path | None, what: str, weights: Any = "paper") -> Network:
    """A network by its name, or from a file of links."""
    if (topology is None) == (edges is None):
        both = "both" if topology else "none"
        article = "an" if what[0] in "aeiou" else "a"
        raise BadConfig(f"{article} {what} needs one of --topology and --edges, and has {both}")
    if topology is not None:
        from hocket.networks.topologies import parse

        return parse(topology, weights=weights)
    assert edges is not None
    from hocket.config.sections import read_links
    from hocket.networks.network import Network

    if not edges.is_file():
        raise BadConfig(f"{edges} does not exist; name a file with two agent numbers a line")
    return Network.from_edges(read_links(edges), weights=weights, name=edges.stem)


def _refuse_beside_plan(source: dict[str, Any], own: bool) -> None:
    if source:
        raise BadConfig(f"--plan names its own network; leave --{' and --'.join(source)} away, or the plan")
    if own:
        raise BadConfig(
            "--plan is audited as it was drawn up, with its own algorithm, rounds and limits; beside it only "
            "--colluders and --html may be given"
        )


def _algorithm(
    name: str | None,
    delta: float | None,
    anchor: float | None,
    sigma: float | None,
    parameters: list[str] | None,
) -> Any:
    """An algorithm by name, or with its own parameters."""
    from hocket.config.own_algorithm import is_own, parameters_in, read_any_algorithm

    given = {"delta": delta, "anchor": anchor}
    given = {key: value for key, value in given.items() if value is not None} | parameters_in(parameters)
    if not given and not is_own(name):
        return name
    if "anchor" in given and "delta" not in given:
        raise BadConfig("--anchor is a share of --delta; give --delta as well")
    if name is None:
        what = "--delta is one algorithm's noise" if "delta" in given else "--set is of one algorithm"
        raise BadConfig(f"{what}; name it, --algorithm rss-nb")
    if sigma is not None:
        said = "--delta" if "delta" in given else f"--algorithm {name}"
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


def agents_in(text: str) -> set[int]:
    """A coalition as it is typed, 1,4."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise BadConfig(f"--coalition {text!r} is no list of agents; write their numbers, 1,4")
    return {int(word) for word in words}


def _link(text: str) -> tuple[int, int]:
    ends = text.strip().split("-")
    if len(ends) != 2 or not all(end.isdecimal() for end in ends):
        raise BadConfig(f"--forbid {text!r} is no link; write its two agents, 0-2")
    return int(ends[0]), int(ends[1])


def step_in(text: str) -> dict[str, float]:
    """A step size as it is typed, 1,20,0.75 or 0.1, by the names that a configuration has for its numbers."""
    names = {1: ("constant",), 3: ("a", "b", "p")}
    try:
        numbers = [float(word) for word in text.split(",")]
        return dict(zip(names[len(numbers)], numbers, strict=True))
    except (ValueError, KeyError):
        raise BadConfig(
            f"--step {text!r} is no step size; write a,b,p for a/(k+b)^p, 1,20,0.75, or one constant"
        ) from None


def read_step(text: str) -> Step:
    """The step size that `step_in` reads."""
    from hocket.steps import Constant, Power

    numbers = [*step_in(text).values()]
    return Power(*numbers) if len(numbers) == 3 else Constant(*numbers)


def _noise(found: Audit, wanted: float, plan: dict[str, Any]) -> NoisePlan | str:
    """For the coalition that the audit found worst for RSS-NB, or the one named; in words where no noise will do."""
    from hocket.privacy import plan_noise
    from hocket.privacy.verdict.audit import ROUNDS

    worst = next((one for one in found.findings if one.label.startswith("RSS-NB")), found.findings[0])
    plan = plan | {"rounds": ROUNDS if plan["rounds"] is None else plan["rounds"]}
    try:
        size = found.gradient_size.size
        return plan_noise(found.network, wanted, coalition=worst.coalition, gradient_size=size, **plan)
    except BadAlgorithm as error:
        return f"No plan for the noise of RSS-NB: {error}"


def _write(found: Audit, path: Path, asked: dict[str, Any], forbid: str | None) -> Path:
    """Write the page; `asked` is what an audit of another coalition has in common with this one."""
    from hocket.links.text import is_list
    from hocket.report.verdict_page import verdict_page

    words = ["hocket", "audit"]
    for name, value in asked.items():
        for one in value if is_list(value) else [value]:
            words += [] if one is None else [f"--{name}", str(one)]
    against = ["--colluders", str(found.colluders)]
    if found.coalition is not None:
        against = ["--coalition", ",".join(map(str, found.coalition))]
    page = verdict_page(
        found,
        command=shlex.join(
            [*words, *against, *(["--forbid", forbid] if forbid else []), "--html", str(path)]
        ),
        asking=shlex.join([*words, "--coalition"]),
    )
    return write_page(page, path)
