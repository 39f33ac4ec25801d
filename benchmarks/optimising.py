"""DGD and RSS-NB on small problems: hocket's simulator beside loops in NumPy, PyTorch and JAX, and beside frameworks.

    python benchmarks/optimising.py

Floor: a round of the polynomials is some twenty multiplications, 25 ns in a compiled loop; a round of the logistic
regression reads its million numbers from memory. What an interpreter or a message costs comes on top of that.
"""

from __future__ import annotations

from contextlib import ExitStack

import jax
import jax.numpy as jnp
from cases import Case, logistic, polynomials, simulated
from outcome import Claim, Section, fastest, rows
from racing import Contestant, Effort, race
from rivals import jax_scans, numpy_loops
from rivals.playing import framework
from rivals.torch_loops import dgd as torch_dgd

import hocket as hk

DELTA = 1.0
SEEDS = 256


def small(effort: Effort) -> list[Section]:
    """The paper's polynomials: plain, and under RSS-NB."""
    case, by_hand = polynomials(), 4000
    alone = Contestant("hocket, DGD", simulated(case, hk.Dgd())[0], case.rounds)
    with ExitStack() as stack:
        rivals = [
            *loops(case, by_hand, threads=(1,)),
            *stack.enter_context(framework("tvopt", "tvopt", "tvopt_dpgm.py", case, rounds=400)),
            *stack.enter_context(
                framework("disropt", "disropt", "disropt_subgradient.py", case, rounds=30, processes=5)
            ),
        ]
        plain = race(
            [alone, whole_solve(case, hk.Dgd()), *rivals], turns=effort.turns, about="polynomials, DGD"
        )
    ours = plain[alone.name].rate
    over = ours / plain["NumPy loop"].rate
    return [
        Section(
            "DGD, five polynomials on a ring",
            "rounds/s",
            rows(plain, yardstick=alone.name),
            [Claim("polynomials: DGD over a NumPy loop", over, 100)],
        ),
        _small_private(case, by_hand, effort),
    ]


def _small_private(case: Case, by_hand: int, effort: Effort) -> Section:
    turn, block = simulated(case, hk.RssNb(DELTA))
    alone = Contestant("hocket, RSS-NB", turn, case.rounds)
    scan = jax_scans.rss_nb(
        case.network,
        jax_scans.mixes(case.network)["slots"],
        case.gradient,
        case.project,
        jnp.asarray(case.alpha),
        jnp.asarray(case.start),
        delta=DELTA,
        block=block,
    )
    paces = race(
        [
            alone,
            whole_solve(case, hk.RssNb(DELTA)),
            seeds_at_once(case),
            Contestant("JAX by hand", scan, case.rounds),
            Contestant("NumPy loop", numpy_loops.rss_nb(case, by_hand, delta=DELTA), by_hand),
            Contestant(
                "NumPy loop, noise in blocks",
                numpy_loops.rss_nb(case, by_hand, delta=DELTA, block=numpy_loops.BLOCK),
                by_hand,
            ),
        ],
        turns=effort.turns,
        about="polynomials, RSS-NB",
    )
    loop = paces["NumPy loop"].rate
    many = next(pace.rate for name, pace in paces.items() if "seeds" in name)
    return Section(
        "RSS-NB, five polynomials on a ring",
        "rounds/s",
        rows(paces, yardstick=alone.name),
        [
            Claim("polynomials: RSS-NB over a NumPy loop", paces[alone.name].rate / loop, 30),
            Claim(f"polynomials: {SEEDS} seeds at once over a NumPy loop, in run-rounds", many / loop, 200),
        ],
    )


def large(effort: Effort) -> Section:
    """Logistic regression with a hundred agents."""
    case = logistic(rounds=128)
    ours = Contestant("hocket, DGD", simulated(case, hk.Dgd())[0], case.rounds)
    private = Contestant("hocket, RSS-NB", simulated(case, hk.RssNb(DELTA))[0], case.rounds)
    with ExitStack() as stack:
        rivals = [
            *loops(case, 32, threads=effort.threads),
            *stack.enter_context(framework("tvopt", "tvopt", "tvopt_dpgm.py", case, rounds=1)),
            *stack.enter_context(
                framework("tvopt, our gradient", "tvopt", "tvopt_dpgm.py", case, "vectors", rounds=5)
            ),
        ]
        paces = race([ours, private, *rivals], turns=effort.turns, about="logistic regression")
    own = paces[ours.name].rate
    by_hand = fastest(paces, "NumPy", "PyTorch", "JAX")
    claims = [Claim("logistic: best loop by hand over hocket's DGD", by_hand / own, 1.15, at_least=False)]
    if "tvopt" in paces:
        claims.append(Claim("logistic: DGD over the fastest framework", own / paces["tvopt"].rate, 20))
    return Section(
        "DGD, logistic regression of 100 agents", "rounds/s", rows(paces, yardstick=ours.name), claims
    )


def loops(case: Case, rounds: int, *, threads: tuple[int, ...]) -> list[Contestant]:
    """DGD written by hand for one problem, in three libraries; JAX in all ways of mixing that are sensible."""
    alpha, start = jnp.asarray(case.alpha), jnp.asarray(case.start)
    in_jax = [
        Contestant(
            f"JAX by hand, {name}", jax_scans.dgd(mix, case.gradient, case.project, alpha, start), case.rounds
        )
        for name, mix in jax_scans.mixes(case.network).items()
    ]
    in_torch = [
        Contestant(
            f"PyTorch loop, {count} thread{'s' * (count > 1)}", torch_dgd(case, rounds, threads=count), rounds
        )
        for count in threads
    ]
    return [*in_jax, *in_torch, Contestant("NumPy loop", numpy_loops.dgd(case, rounds), rounds)]


def whole_solve(case: Case, algorithm: hk.Algorithm) -> Contestant:
    """What a user calls: also prepares, and measures gap and disagreement at two hundred rounds."""

    def turn() -> object:
        return hk.solve(
            case.problem,
            case.network,
            algorithm,
            rounds=4 * case.rounds,
            step=case.step,
            start=case.start,
            time_average=False,
            progress=False,
        ).x

    return Contestant("hocket, all of hk.solve", turn, 4 * case.rounds)


def seeds_at_once(case: Case, rounds: int = 32_768) -> Contestant:
    """Many runs in one program, as `hk.sweep` plays them; what it measures on the way included."""

    def turn() -> object:
        return hk.sweep(
            case.problem,
            case.network,
            hk.RssNb(DELTA),
            rounds=rounds,
            seeds=range(SEEDS),
            step=case.step,
            start=case.start,
            time_average=False,
            progress=False,
        ).x

    return Contestant(f"hocket, {SEEDS} seeds at once", turn, SEEDS * rounds)


def sections(effort: Effort) -> list[Section]:
    """All of this file, in double precision."""
    with jax.enable_x64(True):
        return [*small(effort), large(effort)]


if __name__ == "__main__":
    from reporting import show

    show(sections(Effort.usual()))
