"""The graphs that Mrini et al. attack: the Florentine families, a Facebook circle of friends, and random ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from hocket.errors import BadProblem
from hocket.learning.data.files import data_folder

FOLDER, EDGES = "facebook", "414.edges"
EDGES_SHA256 = "85342e59b662d902cf31d0067455444d3aa98c3c02e1de6d822d625e3ebf1299"
"""Of the pairs as "650 647" lines, whatever stands between the numbers in the file."""
PUBLISHED = "https://snap.stanford.edu/data/ego-Facebook.html"
ABSENT = (
    f"Facebook ego 414 was left out: there is no {FOLDER}/{EDGES} in the data folder. Name one with --data or "
    f"HOCKET_DATA; the file is part of facebook.tar.gz at {PUBLISHED}."
)

Graph = nx.Graph


def florentine() -> tuple[Graph, tuple[str, ...]]:
    """Marriages among fifteen families (Padgett and Ansell 1993), numbered, and their names."""
    graph = nx.florentine_families_graph()
    return nx.convert_node_labels_to_integers(graph), tuple(graph)


def random_graphs(n: int, degree: int) -> Iterator[tuple[int, Graph]]:
    """Connected Erdős-Rényi graphs with so many links per node on average, and the seeds that they come from."""
    seed = 0
    while True:
        graph = nx.fast_gnp_random_graph(n, degree / n, seed=seed)
        if nx.is_connected(graph):
            yield seed, graph
        seed += 1


def ego(data: Path | None) -> Graph | None:
    """The largest part of Facebook's ego network 414, numbered as its file first names them; None without the file."""
    folder = data_folder(data)
    places = [] if folder is None else [folder / FOLDER / EDGES, folder / EDGES]
    for path in places:
        if path.is_file():
            return _largest_part(path)
    return None


def _largest_part(path: Path) -> Graph:
    lines = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    found = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    if found != EDGES_SHA256:
        raise BadProblem(
            f"{path} is not the published {EDGES}: the SHA-256 of its pairs is {found[:16]}… instead of "
            f"{EDGES_SHA256[:16]}…; fetch it again from {PUBLISHED}"
        )
    named = nx.parse_edgelist(lines)
    whole = nx.relabel_nodes(named, {name: int(name) for name in named})
    return nx.convert_node_labels_to_integers(
        whole.subgraph(max(nx.connected_components(whole), key=len)).copy()
    )
