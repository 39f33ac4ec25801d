"""What different runs on the same data leak together: against plain loops and one SVD, and the laws that follow."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy.leakage.leakage import PlannedRun, joint_leakage
from tests.laws.test_leakage_laws import DEALT, PLAIN, THREATS
from tests.units.test_leakage_dense import Sums, added

SAID = PLAIN
"""What says words; of sums see the laws."""
RING = hk.Network.cycle(5)
STAR_OF_FIVE = hk.Network([(0, 2), (2, 4), (1, 4), (1, 3), (0, 3)], n=5)
"""The ring's complement: no link in common."""
GRAPHS = [RING, STAR_OF_FIVE, hk.Network.complete(5), hk.Network.cycle(4)]
STEPS = [hk.Constant(0.3), hk.Power(1, 1, 0.75)]


def dense_joint(runs, members, threat, *, prior, start, n=5):
    """Everything that is said in all runs, term by term; then the prior off the row space of what is known."""
    sums, known, held, dealt = Sums(), [], [], {}
    g = [sums.number(prior, "g", j) for j in range(n)]
    held += [g[j] for j in members]
    for at, run in enumerate(runs):
        said = _one_run(at, run, sums, g, members, threat, start, dealt)
        known += said
    for one in sums.names:
        kind, (name, *_), *rest = one if one[0] != "g" else (one[0], ("",), one[1])
        ends = {rest[-1]} if kind in ("g", "x", "own") else {rest[-2]} if name == "rss-lb" else {*rest[-2:]}
        paired = kind in ("s", "c") and name != "rss-lb"
        if ends & members or (paired and threat == "states+noise"):
            held.append({one: 1.0})
    rows = np.array([sums.row(terms) for terms in [*known, *held]])
    _, size, axes = np.linalg.svd(rows)
    seen = axes[: np.count_nonzero(size > 1e-9 * size[0])]
    before = np.array([sums.row(terms) for terms in g])
    return np.linalg.norm(before - (before @ seen.T) @ seen, axis=1)


def _one_run(at, run, sums, g, members, threat, start, dealt):
    network, name, people, known = run.network, run.algorithm, run.people, []
    n, B, here, sigma = network.n, network.B, (run.algorithm, at), run.sigma
    near = [[i for i in range(n) if i != j and B[j, i] > 0] for j in range(n)]
    x = [sums.number(start, "x", here, people[j]) for j in range(n)]

    def once(i, j):
        """Kept where an earlier run dealt it on the same link, with the same deviation; else of this run."""
        size = sigma if name == "function-sharing" else run.persistent
        what = (name, size, people[i], people[j])
        since = dealt.setdefault(what, at) if run.kept else at
        dealt[what] = since
        return sums.number(size, "c", (name, since, size), people[i], people[j])

    drawn_once = {(i, j): once(i, j) for j in range(n) for i in near[j]}
    for k in range(1, run.rounds + 2):
        alpha, before = run.step(k), run.step(k - 1) if k > 1 else 0.0

        def fresh(i, j, k=k):
            return sums.number(sigma, "s", here, k, people[i], people[j])

        told, own = {}, list(x)
        for j in range(n):
            if name == "rss-lb":
                b = np.array([B[i, j] for i in near[j]])
                for i, weight in zip(near[j], b, strict=True):
                    balance = [
                        (-alpha * weight * o / (b @ b), fresh(j, m)) for m, o in zip(near[j], b, strict=True)
                    ]
                    told[j, i] = added((1.0, x[j]), (alpha, fresh(j, i)), *balance)
                continue
            parts = [(1.0, x[j])]
            if name == "independent":
                parts.append((alpha, sums.number(sigma, "own", here, k, people[j])))
            if name in DEALT and k >= 2:
                scale = alpha if name == "rss-nb" else before
                for i in near[j]:
                    parts += [(scale, fresh(i, j)), (-scale, fresh(j, i))]
                    parts += [(before, drawn_once[i, j]), (-before, drawn_once[j, i])]
            own[j] = added(*parts)
            told |= {(j, i): own[j] for i in near[j]}
        inside = {j for j in range(n) if people[j] in members}
        known += [word for pair, word in told.items() if threat != "coalition" or inside & {*pair}]
        v = [added((B[j, j], own[j]), *((B[j, i], told[i, j]) for i in near[j])) for j in range(n)]
        if k > run.rounds:
            known += {"nothing": [], "mixed": v, "raw": x}[run.release]
            break
        for j in range(n):
            slope = [(1.0, g[people[j]])]
            if name == "function-sharing":
                for i in near[j]:
                    slope += [(1.0, drawn_once[i, j]), (-1.0, drawn_once[j, i])]
            x[j] = added((1.0, v[j]), (-alpha, added(*slope)))
    return known


@st.composite
def planned(draw):
    network, name = draw(st.sampled_from(GRAPHS)), draw(st.sampled_from(SAID))
    return PlannedRun(
        network,
        name,
        rounds=draw(st.integers(1, 3)),
        step=draw(st.sampled_from(STEPS)),
        release=draw(st.sampled_from(["nothing", "mixed"])),
        kept=draw(st.booleans()),
        sigma=draw(st.sampled_from([0.5, 1.5])),
        persistent=draw(st.sampled_from([0.0, 0.7])) if name in DEALT else 0.0,
        agents=draw(st.sampled_from([None, (1, 2, 3, 4)])) if network.n == 4 else None,
    )


@given(
    runs=st.lists(planned(), min_size=1, max_size=3),
    members=st.sets(st.integers(0, 4), min_size=1, max_size=3),
    threat=st.sampled_from(THREATS),
    start=st.sampled_from([0.0, 1.5]),
)
def test_any_sequence_equals_the_dense_projection(runs, members, threat, start):
    there = {agent for run in runs for agent in run.people}
    members &= set(range(max(there) + 1))
    assume(members)
    wanted = dense_joint(runs, members, threat, prior=2.0, start=start)
    if there <= members:
        return
    found = joint_leakage(runs, coalition=members, threat=threat, prior=2.0, start=start)
    honest = sorted(there - members)
    # Both lose what is below 1e-9 of the largest term; sd of such a combination moves by up to its square root.
    np.testing.assert_allclose(found.sd[honest], wanted[honest], atol=1e-5)
    assert {*found.honest} == {*honest}


@given(
    run=planned(),
    times=st.integers(1, 3),
    members=st.sets(st.integers(1, 4), min_size=1, max_size=2),
    threat=st.sampled_from(THREATS),
)
def test_equal_runs_are_what_leakage_counts(run, times, members, threat):
    run = dataclasses.replace(run, network=RING, agents=None)
    one = hk.leakage(
        RING,
        run.algorithm,
        coalition=members,
        threat=threat,
        rounds=run.rounds,
        step=run.step,
        release=run.release,
        sigma=run.sigma,
        persistent=run.persistent,
        runs=times,
        kept=bool(run.kept),
    )
    found = joint_leakage([run] * times, coalition=members, threat=threat)
    np.testing.assert_allclose(found.sd, one.sd, rtol=1e-9, atol=1e-9)  # the same recursion
    assert (found.exact, found.identifiable, found.runs) == (one.exact, one.identifiable, one.runs)


@given(
    runs=st.lists(planned(), min_size=2, max_size=3),
    members=st.sets(st.integers(0, 4), min_size=1, max_size=2),
)
def test_together_runs_hide_no_more_than_the_one_that_hides_least(runs, members):
    runs = [dataclasses.replace(run, network=RING, agents=None) for run in runs]
    together = joint_leakage(runs, coalition=members).sd
    alone = np.min([joint_leakage([run], coalition=members).sd for run in runs], axis=0)
    assert np.all(
        together <= alone * (1 + 1e-6) + 1e-6
    )  # a resolution of 1e-11 of a prior of 100, and its root


@given(
    runs=st.lists(planned(), min_size=2, max_size=3),
    members=st.sets(st.integers(0, 4), min_size=1, max_size=2),
)
def test_the_order_of_runs_does_not_matter(runs, members):
    """Information adds up: anybody who has heard all of it knows the same, in whichever order it came."""
    runs = [dataclasses.replace(run, network=RING, agents=None, kept=True) for run in runs]
    forth, back = (joint_leakage(order, coalition=members).sd for order in (runs, runs[::-1]))
    np.testing.assert_allclose(forth, back, rtol=1e-5, atol=1e-5)


PLAIN = PlannedRun(hk.Network.complete(5), hk.RssNb(0.4), rounds=1000, step=hk.Power(1, 20, 0.75))
PERSISTENT = dataclasses.replace(PLAIN, algorithm=hk.RssNb(4.0, persistent=0.9), rounds=100)


def test_a_plain_run_before_an_anchored_one_decides():
    """Two runs were counted as two of the anchored plan: fifteen times and more of what is true."""
    persistent = PLAIN.network, PERSISTENT.algorithm
    counted = hk.leakage(*persistent, coalition={0}, rounds=100, step=PLAIN.step, runs=2).sd[1]
    plain, both = (joint_leakage(runs, coalition={0}).sd[1] for runs in ([PLAIN], [PLAIN, PERSISTENT]))
    assert counted > 15 * both
    assert both == pytest.approx(plain, rel=0.03)  # a bound over the draws of two runs is 2 % lower


def test_another_graph_deals_new_anchors_and_both_runs_know_more():
    """What was kept on one set of links does not protect on another: 1.6 times."""
    runs = [PlannedRun(graph, "rss-nb", rounds=2000, persistent=1.0) for graph in (RING, STAR_OF_FIVE)]
    first, second, both = (joint_leakage(part, coalition={0}).sd[1:] for part in (runs[:1], runs[1:], runs))
    assert both.max() < min(first.min(), second.min()) / 1.6
    again = joint_leakage([runs[0], runs[0]], coalition={0}).sd[1:]
    assert again.min() > 0.9 * first.min()


def test_members_in_another_order_would_turn_kept_noise_around():
    """Both ends know a link by its lower-numbered one: where that is the other end, it is other noise."""
    run = PlannedRun(RING, "function-sharing", rounds=5)
    turned = dataclasses.replace(run, agents=(4, 3, 2, 1, 0))
    same, other = (joint_leakage([run, two], coalition={2}).sd for two in (run, turned))
    np.testing.assert_allclose(same, joint_leakage([run], coalition={2}).sd)
    assert np.all(other[[0, 1, 3, 4]] < 0.8 * same[[0, 1, 3, 4]])


def test_who_was_not_there_is_not_known():
    """Of an agent that is in one run alone, the other tells nothing; one who is left alone with colluders is known."""
    small = PlannedRun(hk.Network.complete(3), "rss-nb", rounds=5, agents=(0, 1, 2))
    whole = PlannedRun(hk.Network.complete(5), "rss-nb", rounds=5)
    alone = joint_leakage([whole], coalition={0, 1})
    found = joint_leakage([small, whole], coalition={0, 1})
    assert found.exact == (2,)
    assert alone.exact == ()
    assert found.sd[3] > 0


def test_leavers_count_as_colluders():
    run = dataclasses.replace(PLAIN, rounds=20, leavers={2: 5})
    once = hk.leakage(
        PLAIN.network, PLAIN.algorithm, coalition={0}, leavers={2: 5}, rounds=20, step=PLAIN.step
    )
    np.testing.assert_allclose(joint_leakage([run], coalition={0}).sd, once.sd, rtol=1e-9)
    assert joint_leakage([run, PLAIN], coalition={0}).coalition == (0, 2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: joint_leakage([], coalition={0}), "no run was given"),
        (lambda: PlannedRun(RING, "dgd", rounds=0), "rounds = 0"),
        (lambda: PlannedRun(RING, "dgd", rounds=1, agents=(0, 1)), "the network has 5"),
        (lambda: joint_leakage([PLAIN], coalition=range(5)), "all 5 agents"),
        (lambda: joint_leakage([PLAIN], coalition={7}), "agent 7 is unknown"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong, words):
    with pytest.raises(BadInput, match=words):
        wrong()
