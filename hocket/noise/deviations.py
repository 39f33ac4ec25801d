"""σ of noise between neighbours: one number for all links, one for each of `net.links`, or one by a link's two ends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.errors import BadAlgorithm
from hocket.networks.network import Network

Deviations = float | Sequence[float] | Mapping[tuple[int, int], float]
"""What an algorithm takes for σ; links that come and go are counted as `net.links` has them, over all phases."""


def as_deviations(given: Any) -> Any:
    """σ as an algorithm keeps it: a number as it is, several as a tuple, by ends as a dictionary, lower end first."""
    if isinstance(given, Mapping):
        return _by_ends(given)
    if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 1):
        several = tuple(map(_number, given))
        for link, one in enumerate(several):
            _check(one, f"link {link} of net.links")
        if not several:
            raise BadAlgorithm("sd is an empty list; give one number, or one for each of net.links in order")
        return several
    return given


def is_by_link(sd: Any) -> bool:
    """Whether this is σ of each link, as an algorithm keeps it."""
    if isinstance(sd, dict):
        return all(isinstance(ends, tuple) for ends in sd)
    return isinstance(sd, tuple) and all(isinstance(one, float) for one in sd)


def on_links(sd: Any, network: Network) -> Float[np.ndarray, " links"]:
    """σ of every link of a network, in the order of `net.links`; refused where one has none, or there is none."""
    links: list[tuple[int, int]] = [(i, j) for i, j in network.links.tolist()]
    if isinstance(sd, dict):
        missing = [link for link in links if link not in sd]
        unknown = [link for link in sd if link not in links]
        if unknown:
            raise BadAlgorithm(
                f"sd is given for {_named(unknown[0], network)}, which are not linked; leave it out"
            )
        if missing:
            raise BadAlgorithm(f"sd has no number for the link of {_named(missing[0], network)}; give it one")
        return np.array([sd[link] for link in links])
    if isinstance(sd, tuple) and len(sd) != len(links):
        first = f"; the first is that of {_named(links[0], network)}" if links else ""
        raise BadAlgorithm(
            f"sd has {len(sd)} numbers for the {len(links)} links of {network.name}; give one for each of net.links, "
            f"in order{first}"
        )
    return np.array(sd) if isinstance(sd, tuple) else np.full(len(links), sd)


def values(sd: Any) -> tuple[Any, ...]:
    """All numbers of σ, whichever way it is kept."""
    if isinstance(sd, dict):
        return tuple(sd.values())
    if not isinstance(sd, tuple):
        return (sd,)
    return tuple(one[1] if isinstance(one, tuple) else one for one in sd)


def hashable(sd: Any) -> Any:
    """σ for whoever keeps or compares it."""
    return tuple(sd.items()) if isinstance(sd, dict) else sd if isinstance(sd, tuple) else float(sd)


def plain(sd: Any) -> Any:
    """σ for a file: a number, a list, or a table by ends."""
    if isinstance(sd, dict):
        return {f"{i}-{j}": one for (i, j), one in sd.items()}
    return list(sd) if isinstance(sd, tuple) else sd


def in_words(sd: Any) -> str:
    """σ in a sentence."""
    low, high = min(values(sd)), max(values(sd))
    return f"{low:g}" if low == high else f"{low:g} to {high:g} by link"


def _by_ends(given: Mapping[Any, Any]) -> dict[tuple[int, int], Any]:
    found: dict[tuple[int, int], Any] = {}
    for ends, one in given.items():
        i, j = _ends(ends)
        if (i, j) in found:
            raise BadAlgorithm(f"sd is given twice for the link of agents {i} and {j}; give it once")
        found[i, j] = _number(one)
        _check(one, f"the link of agents {i} and {j}")
    if not found:
        raise BadAlgorithm("sd is an empty table; give one number, or one for each link")
    return dict(sorted(found.items()))


def _ends(ends: Any) -> Iterator[int]:
    if isinstance(ends, tuple) and len(ends) == 2 and all(isinstance(end, int | np.integer) for end in ends):
        return iter(sorted(map(int, ends)))
    raise BadAlgorithm(f"sd has {ends!r} for a link; a link is the numbers of two agents, (0, 1)")


def _number(one: Any) -> Any:
    """A plain number; whatever stands for one in compiled code is left alone."""
    return float(one) if isinstance(one, int | float | np.number) and not isinstance(one, bool) else one


def _check(one: Any, whose: str) -> None:
    known = isinstance(one, bool | str | int | float | np.number) or one is None
    if known and not (isinstance(_number(one), float) and math.isfinite(one) and one > 0):
        raise BadAlgorithm(
            f"sd = {one!r} for {whose}; where links have a deviation each, it is finite and above zero: take away a "
            "link that is to have none"
        )


def _named(link: tuple[int, int], network: Network) -> str:
    if network.labels is None:
        return f"agents {link[0]} and {link[1]}"
    return " and ".join(str(network.labels[end]) for end in link)
