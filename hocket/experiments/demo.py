"""The demonstration: four clinics and one regression by totals; then the paper's five agents, solved four ways."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.config import Config, command
from hocket.engines.sweep import Sweep, sweep
from hocket.experiments.clinics import chapter, clinics
from hocket.experiments.experiment import Experiment, Watch, all_kinds, on_ring, quantiles, unwatched
from hocket.experiments.polynomials.report import ASKED, PROBLEM, exposed_to_one
from hocket.experiments.polynomials.runs import START, STEP
from hocket.privacy import Audit
from hocket.report.exposure import compared
from hocket.report.figures import Curve, convergence
from hocket.report.folder import theorem_card
from hocket.report.page import Card, Chapter, Page
from hocket.report.tables import Table, assumption_table, plain, settings_table, spoken

ALGORITHMS: tuple[dict[str, Any], ...] = (
    {"name": "dgd"},
    {"name": "rss-nb", "delta": 1.0},
    {"name": "rss-lb", "delta": 1.0},
    {"name": "function-sharing", "degree": 4, "bound": 1.0},
)


@dataclass(frozen=True)
class Size:
    """How much to run."""

    rounds: int = 10_000
    seeds: int = 20


@dataclass(frozen=True)
class Result:
    """One algorithm's runs."""

    config: Config
    algorithm: Algorithm
    remarks: tuple[str, ...]
    runs: Sweep

    @property
    def name(self) -> str:
        return spoken(type(self.algorithm).__name__)

    @property
    def noise_rms(self) -> float:
        """Realised noise per coordinate, over all runs and recorded rounds."""
        return math.sqrt(np.mean(self.runs.history["noise_rms"][:, 1:] ** 2))

    @property
    def curve(self) -> Curve:
        history = self.runs.history
        return Curve(self.name, history["round"], history["gap"], history["disagreement"])

    def summary(self) -> dict[str, Any]:
        """The result as one JSON object."""
        return {
            "algorithm": self.name,
            "runs": len(self.runs.gap),
            "gap": quantiles(self.runs.gap),
            "disagreement": quantiles(self.runs.disagreement),
            "noise_rms": self.noise_rms,
            "theorem": self.runs.claim.theorem,
            "claim": self.runs.claim.statement,
            "remarks": list(self.remarks),
        }


def play(size: Size, watch: Watch = unwatched) -> list[Result]:
    """Run all four, each compiled while what the page says besides is worked out."""
    beside = [partial(_exposed, size.rounds), _opening]
    sweeps = [partial(_solved, one, size) for one in ALGORITHMS]
    return all_kinds({"beside": beside, "sweeps": sweeps}, watch)["sweeps"]


def _asked(algorithm: dict[str, Any], rounds: int) -> Config:
    return on_ring(PROBLEM, algorithm, step=STEP, rounds=rounds, start=list(START))


@cache
def _exposed(rounds: int) -> list[Audit]:
    algorithms = [_asked(one, rounds).build()["algorithm"] for one in ALGORITHMS]
    return exposed_to_one(algorithms, step=STEP, rounds=rounds)


def _solved(algorithm: dict[str, Any], size: Size) -> Result:
    config = _asked(algorithm, size.rounds)
    asked = config.build()
    names = ("problem", "network", "algorithm", "step", "rounds", "start")
    seeds = range(1 if algorithm["name"] == "dgd" else size.seeds)  # nothing in DGD is random
    runs = sweep(**{name: asked[name] for name in names}, seeds=seeds, progress=False)
    remarks = tuple(asked["algorithm"].remarks(asked["problem"], asked["network"]))
    return Result(config, asked["algorithm"], remarks, runs)


def result_table(results: list[Result]) -> Table:
    """The four side by side."""
    rows = tuple(
        (
            result.name,
            plain(np.median(result.runs.gap)),
            plain(np.median(result.runs.disagreement)),
            plain(result.noise_rms),
            result.runs.claim.theorem or "none",
        )
        for result in results
    )
    head = ("algorithm", "gap", "disagreement", "realised noise", "theorem that applies")
    return Table(head, rows, "What was reached", numeric=frozenset({1, 2, 3}))


@cache
def _opening() -> Chapter | None:
    found = clinics()
    return None if found is None else chapter(found)


def notes(results: list[Result]) -> list[str]:
    """How to read the table."""
    rounds, seeds = results[0].config.run.rounds, _seeds(results)
    statements = dict.fromkeys(result.runs.claim.statement for result in results)
    return [
        f"Gap and disagreement after {rounds:,} rounds, medians of {seeds} seeds; noise: rms per coordinate.",
        *(f"{statement[0].upper()}{statement[1:]}." for statement in statements),
    ]


def _seeds(results: list[Result]) -> int:
    return max(len(result.runs.gap) for result in results)


def conclusion(results: list[Result]) -> str:
    """What was seen, in one plain sentence."""
    gaps = {result.name: float(np.median(result.runs.gap)) for result in results}
    first = max(float(result.runs.history["gap"][0, 0]) for result in results)
    worst = max(gaps, key=lambda name: gaps[name])
    if not all(result.runs.finite.all() for result in results) or gaps[worst] > first / 100:
        return f"Not all four came near the optimum: {worst} still has a gap of {plain(gaps[worst])}."
    noisy = ", ".join(f"{name} {plain(gap)}" for name, gap in gaps.items() if name != "DGD")
    return (
        f"All four find the same optimum: noise that cancels slows down the last digits ({noisy} from the "
        f"optimum, after {plain(first)} at the start), but does not move the answer."
    )


def page(results: list[Result]) -> Page:
    """What this page says that no other does."""
    config = results[0].config
    card, exposure = compared(_exposed(config.run.rounds), ASKED)
    return Page(
        title="Five agents, one optimum, four algorithms",
        facts=["5 agents", "a ring", f"{config.run.rounds:,} rounds", f"{_seeds(results)} seeds"],
        cards=[_converged(results), theorem_card(results[-1].runs.claim), card],
        exposure=exposure,
        summary=[
            "Five agents on a ring minimise the sum of their polynomials, the first experiment of Gade and "
            "Vaidya (2017). DGD hides nothing and is the yardstick; RSS-NB, RSS-LB and FS hide what each "
            "agent says under noise that cancels.",
            "All five polynomials have their minimum at zero, so nothing can be seen to leak here; what an insider "
            "could learn in general is foretold below.",
        ],
        notes=[f"{remark[0].upper()}{remark[1:]}." for result in results for remark in result.remarks],
        details=[assumption_table(results[-1].runs.claim), settings_table(results[0].runs.settings)],
        caption="Left, the gap of the worst agent to the optimum; right, how far agents differ. Median and "
        "10 to 90 % band over seeds, all axes logarithmic. DGD leaves the figure at the bottom.",
        configuration=f"# RSS-NB; the others differ in [algorithm] only\n\n{results[1].config.text()}",
        commands=["hocket demo"],
    )


def _converged(results: list[Result]) -> Card:
    gaps = [float(np.median(result.runs.gap)) for result in results]
    first = float(results[0].runs.history["gap"][0, 0])
    near = all(result.runs.finite.all() for result in results) and max(gaps) * 100 <= first
    reasons = [f"{result.name}: gap {plain(gap)}." for result, gap in zip(results, gaps, strict=True)]
    return Card(
        "Did it converge?",
        "yes, all four" if near else "not all four",
        "holds" if near else "exposed",
        reasons,
    )


def configurations(results: list[Result], folder: Path) -> list[str]:
    """Write a configuration for each algorithm; returns the commands that run them."""
    paths = [folder / f"{result.config.algorithm.name}.toml" for result in results]
    for result, path in zip(results, paths, strict=True):
        text = f"# One run of the demonstration: {command(path)}\n\n{result.config.text()}"
        path.write_text(text, encoding="utf-8")
    return [command(path) for path in paths]


DEMO = Experiment(
    name="demo",
    doing="Solving four ways",
    full=Size(),
    quick=Size(),
    play=play,
    tables=lambda results: [result_table(results)],
    notes=notes,
    conclusion=conclusion,
    data=lambda results: {
        "results": [result.summary() for result in results],
        "clinics": None if (found := clinics()) is None else found.data,
    },
    figure=lambda results: convergence([result.curve for result in results]),
    picture="convergence",
    page=page,
    opening=lambda results: _opening(),
    results=False,
    further=configurations,
)
