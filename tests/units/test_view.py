"""A coalition's view is exactly what its members could pool: all of it, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, NotRecorded
from tests.units.engine_cases import LONELY, PHASES, SIX, play

ROUNDS = 12


@pytest.fixture(scope="module")
def said() -> hk.Run:
    return play(hk.RssNb(1.0, persistent=0.5), rounds=ROUNDS, keep="transcript")


@pytest.fixture(scope="module")
def told() -> hk.Run:
    return play(hk.RssLb(1.0), rounds=ROUNDS, keep="transcript")


def directed(coalition: set[int], network: hk.Network) -> set[tuple[int, int]]:
    """Both directions of every link that touches the coalition."""
    links = [(i, j) for i, j in network.links.tolist() if {i, j} & coalition]
    return {*links, *((j, i) for i, j in links)}


@pytest.mark.parametrize("coalition", [{0}, {1, 4}, {0, 1, 2, 3, 4, 5}], ids=str)
def test_links_of_members_are_seen_and_no_others(said, coalition):
    view = said.view(coalition)
    assert view.coalition == coalition
    assert view.honest == tuple(sorted(set(range(6)) - coalition))
    assert view.network is said.network
    assert view.rounds == ROUNDS
    assert view.words[0].keys() == directed(coalition, SIX)
    assert view.noise.keys() == {"paired", "persistent"}
    for kind in view.noise.values():
        assert kind.keys() == directed(coalition, SIX)
    assert view.states.keys() == coalition


def test_words_and_draws_are_those_of_the_run(said):
    view = said.view({1, 4})
    links = said.network.links.tolist()
    for (sender, receiver), words in view.words[0].items():
        np.testing.assert_array_equal(words, said.transcript.words[0][:, sender])
        link, direction = links.index(sorted((sender, receiver))), int(sender > receiver)
        for kind, rows in (("paired", ROUNDS), ("persistent", 1)):
            table = said.transcript.noise[kind]
            assert table.shape == (rows, len(links), 2, 2)
            np.testing.assert_array_equal(view.noise[kind][sender, receiver], table[:, link, direction])
    np.testing.assert_array_equal(view.states[4], said.path[:, 4])


def test_each_neighbour_sees_its_own_word(told):
    view = told.view({2})
    assert not view.noise  # what an agent draws for itself no neighbour knows
    for i in SIX.neighbours(2):
        own, theirs = view.words[0][2, i], view.words[0][i, 2]
        np.testing.assert_array_equal(own, told.transcript.words[0][:, 2, SIX.neighbours(2).index(i)])
        np.testing.assert_array_equal(theirs, told.transcript.words[0][:, i, SIX.neighbours(i).index(2)])
    assert not np.array_equal(view.words[0][2, 1], view.words[0][2, 3])


def test_members_can_repeat_their_own_rounds(said):
    """Words heard, own objective and own noise are enough to compute a member's next state: nothing is missing."""
    view, step, B = said.view({1}), said.step, SIX.B
    for k in range(1, ROUNDS + 1):
        own = view.words[0][1, 0][k - 1]
        v = B[1, 1] * own + sum(B[1, i] * view.words[0][i, 1][k - 1] for i in SIX.neighbours(1))
        following = np.clip(v - step(k) * view.objectives(1, v), -5, 5)
        np.testing.assert_allclose(following, view.states[1][k], rtol=0, atol=1e-13)


def test_objectives_of_others_are_not_seen(said):
    with pytest.raises(BadInput, match=r"agent 2 is not in the coalition \[1, 4\]"):
        said.view({1, 4}).objectives(2, np.zeros(2))


@pytest.mark.parametrize(
    ("algorithm", "network"),
    [(hk.RssNb(1.0), PHASES), (hk.RssLb(1.0, unprotected=True), LONELY)],
    ids=["rss-nb", "rss-lb"],
)
def test_nothing_is_heard_while_a_link_is_silent(algorithm, network):
    view = play(algorithm, network=network, rounds=ROUNDS, keep="transcript").view({0})
    assert view.words[0].keys() == directed({0}, network)
    for (sender, receiver), words in view.words[0].items():
        link = network.links.tolist().index(sorted((sender, receiver)))
        active = network.active[np.arange(ROUNDS) % network.period, link]
        assert np.isnan(words[~active]).all()
        assert np.isfinite(words[active]).all()
        if "paired" in view.noise:
            assert not view.noise["paired"][sender, receiver][~active].any()


@pytest.mark.parametrize(
    ("coalition", "says"),
    [
        ({6}, "agent 6 is unknown: this network has agents 0 to 5"),
        ({-1}, "agent -1"),
        (set(), "empty coalition"),
    ],
)
def test_a_coalition_is_made_of_known_agents(said, coalition, says):
    with pytest.raises(BadInput, match=says):
        said.view(coalition)


@pytest.mark.parametrize("keep", ["metrics", "path"])
def test_a_view_needs_a_transcript(keep):
    with pytest.raises(NotRecorded, match="keep='transcript'"):
        play(hk.Dgd(), keep=keep).view({1})


def test_a_server_that_holds_everything_hears_nothing():
    view = play(hk.Centralised(), rounds=ROUNDS, keep="transcript").view({0})
    assert view.words == ()
    assert view.states[0].shape == (ROUNDS + 1, 2)


def test_noise_functions_are_known_to_both_ends_of_a_link():
    run = play(hk.FunctionSharing(2, 0.1), rounds=ROUNDS, keep="transcript")
    view = run.view({3})
    assert view.noise["function"][3, 4].shape == (1, 6)
    link = SIX.links.tolist().index([3, 4])
    np.testing.assert_array_equal(view.noise["function"][4, 3], run.transcript.noise["function"][:, link, 1])


def test_a_wiretap_hears_every_link_but_knows_the_members_noise_alone(said):
    view = said.view({1}, threat="states")
    assert set(view.words[0]) == {pair for i, j in SIX.links.tolist() for pair in [(i, j), (j, i)]}
    assert all(1 in pair for pair in view.noise["paired"])


def test_a_wiretap_on_noise_needs_no_member(said):
    view = said.view(threat="states+noise")
    assert view.states == {}
    assert set(view.noise["paired"]) == set(view.words[0])


def test_an_unknown_threat_names_the_known_ones(said):
    with pytest.raises(hk.HocketError, match=r"'everything'; choose one of coalition, states, states\+noise"):
        said.view({1}, threat="everything")
