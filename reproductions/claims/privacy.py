"""Claims about privacy: what DGD leaks, what noise hides and for how long, and Theorem 2 both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hocket.algorithms import Dgd, FunctionSharing, RssNb
from hocket.engines.solver import solve
from hocket.errors import NoTheorem
from hocket.networks.network import Network
from hocket.privacy.attacks import component_attack, difference_attack
from hocket.privacy.graph.guarantees import exposure
from hocket.privacy.leakage.leakage import leakage
from hocket.privacy.witness.witness import Witness, witness
from hocket.privacy.wording import braced
from hocket.problems.problem import Problem
from hocket.problems.standard import heterogeneous_polynomials, polynomials
from hocket.runs.run import Run
from hocket.steps import Constant
from reproductions.claims.cases import RING, STEP, Tried, disguised, kept_fs, recorded
from reproductions.claims.ledger import Finding, Group
from reproductions.exponents import signed
from reproductions.privacy.anchors import over_rounds
from reproductions.privacy.theorem2 import witnesses

PRIVACY = Group("Privacy")
EXACT = 1e-6
"""Relative error of an attack that has only rounding left, magnified by the fit of a polynomial."""
LIMITS = "For polynomials no higher in degree than the noise functions, up to the width that their bound buys; the "
ABSORBED = "agents that absorb the difference may need objectives that are not convex."


@PRIVACY.claim("dgd-leaks", "Section III-A", "An adversary may learn an agent's objective by observing DGD.")
def dgd_leaks() -> Finding:
    """Both neighbours of an agent on the ring, with nothing but what they received."""
    run = recorded(heterogeneous_polynomials(), Dgd())
    view = run.view({1, 4})
    gradients = difference_attack(view, 0)
    assert gradients.at is not None
    right = np.stack([run.problem.gradient(0, v) for v in gradients.at])
    single = _off(gradients.estimate, right)
    whole = _off(component_attack(view, [0], degree=4).estimate, _slopes(run.problem, [0]))
    return Finding(
        max(single, whole) < EXACT,
        f"on C5 both neighbours of agent 0 read its gradient off every round, relative error {single:.0e}, and all "
        f"coefficients of its polynomial off 200 rounds, relative error {whole:.0e}",
        {"gradient": single, "polynomial": whole},
    )


@PRIVACY.claim(
    "noise-hides",
    "Section IV",
    "Noise on states creates ambiguity; a larger Δ gives greater privacy.",
    corrected="For a given number of rounds. Noise that is fresh in every round is averaged away like 1/√K by "
    "anybody who receives the whole neighbourhood; persistent noise and noise functions are not.",
)
def noise_hides() -> Finding:
    """The posterior under two Δ, and an attack on a real run over more and more rounds."""
    sd = {
        delta: float(leakage(RING, RssNb(delta), rounds=100, threat="states", step=Constant(0.1)).sd[0])
        for delta in (1.0, 10.0)
    }
    told = over_rounds("α constant", 0.0, "", rounds=(10, 100, 1000))
    times = told.measured / told.foretold  # of bounded noise the least error of any estimator is predicted
    power = float(np.log(told.measured[-1] / told.measured[0]) / np.log(100))
    return Finding(
        abs(sd[10.0] / sd[1.0] - 10) < 0.1
        and times.min() > 0.9
        and times.max() < 2
        and abs(power + 0.5) < 0.05,
        f"RSS-NB on C5, all messages received: after 100 rounds a gradient stays uncertain by {sd[1.0]:.2g} "
        f"at Δ = 1 and by "
        f"{sd[10.0]:.2g} at Δ = 10; attacked after 10, 100 and 1,000 rounds it is off by "
        f"{', '.join(f'{value:.2g}' for value in told.measured)} of Δ, like K^{signed(power)}, which is "
        f"{times.min():.2f} to {times.max():.2f} times the least error that was predicted. RSS has no privacy theorem",
        {"of_delta": sd[10.0] / sd[1.0], "exponent_of_rounds": power},
    )


@PRIVACY.claim(
    "p1",
    "Theorem 2",
    "P1: with minimum degree ≥ f+1, what is seen is compatible with any objective of any one agent.",
    corrected=LIMITS + ABSORBED,
)
def p1() -> Finding:
    """Random networks with enough links, any coalition, any other objective for any one agent; exact arithmetic."""
    return _disguises(disguised(whole_sets=False, instances=20))


def _disguises(tried: list[Tried]) -> Finding:
    equal = sum(one.witness.equal and one.witness.same_functions for one in tried)
    bent = sum(not one.witness.convex for one in tried)
    outside = sum(not one.witness.within_bound for one in tried)
    return Finding(
        equal == len(tried),
        f"in {equal} of {len(tried)} random instances, up to {max(len(one.coalition) for one in tried)} colluders "
        f"among up to {max(one.network.n for one in tried)} agents, the coalition's two views are equal as fractions, "
        f"all {sum(one.witness.compared for one in tried):,} numbers; {bent} of them need an objective that is not "
        f"convex, {outside} noise beyond its bound",
        {"equal": equal, "not_convex": bent, "beyond_bound": outside},
    )


@PRIVACY.claim(
    "p1-necessary", "Appendix, proof of Theorem 2", "P1 is lost where an agent's neighbours all collude."
)
def p1_necessary() -> Finding:
    """Both neighbours of an agent on the ring, against function sharing."""
    run, around = kept_fs(), {1, 4}
    off = _off(component_attack(run.view(around), [0]).estimate, _slopes(run.problem, [0]))
    return Finding(
        off < EXACT and exposure(RING, around).surrounded == (0,),
        f"on C5 the neighbours of agent 0 reconstruct its polynomial, relative error {off:.0e}; no witness can be had: "
        f"{_refusal(run, around, {0: [0, 1]})}",
        {"error": off},
    )


@PRIVACY.claim(
    "p2",
    "Theorem 2",
    "P2: with connectivity ≥ f+1, what is seen is compatible with any objectives of any set of honest agents.",
    corrected="Of any set but all honest agents, whose sum is known. " + LIMITS + ABSORBED,
)
def p2() -> Finding:
    """Random networks connected enough, any coalition, other objectives for any set but all; exact arithmetic."""
    return _disguises(disguised(whole_sets=True, instances=20))


@PRIVACY.claim(
    "p2-necessary",
    "Appendix, proof of Theorem 2",
    "P2 is lost where the coalition cuts the network: sums over components are exposed.",
    corrected="To be assumed of every component; computed where the coalition receives all that it mixes, "
    "or eavesdrops on "
    "it.",
)
def p2_necessary() -> Finding:
    """A ring of seven cut in two: the sum over each part, by the coalition's own ears and with an eavesdropper."""
    network, cut = Network.cycle(7), {0, 3}
    rows = [[0, (-1) ** j, 1 + j / 4, 0, 0.5] for j in range(7)]
    run = solve(
        polynomials(rows, box=(-5, 5)),
        network,
        FunctionSharing(4, 0.1),
        step=STEP,
        rounds=200,
        start=[1.0, -0.5, 0.25, -0.75, 0.5, -1.0, 0.8],
        keep="transcript",
        progress=False,
    )
    near, far = exposure(network, cut).components
    received, unheard = (component_attack(run.view(cut), part) for part in (near, far))
    tapped = component_attack(run.view(cut, threat="states"), far)
    errors = [
        _off(found.estimate, _slopes(run.problem, part)) for found, part in ((received, near), (tapped, far))
    ]
    false = {agent: [0, 1] for agent in near}
    return Finding(
        max(errors) < EXACT and unheard.estimate is None,
        f"on C7 {braced(cut)} know the sum over {braced(near)}, relative error {errors[0]:.0e}; that over "
        f"{braced(far)} takes an eavesdropper, relative error {errors[1]:.0e}, since {str(unheard.why).split(';')[0]}. "
        f"No witness: {_refusal(run, cut, false)}",
        {"heard": errors[0], "tapped": errors[1]},
    )


@PRIVACY.claim(
    "witness",
    "Remark 1",
    "Other noise functions are found by solving along a spanning tree of the honest agents.",
)
def spanning_tree() -> Finding:
    """The paper's seven agents; its figure is missing, so they are reconstructed."""
    shown = witnesses(rounds=2000)
    exact, long = shown.exact, shown.floating
    tree = ", ".join(f"{i}-{j}" for i, j in exact.other.tree)
    return Finding(
        exact.equal and exact.same_functions and long.difference < 1e-12,
        f"the paper's seven agents and two colluders (reconstructed): along the tree {tree} other "
        f"noise functions are found; all {exact.compared} numbers that the colluders see in {exact.run.rounds} rounds "
        f"are equal as fractions, and of {long.compared:,} in {long.run.rounds:,} rounds of floating point none "
        f"differs by more than {long.difference:.0e}",
        {"difference": long.difference},
    )


@PRIVACY.claim(
    "equally-likely",
    "Appendix, proof of Theorem 2",
    "Any estimate of the objectives is equally likely to the adversary.",
)
def equally_likely() -> Finding:
    """Two disguises of one agent: one whose noise is as likely as any, one whose noise is never drawn."""
    run, coalition = kept_fs(), {1}
    held = np.asarray(run.problem.groups[0].data_of(0), dtype=np.float64)

    def moved(by: float) -> Witness:
        false = held + by * (np.arange(len(held)) == 2)
        return witness(run, coalition, {0: false}, fill="least")

    bound = moved(0.0).other.bound
    near, far = (moved(by).other.largest_noise for by in (bound / 2, 10 * bound))
    return Finding(
        near <= bound and far <= bound,
        "Theorem 2 shows that other objectives are possible, not that they are as likely. On C5 with coefficients "
        f"drawn within {bound:g}, moving agent 0's x² by {bound / 2:g} takes noise of {near:.2g}, moving it by "
        f"{10 * bound:g} noise of {far:.2g}, which is never drawn: {braced(coalition)} knows each coefficient up to a "
        f"width of {4 * bound:g}. Within that, the difference of a link's two draws is triangular, not flat",
        {"near": near, "far": far, "bound": bound},
    )


def _refusal(run: Run, coalition: set[int], objectives: Mapping[int, Sequence[float]]) -> str:
    """Why no witness exists."""
    try:
        witness(run, coalition, objectives)
    except NoTheorem as refusal:
        return f"{refusal}".split(";")[0].removeprefix("no witness exists: ")
    return "NOT REFUSED"


def _slopes(problem: Problem, agents: list[int] | tuple[int, ...]) -> np.ndarray:
    """The coefficients of Σ ∇f_j, ascending, in one column."""
    (group,) = problem.groups
    total = np.sum([np.asarray(group.data_of(agent), dtype=np.float64) for agent in agents], axis=0)
    return (np.arange(len(total)) * total)[1:, None]


def _off(estimate: np.ndarray | None, right: np.ndarray) -> float:
    return (
        float("inf") if estimate is None else float(np.linalg.norm(estimate - right) / np.linalg.norm(right))
    )
