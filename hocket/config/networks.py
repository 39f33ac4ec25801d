"""The section [network]: who talks to whom, and with which weights."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from hocket.config.files import found
from hocket.config.section import Section
from hocket.errors import BadConfig
from hocket.networks.network import Network
from hocket.networks.topologies import parse


class NetworkSection(Section):
    """A named topology, links, or a file of links."""

    topology: str | None = Field(None, description="text such as 'cycle:5', 'grid:3x4' or 'harary:k=3,n=7'")
    edges: list[list[int]] | None = Field(None, description="a list of links, [[0, 1], [1, 2]]")
    edges_file: str | None = Field(None, description="the name of a text file with one link per line, '0 1'")
    n: int | None = Field(None, description="how many agents the links are for, a whole number")
    weights: Literal["paper", "metropolis", "fastest"] | list[list[float]] = Field(
        "paper", description="'paper', 'metropolis', 'fastest' or a matrix as a list of rows"
    )

    def build(self, base: Path) -> Network:
        """The network itself; file names are relative to `base`."""
        given = [key for key in ("topology", "edges", "edges_file") if getattr(self, key) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "none of them"
            raise BadConfig(f"[network] needs one of topology, edges and edges_file, and has {what}")
        if self.topology is not None:
            if self.n is not None:
                raise BadConfig(
                    "[network] n is for edges and edges_file; a topology says itself how many agents it has"
                )
            return parse(self.topology, weights=self.weights)
        if self.edges is not None:
            return Network.from_edges(self.edges, self.n, weights=self.weights)  # type: ignore[arg-type]
        path = found(base, str(self.edges_file), "[network] edges_file")
        return Network.from_edges(read_links(path), self.n, weights=self.weights, name=path.stem)


def read_links(path: Path) -> list[tuple[int, int]]:
    """Links from a text file: two agent numbers a line, apart by blanks or a comma; `#` begins a comment."""
    links = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isdecimal() for word in words):
            raise BadConfig(
                f"{path}, line {number}: {line.strip()!r} is no link; write two agent numbers, '0 1'"
            )
        links.append((int(words[0]), int(words[1])))
    return links
