"""The published counts of Mrini et al.: theirs, ours, exactly, and what hocket's algorithms leave."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket.cli import main
from hocket.errors import BadProblem
from reproductions.reconstruction.counts import Gossip, descended, reconstructed, reconstructible
from reproductions.reconstruction.graphs import ABSENT, ego, florentine, random_graphs
from reproductions.reconstruction.reference import DESCENT, EGO, ERDOS_RENYI, GOSSIP
from reproductions.reconstruction.runs import random_rounds


@pytest.mark.parametrize("rounds", GOSSIP)
def test_the_florentine_families_are_counted_as_published(rounds):
    graph, names = florentine()
    gossip, values = Gossip.metropolis(graph), np.arange(15) % 2.0
    assert names[1] == "Medici"
    ours = [reconstructed(gossip, [family], rounds=rounds, values=values) for family in graph]
    assert tuple(len(known or ()) for known in ours) == GOSSIP[rounds]
    assert ours == [reconstructible(gossip, [family], rounds=rounds) for family in graph]
    weights = Gossip.laplacian(graph)
    assert tuple(len(descended(weights, [family], rounds=rounds)) for family in graph) == DESCENT[rounds]


def test_a_seeded_random_graph_is_counted_as_their_code_does():
    degree, attackers, n = 4, 2, 20
    rounds, found = random_rounds(degree, attackers, n), []
    for seed, graph in islice(random_graphs(n, degree), 20):
        values = np.random.RandomState(seed).randint(2, size=n).astype(float)
        known = reconstructed(Gossip.metropolis(graph), range(attackers), rounds=rounds, values=values)
        assert known is not None
        found.append(len(known))
        assert known == reconstructible(Gossip.metropolis(graph), range(attackers), rounds=rounds)
    assert tuple(found) == ERDOS_RENYI[degree, attackers, n]


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 8), st.integers(0, 1000), st.integers(1, 6))
def test_counting_modulo_a_prime_is_counting_in_fractions(n, seed, rounds):
    graph = nx.connected_watts_strogatz_graph(n, 2, 0.4, seed=seed)
    gossip = Gossip.metropolis(graph)
    assert reconstructible(gossip, [0], rounds=rounds) == _in_fractions(gossip, rounds)


def _in_fractions(gossip: Gossip, rounds: int) -> tuple[int, ...]:
    n = len(gossip.received)
    weights = [[Fraction(1, int(d)) if d else Fraction(0) for d in row] for row in gossip.parts]
    for node in range(n):
        weights[node][node] = 1 - sum(weights[node])
    said = [[Fraction(int(i == j)) for j in range(n)] for i in gossip.listened([0])]
    rows = list(said)
    for _ in range(1, rounds):
        said = [[sum(row[m] * weights[m][j] for m in range(n)) for j in range(n)] for row in said]
        rows += said
    place = 0
    for column in range(n):
        pivot = next((i for i in range(place, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [number / rows[place][column] for number in rows[place]]
        for i in range(len(rows)):
            if i != place and rows[i][column]:
                rows[i] = [a - rows[i][column] * b for a, b in zip(rows[i], rows[place], strict=True)]
        place += 1
    return tuple(sorted(row.index(1) for row in rows if sum(map(bool, row)) == 1))


def test_the_auditor_finds_of_dgd_what_gossip_gives_away():
    """Values at the start or gradients that stay the same: the row spaces of what is heard agree by rank."""
    graph, _ = florentine()
    network, gossip = hk.Network(graph, weights="metropolis"), Gossip.metropolis(graph)
    for family in (0, 2, 8):
        known = descended(gossip, [family], rounds=5)
        assert hk.leakage(network, "dgd", rounds=5, coalition={family}).exact == known
        assert {*known, family} == {*reconstructible(gossip, [family], rounds=5)}
        assert not hk.leakage(network, "rss-nb", rounds=5, coalition={2}).exact


def test_without_its_file_the_ego_network_is_left_out_and_said_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOCKET_DATA", raising=False)
    assert main(["reproduce", "reconstruction", "--quick", "--json", "--out", "here"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ego_414"]
    assert all(one["equal"] == len(one["ours"]) for one in answer["counts"])
    dgd, rss = (
        sum(one["exact"] for one in answer["left"] if one["algorithm"] == name) for name in ("DGD", "RSS-NB")
    )
    assert dgd > 20 * rss
    assert "HOCKET_DATA" in ABSENT
    assert ABSENT.split(";")[0] in (tmp_path / "here" / "report.html").read_text(encoding="utf-8")


def test_another_file_than_the_published_one_is_refused(tmp_path):
    (tmp_path / "facebook").mkdir()
    (tmp_path / "facebook" / "414.edges").write_text("1 2\n")
    with pytest.raises(BadProblem, match="is not the published"):
        ego(tmp_path)
    assert len(EGO) == 148
