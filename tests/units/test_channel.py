"""A lossy channel: what is lost or late, who is inactive, and which algorithms are exact on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Broadcast, Round
from hocket.config import parse_config
from hocket.errors import BadAlgorithm, BadConfig, BadInput, NotRecorded
from hocket.runs.channel import LinkNeeds, OnMissing, link_needs
from hocket.runs.run import Messages
from tests.laws.table import quadratics

RING = hk.Network.cycle(6)
WHEEL = hk.Network.random_directed(6, 0.4, seed=1)
SIX = quadratics(6, 2, 1)
FOUL = hk.Channel(loss=0.3, inactive=0.2, delay=2)
STEP = 0.1


class Listener(hk.Algorithm):
    """Says a number that counts rounds, and keeps what it mixed."""

    takes: OnMissing = eqx.field(static=True, default="own")

    def round(self, agent: hk.Agent, state: Any, k: Any) -> Round:
        word = 0 * state + k
        received = yield Broadcast(word)
        return agent.mix(word, received)


@link_needs.of(Listener)
def _what_it_takes(algorithm: Listener) -> LinkNeeds:
    return LinkNeeds(on_missing=algorithm.takes)


def listened(
    takes: OnMissing, channel: hk.Channel | None, network: hk.Network = RING, rounds: int = 40
) -> np.ndarray:
    """What every agent mixed, by round."""
    how = {"step": 1.0, "rounds": rounds, "keep": "path", "channel": channel}
    free = hk.Problem([lambda x: 0 * x.sum()] * network.n, feasible=hk.Everywhere(), dim=1, optimum=0.0)
    return hk.solve(free, network, Listener(takes), **how).path[1:, :, 0]


@pytest.mark.parametrize(
    "algorithm", [hk.Dgd(), hk.RssNb(1.0), hk.AugDgm(), hk.PushDiging()], ids=lambda a: a.name
)
def test_fair_channel_is_no_channel(algorithm):
    plain, fair = (
        hk.solve(SIX, RING, algorithm, step=STEP, rounds=30, channel=w) for w in (None, hk.Channel())
    )
    np.testing.assert_array_equal(plain.x, fair.x)
    assert plain.claim == fair.claim
    assert "channel" not in fair.settings


def test_the_same_seed_gives_the_same_bits_and_another_one_others():
    def play(seed: int, channel: hk.Channel = FOUL) -> np.ndarray:
        return hk.solve(SIX, WHEEL, hk.PushDiging(), step=0.05, rounds=40, seed=seed, channel=channel).x

    np.testing.assert_array_equal(play(1), play(1))
    assert (play(1) != play(2)).any()
    own = hk.Channel(loss=0.3, seed=5)
    np.testing.assert_array_equal(play(1, own), play(2, own))


def test_a_run_of_a_sweep_has_the_channel_of_its_seed():
    many = hk.sweep(SIX, WHEEL, hk.PushDiging(), step=0.05, rounds=40, seeds=[3, 4], channel=FOUL)
    one = hk.solve(SIX, WHEEL, hk.PushDiging(), step=0.05, rounds=40, seed=4, channel=FOUL)
    np.testing.assert_allclose(many.x[1], one.x, rtol=0, atol=1e-12)
    assert Messages(*(int(part[1]) for part in many.messages)) == one.messages


def test_a_run_is_taken_up_with_its_words_on_their_way(tmp_path):
    how: Any = {"step": 0.05, "channel": FOUL}
    hk.solve(SIX, WHEEL, hk.PushDiging(), rounds=23, checkpoint=tmp_path, **how)
    resumed = hk.solve(SIX, WHEEL, hk.PushDiging(), rounds=50, checkpoint=tmp_path, **how)
    whole = hk.solve(SIX, WHEEL, hk.PushDiging(), rounds=50, **how)
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert resumed.messages == whole.messages
    with pytest.raises(BadInput, match="belongs to another run"):
        hk.solve(SIX, WHEEL, hk.PushDiging(), rounds=50, checkpoint=tmp_path, step=0.05)


def test_losses_are_as_many_as_asked_and_come_in_runs():
    """The mix of a lost neighbour's weight and one's own word is k itself, no matter who is lost: look at late
    words."""
    rounds = 4000
    for channel, run_length in ((hk.Channel(loss=0.25), 1 / 0.75), (hk.Channel(loss=0.25, burst=6), 6.0)):
        run = hk.solve(SIX, hk.Network.path(6), hk.Dgd(), rounds=rounds, step=STEP, channel=channel)
        share = run.messages.lost / run.messages.sent
        # Ten directed links; runs make neighbouring rounds depend on each other: six deviations.
        assert abs(share - 0.25) < 6 * np.sqrt(0.25 * 0.75 * (2 * run_length - 1) / (10 * rounds))
    lost = listened("last", hk.Channel(loss=0.25, burst=6), hk.Network.path(2), rounds)
    age = 2 * (np.arange(1, rounds + 1)[:, None] - lost) * 1.5  # paper weights give a neighbour 1/3
    down = age[5:] > 0.5
    ends = (down[:-1] & ~down[1:]).sum()
    assert down.sum() / ends == pytest.approx(6, rel=0.15)


def test_nobody_hears_what_is_late_before_it_arrives():
    """Words count rounds: what is mixed is at most `delay` behind, and everything in between occurs."""
    late = np.arange(1, 401)[:, None] - listened("own", hk.Channel(delay=3), hk.Network.path(2), 400)
    behind = np.unique(np.round(late * 3).astype(int))  # paper weights give the neighbour 1/3
    np.testing.assert_array_equal(behind, [0, 1, 2, 3])


def test_a_word_that_does_not_come_leaves_its_weight_to_one_s_own():
    """Row sums stay one: where all say the same, all hear the same, whatever is lost."""
    mixed = listened("own", hk.Channel(loss=0.4))
    np.testing.assert_allclose(mixed, np.broadcast_to(np.arange(1, 41)[:, None], mixed.shape), rtol=1e-12)


def test_the_last_word_stands_for_one_that_does_not_come():
    k = np.arange(1, 41)[:, None]
    mixed = listened("last", hk.Channel(loss=0.4))
    assert (mixed <= k + 1e-9).all()
    assert (mixed < k - 0.1).any()
    everywhere = listened("last", hk.Channel(inactive=0.5))[-1]
    assert (everywhere > 20).all()


def test_what_was_missed_comes_with_the_next_word():
    """Sums of all that was mixed fall behind by what is on its way, and by no more."""
    channel = hk.Channel(loss=0.4, delay=2)
    all_received, received = (listened("later", w, rounds=200).sum(axis=1).cumsum() for w in (None, channel))
    behind = all_received - received
    assert (behind >= -1e-6).all()
    assert behind.max() < 0.1 * all_received[-1]


def test_sleepers_stand_still_and_say_nothing():
    run = hk.solve(SIX, RING, hk.Dgd(), step=STEP, rounds=50, channel=hk.Channel(inactive=0.3), keep="path")
    still = (run.path[1:] == run.path[:-1]).all(axis=2)
    assert abs(still.mean() - 0.3) < 6 * np.sqrt(0.3 * 0.7 / still.size)
    sent, received, lost = run.messages
    assert sent == received + lost
    assert sent == 2 * (~still).sum()


def test_messages_are_counted():
    assert hk.solve(SIX, RING, hk.Dgd(), rounds=7).messages == (84, 84, 0)
    assert hk.solve(SIX, RING, hk.AugDgm(), rounds=7).messages == (168, 168, 0)
    assert hk.solve(SIX, RING, hk.JointAverage(), rounds=7).messages == (0, 0, 0)
    turns = hk.Network.varying([hk.Network.cycle(6), hk.Network.path(6)])
    assert hk.solve(SIX, turns, hk.Dgd(), rounds=3).messages == (34, 34, 0)
    sent, received, lost = hk.solve(SIX, RING, hk.AugDgm(), rounds=100, channel=FOUL, step=STEP).messages
    assert 0 <= sent - received - lost <= 2 * 2 * 12  # those of the last two rounds may be on their way
    assert sent < 2400


def test_a_stored_run_keeps_its_channel_and_its_messages(tmp_path):
    run = hk.solve(SIX, WHEEL, hk.PushSum(), rounds=20, channel=FOUL)
    again = hk.Run.load(run.save(tmp_path))
    assert again.messages == run.messages
    assert again.settings["channel"] == FOUL.described()
    assert again.remarks == run.remarks


@pytest.mark.parametrize(
    "channel",
    [
        hk.Channel(loss=0.1),
        hk.Channel(loss=0.3),
        hk.Channel(loss=0.2, burst=6),
        hk.Channel(loss=0.2, inactive=0.2, delay=2),
    ],
    ids=str,
)
def test_push_diging_is_exact_on_any_channel(channel):
    run = hk.solve(SIX, WHEEL, hk.PushDiging(), rounds=3000, channel=channel, tolerance=1e-10)
    assert run.outcome.ending.value == "converged"
    assert "exact on this channel" in run.remarks[0]
    assert "rule of thumb on a lossy channel" in str(run.step)


@pytest.mark.parametrize("channel", [hk.Channel(loss=0.3), FOUL], ids=str)
def test_subgradient_push_converges_on_a_lossy_channel(channel):
    how: Any = {"step": hk.Power(0.5, 10, 0.75), "channel": channel}
    early, late = (hk.solve(SIX, WHEEL, hk.PushSum(), rounds=rounds, **how).gap for rounds in (100, 10_000))
    assert late < 1e-3
    assert late < early / 50


def test_tracking_is_exact_where_links_fail_both_ways_and_not_where_words_are_lost_one_way():
    how: Any = {"step": 0.05, "rounds": 3000}
    algorithm = hk.GradientTracking()
    both = hk.solve(SIX, RING, algorithm, channel=hk.Channel(loss=0.2, inactive=0.1, both_ways=True), **how)
    assert both.gap < 1e-10
    assert "doubly stochastic" in both.remarks[0]
    one = hk.solve(SIX, RING, algorithm, channel=hk.Channel(loss=0.2), **how)
    assert one.gap > 1e-4
    assert one.remarks[0].startswith(
        "not exact on this channel (20% of messages lost): messages are lost one way"
    )
    push = hk.solve(SIX, RING, hk.PushDiging(), channel=hk.Channel(loss=0.2), **how)
    assert push.gap < 1e-10


@pytest.mark.parametrize("algorithm", [hk.Dgd(), hk.AugDgm(), hk.PushDiging()], ids=lambda a: a.name)
def test_no_theorem_is_claimed_on_a_lossy_channel(algorithm):
    run = hk.solve(SIX, RING, algorithm, rounds=3, channel=hk.Channel(loss=0.1, both_ways=True))
    assert run.theorem is None
    assert "theorems are about given weights" in run.claim.statement
    assert "proved" not in str(run.step) or "rule of thumb on a lossy channel" in str(run.step)


def test_what_nobody_has_shown_is_said_so():
    run = hk.solve(SIX, RING, hk.Extra(), rounds=3, channel=hk.Channel(inactive=0.1))
    assert run.remarks[0].startswith("not known to be exact on this channel (10% of agents inactive)")


def test_a_hidden_objective_is_sought_in_the_channel_of_its_inner_algorithm():
    hidden = hk.FunctionSharing(2, 0.1, inner=hk.PushDiging())
    run = hk.solve(SIX, RING, hidden, rounds=3000, step=0.05, channel=hk.Channel(loss=0.2))
    assert run.gap < 1e-9
    assert "exact on this channel" in " ".join(run.remarks)


def test_nobody_looks_at_words_that_may_not_have_arrived():
    run = hk.solve(SIX, RING, hk.Dgd(), rounds=5, channel=FOUL, keep="transcript")
    with pytest.raises(NotRecorded, match=r"played on a lossy channel.*without channel="):
        run.view({0})
    with pytest.raises(NotRecorded, match="played on a lossy channel"):
        hk.audit(RING, coalition={0}, run=run)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: hk.Channel(loss=1.0), r"loss = 1.0; .* from 0 to below 1"),
        (lambda: hk.Channel(inactive=-0.1), r"inactive = -0.1"),
        (lambda: hk.Channel(loss=float("nan")), r"loss = nan"),
        (lambda: hk.Channel(delay=1.5), r"delay = 1.5; .* 0 to 64"),
        (lambda: hk.Channel(delay=100), r"delay = 100"),
        (lambda: hk.Channel(burst=3), r"burst .* there are none"),
        (lambda: hk.Channel(loss=0.8, burst=2), r"burst = 2; .* for 4 rounds at least"),
        (lambda: hk.Channel(loss=0.1, seed=-1), r"seed = -1"),
        (lambda: hk.solve(SIX, RING, hk.Dgd(), rounds=2, channel=0.1), r"channel = 0.1; give hk.Channel"),
        (
            lambda: hk.solve(SIX, RING, hk.Dgd(), rounds=2, channel=FOUL, engine="exact"),
            r"exact engine carries every message",
        ),
    ],
)
def test_bad_channel_is_told_what_is_wrong(build, says):
    with pytest.raises(BadInput, match=says):
        build()


@pytest.mark.parametrize(
    ("algorithm", "says"),
    [
        (hk.RssLb(1.0), "RSS-LB cannot be played on a lossy channel: noise is balanced"),
        (hk.JointAverage(), "Joint average cannot be played on a lossy channel: a secure sum is over all"),
        (hk.Safeguard(), "Safeguard cannot be played on a lossy channel: all agents begin anew"),
        (hk.Centralised(), "cannot be played on a lossy channel: a single agent has no links"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_who_cannot_be_played_on_a_lossy_channel_says_why(algorithm, says):
    with pytest.raises(BadAlgorithm, match=says):
        hk.solve(SIX, RING, algorithm, rounds=2, channel=FOUL)


TABLES = {
    "problem": {
        "kind": "polynomials",
        "coefficients": [[0, -2 * c, 1] for c in range(4)],
        "feasible": {"kind": "box", "low": -9, "high": 9},
    },
    "network": {"edges": [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], "directed": True},
    "algorithm": {"name": "push-diging"},
    "run": {"rounds": 20},
}


def test_directed_links_and_channel_are_asked_for_in_a_file():
    config = parse_config(TABLES | {"channel": {"loss": 0.2, "delay": 1, "seed": 3}}, base=Path())
    asked = config.build()
    assert asked["network"].directed
    assert asked["channel"] == hk.Channel(loss=0.2, delay=1, seed=3)
    assert parse_config(config.tables(), base=Path()) == config
    assert "channel" not in parse_config(TABLES, base=Path()).tables()
    with pytest.raises(BadConfig, match=r"\[channel\] channel: loss = 2.0"):
        parse_config(TABLES | {"channel": {"loss": 2.0}}, base=Path()).build()
    with pytest.raises(BadConfig, match=r"\[channel\] has no key 'rain'"):
        parse_config(TABLES | {"channel": {"rain": 2.0}}, base=Path())
