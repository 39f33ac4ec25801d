"""What a run leaves behind: states, measurements, what was claimed, and what a coalition saw of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.errors import NotRecorded
from hocket.networks.network import Network
from hocket.runs.theorems import Claim
from hocket.runs.view import Threat, View, look
from hocket.steps import Step


class Ending(Enum):
    """How a run can end."""

    CONVERGED = "converged"
    OUT_OF_ROUNDS = "out of rounds"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Outcome:
    """How a run ended, when, and why."""

    ending: Ending
    round: int
    detail: str = ""

    def __str__(self) -> str:
        words = (
            "out of rounds after" if self.ending is Ending.OUT_OF_ROUNDS else f"{self.ending.value} at round"
        )
        return f"{words} {self.round}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True)
class Noise:
    """The noise that was really there, measured at the recorded rounds, in units of a gradient."""

    rms: float
    """Root mean square of one coordinate (σ_d)."""
    largest: float
    """Largest norm of what hid one agent, or one message."""


class Messages(NamedTuple):
    """Messages from one agent to one neighbour, by what became of them; of a sweep, an array of each.

    An agent that sends the same to three neighbours sends three. Secure sums are not counted. What was still on its way
    at the end of a run was sent, and neither received nor lost; messages that came to inactive agents were lost.
    """

    sent: int
    received: int
    lost: int

    @classmethod
    def counted(cls, *numbers: Any) -> Messages:
        """From counts of one run or of many."""
        return cls(*(int(number) if np.ndim(number) == 0 else number for number in numbers))

    @classmethod
    def all_received(cls, network: Network, rounds: int, exchanges: int) -> Messages:
        """Of rounds in which every message arrives, each with so many exchanges."""
        pairs = (network.weight > 0).sum(axis=(1, 2))
        turns = np.bincount(np.arange(rounds % network.period), minlength=network.period)
        sent = exchanges * int(pairs @ (rounds // network.period + turns))
        return cls(sent, sent, 0)


@dataclass(frozen=True)
class Transcript:
    """Every message sent, and every pairwise draw."""

    words: tuple[np.ndarray, ...]
    """By array sent in a round, in order: (rounds, agents, dim) where all received the same, else (rounds, agents,
    slots, dim). The algorithms here say one array in a round."""
    noise: dict[str, np.ndarray]
    """By kind: (rounds, links, 2, width); one row for noise drawn once. Hand it back as `noise=` to replay."""


@dataclass(frozen=True)
class LastExchange:
    """The exchange after the last round, in which nobody takes a step."""

    x: Float[np.ndarray, "agents dim"]
    """What every agent mixed, and may publish."""
    words: tuple[np.ndarray, ...]
    noise: dict[str, np.ndarray]
    """Fresh pairwise draws by kind: (links, 2, width)."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run. All arrays are NumPy."""

    x: Float[np.ndarray, "agents dim"]
    """The agents' last states. An agent's own row is not safe to publish: it holds its last gradient, with no noise on
    it, and anybody who sees it has no certificate any more. Publish `published`."""
    gap: float
    """max_j Σ_i f_i(x_j) − f*; NaN where f* is not known. Where `looked_at` is below the number of agents, over those
    only, which are the farthest from the mean: then the gap of all is this or more."""
    disagreement: float
    """max_j ‖x_j − x̄‖."""
    time_average: Float[np.ndarray, "agents dim"] | None
    """Σ_k α_k x_k / Σ_k α_k for every agent, the subject of Theorem 3."""
    infeasibility: float
    """How far the farthest agent lies outside X."""
    noise: Noise
    outcome: Outcome
    claim: Claim
    """Which theorem covers the run."""
    history: dict[str, np.ndarray]
    """Measured at thinned rounds: `round`, `gap`, `looked_at` (over how many agents `gap` is taken), `mean_gap` and
    `loss` (at the agents' mean), `disagreement`, `noise_rms`, `noise_max`."""
    network: Network
    settings: dict[str, Any]
    """Everything needed to say what was run: algorithm, step, rounds, seed, versions."""
    remarks: tuple[str, ...] = ()
    path: Float[np.ndarray, "rounds agents dim"] | None = None
    """x_1 … x_{K+1}, if kept."""
    transcript: Transcript | None = None
    problem: Any = field(default=None, repr=False)
    step: Step | None = field(default=None, repr=False)
    algorithm: Algorithm | None = field(default=None, repr=False)
    last_exchange: Callable[[], LastExchange] | None = field(default=None, repr=False)
    """Plays the exchange that `published` comes from; None where nothing can."""
    count_messages: Callable[[], Messages] | None = field(default=None, repr=False)
    """Counts what `messages` says, when it is first asked for; None where nobody knows."""

    @property
    def published(self) -> Float[np.ndarray, "agents dim"]:
        """What every agent may give away: the mixed, masked state of one more exchange without a gradient step."""
        return self.released.x

    @cached_property
    def released(self) -> LastExchange:
        """The exchange after the last round; it is played when it is first asked for."""
        if self.last_exchange is None:
            raise NotRecorded(
                "this run cannot play the exchange after its last round: that takes the simulator, and noise that is "
                "drawn; publish nothing of x, or run it again without noise="
            )
        return self.last_exchange()

    @cached_property
    def messages(self) -> Messages:
        """Messages from agent to agent: how many were sent, received and lost."""
        if self.count_messages is None:
            raise NotRecorded("this run was stored without a count of its messages; run it again")
        return self.count_messages()

    @property
    def mean(self) -> Float[np.ndarray, " dim"]:
        """x̄, the agents' average."""
        return self.x.mean(axis=0)

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self.history["round"][-1])

    @property
    def looked_at(self) -> int:
        """Over how many agents `gap` is taken: all, unless that would have been more than a tenth of the run."""
        return int(self.history["looked_at"][-1]) if "looked_at" in self.history else self.network.n

    @property
    def theorem(self) -> str | None:
        """The theorem that covers this run, or None."""
        return self.claim.theorem

    def check_received(self, what: str) -> None:
        """Refuse something that supposes that every message arrived in its round."""
        if "channel" in self.settings:
            raise NotRecorded(
                f"this run was played on a lossy channel, and which messages arrived was not kept: nobody can say "
                f"{what}; run it again without channel="
            )

    def view(
        self, coalition: Iterable[int] = (), *, threat: Threat = "coalition", released: bool = False
    ) -> View:
        """Exactly what these agents saw together: messages to or by them, noise on their links, their own states.

        With threat "states" they also tap every link, with "states+noise" they know all pairwise noise too. If
        `released`, the exchange after the last round is part of it, by which states are published.
        """
        if self.transcript is None or self.path is None:
            raise NotRecorded(
                "this run kept no messages; run it again with keep='transcript' to look at it as a coalition"
            )
        self.check_received("what a coalition saw of it")
        self.network.both_ways("a coalition's view")
        path, words, noise = self.path, self.transcript.words, self.transcript.noise
        if released:
            last = self.released
            path = np.concatenate([path, last.x[None]])
            words = tuple(
                np.concatenate([rows, row[None]]) for rows, row in zip(words, last.words, strict=True)
            )
            noise = noise | {
                kind: np.concatenate([noise[kind], drawn[None]]) for kind, drawn in last.noise.items()
            }
        return look(
            coalition,
            threat,
            self.network,
            path,
            words,
            noise,
            problem=self.problem,
            step=self.step,
            algorithm=self.algorithm,
        )

    def save(self, folder: str | Path) -> Path:
        """Write the run into a folder: numbers in `run.npz`, text in `run.json`."""
        from hocket.runs.storage import save_run

        return save_run(self, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> Run:
        """Read a run back. Code is not stored: a loaded run has no `problem`, `step` or `algorithm`."""
        from hocket.runs.storage import load_run

        return load_run(Path(folder))

    def __repr__(self) -> str:
        gap = "unknown" if np.isnan(self.gap) else f"{self.gap:.3g}"
        some = (
            f" over {self.looked_at:,} of {self.network.n:,} agents"
            if self.looked_at < self.network.n
            else ""
        )
        name = self.settings["algorithm"]["name"]
        mark = marked(self.settings)
        return f"<Run of {name} on {self.network.name}: {self.outcome}, gap {gap}{some}{mark}>"


def marked(settings: dict[str, Any]) -> str:
    """What stands behind a number of a run's history where people read it."""
    return " (stays at home)" if history_stays(settings) else ""


def history_stays(settings: dict[str, Any]) -> bool:
    """Whether measurements of a run with these settings stay at home: no privacy claim is about them."""
    return "history" in settings.get("stays_at_home", ())
