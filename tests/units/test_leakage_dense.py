"""Leakage where networks vary, agents leave, states are published and runs repeat: against plain loops and one SVD."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from tests.laws.test_leakage_laws import DEALT, PLAIN, THREATS

SAID = PLAIN
"""What says words; of sums see the laws."""
STEPS = [hk.Constant(0.3), hk.Power(1, 1, 0.75)]
TURNS = [
    hk.Network.varying([[(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [(0, 2), (1, 3), (2, 4), (0, 3), (1, 4)]]),
    hk.Network.varying([hk.Network.cycle(5), hk.Network.complete(5)]),
    hk.Network.varying([[(0, 1), (1, 2), (0, 2)], [(2, 3), (3, 4), (2, 4)]], n=5),
]
"""All links change, some come and go, and in every phase two agents are alone."""
FIXED = hk.Network([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)])


class Sums:
    """Linear combinations of named numbers, each with its standard deviation: rows of one growing matrix."""

    def __init__(self):
        self.names: list[tuple] = []
        self.sizes: list[float] = []

    def number(self, size: float, *name) -> dict:
        if name not in self.names:
            self.names.append(name)
            self.sizes.append(size)
        return {name: 1.0}

    def row(self, terms: dict) -> np.ndarray:
        row = np.zeros(len(self.names))
        for name, weight in terms.items():
            row[self.names.index(name)] = weight
        return row * self.sizes


def added(*parts: tuple[float, dict]) -> dict:
    total: dict = {}
    for weight, terms in parts:
        for name, value in terms.items():
            total[name] = total.get(name, 0.0) + weight * value
    return total


def dense_sd(network, name, members, threat, *, rounds, step, sigma, persistent, prior, start, **how):
    """Everything that is said, in a dictionary of terms a word; then the prior off the row space of what is known."""
    leavers, release, runs = how.get("leavers", {}), how.get("release", "nothing"), how.get("runs", 1)
    kept = how.get("kept", True)
    n, sums, known = network.n, Sums(), []
    g = [sums.number(prior, "g", j) for j in range(n)]
    for run in range(runs):
        x = [sums.number(start, "x", run, j) for j in range(n)]
        for k in range(1, rounds + 2):
            gone = {agent for agent, last in leavers.items() if k > last}
            B = network.B_at(k).copy()
            for i, j in network.links.tolist():
                if {i, j} & gone:  # survivors give a dead link's weight to themselves
                    B[i, i], B[j, j] = B[i, i] + B[i, j], B[j, j] + B[j, i]
                    B[i, j] = B[j, i] = 0.0
            near = [[i for i in range(n) if i != j and B[j, i] > 0] for j in range(n)]
            alpha, before = step(k), step(k - 1) if k > 1 else 0.0

            def said(i, j, k=k, run=run):
                return sums.number(sigma, "s", run, k, i, j)

            def drawn_once(i, j, run=run):
                size = sigma if name == "function-sharing" else persistent
                return sums.number(size, "c", 0 if kept else run, i, j)

            told: dict[tuple[int, int], dict] = {}
            own = list(x)
            for j in range(n):
                if name == "rss-lb":
                    b = np.array([B[i, j] for i in near[j]])
                    for i, weight in zip(near[j], b, strict=True):
                        balance = [
                            (-alpha * weight * other / (b @ b), said(j, m))
                            for m, other in zip(near[j], b, strict=True)
                        ]
                        told[j, i] = added((1.0, x[j]), (alpha, said(j, i)), *balance)
                    continue
                parts = [(1.0, x[j])]
                if name == "independent":
                    parts.append((alpha, sums.number(sigma, "own", run, k, j)))
                if name in DEALT and k >= 2:
                    fresh = alpha if name == "rss-nb" else before
                    for i in near[j]:
                        parts += [(fresh, said(i, j)), (-fresh, said(j, i))]
                        parts += [(before, drawn_once(i, j)), (-before, drawn_once(j, i))]
                own[j] = added(*parts)
                told |= {(j, i): own[j] for i in near[j]}
            known += [word for pair, word in told.items() if threat != "coalition" or members & {*pair}]
            v = [added((B[j, j], own[j]), *((B[j, i], told[i, j]) for i in near[j])) for j in range(n)]
            if k > rounds:
                known += {"nothing": [], "mixed": v, "raw": x}[release]
                continue
            for j in range(n):
                slope = [(1.0, g[j])]
                if name == "function-sharing":
                    for i in network.neighbours(j):
                        slope += [(1.0, drawn_once(i, j)), (-1.0, drawn_once(j, i))]
                x[j] = added((1.0, v[j]), (-alpha, added(*slope)))
    return _left(sums, known, _held(sums, name, members, threat), g)


def _held(sums, name, members, threat):
    """What members know themselves: their own numbers, and noise on their links; a tap on noise knows all of it."""
    held = []
    for one in sums.names:
        kind, *rest = one
        ends = {rest[-1]} if kind in ("g", "x", "own") else {rest[-2]} if name == "rss-lb" else {*rest[-2:]}
        paired = kind in ("s", "c") and name != "rss-lb"
        if ends & members or (paired and threat == "states+noise"):
            held.append({one: 1.0})
    return held


def _left(sums, known, held, g):
    rows = np.array([sums.row(terms) for terms in [*known, *held]])
    _, size, axes = np.linalg.svd(rows)
    seen = axes[: np.count_nonzero(size > 1e-9 * size[0])]
    prior = np.array([sums.row(terms) for terms in g])
    return np.linalg.norm(prior - (prior @ seen.T) @ seen, axis=1)


def compare(network, name, members, threat, **how):
    how = {"sigma": 0.5, "persistent": 0.0, "prior": 2.0, "start": 0.0} | how
    if name not in DEALT:
        how["persistent"] = 0.0
    expected = dense_sd(network, name, members | {*how.get("leavers", {})}, threat, **how)
    how["persistent"] = how.pop("persistent")
    found = hk.leakage(network, name, coalition=members, threat=threat, **how)
    expected[list(found.coalition)] = 0.0
    # Both lose what is below 1e-9 of the largest term; sd of such a combination moves by up to its square root.
    np.testing.assert_allclose(found.sd, expected, atol=1e-5)


people = st.sets(st.integers(0, 4), min_size=1, max_size=3)
plans = {
    "name": st.sampled_from(SAID),
    "members": people,
    "threat": st.sampled_from(THREATS),
    "step": st.sampled_from(STEPS),
    "rounds": st.integers(1, 4),
    "persistent": st.sampled_from([0.0, 0.7]),
}


@given(network=st.sampled_from(TURNS), **plans)
def test_networks_that_take_turns(network, name, members, threat, **how):
    compare(network, name, members, threat, **how)


@given(last=st.integers(0, 4), leaver=st.integers(0, 4), network=st.sampled_from([FIXED, TURNS[0]]), **plans)
def test_agents_who_leave(last, leaver, network, name, members, threat, **how):
    members = frozenset(sorted(members - {leaver})[:2])
    if not members and threat == "coalition":
        members = frozenset({(leaver + 1) % 5})
    compare(network, name, members, threat, leavers={leaver: min(last, how["rounds"])}, **how)


@given(release=st.sampled_from(["mixed", "raw"]), start=st.sampled_from([0.0, 1.5]), **plans)
def test_what_is_released(release, start, name, members, threat, **how):
    compare(FIXED, name, members, threat, release=release, start=start, **how)


@given(kept=st.booleans(), start=st.sampled_from([0.0, 1.5]), **plans)
def test_several_runs(kept, start, name, members, threat, **how):
    how["rounds"] = min(how["rounds"], 3)
    compare(FIXED, name, members, threat, runs=2, kept=kept, start=start, **how)


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("network", TURNS, ids=["all", "some", "apart"])
def test_a_longer_run_on_each_network(network, name):
    compare(network, name, frozenset({2}), "coalition", rounds=7, step=STEPS[1], persistent=0.7)


@pytest.mark.parametrize("name", PLAIN)
def test_many_agents_are_followed_to_the_same_numbers(name, monkeypatch):
    """Among many, sources are kept apart and links are few: another order of the same sums."""
    network = hk.Network.random_regular(4, 24, seed=1)
    how = {"coalition": {0, 1, 2}, "rounds": 30, "step": hk.Power(1, 20, 0.75), "runs": 2}
    few = hk.leakage(network, name, **how)
    monkeypatch.setattr(sys.modules["hocket.privacy.leakage.posterior"], "MANY", 0)
    monkeypatch.setattr(sys.modules["hocket.privacy.leakage.wiring"], "MANY", 0)
    monkeypatch.setattr(sys.modules["hocket.privacy.leakage.wiring"], "SPARSE", 1.0)
    many = hk.leakage(network, name, **how)
    # Sixty rounds of a dozen roundings each, beside a prior of 100.
    np.testing.assert_allclose(many.sd, few.sd, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(many.covariance, few.covariance, rtol=1e-9, atol=1e-6)
    assert (many.exact, many.identifiable) == (few.exact, few.identifiable)
