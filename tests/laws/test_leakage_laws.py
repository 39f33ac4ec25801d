"""Leakage: against a dense computation written from the equations, and against the closed forms."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.privacy.profile import profile
from hocket.privacy.stand_ins import TYPICAL

PLAIN = tuple(name for name, one in TYPICAL.items() if profile(one).plain)
"""Those that the dense reference is written for; it is no judge of others, see test_linearised.py."""
DEALT = ("rss-nb", "certified-rss-nb")
"""Those that deal noise in pairs in every round: scaled by α_k, or by α_{k−1} as the gradient is."""
THREATS = ("coalition", "states", "states+noise")


@st.composite
def networks(draw, smallest=4, largest=7):
    n = draw(st.integers(smallest, largest))
    seed = draw(st.integers(0, 10_000))
    graph = networkx.gnp_random_graph(n, 0.5, seed=seed)
    order = np.random.default_rng(seed).permutation(n).tolist()
    graph.add_edges_from(itertools.pairwise(order))  # connected
    return hk.Network(graph, weights=draw(st.sampled_from(["paper", "metropolis"])))


@st.composite
def coalitions(draw, network, most=None):
    size = draw(st.integers(1, most or network.n - 2))
    return frozenset(draw(st.permutations(range(network.n)))[:size])


def everything_said(network, algorithm, rounds, step):
    """Every message on every link as a row over starts, gradients and draws: plain loops over the equations."""
    n, links = network.n, [tuple(link) for link in network.links.tolist()]
    directed = [(i, j) for i, j in links] + [(j, i) for i, j in links]
    names = [("x", j) for j in range(n)] + [("g", j) for j in range(n)]
    names += [("c", *pair) for pair in directed]
    names += [("s", k, *pair) for k in range(1, rounds + 2) for pair in directed]
    names += [("own", k, j) for k in range(1, rounds + 2) for j in range(n)]
    place = {name: row for row, name in enumerate(names)}
    unit = np.eye(len(names))
    row = {name: unit[at] for name, at in place.items()}
    near = {j: network.neighbours(j) for j in range(n)}
    B = network.B
    x = [row["x", j] for j in range(n)]
    words = []
    for k in range(1, rounds + 2):
        alpha, before = step(k), step(k - 1) if k > 1 else 0.0
        if algorithm == "rss-lb":
            told = {}
            for j in range(n):
                b = np.array([B[i, j] for i in near[j]])
                raw = np.array([row["s", k, j, i] for i in near[j]])
                balanced = raw - np.outer(b / (b @ b), b @ raw)
                told |= {(j, i): x[j] + alpha * d for i, d in zip(near[j], balanced, strict=True)}
            v = [B[j, j] * x[j] + sum(B[j, i] * told[i, j] for i in near[j]) for j in range(n)]
        else:
            w = list(x)
            for j in range(n):
                if algorithm == "independent":
                    w[j] = w[j] + alpha * row["own", k, j]
                if algorithm in DEALT and k >= 2:
                    fresh = alpha if algorithm == "rss-nb" else before
                    w[j] = w[j] + sum(fresh * (row["s", k, i, j] - row["s", k, j, i]) for i in near[j])
                    w[j] = w[j] + sum(before * (row["c", i, j] - row["c", j, i]) for i in near[j])
            told = {(j, i): w[j] for j in range(n) for i in near[j]}
            v = [sum(B[j, i] * w[i] for i in range(n)) for j in range(n)]
        words.append(told)
        for j in range(n):
            g = row["g", j]
            if algorithm == "function-sharing":
                g = g + sum(row["c", i, j] - row["c", j, i] for i in near[j])
            x[j] = v[j] - alpha * g
    return names, words


def dense_sd(network, algorithm, coalition, threat, rounds, step, *, sigma, persistent, prior, start):
    """The prior projected on the null space of the view, by one singular value decomposition."""
    names, words = everything_said(network, algorithm, rounds, step)
    size = {"x": start, "g": prior, "s": sigma, "own": sigma}
    size["c"] = sigma if algorithm == "function-sharing" else persistent
    scale = np.array([size[name[0]] for name in names])
    rows = [
        word for told in words for pair, word in told.items() if threat != "coalition" or coalition & {*pair}
    ]
    rows = np.array(rows) * scale
    known = [at for at, name in enumerate(names) if _known(name, algorithm, coalition, threat)]
    rows = np.vstack([rows, (np.eye(len(names)) * scale)[known]])
    _, singular, axes = np.linalg.svd(rows)
    seen = axes[: np.count_nonzero(singular > 1e-9 * singular[0])]
    g = [names.index(("g", j)) for j in range(network.n)]
    prior_rows = (np.eye(len(names)) * scale)[g]
    return np.linalg.norm(prior_rows - (prior_rows @ seen.T) @ seen, axis=1)


def _known(name, algorithm, coalition, threat):
    """Members know their own numbers and the pairwise noise on their links; a tap on noise knows all of it."""
    kind, *rest = name
    if kind in ("x", "g", "own"):
        return rest[-1] in coalition
    pair = rest[-2:]
    if algorithm == "rss-lb":
        return pair[0] in coalition  # drawn by the sender alone
    return threat == "states+noise" or bool(coalition & {*pair})


@given(
    data=st.data(),
    # of sums see test_linearised
    algorithm=st.sampled_from(PLAIN),
    threat=st.sampled_from(THREATS),
    rounds=st.integers(1, 4),
    step=st.sampled_from([hk.Constant(0.3), hk.Power(1, 1, 0.75), hk.Power(1, 0, 1)]),
    start=st.sampled_from([0.0, 3.0]),
    persistent=st.sampled_from([0.0, 0.7]),
)
def test_the_recursion_equals_the_dense_projection(data, algorithm, threat, rounds, step, start, persistent):
    network = data.draw(networks(largest=6))
    coalition = data.draw(coalitions(network))
    persistent = persistent if algorithm in DEALT else 0.0
    found = hk.leakage(
        network,
        algorithm,
        rounds=rounds,
        coalition=coalition,
        threat=threat,
        sigma=0.5,
        persistent=persistent,
        prior=2.0,
        start=start,
        step=step,
    )
    expected = dense_sd(
        network,
        algorithm,
        coalition,
        threat,
        rounds,
        step,
        sigma=0.5,
        persistent=persistent,
        prior=2.0,
        start=start,
    )
    expected[list(coalition)] = 0.0
    # Both lose what is below 1e-9 of the largest term; sd of such a combination moves by up to its square root.
    np.testing.assert_allclose(found.sd, expected, atol=1e-6)


@given(
    data=st.data(),
    rounds=st.integers(1, 60),
    sigma=st.floats(0.1, 3.0),
    persistent=st.sampled_from([0.0, 0.4]),
    algorithm=st.sampled_from(DEALT),
)
def test_with_all_messages_received_noise_is_averaged_like_one_over_root_k(
    data, rounds, sigma, persistent, algorithm
):
    network = data.draw(networks())
    coalition = data.draw(coalitions(network))
    found = hk.leakage(
        network,
        algorithm,
        rounds=rounds,
        coalition=coalition,
        threat="states",
        sigma=sigma,
        persistent=persistent,
        prior=1e4,
        start=1e3,
    )
    degree = _honest_degrees(network, coalition)
    expected = np.sqrt(2 * degree * (persistent**2 + sigma**2 / rounds))
    # A flat prior is wanted; that of 1e4 knows a little: relative (sd/1e4)² and less.
    np.testing.assert_allclose(found.sd, expected, rtol=1e-5, atol=1e-6)


@given(data=st.data(), rounds=st.integers(2, 40), sigma=st.floats(0.1, 3.0))
def test_function_sharing_hides_as_much_after_any_number_of_rounds(data, rounds, sigma):
    network = data.draw(networks())
    coalition = data.draw(coalitions(network))
    found = hk.leakage(
        network,
        "function-sharing",
        rounds=rounds,
        coalition=coalition,
        threat="states",
        sigma=sigma,
        prior=1e4,
    )
    expected = sigma * np.sqrt(2 * _honest_degrees(network, coalition))
    np.testing.assert_allclose(found.sd, expected, rtol=1e-5, atol=1e-4)
    parts = networkx.connected_components(network.graph.subgraph(set(range(network.n)) - coalition))
    assert found.subspace.shape[1] == len(list(parts))  # each component's sum, and nothing else


@given(data=st.data(), start=st.sampled_from([0.0, 1.0]))
def test_constant_steps_expose_to_averaging_whom_the_rule_says(data, start):
    network = data.draw(networks())
    coalition = data.draw(coalitions(network, most=2))
    found = hk.leakage(
        network,
        "rss-nb",
        rounds=6 * network.n,
        coalition=coalition,
        step=hk.Constant(0.2),
        start=start,
        prior=10.0,
    )
    near = {i for j in coalition for i in (j, *network.neighbours(j))}
    hidden = [j for j in range(network.n) if j not in near]
    expected = set()
    for j in set(range(network.n)) - coalition:
        row = (np.eye(network.n) - network.B)[j, hidden]
        alike = np.ptp(row) < 1e-12 if len(row) else True
        rule = alike if start == 0 and _hangs_together(network, coalition) else not row.any()
        if rule:
            expected.add(j)
    if start == 0 and not _hangs_together(network, coalition):
        assert expected <= set(found.identifiable)  # several components: each remembers its own sum
    else:
        assert expected == set(found.identifiable)


@given(data=st.data(), rounds=st.integers(1, 5))
def test_rss_lb_hides_nothing_from_all_neighbours_together(data, rounds):
    network = data.draw(networks())
    target = data.draw(st.integers(0, network.n - 1))
    around = set(network.neighbours(target))
    if len(around) > network.n - 2:
        return
    found = hk.leakage(network, "rss-lb", rounds=rounds, coalition=around)
    assert target in found.exact
    assert target in found.identifiable


@given(data=st.data(), amount=st.floats(0.1, 5.0))
def test_moving_gradient_within_a_component_can_be_doubted_and_across_two_cannot(data, amount):
    network = data.draw(networks())
    coalition = data.draw(coalitions(network))
    found = hk.leakage(network, "rss-nb", rounds=10, coalition=coalition, threat="states", sigma=1.0)
    honest = network.graph.subgraph(set(range(network.n)) - coalition)
    givers = sorted(honest)
    i, j = givers[0], givers[1]
    divergence = found.divergence(i, j, amount)
    if not networkx.has_path(honest, i, j):
        assert divergence == np.inf
        return
    # δᵀ (2σ² L / K)⁺ δ / 2, with the effective resistance for δᵀ L⁺ δ.
    L = networkx.laplacian_matrix(honest, nodelist=givers).toarray().astype(float)
    moved = np.zeros(len(givers))
    moved[0], moved[1] = -amount, amount
    expected = 10 * moved @ np.linalg.pinv(L) @ moved / 4
    np.testing.assert_allclose(divergence, expected, rtol=1e-6)


@pytest.mark.parametrize("step", [hk.Constant(0.1), hk.Power(1, 0, 1)])
def test_runs_are_averaged_like_rounds_unless_anchors_are_kept(step):
    network = hk.Network.cycle(5)

    def sd(**how):
        return hk.leakage(
            network, "rss-nb", rounds=20, threat="states", sigma=0.1, persistent=1.0, step=step, **how
        ).sd

    once = sd()
    np.testing.assert_allclose(sd(runs=16), once, rtol=0.01)
    np.testing.assert_allclose(sd(runs=16, kept=False), once / 4, rtol=0.02)


@pytest.mark.parametrize("step", [hk.Constant(0.1), hk.Power(0.01, 20, 0.75)], ids=str)
@pytest.mark.parametrize("prior", [0.3, 100.0])
@pytest.mark.parametrize("runs", [1, 10])
def test_rounding_is_never_mistaken_for_news_however_long_one_listens(step, prior, runs):
    """What was drawn once hides as much after thousands of rounds as after one."""
    network, rounds = hk.Network.cycle(5), 2000 // runs
    plan = {"rounds": rounds, "runs": runs, "threat": "states", "prior": prior, "step": step}
    laplacian = networkx.laplacian_matrix(network.graph).toarray().astype(float)

    def expected(variance):
        known = prior**2 * np.eye(5) + 2 * variance * laplacian
        return np.sqrt((prior**2 * np.eye(5) - prior**4 * np.linalg.inv(known)).diagonal())

    shared = hk.leakage(network, "function-sharing", **plan)
    np.testing.assert_allclose(shared.sd, expected(1.0), rtol=1e-9)
    persistent = hk.leakage(network, "rss-nb", persistent=1.0, **plan)
    # Decaying steps weigh rounds unequally, which moves σ²/K a little.
    np.testing.assert_allclose(persistent.sd, expected(1 + 1 / 2000), rtol=1e-4)


class ScaledByOwnStep(hk.RssNb):
    """RSS-NB whose persistent noise is scaled by α_k and not by α_{k−1}, like the gradient that it should hide."""

    def round(self, agent, state, k):
        w = state + agent.step(k) * (agent.noise("paired") + (k > 1) * agent.noise("persistent"))
        received = yield hk.Broadcast(w)
        return agent.descend(agent.mix(w, received), k)


def test_persistent_noise_scaled_by_its_own_step_is_told_from_the_gradient():
    plan = {"rounds": 100, "threat": "states", "step": hk.Power(1, 0, 1)}
    right, wrong = (
        hk.leakage(hk.Network.cycle(5), kind(1.0, persistent=0.9), **plan)
        for kind in (hk.RssNb, ScaledByOwnStep)
    )
    assert (wrong.sd < right.sd / 2).all()
    assert right.identifiable == ()
    assert wrong.identifiable == (0, 1, 2, 3, 4)


def _honest_degrees(network, coalition):
    return np.array(
        [0 if j in coalition else len(set(network.neighbours(j)) - coalition) for j in range(network.n)],
        float,
    )


def _hangs_together(network, coalition):
    return networkx.is_connected(network.graph.subgraph(set(range(network.n)) - coalition))
