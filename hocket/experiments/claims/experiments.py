"""Claims of the experiments: the polynomials, and what needs data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hocket.algorithms import Dgd, RssLb, RssNb
from hocket.engines.solver import solve
from hocket.engines.sweep import sweep
from hocket.experiments.claims import learning
from hocket.experiments.claims.cases import RING, START, STEP
from hocket.experiments.claims.ledger import Claim, Finding, Group
from hocket.problems.standard import PAPER_POLYNOMIALS, paper_polynomials

DELTAS = (1.0, 10.0)
AWAITED = learning.awaited()


def polynomial_sum() -> Finding:
    """The coefficients, added up as fractions."""
    total = [sum(Fraction(row[m]) for row in PAPER_POLYNOMIALS if m < len(row)) for m in range(5)]
    right = total == [0, 0, Fraction(7, 2), 0, Fraction(7, 2)]
    return Finding(right, f"Σ f_j = {float(total[2])} x² + {float(total[4])} x⁴, in exact arithmetic")


def polynomial_figure() -> Finding:
    """Medians of 40 seeds at two Δ, beside DGD."""
    plain = solve(
        paper_polynomials(), RING, Dgd(), step=STEP, rounds=10_000, start=list(START), progress=False
    )
    parts, holds = [f"DGD {plain.gap:.1g}"], True
    for name, algorithm in (("RSS-NB", RssNb(1.0)), ("RSS-LB", RssLb(1.0))):
        runs = sweep(
            paper_polynomials(),
            RING,
            algorithm,
            delta=DELTAS,
            step=STEP,
            rounds=10_000,
            start=list(START),
            seeds=range(40),
            time_average=False,
            progress=False,
        )
        little, much = np.median(runs.gap, axis=1)
        holds &= plain.gap < little < much < 1e-3
        parts.append(f"{name} {little:.1e} at Δ = 1 and {much:.1e} at Δ = 10")
    best = paper_polynomials().best
    assert best is not None
    assert best.x is not None
    return Finding(
        holds and abs(best.x[0]) < 1e-6,
        f"x* = {abs(best.x[0]):.0f}; median gap after 10⁴ rounds on C5: " + "; ".join(parts),
    )


EXPERIMENTS = Group(
    "Experiments",
    (
        Claim(
            "polynomial-sum",
            "Experiments, polynomial optimization",
            "The five polynomials sum to 2.5 (x² + x⁴).",
            polynomial_sum,
            corrected="They sum to 3.5 (x² + x⁴).",
        ),
        Claim(
            "polynomial-figure",
            "Figure 1",
            "RSS-NB and RSS-LB converge to x* = 0 for two Δ; larger Δ is slower, smaller Δ closer to DGD.",
            polynomial_figure,
        ),
        Claim(
            "mnist",
            "Figure 2, top",
            "MNIST: RSS-NB and RSS-LB converge quickly to high accuracy, on C5 and K5.",
            None if AWAITED else learning.mnist,
            awaits=AWAITED,
        ),
        Claim(
            "reuters",
            "Figure 2, bottom",
            "Reuters: accuracy comparable to SGD-C; on C5 DGD is best, then RSS-NB, then RSS-LB.",
            None if AWAITED else learning.reuters,
            corrected="Accuracy is comparable to SGD-C; no order is seen beyond the spread of seeds.",
            awaits=AWAITED,
        ),
        Claim(
            "local-steps",
            "Experiments, machine learning",
            "Exchanging only every 40 gradient steps saves traffic and retains accuracy.",
            None if AWAITED else learning.local_steps,
            awaits=AWAITED,
        ),
    ),
)
