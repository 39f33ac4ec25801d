"""What a run came to, what all of them came to together, and the folder that keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.config import new_folder
from hocket.errors import BadConfig
from hocket.files import json_value
from hocket.machine import replace_text
from reproductions.experiment import write_json
from reproductions.learning.cases import EQUAL, METHODS, USUAL_STEPS, Case, Size, one
from reproductions.learning.subjects import Subject

SETTING = "setting.json"
RUNS = "runs"


@dataclass(frozen=True)
class Outcome:
    """One finished run, in numbers that JSON can hold."""

    case: Case
    epochs: list[float]
    accuracy: list[list[float]]
    """By time and agent, from 0 to 1."""
    mean_accuracy: list[float]
    """Of the mean of all agents' parameters."""
    disagreement: float
    noise: float
    """As realised: rms of one coordinate, in units of a gradient."""
    gradient: float
    """Rms of one coordinate of a batch's gradient at the first exchange."""
    exchanges: int
    parameters: int
    ending: str
    """Empty, or how the run ended before its time."""
    remarks: list[str]
    seconds: float
    device: str

    @property
    def reached(self) -> float:
        """Accuracy at the end, on average over agents, in per cent."""
        return 100 * float(np.mean(self.accuracy[-1]))

    @property
    def curve(self) -> Float[np.ndarray, " epochs"]:
        """Accuracy on average over agents, in per cent."""
        return 100 * np.mean(self.accuracy, axis=1)

    @staticmethod
    def of(data: dict[str, Any]) -> Outcome:
        """An outcome from what JSON kept of it."""
        rest = {name: value for name, value in data.items() if name != "case"}
        return Outcome(case=Case(**data["case"]), **rest)


@dataclass(frozen=True)
class Summary:
    """The same case over all seeds."""

    outcomes: tuple[Outcome, ...]

    @property
    def reached(self) -> Float[np.ndarray, " seeds"]:
        return np.array([outcome.reached for outcome in self.outcomes])

    @property
    def mean(self) -> float:
        return float(self.reached.mean())

    @property
    def spread(self) -> float:
        """The standard deviation over seeds."""
        return float(self.reached.std(ddof=1)) if len(self.outcomes) > 1 else 0.0

    @property
    def early(self) -> float:
        """The mean after a quarter of the epochs."""
        curves = self.curves
        return float(curves[:, (curves.shape[1] - 1) // 4].mean())

    @property
    def of_the_mean(self) -> float:
        """What the mean of all agents' parameters reaches, in per cent, on average over seeds."""
        return 100 * float(np.mean([outcome.mean_accuracy[-1] for outcome in self.outcomes]))

    @property
    def noise(self) -> float:
        """Over the rms of a gradient."""
        return float(np.mean([outcome.noise / outcome.gradient for outcome in self.outcomes]))

    @property
    def curves(self) -> Float[np.ndarray, "seeds epochs"]:
        """Accuracy against epochs, for as long as all seeds lasted."""
        shortest = min(len(outcome.epochs) for outcome in self.outcomes)
        return np.stack([outcome.curve[:shortest] for outcome in self.outcomes])

    def __str__(self) -> str:
        if any(outcome.ending for outcome in self.outcomes):
            return f"{self.mean:.2f}, diverged"
        return f"{self.mean:.2f} ± {self.spread:.2f}" if len(self.outcomes) > 1 else f"{self.mean:.2f}"


@dataclass(frozen=True)
class Found:
    """Everything the experiment found."""

    subject: Subject
    size: Size
    splits: Sequence[str]
    remarks: Sequence[str]
    """About the data."""
    outcomes: dict[Case, Outcome]
    seconds: float
    """That all runs took together, also those that were there before."""
    folder: Path = Path()
    """Where every run is kept."""

    def of(self, method: str, level: float = 0.0, **about: Any) -> Summary | None:
        """A case over all seeds; None where it was not run."""
        about = {"split": self.splits[0]} | about
        wanted = [one(method, level, seed=seed, **about) for seed in range(self.size.seeds)]
        there = tuple(self.outcomes[case] for case in wanted if case in self.outcomes)
        return Summary(there) if there else None

    def levels(self, method: str) -> list[float]:
        """All noise levels at which a method ran in the usual setting on the ring, from low to high."""
        return sorted(
            {
                case.level
                for case in self.outcomes
                if case.method == method
                and (case.split, case.shards, case.network, case.local_steps)
                == (self.splits[0], EQUAL, self.size.networks[0], USUAL_STEPS)
            }
        )

    def behind(
        self, method: str, level: float = 0.0, *, yardstick: str = "DGD", **about: Any
    ) -> float | None:
        """By how many points a method ends below the yardstick in the same setting; negative where it is ahead."""
        mine, other = self.of(method, level, **about), self.of(yardstick, **about)
        return None if mine is None or other is None else other.mean - mine.mean


def name_of(method: str, level: float) -> str:
    """A method with its level, as tables and legends call it."""
    return METHODS[method].at(level)


@dataclass(frozen=True)
class Kept:
    """What is there already."""

    folder: Path

    @staticmethod
    def open(name: str, out: Path | None, setting: dict[str, Any]) -> Kept:
        """A new folder, or one in which the same experiment was begun."""
        if out is not None and (out / SETTING).is_file():
            there = json_value((out / SETTING).read_text(encoding="utf-8"))
            for key in (key for key in setting | there if setting.get(key) != there.get(key)):
                raise BadConfig(
                    f"{out} holds runs with {key} = {there.get(key)!r}, and now it is {setting.get(key)!r}; name a new "
                    "folder, or ask for the same again"
                )
            return Kept(out)
        folder = new_folder(name, out)
        (folder / RUNS).mkdir()
        write_json(folder / SETTING, setting)
        return Kept(folder)

    def find(self, case: Case) -> Outcome | None:
        """The outcome of a case that was run before."""
        path = self._path(case)
        return Outcome.of(json_value(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome, all of it or nothing."""
        replace_text(self._path(outcome.case), json.dumps(asdict(outcome), ensure_ascii=False))

    def _path(self, case: Case) -> Path:
        return self.folder / RUNS / f"{case.slug}.json"
