"""Drawings of graphs: nobody hides another, shapes are what people expect, and pictures repeat."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import pdist

import hocket as hk
from hocket.report.graph_drawing import RADIUS, draw_graph

NETWORKS = [
    hk.Network.single(),
    hk.Network.path(2),
    hk.Network.path(6),
    hk.Network.path(60),
    hk.Network.cycle(5),
    hk.Network.cycle(200),
    hk.Network.complete(30),
    hk.Network.star(60),
    hk.Network.grid(4, 6),
    hk.Network.hypercube(5),
    hk.Network.harary(4, 60),
    hk.Network.random_regular(4, 60),
    hk.Network.erdos_renyi(100, 0.06),
    hk.Network(nx.cycle_graph(["North", "East", "South", "West"])),
]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{network.name}-{network.n}")
def test_nobody_hides_another_and_all_are_on_the_paper(network):
    drawing = draw_graph(network)
    assert (pdist(drawing.points) > 2 * RADIUS).all()
    assert (drawing.points >= RADIUS).all()
    assert (drawing.points <= [drawing.width - RADIUS, drawing.height - RADIUS]).all()
    np.testing.assert_array_equal(drawing.points, draw_graph(network).points)


def test_a_ring_is_a_circle_however_it_is_numbered():
    shuffled = hk.Network([(0, 2), (2, 4), (4, 1), (1, 3), (0, 3)])
    for network in (hk.Network.cycle(5), shuffled, hk.Network.complete(5)):
        points = draw_graph(network).points
        from_centre = np.linalg.norm(points - points.mean(axis=0), axis=1)
        np.testing.assert_allclose(from_centre, from_centre[0], rtol=1e-9)  # a few sums of floats
    points = draw_graph(shuffled).points
    sides = np.linalg.norm(points[shuffled.links[:, 0]] - points[shuffled.links[:, 1]], axis=1)
    np.testing.assert_allclose(sides, sides[0], rtol=1e-9)  # links join those who stand side by side


def test_a_star_has_its_hub_in_the_middle_and_a_short_path_is_straight():
    star = draw_graph(hk.Network.star(9)).points
    np.testing.assert_allclose(star[0], star[1:].mean(axis=0), atol=RADIUS)
    assert np.ptp(draw_graph(hk.Network.path(6)).points[:, 1]) < RADIUS


def test_names_are_written_while_there_is_room():
    few, many = (nx.cycle_graph([f"agent {i}" for i in range(n)]) for n in (6, 60))
    assert draw_graph(hk.Network(few)).named
    assert not draw_graph(hk.Network(many)).named
