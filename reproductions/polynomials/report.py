"""What is shown of the polynomials: tables, messages, the figure and the page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd
from hocket.networks.network import Network
from hocket.privacy import Audit, audit
from hocket.privacy.plain_values import plain_values
from hocket.problems.standard import paper_polynomials
from hocket.report.exposure import compared
from hocket.report.figures import Drawing
from hocket.report.folder import theorem_card
from hocket.report.page import AnswerCard, Page
from hocket.report.panels import Note, Panel, PlotLine, sheet
from hocket.report.tables import Table, plain
from hocket.runs.job import Job
from hocket.runs.theorems import claim
from hocket.steps import Step
from reproductions.experiment import Experiment, on_ring, quantiles
from reproductions.polynomials.runs import (
    FULL,
    LEVELS,
    NETWORKS,
    PROBLEMS,
    QUICK,
    START,
    STEP,
    TOLERANCE,
    Curve,
    Polynomials,
    play,
)

STYLES = ("DGD", "RSS-NB", "RSS-LB", "FS")
PROBLEM = {"kind": "paper-polynomials"}
ASKED = "hocket audit --topology cycle:5 --colluders 1 --html audit.html"
FORETOLD = 1000
"""Rounds, at most: they take a second each algorithm."""


def reference_table(found: Polynomials) -> Table:
    """Measured medians beside published ones."""
    rows = tuple(
        (
            f"{entry.algorithm} at k = {entry.k:,}",
            f"{entry.measured:.2e}",
            f"{entry.published:.1e}",
            f"{entry.ratio:.2f}",
            f"within {TOLERANCE:g}×" if entry.agrees else "OFF",
        )
        for entry in found.references
    )
    caption = (
        f"Median of max_j f(x_k) over {found.size.reference_seeds} seeds, Δ = 1, C5, the paper's problem"
    )
    return Table(("", "measured", "reference", "ratio", ""), rows, caption, numeric=frozenset({1, 2, 3}))


def result_table(found: Polynomials) -> Table:
    """What every algorithm reached at the last round."""
    places = [(problem, network) for problem in PROBLEMS for network in NETWORKS]
    rows = []
    for label in dict.fromkeys(curve.label for curve in found.curves):
        of_label = {(c.problem, c.network): c for c in found.curves if c.label == label}
        first = of_label[places[0]]
        gaps = [plain(float(np.median(of_label[place].gap[:, -1]))) for place in places]
        rows.append((label, plain(first.noise_rms), *gaps))
    short = {"the paper's": "paper", "heterogeneous": "heterog."}
    head = ("", "realised noise", *(f"{short[problem]}, {network}" for problem, network in places))
    caption = f"Median gap after {found.size.rounds:,} rounds"
    return Table(head, tuple(rows), caption, numeric=frozenset(range(1, len(head))))


def notes(found: Polynomials) -> list[str]:
    """How to read the tables, and what was done where the paper is wrong."""
    return [
        f"Gaps are medians over {found.size.seeds} seeds after {found.size.rounds:,} rounds; realised noise is the "
        "rms per coordinate on C5 and the paper's problem, in units of a gradient. b bounds one coefficient of a "
        "noise function of degree 4.",
        "The five polynomials sum to 3.5 (x² + x⁴); the paper prints 2.5. Gaps are of the sum as it is.",
        "The paper gives neither its step nor its start: α_k = 1/(k+20)^0.75 from (1, −.5, .25, −.75, .5). With "
        "α_k = 1/k from far away, x⁴ is so steep that iterates bounce between ±30 for hundreds of rounds.",
        f"On the heterogeneous problem all medians end within {_nearness(found)} % of DGD's: agents that want "
        "different things pull harder than the noise, so that DGD's own disagreement is what is left to close.",
    ]


def conclusion(found: Polynomials) -> str:
    """What was seen, in one plain sentence."""
    wrong = [entry for entry in found.references if not entry.agrees]
    if wrong:
        return (
            f"{wrong[0].algorithm} at k = {wrong[0].k:,} is {wrong[0].ratio:.2g} times its reference, more than "
            f"{TOLERANCE:g}: something is wrong."
        )
    worst = max(max(entry.ratio, 1 / entry.ratio) for entry in found.references)
    return (
        f"All algorithms converge at both noise levels, and medians agree with the reference within {worst:.2f}×: "
        "on the paper's problem the gap grows with the square of the noise; on the heterogeneous one all end within "
        f"{_nearness(found)} % of DGD."
    )


def _nearness(found: Polynomials) -> int:
    """How far any median ends from DGD's on the heterogeneous problem, in per cent, rounded up."""
    ends = {
        (c.network, c.label): float(np.median(c.gap[:, -1]))
        for c in found.curves
        if c.problem == "heterogeneous"
    }
    return math.ceil(100 * max(abs(end / ends[network, "DGD"] - 1) for (network, _), end in ends.items()))


def data(found: Polynomials) -> dict[str, Any]:
    """The results for JSON."""
    size = found.size
    return {
        "reference": reference_rows(found),
        "gaps": [
            {**_about(curve), "noise_rms": curve.noise_rms, "gap": quantiles(curve.gap[:, -1])}
            for curve in found.curves
        ],
        "seeds": {"curves": list(range(size.seeds)), "reference": size.reference_seeds},
        "rounds": {"curves": size.rounds, "reference": size.reference_rounds},
        "step": str(STEP),
        "start": list(START),
        "seconds": round(found.seconds, 1),
    }


def reference_rows(found: Polynomials) -> list[dict[str, Any]]:
    """Measured medians beside published ones, for JSON and CSV."""
    names = ("algorithm", "k", "measured", "published", "ratio", "agrees")
    return [plain_values(entry, *names) for entry in found.references]


def _about(curve: Curve) -> dict[str, Any]:
    return plain_values(curve, "problem", "network", "algorithm", "level")


def drawing(found: Polynomials) -> Drawing:
    """Suboptimality against rounds: a row per problem, a column per network."""
    panels = [[_panel(found, problem, network) for network in NETWORKS] for problem in PROBLEMS]
    ends = [
        f"{c.label} to {plain(float(np.median(c.gap[:, -1])))}"
        for c in found.curves
        if (c.problem, c.network) == ("the paper's", "C5")
    ]
    alt = (
        "Four plots of the gap against rounds, both axes logarithmic: the paper's and a heterogeneous problem, on the "
        f"ring C5 and the complete graph K5. On the paper's problem and C5 the gap goes, for {'; for '.join(ends)}. "
        f"On the heterogeneous problem all end within {_nearness(found)} % of DGD."
    )
    runs = (
        f"median and 10–90 % band of {found.size.seeds} seeds; thin: little noise, thick: ten times as much"
    )
    return sheet(panels, size=(9.6, 8.2), alt=alt, title=runs)


def _panel(found: Polynomials, problem: str, network: str) -> Panel:
    near = Note(f"all medians end within {_nearness(found)} % of DGD's", 0.97, 0.9, "right")
    together = problem == "heterogeneous"
    return Panel(
        title=f"{problem[0].upper()}{problem[1:]} problem, {network}",
        across=r"round $k$   ($x_1$ is the start)",
        up=r"$\max_j\ f(x_k^j) - f^*$   (units of $f$)",
        lines=[
            PlotLine.over_runs(c.label, c.rounds + 1, c.gap, style=STYLES.index(c.algorithm), strong=c.strong)
            for c in found.curves
            if (c.problem, c.network) == (problem, network)
        ],
        lowest=None if together else 1e-12,
        notes=[near if together else Note("DGD goes on below", 0.03, 0.04)],
    )


def curve_rows(found: Polynomials) -> list[dict[str, Any]]:
    """Every curve of the figure, a row per point."""
    rows = []
    for curve in found.curves:
        low, middle, high = np.quantile(curve.gap, (0.1, 0.5, 0.9), axis=0).tolist()
        rows += [
            {**_about(curve), "k": k + 1, "gap_median": m, "gap_10%": lo, "gap_90%": hi}
            for k, m, lo, hi in zip(curve.rounds.tolist(), middle, low, high, strict=True)
        ]
    return rows


def _converged(found: Polynomials) -> AnswerCard:
    agree = all(entry.agrees for entry in found.references)
    return AnswerCard(
        "Did it converge?",
        "yes, all four" if agree else "not as it should",
        "holds" if agree else "exposed",
        [
            f"{entry.algorithm} at k = {entry.k:,}: {plain(entry.measured)}; {plain(entry.published)} was expected."
            for entry in found.references
            if entry.k == max(other.k for other in found.references)
        ],
    )


def page(found: Polynomials) -> Page:
    """What this page says that no other does."""
    size = found.size
    config = on_ring(
        PROBLEM, {"name": "rss-nb", "delta": 10.0}, step=STEP, rounds=size.rounds, start=list(START)
    )
    algorithms = [Dgd(), *(algorithm for algorithm, _, _ in LEVELS)]
    job = Job.asked(paper_polynomials(), Network.cycle(5), algorithms[-1], step=STEP, rounds=size.rounds)
    card, exposure = compared(exposed_to_one(algorithms, step=STEP, rounds=size.rounds), ASKED)
    return Page(
        title="Polynomials: four algorithms, two noise levels",
        facts=[f"{size.rounds:,} rounds", f"{size.seeds} seeds", "two networks", "two problems"],
        cards=[_converged(found), theorem_card(claim(job)), card],
        exposure=exposure,
        summary=[
            "The first experiment of Gade and Vaidya (2017), Figure 1: five agents minimise the sum of their "
            "polynomials on [−30, 30]. The heterogeneous problem moves each polynomial to a minimiser of its own."
        ],
        caption="The gap of the worst agent against rounds, both axes logarithmic; above the paper's problem, below "
        "one whose agents want different things; left the ring, right the complete graph.",
        configuration=f"# One of these runs: RSS-NB on the ring, the paper's problem\n\n{config.text()}",
        commands=["hocket reproduce polynomials"],
    )


def exposed_to_one(algorithms: Iterable[Algorithm], *, step: Step, rounds: int) -> list[Audit]:
    """What one insider could learn on the ring of five, where one agent is like another: runs cannot show it."""
    ring, rounds = Network.cycle(5), min(rounds, FORETOLD)
    asked: dict[str, Any] = {
        "step": step,
        "rounds": rounds,
        "objectives": paper_polynomials().objective_class,
    }
    return [audit(ring, coalition={0}, algorithm=one, **asked) for one in algorithms]


POLYNOMIALS = Experiment(
    name="polynomials",
    doing="Running sweeps",
    full=FULL,
    quick=QUICK,
    play=play,
    tables=lambda found: [reference_table(found), result_table(found)],
    notes=notes,
    conclusion=conclusion,
    data=data,
    series=lambda found: {"polynomials": curve_rows(found), "reference": reference_rows(found)},
    figure=drawing,
    page=page,
)
