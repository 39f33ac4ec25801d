"""One run as it was asked for: everything that decides its numbers, checked at the door, and in words."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from jaxtyping import Float

import hocket
from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import BY_KEY
from hocket.algorithms.parts.compressors import Compressor
from hocket.claims import MECHANISMS, mechanism, promises
from hocket.errors import BadInput, nearest
from hocket.networks.adjacency import is_matrix
from hocket.networks.network import Network, network_asked
from hocket.noise import threefry
from hocket.noise.draws import Draw
from hocket.noise.mechanism import Mechanism
from hocket.noise.stds import is_by_link, plain
from hocket.noise.whole_draws import stored_in, stored_problem
from hocket.problems.problem import Problem
from hocket.rationals import whole
from hocket.runs.channel import Channel, check_channel, link_needs
from hocket.steps import AUTO, Step, as_step

LONG = 1000
RAW = ("x", "mean", "path", "transcript", "noise", "infeasibility")
"""Of a run: what is made of members' own states, or of the noise that hides them."""
MEASURED = ("gap", "loss", "disagreement", "time_average", "history")
"""What `hk.solve` measures on these states, and by everybody's objective."""
REMARK = (
    "gap, loss, disagreement, noise and history are measured on members' own states and objectives, which no "
    "certificate is about: they stay at home, as run.x does; show run.published in their place"
)
PUBLIC_START = "assumed: the start is public, and follows from nobody's data: no noise hides one that does"


@dataclass(frozen=True, eq=False)
class Job:
    """A problem, a network, an algorithm, and how long and from where to run it."""

    problem: Problem
    network: Network
    algorithm: Algorithm
    step: Step
    rounds: int
    seed: int
    start: Float[np.ndarray, "agents dim"]
    dtype: np.dtype
    grad_at: str
    channel: Channel | None = None
    """What befalls messages on their way; None where every one arrives."""

    @staticmethod
    def asked(
        problem: Problem,
        network: Any,
        algorithm: Algorithm | type[Algorithm] | str,
        *,
        step: Any,
        rounds: int,
        seed: int = 0,
        start: Any = None,
        dtype: Any = np.float64,
        grad_at: str = "mixed",
        channel: Channel | None = None,
    ) -> Job:
        """Check what the user asked for; errors name the culprit."""
        problem, algorithm = problem_asked(problem), algorithm_asked(algorithm)
        network = network_of(network, problem)
        rounds = check_rounds(rounds)
        check_seed(seed)
        if not link_needs(algorithm).directed:
            network.both_ways(algorithm.title, "take a push method, or an undirected network")
        channel = check_channel(channel, algorithm)
        if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise BadInput(f"dtype {dtype} is not supported; use float64 or float32")
        if grad_at not in ("mixed", "projected"):
            raise BadInput(
                f"grad_at = {grad_at!r}; gradients are taken at the 'mixed' state v or at its 'projected' one"
            )
        origin = np.asarray(problem.feasible.project(np.zeros(problem.dim)))
        first = problem.check_start(origin if start is None else start)
        derived = isinstance(step, str) and step == AUTO
        wanted = None if derived else as_step(step)  # pyright: ignore[reportArgumentType]
        _, taken = algorithm.configure(problem, network, wanted)
        taken = taken if channel is None or not derived else channel.slowed(taken)
        algorithm, _ = algorithm.configure(problem, network, taken)
        decided = taken, int(rounds), int(seed), first, np.dtype(dtype), grad_at
        job = Job(problem, network, algorithm, *decided, channel)
        algorithm.validate(job.plan)
        return job

    @cached_property
    def _arranged(self) -> tuple[Problem, Network]:
        return self.algorithm.arrange(self.problem, self.network)

    @cached_property
    def own_problem(self) -> Problem:
        """The problem the algorithm really runs on: pooled for the centralised baseline, or with stored sums."""
        arranged, network = self._arranged
        stored = stored_in(self.algorithm.noise(self.plan))
        if stored is None:
            return arranged
        drawn = self.draws(self.algorithm)
        return stored_problem(stored, arranged, network, drawn["function"], drawn.get("own"))

    @property
    def own_network(self) -> Network:
        """The network the algorithm really runs on."""
        return self._arranged[1]

    @property
    def first_states(self) -> np.ndarray:
        """x_1 of every agent the algorithm runs on."""
        return self.start if self.own_network.n == len(self.start) else self.start.mean(axis=0, keepdims=True)

    @property
    def plan(self) -> Setting:
        """The public part that noise may depend on."""
        return Setting(self.own_network, self._arranged[0].dim, self.step, self.rounds)

    @property
    def mechanism(self) -> Mechanism | None:
        """The noise that a certificate may stand on; None where none may."""
        if type(self.algorithm) not in MECHANISMS:
            return None
        found = mechanism(self.algorithm, self.plan)
        return found if isinstance(found, Mechanism) else None

    def draws(self, algorithm: Algorithm) -> dict[str, Draw]:
        """The noise of the algorithm, or of one that stands for it; with what only the host can draw drawn."""
        high, low = threefry.seed_key(self.seed)
        asked = algorithm.noise(self.plan)
        return {name: draw.settled((high, low), self.own_network) for name, draw in asked.items()}


def check_rounds(rounds: Any) -> int:
    """A run has a round at least, and no more than can be counted."""
    rounds = whole("rounds", rounds)
    if rounds >= 1 << 30:
        raise BadInput(f"rounds = {rounds}; at most 2^30 rounds fit the noise counters")
    return rounds


def check_seed(seed: Any) -> None:
    """A seed fills two words of 32 bits."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise BadInput(f"seed = {seed}; it must be a whole number from 0 to 2^64 - 1")


def is_certified(job: Job) -> bool:
    """Whether a certificate of differential privacy may be asked for this run's noise, or a promise is printed."""
    return promises(job.algorithm) or job.mechanism is not None


def hides_records(job: Job) -> bool:
    """Whether noise of each agent's own hides records, or whole objectives: then all that a run shows is under it."""
    if promises(job.algorithm):
        return True
    return job.mechanism is not None and job.mechanism.own_sd > 0


def promised_remarks(job: Job) -> list[str]:
    """What a run says beside its numbers where a promise may be made of it: no privacy claim is about these."""
    if not is_certified(job):
        return []
    usual = np.array_equal(job.start, job.problem.check_start())
    return [REMARK, *([] if usual else [PUBLIC_START])]


def describe(job: Job) -> dict[str, Any]:
    """Everything that decides a run's numbers, except the data themselves."""
    problem, network = job.problem, job.network
    return {
        "problem": {"agents": problem.n, "dim": problem.dim, "feasible": str(problem.feasible)},
        "network": {
            "name": network.name,
            "agents": network.n,
            "links": len(network.links),
            "period": network.period,
        },
        "algorithm": describe_algorithm(job.algorithm),
        "step": str(job.step),
        "rounds": job.rounds,
        "seed": job.seed,
        "start": job.start.astype(np.float64).tolist()
        if job.start.size <= LONG
        else "one row per agent, too long to print",
        "dtype": str(job.dtype),
        "grad_at": job.grad_at,
        "versions": versions(),
        **({"stays_at_home": [*RAW, *MEASURED]} if is_certified(job) else {}),
    } | ({} if job.channel is None else {"channel": job.channel.described()})


def describe_algorithm(algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm's name and parameters."""
    values = {field.name: getattr(algorithm, field.name) for field in dataclasses.fields(algorithm)}
    return {"name": type(algorithm).__name__} | {
        name: _described(value) for name, value in values.items() if value is not None
    }


def _described(value: Any) -> Any:
    if isinstance(value, float | int | str | bool):
        return value
    if isinstance(value, Compressor):
        return str(value)
    if isinstance(value, Algorithm):
        return describe_algorithm(value)
    return plain(value) if is_by_link(value) else "given by the user"


def versions() -> dict[str, str]:
    """The software under a run."""
    found = {"hocket": hocket.__version__, "python": platform.python_version()}
    return found | {package: _installed(package) for package in ("jax", "jaxlib", "numpy", "equinox")}


@cache
def _installed(package: str) -> str:
    """A package's version, which is looked up in its files: for a short run, that would be a tenth of the time."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def problem_asked(problem: Any) -> Problem:
    """The problem, if it is one."""
    if isinstance(problem, Problem):
        return problem
    swapped = "; the problem comes first, then the network" if isinstance(problem, Network) else ""
    raise BadInput(
        f"the problem is a {type(problem).__name__}{swapped}; make one with hk.least_squares, hk.polynomials or "
        "hk.Problem"
    )


def network_of(network: Any, problem: Problem) -> Network:
    """The network for a problem: its own, a networkx graph's, or several that take turns; agents by their names."""
    if type(network) in (list, tuple) and not is_matrix(network):
        network = Network.varying(network)
    found = network_asked(network, problem.n)
    if problem.n != found.n:
        fix = (
            f"; where links miss the last agents, add theirs and pass n={problem.n}"
            if found.n < problem.n
            else ""
        )
        raise BadInput(
            f"the problem has {problem.n} agents and the network {found.n}; they must be the same agents{fix}"
        )
    return found if problem.names is None else found.in_order_of(problem.names)


def algorithm_asked(algorithm: Any) -> Algorithm:
    """The algorithm: itself, or by its key or class where it needs no parameter."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    kind = BY_KEY.get(algorithm) if isinstance(algorithm, str) else algorithm
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)):
        raise BadInput(
            f"the algorithm is {_shown(algorithm)}{nearest(algorithm, BY_KEY)}; pass one such as hk.Dgd(), or a key: "
            f"{', '.join(BY_KEY)}"
        )
    needed = [
        one.name
        for one in dataclasses.fields(kind)
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    if needed:
        wanted = ", ".join(f"{name}=…" for name in needed)
        raise BadInput(f"{kind.__name__} needs {' and '.join(needed)}; pass hk.{kind.__name__}({wanted})")
    return kind()


def _shown(given: Any) -> str:
    text = repr(given)
    return f"{text} (a {type(given).__name__})" if len(text) <= 60 else f"a {type(given).__name__}"
