"""Certified RSS-NB with noise of each agent's own: what it mixes, how noise is scaled, what may be published."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import Broadcast, Setting
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.parts.parameters import tabulated
from hocket.claims import mechanism
from hocket.errors import BadAlgorithm, NotRecorded
from hocket.federation.workloads.needs import masked_start
from hocket.noise.mechanism import Mechanism
from hocket.problems.sets import Everywhere
from hocket.runs.job import Job
from hocket.runs.theorems import claim

RING = hk.Network.cycle(5)
STEP = hk.Power(1.0, 20, 0.75)
QUADRATICS = hk.polynomials([[0, -j * c, c] for j, c in enumerate((1.0, 0.5, 2.0, 1.5, 0.8))], box=(-50, 50))
NOISY = hk.CertifiedRssNb(sd=3.0, own=0.5)
SHORT = 6


def play(algorithm: hk.Algorithm = NOISY, *, rounds: int = SHORT, **how: Any) -> hk.Run:
    how = {"step": STEP, "start": 1.0, "seed": 3, "keep": "transcript"} | how
    return hk.solve(QUADRATICS, RING, algorithm, rounds=rounds, **how)


class Overheard:
    """Mixes what an agent sends to itself with nothing, and keeps it."""

    own: Any = None

    def mixed_with(self, own: Any) -> Any:
        self.own = own
        return own


@pytest.mark.parametrize("certified", [True, False])
def test_an_agent_mixes_its_own_noisy_message(certified):
    """Never its clean state, of which what it sends next would tell a second time."""
    shares = {"paired": np.array([0.3]), "persistent": np.array([0.2])}
    shares |= {"own": np.array([0.7])} if certified else {}
    agent = Agent(0, lambda k: 0.1 * k, lambda v: 0 * v, Everywhere(), shares)
    algorithm = hk.CertifiedRssNb(1.0, 0.5, persistent=0.5) if certified else hk.RssNb(1.0, persistent=0.5)
    talk = algorithm.round(agent, np.array([2.0]), 4)
    said, received = next(talk), Overheard()
    assert isinstance(said, Broadcast)
    with pytest.raises(StopIteration):
        talk.send(received)
    np.testing.assert_array_equal(received.own, said.message)
    # Scaled by α_{k−1}, as the gradient inside the state is; fresh noise of RSS-NB as printed by α_k.
    fresh = 0.3 * (0.3 + 0.7) if certified else 0.4 * 0.3
    np.testing.assert_allclose(said.message, 2.0 + fresh + 0.3 * 0.2, rtol=1e-15)


def test_messages_hold_noise_of_the_planned_covariance():
    """2σ²L + τ²I, scaled by the step of the gradient that it hides, in every round but the first."""
    run = play(rounds=900)
    noise = (run.transcript.words[0] - run.path[:-1])[..., 0]
    assert not noise[0].any()
    scaled = noise[1:] / STEP.table(1, 899)[:, None]
    laplacian = np.diag(RING.degrees[0]) - (RING.B > 0) + np.eye(5)
    expected = 2 * 3.0**2 * laplacian + 0.5**2 * np.eye(5)
    found = scaled.T @ scaled / len(scaled)
    np.testing.assert_allclose(found, expected, atol=4 * expected.max() * np.sqrt(2 / len(scaled)))


def test_the_sum_of_all_noise_is_own_noise_alone():
    run = play(rounds=200)
    before = STEP.table(1, 199)
    total = (run.transcript.words[0] - run.path[:-1])[1:, :, 0].sum(axis=1) / before
    assert total.std() == pytest.approx(0.5 * np.sqrt(5), rel=0.2)  # 199 numbers: known to 5 %


def test_what_is_published_is_the_mix_of_one_more_message_and_no_gradient():
    run, longer = play(), play(rounds=SHORT + 1)
    word = longer.transcript.words[0][SHORT]
    np.testing.assert_array_equal(run.released.words[0], word)
    np.testing.assert_allclose(run.published, RING.B @ word, atol=1e-14)
    assert abs(run.published - run.x).max() > 0.01


def test_a_view_of_what_was_released_has_one_more_message():
    run, longer = play(), play(rounds=SHORT + 1)
    seen, later = run.view({0}, released=True), longer.view({0})
    assert seen.rounds == later.rounds == SHORT + 1
    for pair, words in later.words[0].items():
        np.testing.assert_array_equal(seen.words[0][pair], words)
    for pair, drawn in later.noise["paired"].items():
        np.testing.assert_array_equal(seen.noise["paired"][pair], drawn)


def test_noise_that_was_handed_in_masks_no_message_after_the_last_round():
    run = play(hk.RssNb(0.0, given=lambda sender, receiver, k: 0.1 * sender))
    with pytest.raises(NotRecorded, match="the exchange after its last round"):
        _ = run.published


def test_no_theorem_of_convergence_is_claimed_for_noise_that_does_not_cancel():
    def claimed(algorithm: hk.Algorithm) -> Any:
        return claim(Job.asked(QUADRATICS, RING, algorithm, step=STEP, rounds=9))

    for algorithm in (NOISY, hk.CertifiedRssNb(3.0)):
        found = claimed(algorithm)
        assert found.theorem is None
        assert "CertifiedRssNb is not one of the algorithms that the paper analyses" in str(found.assumptions)
    assert claimed(hk.RssNb(1.0)).theorem == "Theorem 1"


def test_a_start_that_is_not_public_is_masked_whatever_scales_the_noise():
    shares = {"paired": np.array([0.3]), "own": np.array([0.7])}
    for algorithm in (hk.RssNb(1.0), hk.CertifiedRssNb(1.0), NOISY, hk.CertifiedRssNb(1.0, clip=1.0)):
        masked = masked_start(algorithm)
        assert isinstance(masked, MaskedStart)
        own = getattr(algorithm, "own", 0.0) > 0
        dealt = shares if own else {"paired": shares["paired"]}
        agent = Agent(0, lambda k: 0.1 * k, lambda v: 0 * v, Everywhere(), dealt)
        state = masked.init(agent, np.array([2.0]))
        message = next(masked.round(agent, state, 1)).message
        np.testing.assert_allclose(message, 2.0 + 0.1 * 0.3)
        assert masked.noise(Setting(RING, 1, STEP, 9))["paired"].first == 1


def test_the_mechanism_says_what_certificates_rest_on():
    setting = Setting(RING, 3, STEP, 50)
    found = mechanism(NOISY, setting)
    assert isinstance(found, Mechanism)
    np.testing.assert_array_equal(found.link_sd, np.full((1, 5), 3.0))
    assert (found.on, found.own_sd, found.projects, found.start) == (
        "gradients",
        0.5,
        "before the step",
        "public",
    )
    assert not found.exact
    assert found.persistent_sd is None
    kept = hk.CertifiedRssNb(3.0, persistent=0.6)
    stated, draws = mechanism(kept, setting), kept.noise(setting)
    assert isinstance(stated, Mechanism)
    np.testing.assert_array_equal(stated.link_sd, draws["paired"].sd)
    np.testing.assert_array_equal(stated.persistent_sd, draws["persistent"].sd[0])
    np.testing.assert_allclose([stated.link_sd[0, 0], stated.persistent_sd[0]], [2.4, 1.8])
    for printed in (hk.RssNb(1.0), hk.RssNb(1.0, distribution="gaussian", persistent=0.6)):
        assert f"deals {printed.distribution} noise, of which no certificate is made" in mechanism(
            printed, setting
        )
    assert "brought along" in mechanism(hk.RssNb(0.0, given=lambda *_: 0.0), setting)


def test_a_verdict_on_own_noise_names_it_and_no_attack_that_it_keeps_off():
    run = play()
    words = str(hk.audit(RING, coalition={0}, run=run))
    assert "τ = 0.5 by each agent alone" in words
    assert "Publish run.published, never run.x" in words
    assert "everything but slopes is open" not in words
    alone, none = (
        hk.leakage(RING, algorithm, threat="states+noise", rounds=40, step=STEP).sd
        for algorithm in (NOISY, hk.CertifiedRssNb(3.0))
    )
    # Anybody who knows all pairwise noise has own noise to average over 40 gradients, or none.
    np.testing.assert_allclose(alone, 0.5 / np.sqrt(40), rtol=1e-6)
    np.testing.assert_allclose(none, 0, atol=1e-6)


def test_with_an_active_set_what_was_mixed_is_projected_and_the_answer_is_no_worse():
    """Agents pull far beyond X. Published states are feasible either way, and as near to the optimum."""
    problem = hk.polynomials([[0, 3.4 - 2 * j, 1] for j in range(5)], box=(-0.2, 0.2))
    found = {}
    for algorithm in (hk.RssNb(1.0), hk.CertifiedRssNb(0.1)):
        run = hk.solve(problem, RING, algorithm, step=STEP, rounds=2000, seed=1)
        assert run.published.shape == (5, 1)
        inside = np.clip(run.published, -0.2, 0.2)
        found[type(algorithm)] = max(float(problem.total(x)) for x in inside) - problem.best.value
        if type(algorithm) is hk.CertifiedRssNb:
            np.testing.assert_array_equal(run.published, inside)
    assert 0 <= found[hk.CertifiedRssNb] < 1.2 * found[hk.RssNb] < 0.1


@pytest.mark.parametrize("certified", [True, False])
def test_a_slope_that_moves_leaves_no_trace_in_messages_if_what_was_mixed_is_projected(certified):
    """B0 with X: other slopes, other noise by as much, and every message is the same; under RSS-NB as printed, which
    projects after the step, they are not."""
    agents, rounds, shift = 5, 6, 0.3
    sent = []
    for moved in (0.0, shift):
        rows = [[0, 3.4 - 2 * j + moved * ((j == 1) - (j == 2)), 1] for j in range(agents)]
        problem = hk.polynomials(rows, box=(-0.2, 0.2))
        plain = hk.CertifiedRssNb(1.0) if certified else hk.RssNb(0.0, given=_given(moved))
        algorithm = Handed(plain, _given(moved)) if certified else plain
        run = hk.solve(problem, RING, algorithm, step=STEP, rounds=rounds, start=0.1, keep="transcript")
        sent.append(run.transcript.words[0])
    assert bool(abs(sent[0] - sent[1]).max() < 1e-13) is certified  # float64, six rounds


class Handed(hk.Algorithm):
    """Certified RSS-NB with noise that was handed in."""

    inner: hk.CertifiedRssNb
    given: Any

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        return self.inner.round(agent, state, k)

    def noise(self, setting: Setting) -> Any:
        table = tabulated(self.given, setting, first=2)
        return {"paired": replace(self.inner.noise(setting)["paired"], given=table)}


def _given(moved: float) -> Any:
    """Noise from which the link of agents 1 and 2 gives so much more from 1 to 2, from round 2 on."""

    def draw(sender: int, receiver: int, k: int) -> float:
        plain = np.sin(7.0 * sender + 3.0 * receiver + k)
        return plain + (moved if (sender, receiver) == (2, 1) else 0.0)

    return draw


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"own": -1.0}, "own = -1.0"),
        ({"sd": -1.0}, "sd = -1.0"),
        ({"persistent": 1.5}, "persistent = 1.5"),
        ({"clip": 0.0}, "clip = 0.0"),
        ({"clip": 1.0, "persistent": 0.5}, "with clip= take persistent = 0"),
        ({"grid": 2.0**-20}, "give clip= too"),
        ({"clip": 1.0, "grid": 0.3}, "grid = 0.3"),
    ],
)
def test_what_does_not_go_together_is_refused(wrong, said):
    with pytest.raises(BadAlgorithm, match=said):
        hk.CertifiedRssNb(**{"sd": 1.0} | wrong)
