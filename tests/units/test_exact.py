"""The exact engine: fractions from start to end, so that laws hold with `==`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, BadInput, BadProblem

HALF = Fraction(1, 2)
NETWORKS = {
    "cycle": hk.Network.cycle(5),
    "star": hk.Network.star(5),  # words are summed link by link
    "dense": hk.Network.complete(17),  # words are summed by a matrix
    "varying": hk.Network.varying([hk.Network.cycle(5), [(0, 2), (1, 3), (2, 4), (0, 3), (1, 4)]]),
}
ALGORITHMS = {
    "dgd": hk.Dgd(),
    "rss-nb": hk.RssNb(1.0),
    "rss-nb anchored": hk.RssNb(1.0, persistent=0.5),
    "rss-lb": hk.RssLb(1.0, unprotected=True),
    "fs": hk.FunctionSharing(2, 0.5),
    "independent": hk.IndependentNoise(1.0),
    "centralised": hk.Centralised(),
}


def problem(n: int = 5) -> hk.Problem:
    return hk.polynomials([[0, Fraction(j, 3), 1] for j in range(n)], box=(-100, 100))


def play(algorithm: hk.Algorithm, network: hk.Network, **how: Any) -> hk.Run:
    how = {"problem": problem(network.n), "step": hk.Power(1, 3, 1), "rounds": 3, "start": HALF} | how
    return hk.solve(how.pop("problem"), network, algorithm, engine="exact", **how)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_number_is_a_fraction(name, network):
    run = play(ALGORITHMS[name], NETWORKS[network])
    kept = [run.x, run.path, run.mean, *run.transcript.words, *run.transcript.noise.values()]
    for table in kept:
        assert {type(number) for number in table.flat} <= {Fraction}, name
    assert run.path.shape == (4, len(run.x), 1)
    assert run.rounds == 3
    assert str(run.outcome) == "out of rounds after 3"


def test_a_round_by_hand():
    """DGD on C3 with thirds and quarters, written out."""
    run = play(hk.Dgd(), hk.Network.cycle(3), rounds=1, start=[0, 1, 2], step=hk.Constant(HALF))
    v = [Fraction(3, 4), Fraction(1), Fraction(5, 4)]  # 1/2 of one's own, 1/4 of each neighbour's
    expected = [x - HALF * (Fraction(j, 3) + 2 * x) for j, x in enumerate(v)]
    assert run.x[:, 0].tolist() == expected
    assert run.transcript.words[0][0, :, 0].tolist() == [0, 1, 2]


def test_thirds_stay_thirds():
    """Weights are read as the simplest fractions they can stand for: three thirds are one."""
    run = play(hk.Dgd(), hk.Network.complete(3, weights="metropolis"), rounds=1, start=[0, 1, 5])
    alpha = Fraction(1, 4)
    assert run.x[:, 0].tolist() == [2 - alpha * (Fraction(j, 3) + 4) for j in range(3)]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", ["rss-nb", "rss-nb anchored", "rss-lb"])
def test_noise_moves_the_mean_by_nothing_at_all(name, network):
    """With one slope for all, x̄ is where it would be without noise, to the last digit [paper, eq. (12)]."""
    graph = NETWORKS[network]
    alike = hk.polynomials([[0, 1]] * graph.n, box=(-100, 100))
    run = play(ALGORITHMS[name], graph, problem=alike)
    assert run.mean.tolist() == [HALF - sum(Fraction(1, k + 3) for k in (1, 2, 3))]
    assert len(set(run.x[:, 0])) > 1


@pytest.mark.parametrize("network", NETWORKS)
def test_words_are_balanced_to_the_last_digit(network):
    graph = NETWORKS[network]
    run = play(ALGORITHMS["rss-lb"], graph)
    received = 0
    for k in range(1, 4):
        B = graph.B_at(k)
        for j in range(graph.n):
            weight = [Fraction(B[i, j]).limit_denominator(1000) for i in graph.neighbours(j)]
            said = run.transcript.words[0][k - 1, j, : len(weight), 0] - run.path[k - 1, j, 0]
            assert sum(b * d for b, d in zip(weight, said, strict=True)) == 0
            received += sum(d != 0 for d in said)
    assert received


@pytest.mark.parametrize("network", NETWORKS)
def test_noise_functions_cancel_where_all_agree(network):
    """Σ_j p_j = 0, so from a common point the mean takes the step that it would take without noise."""
    run = play(ALGORITHMS["fs"], NETWORKS[network], rounds=1)
    plain = play(hk.Dgd(), NETWORKS[network], rounds=1)
    assert run.mean.tolist() == plain.mean.tolist()
    assert (run.x != plain.x).all()
    assert run.transcript.noise["function"].shape == (1, len(NETWORKS[network].links), 2, 3)


def test_given_noise_may_be_fractions():
    def noise(sender: int, receiver: int, k: int) -> Fraction:
        return Fraction(sender + 1, 7 * k)

    run = play(hk.RssNb(0.0, given=noise), NETWORKS["cycle"])
    assert not run.transcript.noise["paired"][0].any()  # the paper's s_1 = 0
    assert run.transcript.noise["paired"][2, 0, 1, 0] == Fraction(2, 21)  # said by agent 1 to agent 0
    words = run.transcript.words[0][1, :, 0] - run.path[1, :, 0]
    # Agent 0 hears 2/14 and 5/14 from agents 1 and 4, and gives 1/14 to each.
    assert words[0] == Fraction(1, 5) * (Fraction(7, 14) - Fraction(2, 14))


def test_a_coalition_sees_the_same_in_equal_runs():
    first, second = (play(hk.RssNb(1.0), NETWORKS["cycle"], seed=3).view({1}) for _ in range(2))
    for pair, words in first.words[0].items():
        assert (words == second.words[0][pair]).all()
    assert first.objectives(1, first.states[1][0]).tolist() == [Fraction(4, 3)]


def test_projection_stays_on_the_set():
    run = play(hk.Dgd(), NETWORKS["cycle"], problem=hk.polynomials([[0, 30]] * 5, box=(-1, 1)))
    assert run.x[:, 0].tolist() == [-1] * 5
    assert run.infeasibility == 0


def test_digits_grow_but_nothing_breaks():
    """Quartics treble the digits in each round: thousands of them still print, compare and become floats."""
    run = play(
        hk.RssNb(1.0), hk.Network.cycle(5), problem=hk.paper_polynomials(), rounds=6, start=Fraction(1, 10)
    )
    assert max(number.denominator.bit_length() for number in run.x.flat) > 15_000
    assert 0 < run.gap < 1
    assert "out of rounds after 6" in repr(run)


REFUSED = {
    "a step that is no fraction": (
        lambda: play(hk.Dgd(), NETWORKS["cycle"], step=hk.Power(0.1, 0, 1)),
        BadInput,
        "a of Power is 0.1, which is not exact",
    ),
    "a root": (lambda: play(hk.Dgd(), NETWORKS["cycle"], step=hk.Power(1, 0, 0.5)), BadInput, "irrational"),
    "a loss": (
        lambda: play(
            hk.Dgd(),
            NETWORKS["cycle"],
            problem=hk.Problem(lambda x, a: (x @ x) * a, np.ones(5), feasible=hk.Box(-1, 1), dim=1),
        ),
        BadProblem,
        "Loss of agent 0 cannot be run on fractions",
    ),
    "waves": (
        lambda: play(hk.FunctionSharing(2, 1.0, family="cosine"), NETWORKS["cycle"]),
        BadAlgorithm,
        "waves are irrational; .*polynomial",
    ),
    "a tolerance": (
        lambda: play(hk.Dgd(), NETWORKS["cycle"], tolerance=0.1),
        BadInput,
        "leave tolerance and checkpoint out",
    ),
    "a checkpoint": (
        lambda: play(hk.Dgd(), NETWORKS["cycle"], checkpoint="folder"),
        BadInput,
        "leave tolerance and checkpoint out",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_exact_is_refused(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()
