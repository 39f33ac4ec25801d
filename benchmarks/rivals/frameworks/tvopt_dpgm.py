"""DGD as tvopt has it: its distributed proximal gradient method.

    python tvopt_dpgm.py CASE.npz            on its own logistic regression, or on polynomials
    python tvopt_dpgm.py CASE.npz vectors    on a logistic regression of ours, without its loop over samples

It takes the gradient at x where the paper takes it at v, and one step size for all rounds: other iterates, but the same
work. It has no polynomials of degree four, so those are ours, by the formula that the NumPy loop uses.
"""

from __future__ import annotations

import sys

import numpy as np
from turns import take_turns
from tvopt import costs, networks, sets
from tvopt.distributed_solvers import dpgm


class Polynomial(costs.Cost):
    """a x² + b x⁴."""

    def __init__(self, square: np.ndarray, fourth: np.ndarray):
        super().__init__(sets.R(1, 1))
        self.square, self.fourth, self.smooth = square, fourth, 2

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return x * (self.square + self.fourth * (x * x))


class Mended(costs.LogisticRegression):
    """Its own logistic regression, which takes an array of one number for a number: NumPy 2.4 refuses to."""

    def gradient(self, x: np.ndarray) -> np.ndarray:
        slopes = [self._lg.gradient(y) for y in self._Ab.dot(x)[:, 0]]
        return sum(slope * self._Ab[[d]].T for d, slope in enumerate(slopes)) + self.weight * x


class Logistic(costs.Cost):
    """Mean logistic loss with a square penalty, all samples in one product."""

    def __init__(self, signed: np.ndarray):
        super().__init__(sets.R(signed.shape[1], 1))
        self.signed, self.smooth = signed, 2

    def gradient(self, x: np.ndarray) -> np.ndarray:
        slope = 1 / (1 + np.exp(self.signed @ x))
        return -self.signed.T @ slope / len(self.signed) + 0.1 * x


def main() -> None:
    case = np.load(sys.argv[1])
    B, start = case["B"], case["start"]
    if "signed" in case:
        # Its own class adds an offset, so it is given one feature less and works on as many numbers.
        local = (
            [Logistic(rows) for rows in case["signed"]]
            if "vectors" in sys.argv
            else [
                Mended(rows[:, 1:] / len(rows), labels, 0.1)
                for rows, labels in zip(case["features"], case["labels"], strict=True)
            ]
        )
        feasible = sets.Ball(np.zeros((start.shape[1], 1)), 10.0)
    else:
        local = [Polynomial(a, b) for a, b in zip(case["square"], case["fourth"], strict=True)]
        feasible = sets.Box(-30.0, 30.0)
    problem = {
        "f": costs.SeparableCost(local),
        "g": costs.SeparableCost([costs.Indicator(feasible)] * len(local)),
        "network": networks.Network((B > 0) & ~np.eye(len(B), dtype=bool), B),
    }
    first = start.T[:, None, :]
    take_turns(lambda rounds: dpgm(problem, 0.05, first, rounds))


if __name__ == "__main__":
    main()
