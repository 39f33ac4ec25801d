"""Claims about the setting: weights, assumptions, where gradients are taken, step sizes."""

from __future__ import annotations

import numpy as np

from hocket.algorithms import RssNb
from hocket.errors import NoTheorem
from hocket.networks.network import Network
from hocket.problems.standard import paper_polynomials
from hocket.steps import Power
from hocket.theory import theorem1
from reproductions.claims.cases import DELTAS, RING, STEP, kept, mixed, monitors
from reproductions.claims.ledger import Finding, Group
from reproductions.tradeoff.noise_level import INVERSE_SQRT

SETTING = Group("The setting")
ROUNDING = 1e-12
"""float64, sums of at most a dozen numbers of order 1."""


@SETTING.claim(
    "weights",
    "Section III-A",
    "Metropolis weights 1/(1 + max(|N_i|, |N_j|)) make B doubly stochastic.",
    corrected="An agent counts among its own neighbours, so the cases overlap at i = j; the diagonal takes "
    "what is left.",
)
def weights() -> Finding:
    """Rows and columns sum to one, on the graph's support, on five kinds of graph; and as printed they do not."""
    networks = [
        RING,
        Network.complete(5),
        Network.star(6),
        Network.grid(3, 4),
        Network.erdos_renyi(12, 0.4, seed=1),
    ]
    off = max(abs(net.B.sum(axis=axis) - 1).max() for net in networks for axis in (0, 1))
    diagonal = min(net.B.diagonal().min() for net in networks)
    closed = RING.degrees[0].max() + 1
    literal = (1 + 2) / (1 + closed)  # the first case applied to i = j as well: two neighbours and itself
    return Finding(
        off < ROUNDING and diagonal > 0 and literal != 1,
        f"rows and columns sum to 1 within {off:.0e} on {len(networks)} graphs, diagonals at least {diagonal:.2f}; "
        f"with the first case taken for i = j too, rows of C5 would sum to {literal:.2f}",
        {"off": float(off), "literal_row_sum": literal},
    )


@SETTING.claim(
    "assumptions",
    "Assumptions 1 and 2",
    "The polynomial experiment satisfies the assumptions: X compact, f_j convex, gradients bounded and "
    "Lipschitz.",
)
def assumptions() -> Finding:
    """X is compact, objectives are convex, gradients bounded and Lipschitz, for the paper's experiment."""
    claim = theorem1(paper_polynomials(), RING, RssNb(1.0), step=STEP)
    constants = paper_polynomials().constants()
    assert constants.L is not None
    assert constants.N is not None
    return Finding(
        all(part.holds for part in claim.assumptions),
        f"X = [−30, 30], all convex, L = {constants.L:,.0f}, N = {constants.N:,.0f}",
        {"L": constants.L, "N": constants.N},
    )


@SETTING.claim(
    "inside",
    "Appendix, proof of Lemma 1",
    "The fused state v lies in X, so that ‖∇f_j(v)‖ ≤ L.",
    corrected="Only the noise-free mix lies in X. L and N are taken on X inflated by α₁Δ, or gradients at "
    "P_X(v).",
)
def inside() -> Finding:
    """Noise carries v out of X, and the lemmas hold all the same with constants on a larger set."""
    run = kept("RSS-NB", max(DELTAS))
    assert run.path is not None
    alpha = INVERSE_SQRT.table(1, run.rounds)
    v = RING.B @ run.path[:-1] + alpha[:, None, None] * mixed(run)
    outside = abs(v) - 1
    lemmas = all(seen["Lemma 1"].holds and seen["Lemma 2"].holds for seen in monitors())
    share = float((outside > ROUNDING).mean())
    return Finding(
        share > 0 and lemmas,
        f"at Δ = {max(DELTAS):g}, v lies outside X = [−1, 1] in {100 * share:.1f} % of mixes, by up to "
        f"{outside.max():.2f}; with L and N on X inflated by α₁Δ, Lemmas 1 and 2 hold in every round of "
        f"{len(monitors())} runs",
        {"share_outside": share, "farthest": float(outside.max())},
    )


@SETTING.claim("mean", "Appendix, before Lemma 3", "Mixing preserves the average of the states.")
def average_preserved() -> Finding:
    """Mixing leaves the mean where it is."""
    run = kept("RSS-NB")
    assert run.path is not None
    off = float(abs((RING.B @ run.path).mean(axis=1) - run.path.mean(axis=1)).max())
    return Finding(off < ROUNDING, f"|v̄_k − x̄_k| at most {off:.0e} over {run.rounds} rounds", {"off": off})


@SETTING.claim(
    "step",
    "Section III-A and Theorem 3",
    "α_k is non-increasing with Σα_k = ∞ and Σα_k² < ∞; Theorem 3 uses α_k = 1/√k.",
    corrected="1/√k violates Σα_k² < ∞: under it only the time average is claimed, not Theorem 1.",
)
def step_conditions() -> Finding:
    """Theorem 1 accepts 1/2 < p ≤ 1 and refuses the step that Theorem 3 uses."""
    for p in (0.51, 0.75, 1.0):
        theorem1(paper_polynomials(), RING, RssNb(1.0), step=Power(1, 0, p))
    try:
        theorem1(paper_polynomials(), RING, RssNb(1.0), step=INVERSE_SQRT)
    except NoTheorem as refusal:
        return Finding(True, f"p = 0.51, 0.75 and 1 are accepted; 1/√k is refused: {refusal}")
    return Finding(False, "1/√k was accepted, although Σ 1/k diverges")


@SETTING.claim("sum-of-steps", "Appendix, proof of Theorem 3", "Σ_{k≤T} 1/√k ≥ √T.")
def root_of_sums() -> Finding:
    """Σ_{k≤T} 1/√k ≥ √T for every T."""
    T = np.arange(1, 10**6 + 1)
    least = float((np.cumsum(T**-0.5) / np.sqrt(T)).min())
    return Finding(least >= 1, f"Σ 1/√k is at least {least:.4f} √T for every T up to 10⁶", {"least": least})
