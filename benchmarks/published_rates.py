"""Rates of CHOCO and of push methods beside those that were published for them.

    python benchmarks/published_rates.py     half a minute, prints a table

CHOCO's gossip, with no objectives: distances from the mean fall at least as fast as (1 − ρ²ω/82)^k, squared, for the γ
of its Theorem 2 [Koloskova, Stich and Jaggi 2019]; ρ is 1 − λ, ω the part that a compressor keeps. Push-sum falls as
|λ₂|^k, λ₂ the second largest eigenvalue of its weights in modulus [Kempe, Dobra and Gehrke 2003; Nedić and Olshevsky
2015]. Push-DIGing is linear for small steps [Nedić, Olshevsky and Shi 2017], with no factor that could be compared:
what is printed is how straight the logarithm falls. Factors are fitted to the second half of rounds, before rounding.
"""

from __future__ import annotations

import numpy as np

import hocket as hk

NETWORKS = {
    "ring of 10": hk.Network.cycle(10),
    "4-regular, 20": hk.Network.random_regular(4, 20, seed=0),
    "complete, 10": hk.Network.complete(10),
}
COMPRESSORS = ("top-k:0.1", "random-k:0.1", "quantised:4")
DIM, ROUNDS, ROUNDED = 50, 4000, 1e-24


def averaging(network: hk.Network, algorithm: hk.Algorithm, rounds: int) -> np.ndarray:
    """Squared distance of all states from the mean they began with, round by round, of agents who want nothing else."""
    start = np.random.default_rng(0).normal(size=(network.n, DIM))
    nothing = hk.Problem(
        lambda x, data: 0 * x.sum(), np.zeros((network.n, 1)), feasible=hk.Everywhere(), dim=DIM, optimum=0.0
    )
    run = hk.solve(
        nothing, network, algorithm, rounds=rounds, start=start, step=hk.Constant(0.1), keep="path"
    )
    assert run.path is not None
    return ((run.path - start.mean(axis=0)) ** 2).sum(axis=(1, 2))


def chorded(n: int) -> hk.Network:
    """A directed ring with one link across it."""
    return hk.Network([(j, (j + 1) % n) for j in range(n)] + [(0, n // 2)], directed=True)


def descending(network: hk.Network) -> np.ndarray:
    """Squared distance from the optimum of a least-squares problem, under push-DIGing."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(network.n, 8, 2))
    told = rows @ np.array([1.0, -2.0]) + rng.normal(size=(network.n, 8))
    problem = hk.least_squares(rows, told, feasible=hk.Everywhere())
    best = np.linalg.lstsq(rows.reshape(-1, 2), told.ravel(), rcond=None)[0]
    run = hk.solve(problem, network, hk.PushDiging(), rounds=4000, start=0.0, step=0.001, keep="path")
    assert run.path is not None
    return ((run.path - best) ** 2).sum(axis=(1, 2))


def fitted(distances: np.ndarray) -> tuple[float, float]:
    """The factor a round, and how much of the logarithm's fall a straight line explains."""
    falling = np.flatnonzero(distances < ROUNDED * distances[0])
    logs = np.log(distances[: falling[0] if len(falling) else None])
    rounds = np.arange(len(logs))[len(logs) // 2 :]
    slope, level = np.polyfit(rounds, logs[rounds], 1)
    unexplained = np.var(logs[rounds] - slope * rounds - level) / np.var(logs[rounds])
    return float(np.exp(slope)), float(1 - unexplained)


def main() -> None:
    """Print what was seen beside what was published."""
    print(f"{'squared distance from the mean, factor a round':52}{'seen':>10}{'published':>12}{'auto γ':>10}")
    for place, network in NETWORKS.items():
        for name in COMPRESSORS:
            choco = hk.Choco(name)
            rate = 1 - (1 - network.lam) ** 2 * choco.compressor.kept(DIM) / 82
            proved = hk.Choco(name, gamma=choco.proved_gamma(network, DIM))
            seen, _ = fitted(averaging(network, proved, ROUNDS))
            auto, _ = fitted(averaging(network, choco, ROUNDS))
            print(f"  CHOCO {name:14} {place:30}{seen:10.6f}{rate:>12.6f}{auto:10.6f}")
    for n in (5, 10, 20):
        network = chorded(n)
        second = np.sort(np.abs(np.linalg.eigvals(network.B)))[-2] ** 2
        seen, _ = fitted(averaging(network, hk.PushSum(), 3000))
        print(f"  {f'push-sum, directed ring of {n} with a chord':50}{seen:10.6f}{second:>12.6f}")
    for n in (5, 10, 20):
        seen, straight = fitted(descending(chorded(n)))
        name = f"push-DIGing, least squares, the same {n}"
        print(f"  {name:50}{seen:10.6f}{'linear':>12}  a straight line explains {straight:.4f}")


if __name__ == "__main__":
    main()
