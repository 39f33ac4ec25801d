"""Texts such as 'harary:k=3,n=7': which network they name, and what a text that names none is told."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.errors import BadConfig, BadNetwork
from hocket.networks import topologies
from hocket.networks.network import Network


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("cycle:5", Network.cycle(5)),
        ("cycle:n=7", Network.cycle(7)),
        ("harary:k=3,n=7", Network.harary(3, 7)),
        ("harary:n=7, k=3", Network.harary(3, 7)),
        ("random-regular:d=4,n=20,seed=2", Network.random_regular(4, 20, seed=2)),
        ("Random_Regular:d=4,n=20", Network.random_regular(4, 20)),
        ("grid:3x4", Network.grid(3, 4)),
        ("grid:rows=3,cols=4", Network.grid(3, 4)),
        ("complete:5", Network.complete(5)),
        ("path:4", Network.path(4)),
        ("star:6", Network.star(6)),
        ("hypercube:3", Network.hypercube(3)),
        ("erdos-renyi:n=20,p=0.3,seed=1", Network.erdos_renyi(20, 0.3, seed=1)),
    ],
)
def test_a_text_names_a_network_and_its_name_names_it_again(text, network):
    for parsed in (topologies.parse(text), topologies.parse(network.name)):
        assert parsed.name == network.name
        np.testing.assert_array_equal(parsed.weight, network.weight)
        np.testing.assert_array_equal(parsed.links, network.links)


def test_a_text_takes_weights():
    assert topologies.parse("cycle:5", weights="metropolis").rho == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", topologies.FORMS)
def test_every_example_in_an_error_message_can_be_parsed(name):
    assert topologies.parse(topologies.FORMS[name][0]).n >= 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cylce:5", r"unknown topology 'cylce' \(did you mean 'cycle'\?\); known are cycle, complete"),
        ("", r"unknown topology ''; known are"),
        ("random-regular:d=4,n=20,sead=1", r"no parameter 'sead' \(did you mean 'seed'\?\)"),
        ("cycle:size=5", r"cycle has no parameter 'size'; an example is cycle:5"),
        ("cycle", r"'cycle' does not say n; an example is cycle:5"),
        ("harary:k=3", r"does not say n; an example is harary:k=3,n=7"),
        ("cycle:five", r"n=five in 'cycle:five' is not a whole number"),
        ("cycle:n=5.5", r"n=5\.5 .* is not a whole number"),
        ("erdos-renyi:n=5,p=often", r"p=often .* is not a number"),
        ("cycle:5,6", r"more values than cycle has parameters"),
        ("cycle:n=5,n=6", r"gives n twice"),
        ("grid:3x4x5", r"more values than grid has parameters; an example is grid:3x4"),
        ("cycle:__import__('os')", r"is not a whole number"),
    ],
)
def test_a_text_that_names_nothing_is_told_what_would(text, says):
    with pytest.raises(BadConfig, match=says):
        topologies.parse(text)


def test_a_text_for_an_impossible_graph_is_told_so():
    with pytest.raises(BadNetwork, match="a cycle needs at least 3 agents, got 2"):
        topologies.parse("cycle:2")
