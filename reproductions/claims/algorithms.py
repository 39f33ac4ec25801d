"""Claims about the algorithms: that noise cancels, stays in bounds, and what function sharing is."""

from __future__ import annotations

import numpy as np

from hocket.algorithm import Setting
from hocket.algorithms import FunctionSharing, RssLb, RssNb
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.problems.standard import PAPER_POLYNOMIALS
from hocket.theory.quantities import added_constants
from reproductions.claims.cases import RING, ROUNDS, STEP, added, kept, kept_fs, mixed, recorded
from reproductions.claims.ledger import Finding, Group
from reproductions.tradeoff.noise_level import INVERSE_SQRT, small_polynomials

ALGORITHMS = Group("The algorithms")
ROUNDING = 1e-11
"""float64: noise is read off messages as w − x and divided by α, which is as small as .07 here."""


@ALGORITHMS.claim(
    "nb-cancels", "Algorithm 1, eq. (3)", "RSS-NB: the perturbations sum to zero over the network."
)
def nb_cancels() -> Finding:
    """Σ_j d_j = 0 in every round."""
    d = np.einsum("kjjd->kjd", added(kept("RSS-NB")))
    off = float(abs(d.sum(axis=1)).max())
    return Finding(
        off < ROUNDING,
        f"|Σ_j d_j| at most {off:.0e} over {ROUNDS} rounds, where |d_j| is up to {abs(d).max():.2f}",
        {"off": off},
    )


@ALGORITHMS.claim("nb-bounded", "Section III-B", "RSS-NB: ‖s‖ ≤ Δ/(2n) implies ‖d‖ ≤ Δ.")
def nb_bounded() -> Finding:
    """‖s‖ ≤ Δ/2n gives ‖d‖ ≤ Δ, with room to spare on any graph but the complete one."""
    largest = {}
    for split in ("paper", "link"):
        run = recorded(small_polynomials(), RssNb(1.0, split=split), step=INVERSE_SQRT)
        largest[split] = float(abs(added(run)).max())
    return Finding(
        max(largest.values()) <= 1,
        f"at Δ = 1 on C5 the largest ‖d‖ is {largest['paper']:.2f} with ‖s‖ ≤ Δ/2n, and {largest['link']:.2f} with our "
        "default, Δ/(2·larger degree)",
        largest,
    )


@ALGORITHMS.claim("nb-first", "Algorithm 1, line 1", "RSS-NB: the first round is not perturbed.")
def nb_first() -> Finding:
    """Round 1 is sent without noise, all others with."""
    d = abs(added(kept("RSS-NB"))).max(axis=(1, 2, 3))
    return Finding(
        d[0] == 0 and bool((d[1:] > 0).all()),
        f"round 1 carries no noise, rounds 2 to {ROUNDS} at least {d[1:].min():.2f}: so the start must be public",
    )


@ALGORITHMS.claim("lb-balanced", "Algorithm 2, eq. (4)", "RSS-LB: Σ_i B[i,j] d_ji = 0, ‖d_ji‖ ≤ Δ, d_jj = 0.")
def lb_balanced() -> Finding:
    """Σ_i B[i,j] d_{j,i} = 0, ‖d‖ ≤ Δ, and none to itself."""
    d = added(kept("RSS-LB"))
    off = float(abs(np.einsum("ij,kjid->kjd", RING.B, d)).max())
    own = float(abs(np.einsum("kjjd->kjd", d)).max())
    return Finding(
        off < ROUNDING and abs(d).max() <= 1 + ROUNDING and own == 0,
        f"|Σ_i B[i,j] d_ji| at most {off:.0e}, ‖d_ji‖ up to {abs(d).max():.2f} at Δ = 1, d_jj = 0",
        {"off": off},
    )


@ALGORITHMS.claim("lb-alone", "Section III-C", "RSS-LB: agents need not cooperate to generate noise.")
def lb_alone() -> Finding:
    """Nothing is agreed between agents in RSS-LB, as it is in RSS-NB."""
    runs = {name: kept(name).transcript for name in ("RSS-NB", "RSS-LB")}
    shared = {name: sorted(run.noise) for name, run in runs.items() if run is not None}
    return Finding(
        shared == {"RSS-NB": ["paired"], "RSS-LB": []},
        "a transcript of RSS-NB holds draws that two agents share, one of RSS-LB none",
    )


@ALGORITHMS.claim(
    "lb-one-neighbour",
    "Algorithm 2, line 4",
    "RSS-LB: every agent chooses balanced random vectors.",
    corrected="An agent with one neighbour has nothing to balance with: its noise is zero, and it is refused "
    "unless asked to go on.",
)
def lb_one_neighbour() -> Finding:
    """With one neighbour the balance forces the noise to zero; such a run is refused."""
    path = Network.path(3)
    try:
        RssLb(1.0).validate(Setting(path, 1, STEP, 1))
    except BadAlgorithm as refusal:
        gamma = RssLb(1.0, unprotected=True).noise(Setting(path, 1, STEP, 1))["balanced"].gamma  # type: ignore[attr-defined]
        return Finding(
            gamma[0, 0] == gamma[0, 2] == 0 and gamma[0, 1] > 0,
            f"on a path of three, refused: {str(refusal).split(';')[0]}",
        )
    return Finding(False, "a path of three was accepted")


@ALGORITHMS.claim(
    "mixed-noise",
    "Appendix, boundedness and aggregate randomness",
    "For both: Σ_j e_j = 0 and ‖e_j‖ ≤ Δ after mixing.",
)
def mixed_noise() -> Finding:
    """Σ_j e_j = 0 and ‖e_j‖ ≤ Δ for both algorithms."""
    sums = {name: float(abs(mixed(kept(name)).sum(axis=1)).max()) for name in ("RSS-NB", "RSS-LB")}
    sizes = {name: float(abs(mixed(kept(name))).max()) for name in sums}
    return Finding(
        max(sums.values()) < ROUNDING and max(sizes.values()) <= 1,
        "; ".join(
            f"{name}: |Σ_j e_j| at most {sums[name]:.0e}, ‖e_j‖ up to {sizes[name]:.2f} at Δ = 1"
            for name in sums
        ),
        sizes,
    )


@ALGORITHMS.claim("fs-cancels", "Algorithm 3", "FS: Σ_j p_j = 0, so Σ_j f̂_j = f.")
def fs_cancels() -> Finding:
    """Σ_j p_j = 0, coefficient by coefficient."""
    p = _noise_functions()
    off = float(abs(p.sum(axis=0)).max())
    return Finding(
        off < ROUNDING,
        f"|Σ_j p_j| at most {off:.0e} in every coefficient, where |p_j| is up to {abs(p).max():.2f}",
    )


@ALGORITHMS.claim("fs-convexity", "Section III-D", "FS: the obfuscated objectives need not be convex.")
def fs_not_convex() -> Finding:
    """How often adding a noise function makes an agent's objective bend down somewhere on X."""
    rng, draws, x = np.random.default_rng(0), 500, np.linspace(-30, 30, 601)
    own = np.zeros((5, 5))
    for j, row in enumerate(PAPER_POLYNOMIALS):
        own[j, : len(row)] = row
    noise = rng.uniform(
        -0.2, 0.2, size=(draws, 5, 2, 5)
    )  # two directed draws on each of the five links of C5
    net = noise[:, :, 0] - noise[:, :, 1]
    hidden = own + net - np.roll(net, 1, axis=1)
    bend = np.sum([m * (m - 1) * hidden[..., m, None] * x ** (m - 2) for m in range(2, 5)], axis=0)
    share = float((bend.min(axis=-1) < 0).mean())
    return Finding(
        share > 0,
        f"with coefficients drawn within 0.2, {100 * share:.0f} % of the obfuscated objectives are not convex on X",
        {"share": share},
    )


@ALGORITHMS.claim("fs-regular", "Section III-D", "FS: the obfuscated objectives satisfy Assumption 2.")
def fs_regular() -> Finding:
    """What noise functions add to L and N on X is finite, and grows steeply with the set."""
    slope, bend = added_constants(
        FunctionSharing(4, 0.1), Setting(RING, 1, STEP, ROUNDS), small_polynomials().feasible
    )
    return Finding(
        bool(np.isfinite([slope, bend]).all()),
        f"degree 4 and coefficients within 0.1 add at most {slope:.3g} to L and {bend:.3g} to N on [−1, 1]",
        {"L": slope, "N": bend},
    )


@ALGORITHMS.claim(
    "fs-special-case",
    "Section III-D",
    "FS is a special case of RSS-NB, with noise that depends on the state.",
)
def fs_special_case() -> Finding:
    """The noise of function sharing, read as noise on states, does not sum to zero over the network."""
    run, p = kept_fs(), _noise_functions()
    assert run.path is not None
    v = (RING.B @ run.path[:-1])[:, :, 0]
    slopes = np.sum([m * p[:, m] * v ** (m - 1) for m in range(1, p.shape[1])], axis=0)
    off, size = float(abs(slopes.sum(axis=1)).max()), float(abs(slopes).max())
    last = float(abs(slopes[-1].sum()))
    return Finding(
        off < ROUNDING,
        f"Σ_j ∇p_j(v_j) is up to {off:.2g} (beside ∇p_j up to {size:.2g}) and still {last:.2g} after {ROUNDS} rounds: "
        "it vanishes only where all v_j agree. FS is an algorithm of its own, and so is its row for Theorem 1",
        {"largest_sum": off},
    )


def _noise_functions() -> np.ndarray:
    """p_j of the kept run: (agents, coefficients)."""
    run = kept_fs()
    assert run.transcript is not None
    draws = np.asarray(run.transcript.noise["function"][0])
    p = np.zeros((RING.n, draws.shape[-1]))
    for (low, high), (forth, back) in zip(RING.links, draws, strict=True):
        p[high] += forth - back
        p[low] += back - forth
    return p
