"""The cells of the matrix: one mechanism with two options changed, refused or played."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import hocket as hk
from hocket.claims import NOISE_ON, only_sums
from hocket.errors import HocketError
from hocket.federation.workloads.needs import masked_start
from hocket.privacy import gdp
from hocket.runs.job import Job
from hocket.runs.remarks import remarks_of
from hocket.steps import as_step
from tests.claims.attack import achieved, real_messages
from tests.claims.bases import BY_NAME, Base
from tests.claims.foreign import put_in, with_code
from tests.claims.options import COMMON, FIELDS, PARAMETERS, parameters
from tests.claims.scene import Scene
from tests.claims.worlds import LOSER, WINNER, WORKLOADS, Asked, Neighbours

NOTHING_SEEN = 1e-9
"""A μ that is rounding: two worlds whose messages are the same."""
Verdict = Literal["refused", "played", "no such cell"]
SLACK = 1e-6
"""Of a ratio: what differences by 10⁻³ and least squares leave of fifteen digits."""


@dataclass(frozen=True)
class Cell:
    """A mechanism, and what is changed of it: by axis, the name of a value."""

    base: str
    changed: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " × ".join([self.base, *(f"{axis} = {value}" for axis, value in self.changed)])


@dataclass(frozen=True)
class Result:
    """What became of a cell."""

    verdict: Verdict
    promised: float = math.inf
    achieved: float = math.nan
    why: str = ""

    @property
    def ratio(self) -> float:
        """How much of what was promised an attack achieves; 1 is all of it."""
        if self.achieved < NOTHING_SEEN:
            return 0.0
        return self.achieved / self.promised if self.promised else math.inf

    @property
    def holds(self) -> bool:
        return self.verdict != "played" or self.ratio <= 1 + SLACK


def axes(base: Base) -> dict[str, list[str]]:
    """Every option of a mechanism, with the values that differ from its own."""
    kind = base.kind.__name__
    found = {f"{kind}.{name}": [*values] for name, values in FIELDS.get(kind, {}).items()}
    for name, values in COMMON.items():
        usual = base.options.get(name, next(iter(values)))
        found[name] = [one for one in values if one != usual]
    if not base.promises:  # of these no audit begins with a certificate, which is tested by itself
        found["entry"].remove("audit")
        del found["code"]
    return found


def cells(base: Base) -> Iterator[Cell]:
    """The mechanism itself, with one option changed, and with every pair."""
    each = [(axis, value) for axis, values in axes(base).items() for value in values]
    yield Cell(base.name)
    yield from (Cell(base.name, (one,)) for one in each)
    yield from (Cell(base.name, pair) for pair in itertools.combinations(each, 2) if pair[0][0] != pair[1][0])


def chosen(cell: Cell) -> dict[str, Any]:
    """The value on every common axis."""
    base = BY_NAME[cell.base]
    names = {axis: base.options.get(axis, next(iter(values))) for axis, values in COMMON.items()}
    names |= {axis: value for axis, value in cell.changed if axis in COMMON}
    if names["entry"] == "audit" and names["relation"] != "member":
        # What an audit asks for by itself: a unit moved, and over runs the same noise functions.
        names["relation"] = "transfer"
        names["kept"] = "yes" if NOISE_ON.get(base.kind.name) == "objective" else "no"
    return {axis: COMMON[axis][name] for axis, name in names.items()}


def built(cell: Cell, network: hk.Network) -> hk.Algorithm:
    """The algorithm with its fields changed."""
    algorithm, links = BY_NAME[cell.base].build(), len(network.links)
    for axis, name in cell.changed:
        if axis in COMMON:
            continue
        kind, field_name = axis.split(".")
        changes = dict(FIELDS[kind][field_name][name])
        if isinstance(by_size := changes.get("sd"), dict):
            changes["sd"] = np.resize(by_size[4], links).tolist()
        algorithm = replace(algorithm, **changes)
    return algorithm


def evaluate(cell: Cell, *, seed: int = 0, real: bool = False) -> Result:
    """Refused, with the sentence that says so; or played, with what was promised and achieved."""
    about = chosen(cell)
    with with_code(about["code"], BY_NAME[cell.base].kind):
        return _evaluate(cell, about, seed, real)


def _evaluate(cell: Cell, about: Mapping[str, Any], seed: int, real: bool) -> Result:
    network = about["network"]
    try:
        given = put_in(about["code"], built(cell, network))
    except HocketError as error:
        return Result("refused", why=str(error))
    if given is None:
        return Result("no such cell")
    algorithm = masked_start(given) if about["masked"] else given
    if isinstance(algorithm, str):
        return Result("refused", why=algorithm)
    inner = getattr(algorithm, "algorithm", algorithm)
    asked = Asked(
        about["relation"],
        network.n,
        about["feasible"],
        about["prox"],
        about["reduction"],
        inner.basis if isinstance(inner, hk.FunctionSharing) else None,
    )
    try:
        neighbours = WORKLOADS[about["workload"]](asked)
    except HocketError as error:
        return Result("no such cell", why=str(error))
    if neighbours is None or _meaningless(cell, about):
        return Result("no such cell")
    try:
        promised, adversaries = _promise(algorithm, network, neighbours, about)
    except HocketError as error:
        return Result("refused", why=str(error))
    if not adversaries:
        return Result("refused", why=promised)  # type: ignore[arg-type]
    try:
        scenes = [_scene(algorithm, neighbours, about, coalition, seed) for coalition in adversaries]
    except HocketError as error:
        return Result("refused", why=str(error))
    if real:
        _check_against_engine(scenes[0], neighbours)
    same = tuple(one for one in cell.changed if one[0] not in ASKED_ALONE)
    most = max(_achieved(Cell(cell.base, same), scene, about, seed) for scene in scenes)
    return Result("played", float(promised), most)


ASKED_ALONE = frozenset(
    [
        "records",
        "release",
        "batches",
        "rate",
        "on_grid",
        "by",
        "said",
        "entry",
        "objectives",
    ]
)
"""Axes that change what is asked of a certificate, and nothing of the run."""
_played: dict[Any, float] = {}


def _achieved(cell: Cell, scene: Scene, about: Mapping[str, Any], seed: int) -> float:
    """What the attack achieves in a run, or in several; every run is played once."""
    place = (cell, about["relation"], about["kept"], scene.coalition, seed)
    if place not in _played:
        again = [replace(scene, seed=seed + 1 + run) for run in range(about["runs"] - 1)]
        together = about["kept"] and again
        _played[place] = achieved(scene, *again) if together else math.sqrt(about["runs"]) * achieved(scene)
    return _played[place]


NO_AUDIT = (ASKED_ALONE - {"entry", "objectives"}) | {"relation", "kept", "leavers", "every"}
"""Axes that an audit has no parameter for: it asks about a unit that moves, or about whatever an agent's step is cut
to."""
TAKEN_BY_KEY = frozenset(
    {
        *(f"CertifiedRssNb.{one}" for one in ("sd", "own", "persistent")),
        *(f"FunctionSharing.{one}" for one in ("sd", "own")),
    }
)
"""Fields that a question by key has a parameter for; it is about no other value of the rest."""


def _meaningless(cell: Cell, about: Mapping[str, Any]) -> bool:
    """Whether options contradict each other, so that nobody asks for the cell."""
    fields = {axis for axis, _ in cell.changed if axis not in COMMON}
    changed = {axis for axis, _ in cell.changed}
    if about["entry"] == "audit" and changed & NO_AUDIT:
        return True
    if about["entry"] == "key" and (
        about["masked"]
        or about["relation"] == "member"
        or not fields <= TAKEN_BY_KEY
        or about["code"] not in ("hocket's", "class")  # a name stands for hocket's own
    ):
        return True
    # What takes part in some rounds only is a question of the general accountant, about records.
    of_some = about["by"] == "linearisation" and about["relation"] in ("sensitivity", "member")
    if about["every"] != 1 and not of_some:
        return True
    if about["said"] == "dim":  # then it is assumed that objectives are in the span, or slopes alone
        spanned = about["workload"] in ("slopes", "squares")
        return not spanned or about["prox"] is not None or type(about["feasible"]) is not hk.Everywhere
    return False


def _promise(
    algorithm: hk.Algorithm, network: hk.Network, neighbours: Neighbours, about: Mapping[str, Any]
) -> tuple[Any, list[frozenset[int]]]:
    """The μ that is printed, and the coalitions it is about; or why nothing is, and none."""
    adversary = about["adversary"]
    if isinstance(algorithm, hk.PrivateDgd):
        said = remarks_of(_job(algorithm, neighbours.problems[0], about, 0, neighbours))
        if not any("differential privacy" in line for line in said):
            return "nothing is said of privacy", []
        if math.isinf(algorithm.epsilon):
            return "an infinite ε promises nothing", []
        mu = gdp.mu(algorithm.epsilon, algorithm.failure) * math.sqrt(about["runs"])
        return mu, [frozenset({0}), frozenset()]
    # Who lets a step be derived asks with the one that the run says it took.
    auto = about["step"] == "auto"
    wanted = None if auto else as_step(about["step"])
    _, step = algorithm.configure(neighbours.problems[0], network, wanted)
    change = dict(neighbours.change)
    if about["entry"] == "audit":
        return _audited(algorithm, network, neighbours, about)
    if "sensitivity" in change or about["relation"] == "member":
        change["records"] = about["records"]
    subject: Any = algorithm
    how: dict[str, Any] = {}
    if about["entry"] == "key":
        subject = algorithm.name
        if subject in NOISE_ON:
            how = _by_key(algorithm, network)
            if not how:
                return "this algorithm is not what its key stands for", []
    found = hk.certify(
        network,
        subject,
        step=step,
        rounds=about["rounds"],
        problem=neighbours.problems[0] if about["said"] == "problem" else None,
        dim=neighbours.dim if about["said"] == "dim" and about["entry"] == "algorithm" else None,
        **how,
        **adversary,
        **change,
        **{
            one: about[one]
            for one in PARAMETERS["certify"]
            if one in COMMON and one in KNOWN and one not in ("network", "step", "rounds", "records")
        },
    )
    if not found.holds:
        assert found.statement.startswith("No certificate"), found.statement
        return found.reason, []
    assert "No certificate" not in str(found)
    if about["channel"] is not None and about["channel"].inactive and INACTIVE in str(found):
        return INACTIVE, []
    return found.mu, _against(network, about)


def _against(network: hk.Network, about: Mapping[str, Any]) -> list[frozenset[int]]:
    """The coalitions that a promise is about, or some of them."""
    adversary, gone = about["adversary"], frozenset(about["leavers"])
    if "coalition" in adversary:
        return [frozenset(adversary["coalition"]) | gone]
    honest = [j for j in range(network.n) if j not in gone and j not in (LOSER, WINNER)]
    if adversary["colluders"] == 0:
        return [gone]
    return [frozenset({j}) | gone for j in honest[:2]]


def _audited(
    algorithm: hk.Algorithm, network: hk.Network, neighbours: Neighbours, about: Mapping[str, Any]
) -> tuple[Any, list[frozenset[int]]]:
    """The μ of the certificate with which an audit of a run begins, for as much as moves here."""
    run = hk.solve(
        neighbours.problems[0],
        network,
        algorithm,
        rounds=about["rounds"],
        step=about["step"],
        start=_first_states(neighbours, about),
        grad_at=about["grad_at"],
        channel=about["channel"],
        keep="transcript",
        progress=False,
    )
    found = hk.audit(
        network, run=run, objectives=about["objectives"], runs=about["runs"], **about["adversary"]
    )
    if found.certificate is None:
        assert "gives, by Theorem" not in str(found)
        return "an audit prints no certificate", []
    assert str(found).startswith(found.certificate.statement)
    return found.certificate.mu * neighbours.change.get("transfer", 1.0), _against(network, about)


INACTIVE = "every agent takes part in every round"
"""What certificates for gradients say that they assume: anybody who takes no step leaves a sum that changes."""


KNOWN = frozenset(parameters(hk.certify))


def _by_key(algorithm: hk.Algorithm, network: hk.Network) -> dict[str, Any]:
    """What a name is asked with to stand for this very algorithm, from its fields alone and not from what it draws or
    says that it draws; empty where it cannot."""
    sd = getattr(algorithm, "sd", None)
    if sd is None or not np.any(sd) or getattr(algorithm, "clip", None) or getattr(algorithm, "grid", None):
        return {}
    if isinstance(algorithm, hk.FunctionSharing) and (
        algorithm.family == "cosine" or algorithm.given is not None
    ):
        return {}
    by_link = np.broadcast_to(np.asarray(sd, dtype=float), len(network.links))
    share = getattr(algorithm, "persistent", 0.0)
    kept = {"persistent": share * by_link} if share else {}
    return {"sigma": math.sqrt(1 - share**2) * by_link, "independent": algorithm.own} | kept


def _first_states(neighbours: Neighbours, about: Mapping[str, Any]) -> np.ndarray:
    rng, shape = np.random.default_rng(11), (about["network"].n, neighbours.dim)
    start = {"zero": 0.0, "far": 20.0, "rows": rng.uniform(-1, 1, size=shape)}
    first = np.array(np.broadcast_to(start[about["start"]], shape))
    if about["start"] == "far":
        return first
    return np.stack([np.asarray(about["feasible"].project(row)) for row in first])


def _job(
    algorithm: hk.Algorithm,
    problem: hk.Problem,
    about: Mapping[str, Any],
    seed: int,
    neighbours: Neighbours,
) -> Job:
    """What `hk.solve` makes of a cell."""
    return Job.asked(
        problem,
        about["network"],
        algorithm,
        step=about["step"],
        rounds=about["rounds"],
        seed=seed,
        start=_first_states(neighbours, about),
        grad_at=about["grad_at"],
        channel=about["channel"],
    )


def _scene(
    algorithm: hk.Algorithm,
    neighbours: Neighbours,
    about: Mapping[str, Any],
    coalition: frozenset[int],
    seed: int,
) -> Scene:
    """The run that is played, checked as `hk.solve` checks it."""
    network = about["network"]
    jobs = [_job(algorithm, problem, about, seed, neighbours) for problem in neighbours.problems]
    job = jobs[0]
    return Scene(
        network,
        job.algorithm,
        neighbours.gradients,
        neighbours.dim,
        np.array(job.start, dtype=float),
        job.step,
        job.rounds,
        coalition,
        feasible=about["feasible"],
        penalty=about["prox"],
        grad_at=about["grad_at"],
        seed=seed,
        steps=(jobs[0].step, jobs[1].step),
        other=jobs[1].algorithm,
        every=about["every"],
        lies=about["conduct"],
        channel=about["channel"],
    )


def _check_against_engine(scene: Scene, neighbours: Neighbours) -> None:
    """What is attacked is what `hk.solve` sends: the same noise, the same messages."""
    if (
        scene.lies
        or scene.channel is not None
        or scene.every != 1
        or (only_sums(scene.algorithm) and scene.network.period > 1)
    ):
        return
    whole = getattr(getattr(scene.algorithm, "algorithm", scene.algorithm), "grid", None)
    off = real_messages(scene, neighbours.problems[0])
    assert off < (1e-3 if whole is not None else 1e-9), f"messages of the engine differ by {off:.2g}"
