"""The demonstration: four clinics and one regression by secure sums; then the paper's five agents, solved four ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hocket as hk
from hocket.config import Config, command, parse_config
from hocket.demo.clinics import Clinics, chapter, clinics
from hocket.privacy import Audit
from hocket.report.convergence import convergence
from hocket.report.exposure import compared
from hocket.report.folder import PAGE, theorem_card
from hocket.report.page import AnswerCard, Chapter, Page
from hocket.report.tables import Table, assumption_table, plain, settings_table
from hocket.runs.job import Job
from hocket.runs.remarks import remarks_of

ALGORITHMS: tuple[dict[str, Any], ...] = (
    {"name": "dgd"},
    {"name": "rss-nb", "delta": 1.0},
    {"name": "rss-lb", "delta": 1.0},
    {"name": "function-sharing", "degree": 4, "bound": 1.0},
)
START = [1.0, -0.5, 0.25, -0.75, 0.5]
STEP = {"a": 1.0, "b": 20.0, "p": 0.75}
ESTIMATED = 1000
"""Rounds over which leakage is estimated, at most: a second for each algorithm."""
AUDIT = "hocket audit --topology cycle:5 --colluders 1 --html audit.html"


@dataclass(frozen=True)
class Solved:
    """One algorithm's runs, and the audit of its plan against one insider."""

    config: Config
    label: str
    remarks: tuple[str, ...]
    runs: hk.Sweep
    audit: Audit

    @property
    def gap(self) -> float:
        """The median over seeds of the last gap."""
        return float(np.median(self.runs.gap))

    @property
    def noise_rms(self) -> float:
        """Realised noise per coordinate, over all runs and recorded rounds."""
        return float(np.sqrt(np.mean(self.runs.history["noise_rms"][:, 1:] ** 2)))

    @property
    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "algorithm": self.label,
            "runs": self.runs.gap.size,
            "gap": self.gap,
            "disagreement": float(np.median(self.runs.disagreement)),
            "noise_rms": self.noise_rms,
            "theorem": self.runs.claim.theorem,
            "claim": self.runs.claim.statement,
            "remarks": list(self.remarks),
        }


def configured(algorithm: dict[str, Any], rounds: int) -> Config:
    """One run of the five agents, as a configuration file says it."""
    sections = {
        "problem": {"kind": "paper-polynomials"},
        "network": {"topology": "cycle:5"},
        "algorithm": algorithm,
        "step": STEP,
        "run": {"rounds": rounds, "start": START},
    }
    return parse_config(sections, base=Path())


def solved(algorithm: dict[str, Any], rounds: int, seeds: int) -> Solved:
    """Run one algorithm for all seeds, and audit it."""
    config = configured(algorithm, rounds)
    asked = config.build()
    problem, network, planned = asked["problem"], asked["network"], asked["algorithm"]
    runs = hk.sweep(
        problem,
        network,
        planned,
        step=asked["step"],
        rounds=rounds,
        start=asked["start"],
        seeds=1 if algorithm["name"] == "dgd" else seeds,  # nothing in DGD is random
        progress=False,
    )
    audit = hk.audit(
        network,
        coalition={0},  # on a ring one agent is like another
        algorithm=planned,
        step=asked["step"],
        rounds=min(rounds, ESTIMATED),
        objectives=problem.objective_class,
    )
    job = Job.asked(problem, network, planned, step=asked["step"], rounds=rounds, start=asked["start"])
    return Solved(config, planned.title, tuple(remarks_of(job)), runs, audit)


@dataclass(frozen=True)
class Demonstration:
    """All that was found."""

    results: list[Solved]
    clinics: Clinics | None
    """None where scikit-learn, which has the data, is not installed."""

    @property
    def arrived(self) -> bool:
        """Whether all four came near the optimum: to a hundredth of the gap at the start."""
        first = self.results[0].runs.history["gap"][0, 0]
        return all(one.runs.finite.all() and one.gap <= first / 100 for one in self.results)

    @property
    def conclusion(self) -> str:
        """What was seen, in one plain sentence."""
        first = float(self.results[0].runs.history["gap"][0, 0])
        if not self.arrived:
            worst = max(self.results, key=lambda one: one.gap)
            return f"Not all four came near the optimum: {worst.label} still has a gap of {plain(worst.gap)}."
        noisy = ", ".join(f"{one.label} {plain(one.gap)}" for one in self.results[1:])
        return (
            f"All four find the same optimum: noise that cancels slows down the last digits ({noisy} from the "
            f"optimum, after {plain(first)} at the start), but does not move the answer."
        )

    @property
    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "results": [one.data for one in self.results],
            "clinics": None if self.clinics is None else self.clinics.data,
            "conclusion": self.conclusion,
        }

    @property
    def table(self) -> Table:
        """The four side by side."""
        rows = tuple(
            (
                one.label,
                plain(one.gap),
                plain(float(np.median(one.runs.disagreement))),
                plain(one.noise_rms),
                one.runs.claim.theorem or "none",
            )
            for one in self.results
        )
        head = ("algorithm", "gap", "disagreement", "realised noise", "theorem that applies")
        return Table(head, rows, "What was reached", numeric=frozenset({1, 2, 3}))

    @property
    def notes(self) -> list[str]:
        """How to read the table."""
        last = self.results[-1]
        statements = dict.fromkeys(one.runs.claim.statement for one in self.results)
        return [
            f"Gap and disagreement after {last.config.run.rounds:,} rounds, medians of {last.runs.gap.size} seeds; "
            "noise: rms per coordinate.",
            *(f"{statement[0].upper()}{statement[1:]}." for statement in statements),
        ]

    @property
    def opening(self) -> Chapter | None:
        """The clinics, which the page shows first."""
        return None if self.clinics is None else chapter(self.clinics)

    def write(self, folder: Path) -> Path:
        """Write the figure, a configuration for each algorithm, and the page; returns where the page lies."""
        commands = ["hocket demo"]
        for one in self.results:
            path = folder / f"{one.config.algorithm.name}.toml"
            text = f"# One run of the demonstration: {command(path)}\n\n{one.config.text()}"
            path.write_text(text, encoding="utf-8")
            commands.append(command(path))
        drawing = convergence({one.label: one.runs.history for one in self.results})
        drawing.save(folder, "convergence")
        last = self.results[-1]
        card, exposure = compared([one.audit for one in self.results], AUDIT)
        page = Page(
            title="Five agents, one optimum, four algorithms",
            facts=[
                "5 agents",
                "a ring",
                f"{last.config.run.rounds:,} rounds",
                f"{last.runs.gap.size} seeds",
            ],
            cards=[
                AnswerCard(
                    "Did it converge?",
                    "yes, all four" if self.arrived else "not all four",
                    "holds" if self.arrived else "exposed",
                    [f"{one.label}: gap {plain(one.gap)}." for one in self.results],
                ),
                theorem_card(last.runs.claim),
                card,
            ],
            exposure=exposure,
            summary=[
                self.conclusion,
                "Five agents on a ring minimise the sum of their polynomials, the first experiment of Gade and "
                "Vaidya (2017). DGD hides nothing and is the yardstick; RSS-NB, RSS-LB and FS hide each agent's "
                "messages under noise that cancels.",
                "All five polynomials have their minimum at zero, so these runs cannot show what leaks; what an "
                "insider could learn in general is estimated below.",
            ],
            tables=[self.table],
            notes=[
                *self.notes,
                *(f"{remark[0].upper()}{remark[1:]}." for one in self.results for remark in one.remarks),
            ],
            details=[assumption_table(last.runs.claim), settings_table(last.runs.settings)],
            figure=drawing,
            caption="Left, the gap of the worst agent to the optimum; right, how far agents differ. Median and 10 to "
            "90 % band over seeds, all axes logarithmic. DGD leaves the figure at the bottom.",
            configuration=f"# RSS-NB; the others differ in [algorithm] only\n\n{self.results[1].config.text()}",
            commands=commands,
            opening=self.opening,
        )
        return page.save(folder / PAGE)


def demonstrate(
    rounds: int = 10_000,
    seeds: int = 20,
    watch: Callable[..., Iterable[Any]] = lambda pieces, total: pieces,
) -> Demonstration:
    """Fit the clinics' regression and run all four algorithms, two at a time: XLA compiles on one core."""
    with ThreadPoolExecutor(2) as pool:
        study = pool.submit(clinics)
        found = pool.map(lambda one: solved(one, rounds, seeds), ALGORITHMS)
        return Demonstration(list(watch(found, total=len(ALGORITHMS))), study.result())
