"""More than measurements: states and messages of all rounds, the exchange after the last, and runs of many seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, x_of
from hocket.engines.compiled.measures import Measures, measure, no_measures
from hocket.engines.compiled.program import Carry, Moving, Program, Steps
from hocket.engines.compiled.round_noise import fresh_noise, noise_of_round, pairwise
from hocket.engines.compiled.rounds import begin, one_round
from hocket.engines.prepare import prepare
from hocket.engines.schedule import Looks, MarkedRounds
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise import threefry
from hocket.problems.problem import Problem
from hocket.runs.job import Job, check_seed
from hocket.runs.run import LastExchange, Transcript
from hocket.steps import Step

CHUNK_NUMBERS = 1 << 22


@dataclass
class Recorder:
    """Collects states, and with `words` everything sent and drawn, round by round."""

    program: Program
    rounds: int
    words: bool
    states: list[np.ndarray] = field(default_factory=list)
    said: list[list[np.ndarray]] = field(default_factory=list)
    drawn: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        import psutil

        available = float(psutil.virtual_memory().available)
        # Once in pieces while running, once joined.
        if 2 * self.bytes > available:
            raise BadInput(
                f"{self.announcement} twice over while it is put together, and {readable(available)} are free; "
                "keep less (keep='metrics'), or run fewer rounds"
            )

    @property
    def numbers(self) -> int:
        """Numbers kept per round."""
        tables, draws, width = self.program.tables, self.program.draws, self.program.problem.dim
        states = tables.n * width
        if not self.words:
            return states
        told = states * (tables.slots if "balanced" in draws else 1)
        return states + told + (2 * len(tables.links) * draws["paired"].width if "paired" in draws else 0)

    @property
    def bytes(self) -> int:
        return self.numbers * (self.rounds + 1) * np.dtype(self.program.dtype).itemsize

    @property
    def announcement(self) -> str:
        """What keeping everything will cost, said before the run."""
        kind = "transcript" if self.words else "path"
        return f"keeping the {kind} of {self.rounds:,} rounds takes {readable(self.bytes)} of memory"

    @property
    def chunk(self) -> int:
        """Rounds recorded by one call of the compiled program."""
        return int(np.clip(CHUNK_NUMBERS // max(self.numbers, 1), 1, 256))

    def play(
        self, carry: Carry, steps: Steps, count: int, marks: MarkedRounds, own: bool = False
    ) -> tuple[Carry, Measures]:
        """Play `count` rounds and keep what happens in them; measure before those that `marks` counts from here.

        One of them may come after the last round. With `own` every agent's own objective is read there too.
        """
        looks = Looks.nowhere(self.chunk + 1)
        looks.agents[marks.rounds] = marks.agents
        looks.own[count] = own
        # The count as an array: a plain number would be compiled in, and the next one compiled again.
        carry, (states, said, drawn, measures) = play_recorded(
            self.program, carry, steps, jax.device_put(np.asarray(count)), looks, self.words
        )
        self.states.append(np.asarray(states)[:count])
        if self.words and count:
            self.said.append([np.asarray(table)[:count] for table in said])
            self.drawn.append({name: np.stack(pair, axis=2)[:count] for name, pair in drawn.items()})
        return carry, jax.tree.map(lambda leaf: np.asarray(leaf)[marks.rounds], measures)

    def path(self, last: Any, rounds: int) -> np.ndarray:
        """All states of the sound rounds and the one after them, x_1 … x_{K+1}."""
        return np.concatenate([*self.states, np.asarray(last)[None]])[[*range(rounds), -1]]

    def transcript(self, rounds: int) -> Transcript:
        """Every exchange's messages and every kind's pairwise draws, joined over the sound rounds."""

        def joined(name: str) -> np.ndarray:
            if self.program.draws[name].once:
                return self.drawn[0][name]
            return np.concatenate([part[name] for part in self.drawn])[:rounds]

        return Transcript(
            tuple(np.concatenate(tables)[:rounds] for tables in zip(*self.said, strict=True)),
            {name: joined(name) for name in (self.drawn[0] if self.drawn else ())},
        )


@eqx.filter_jit
def play_recorded(program: Program, carry: Carry, steps: Steps, count: Any, looks: Looks, words: bool) -> Any:
    """Play as many rounds as `looks` is long, `count` of them for real, and stack what happened."""
    rounds = carry.k + jnp.arange(len(looks.agents))
    nothing = no_measures(program, carry, steps, looks)

    def next_round(moving: Moving, args: Any) -> Any:
        k, look, rows = args
        after, said = one_round(program, carry, k, moving, steps, rows)
        measures = jax.lax.cond(
            look.agents > 0, lambda: measure(program, carry.at(k, moving), steps, look), lambda: nothing
        )
        going = k < carry.k + count
        kept = jax.tree.map(lambda new, old: jnp.where(going, new, old), after, moving)
        return kept, (x_of(moving.state), said if words else [], measures)

    moving, (states, said, measures) = jax.lax.scan(
        next_round, carry.moving, (rounds, looks, fresh_noise(program, rounds))
    )
    drawn = pairwise(program, rounds) if words else {}
    return carry.at(carry.k + count, moving), (states, said, drawn, measures)


def readable(count: float) -> str:
    """A number of bytes, for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def play_last_exchange(program: Program, job: Job, carry: Carry) -> LastExchange:
    """The exchange after the last round: messages under noise once more, mixed, and no step taken.

    An agent's last state holds its last gradient with no noise on it. What this exchange gives every agent may be given
    away: it follows from messages alone.
    """
    k = int(carry.k)
    table = np.zeros(2)  # α_{k−1} and α_k; α_0 is zero
    table[0 if k > 1 else 1 :] = job.step.table(max(k - 1, 1), k)
    with jax.enable_x64(job.dtype == np.float64):
        steps = Steps(*jax.device_put((np.asarray(k - 1), np.asarray(table, job.dtype))))
        moving, said, drawn = _last_exchange(program, carry, steps)
        return LastExchange(
            x=np.asarray(x_of(moving.state)),
            words=tuple(map(np.asarray, said)),
            noise={name: np.stack(pair, axis=2)[0] for name, pair in drawn.items()},
        )


def published_states(program: Program, carry: Carry, steps: Steps) -> Any:
    """What agents would publish if the run ended before round k: traced, for measures of nothing else.

    The messages are those of round k, so that an eavesdropper on all of them learns nothing by it.
    """
    return x_of(_without_step(program, carry, steps)[0].state)


def _without_step(program: Program, carry: Carry, steps: Steps) -> tuple[Moving, list[Any]]:
    """The exchange of round k, after which nobody takes a step."""
    moving, fresh = Moving(carry.state, None, carry.mail), noise_of_round(program, carry.k)
    return one_round(program, carry, carry.k, moving, steps, fresh, stay=True)


@eqx.filter_jit
def _last_exchange(program: Program, carry: Carry, steps: Steps) -> tuple[Moving, list[Any], Any]:
    after, said = _without_step(program, carry, steps)
    drawn = pairwise(program, carry.k[None])
    return after, said, {name: pair for name, pair in drawn.items() if not program.draws[name].once}


class Transcripts(NamedTuple):
    """All messages and all pairwise draws of many runs, the exchange after the last round included."""

    words: Float[np.ndarray, "seeds words agents ..."]
    """w_1 … w_{K+1}."""
    noise: dict[str, np.ndarray]
    """By kind: (seeds, messages, links, 2, width), lower-numbered sender first; a single row for noise drawn once."""


def transcripts(
    problem: Problem,
    network: Network,
    algorithm: Algorithm,
    *,
    rounds: int,
    seeds: Iterable[int],
    step: Step | float | Callable[[int], float],
    start: Any = None,
) -> Transcripts:
    """What is sent in a run of every seed, in one compiled program: as `solve` would have it, in float64, for
    algorithms that send one array."""
    chosen = list(seeds)
    for seed in chosen:
        check_seed(seed)
    # Noise on a grid is drawn before a run, by seed: each has a program of its own, and they are played side by side.
    each = getattr(getattr(algorithm, "algorithm", algorithm), "grid", None) is not None
    asked: dict[str, Any] = {"step": step, "rounds": rounds, "start": start}
    jobs = [
        Job.asked(problem, network, algorithm, seed=seed, **asked) for seed in chosen[: None if each else 1]
    ]
    job = jobs[0]
    with jax.enable_x64(True):
        programs = [prepare(one, one.algorithm, averaging=False) for one in jobs]
        program = jax.tree.map(lambda *one: jnp.stack(one), *programs) if each else programs[0]
        steps = Steps(*jax.device_put((np.asarray(0), np.array([0.0, *job.step.table(1, rounds + 1)]))))
        keys = jax.device_put(np.stack([threefry.seed_key(seed) for seed in chosen]))
        words, noise = _transcripts(
            program, each, keys, jax.device_put(job.first_states.astype(job.dtype)), steps
        )
        return Transcripts(np.asarray(words), {kind: np.stack(pair, axis=3) for kind, pair in noise.items()})


@eqx.filter_jit
def _transcripts(program: Program, each: bool, keys: Any, start: Any, steps: Steps) -> Any:
    last = len(steps.table) - 1

    def one(own: Program, key: Any) -> Any:
        this = dataclasses.replace(own, key=key)
        carry = begin(this, start, steps)

        def played(k: Any, moving: Moving, *, stay: bool = False) -> tuple[Moving, Any]:
            fresh = noise_of_round(this, jnp.asarray(k))
            after, (said,) = one_round(this, carry, k, moving, steps, fresh, stay=stay)
            return after, said

        moving, words = jax.lax.scan(
            lambda moving, k: played(k, moving), Moving(carry.state, None), jnp.arange(1, last)
        )
        said = played(jnp.asarray(last), moving, stay=True)[1]
        return jnp.concatenate([words, said[None]]), pairwise(this, jnp.arange(1, last + 1))

    return eqx.filter_vmap(one, in_axes=(eqx.if_array(0) if each else None, 0))(program, keys)
