"""The demonstration: the paper's five agents on a ring, solved four ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.config import Config, command, parse_config
from hocket.engines.sweep import Sweep, sweep
from hocket.experiments.insider import exposed_to_one
from hocket.report.figures import Curve, Drawing, convergence
from hocket.report.folder import theorem_card
from hocket.report.page import Card, Page
from hocket.report.tables import Table, assumption_table, plain, settings_table, spoken

SHARED: dict[str, dict[str, Any]] = {
    "problem": {"kind": "paper-polynomials"},
    "network": {"topology": "cycle:5"},
    "step": {"a": 1.0, "b": 20.0, "p": 0.75},
    "run": {"rounds": 10_000, "start": [1.0, -0.5, 0.25, -0.75, 0.5]},
}
ALGORITHMS: tuple[dict[str, Any], ...] = (
    {"name": "dgd"},
    {"name": "rss-nb", "delta": 1.0},
    {"name": "rss-lb", "delta": 1.0},
    {"name": "function-sharing", "degree": 4, "bound": 1.0},
)
SEEDS = 20


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
            "gap": _spread(self.runs.gap),
            "disagreement": _spread(self.runs.disagreement),
            "noise_rms": self.noise_rms,
            "theorem": self.runs.claim.theorem,
            "claim": self.runs.claim.statement,
            "remarks": list(self.remarks),
        }


def play(
    *, rounds: int | None = None, seeds: int = SEEDS, watch: Callable[[Iterable[Any]], Iterable[Any]] = iter
) -> list[Result]:
    """Run all four; `watch` wraps the loop over them, to show how far it is."""
    results = []
    for algorithm in watch(ALGORITHMS):
        run = SHARED["run"] | ({} if rounds is None else {"rounds": rounds})
        config = parse_config(SHARED | {"run": run, "algorithm": algorithm}, base=Path())
        asked = config.build()
        runs = sweep(
            asked["problem"],
            asked["network"],
            asked["algorithm"],
            step=asked["step"],
            rounds=asked["rounds"],
            start=asked["start"],
            seeds=range(1 if algorithm["name"] == "dgd" else seeds),  # nothing in DGD is random
            progress=False,
        )
        remarks = tuple(asked["algorithm"].remarks(asked["problem"], asked["network"]))
        results.append(Result(config, asked["algorithm"], remarks, runs))
    return results


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


def notes(results: list[Result]) -> list[str]:
    """How to read the table."""
    rounds, seeds = results[0].config.run.rounds, max(len(result.runs.gap) for result in results)
    statements = dict.fromkeys(result.runs.claim.statement for result in results)
    return [
        f"Gap and disagreement after {rounds:,} rounds, medians of {seeds} seeds; noise: rms per coordinate.",
        *(f"{statement[0].upper()}{statement[1:]}." for statement in statements),
    ]


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


def write(results: list[Result], folder: Path) -> Path:
    """Figure, page, and a configuration for each algorithm; returns where the page lies."""
    drawing = convergence([result.curve for result in results])
    drawing.save(folder, "convergence")
    files = [_write_config(result.config, folder) for result in results]
    return _page(results, drawing, files).save(folder / "report.html")


def _page(results: list[Result], drawing: Drawing, files: list[Path]) -> Page:
    config = results[0].config
    card, exposure = exposed_to_one(
        [result.algorithm for result in results], step=config.step.build(), rounds=config.run.rounds
    )
    remarks = [f"{remark[0].upper()}{remark[1:]}." for result in results for remark in result.remarks]
    return Page(
        title="Five agents, one optimum, four algorithms",
        facts=["5 agents", "a ring", f"{config.run.rounds:,} rounds", f"{SEEDS} seeds"],
        cards=[_converged(results), theorem_card(results[-1].runs.claim), card],
        exposure=exposure,
        summary=[
            conclusion(results),
            "Five agents on a ring minimise the sum of their polynomials, the first experiment of Gade and "
            "Vaidya (2017). DGD hides nothing and is the yardstick; RSS-NB, RSS-LB and FS hide what each "
            "agent says under noise that cancels.",
            "All five polynomials have their minimum at zero, so nothing can be seen to leak here; what an insider "
            "could learn in general is foretold below.",
        ],
        tables=[result_table(results)],
        notes=[*notes(results), *remarks],
        details=[assumption_table(results[-1].runs.claim), settings_table(results[0].runs.settings)],
        figure=drawing,
        caption="Left, the gap of the worst agent to the optimum; right, how far agents differ. Median and "
        "10 to 90 % band over seeds, all axes logarithmic. DGD leaves the figure at the bottom.",
        configuration=f"# RSS-NB; the others differ in [algorithm] only\n\n{results[1].config.text()}",
        commands=["hocket demo", *map(command, files)],
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


def _write_config(config: Config, folder: Path) -> Path:
    path = folder / f"{config.algorithm.name}.toml"
    path.write_text(f"# One run of the demonstration: {command(path)}\n\n{config.text()}", encoding="utf-8")
    return path


def _spread(values: np.ndarray) -> dict[str, float]:
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
    return {"median": middle, "low": low, "high": high}
