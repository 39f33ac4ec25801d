"""Keeping more than measurements: every state, or every word and draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hocket.algorithm import x_of
from hocket.engines.measures import Measures, measure, no_measures
from hocket.engines.program import Carry, Moving, Program, Steps
from hocket.engines.round_noise import fresh_noise, pairwise
from hocket.engines.rounds import one_round
from hocket.engines.schedule import Looks, Marks
from hocket.errors import BadInput
from hocket.runs.run import Transcript

CHUNK_NUMBERS = 1 << 22


@dataclass
class Recorder:
    """Collects states, and with `words` everything said and drawn, round by round."""

    program: Program
    rounds: int
    words: bool
    states: list[np.ndarray] = field(default_factory=list)
    said: list[list[np.ndarray]] = field(default_factory=list)
    drawn: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        available = _free_memory()
        # Once in pieces while running, once joined.
        if 2 * self.bytes > available:
            raise BadInput(
                f"{self.announcement} twice over while it is put together, and {readable(available)} are free; "
                "keep less (keep='metrics'), or run fewer rounds"
            )

    @property
    def numbers(self) -> int:
        """Numbers kept per round."""
        tables, width = self.program.tables, self.program.problem.dim
        states = tables.n * width
        if not self.words:
            return states
        told = tables.n * tables.slots * width if "balanced" in self.program.draws else states
        drawn = sum(
            2 * len(tables.links) * draw.width
            for name, draw in self.program.draws.items()
            if name == "paired"
        )
        return states + told + drawn

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
        self, carry: Carry, steps: Steps, count: int, marks: Marks, own: bool = False
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
        """Every exchange's words and every kind's pairwise draws, joined over the sound rounds."""
        once = {name for name, draw in self.program.draws.items() if draw.once}
        kinds = self.drawn[0] if self.drawn else ()
        return Transcript(
            tuple(np.concatenate(tables)[:rounds] for tables in zip(*self.said, strict=True)),
            {
                name: self.drawn[0][name]
                if name in once
                else np.concatenate([part[name] for part in self.drawn])[:rounds]
                for name in kinds
            },
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


def _free_memory() -> float:
    """Bytes that a run may take without the system having to swap."""
    import psutil

    return float(psutil.virtual_memory().available)


def readable(count: float) -> str:
    """A number of bytes, for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
