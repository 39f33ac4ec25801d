"""σ of noise between neighbours: one number for all links, one for each of `net.links`, or one by a link's two ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from jaxtyping import Float

from hocket.errors import BadAlgorithm
from hocket.networks.network import Network

NUMBERS: tuple[Any, ...] = (int, float, np.number)
Link = tuple[int, int]
Stds = float | Sequence[float] | Mapping[Link, float]
"""What an algorithm takes for σ; links that come and go are counted as `net.links` has them, over all phases."""


def as_stds(given: Any) -> Any:
    """σ as an algorithm keeps it: a number as it is, several as a tuple, by ends as a dictionary, lower end first."""
    if _is_mapping(given):
        return _by_ends(given)
    if not _is_row(given):
        return given
    several = tuple(map(_number, given))
    for link, one in enumerate(several):
        _check(one, f"link {link} of net.links")
    if not several:
        raise BadAlgorithm("sd is an empty list; give one number, or one for each of net.links in order")
    return several


def is_by_link(sd: Any) -> bool:
    """Whether this is σ of each link, as an algorithm keeps it."""
    if _is_mapping(sd):
        return all(_is_tuple(ends) for ends in sd)
    return _is_tuple(sd) and all(isinstance(one, float) for one in sd)


def is_above_zero(sd: Any) -> bool:
    """Whether there is any noise: by link there always is."""
    return is_by_link(sd) or sd > 0


def on_links(sd: Any, network: Network) -> Float[np.ndarray, " links"]:
    """σ of every link of a network, in the order of `net.links`; refused where one has none, or there is none."""
    if _is_table(sd):
        links: dict[Link, None] = dict.fromkeys((i, j) for i, j in network.links.tolist())
        for link in sd:
            if link not in links:
                raise BadAlgorithm(
                    f"sd is given for {_named(link, network)}, which are not linked; leave it out"
                )
        for link in links:
            if link not in sd:
                raise BadAlgorithm(f"sd has no number for the link of {_named(link, network)}; give it one")
        return np.array([sd[link] for link in links])
    if not _is_tuple(sd):
        return np.full(len(network.links), sd)
    if len(sd) != (count := len(network.links)):
        first = f"; the first is that of {_named(tuple(network.links[0].tolist()), network)}" if count else ""
        raise BadAlgorithm(
            f"sd has {len(sd)} numbers for the {count} links of {network.name}; give one for each of net.links, "
            f"in order{first}"
        )
    return np.array(sd)


def values(sd: Any) -> tuple[Any, ...]:
    """All numbers of σ, whichever way it is kept."""
    if _is_table(sd):
        return tuple(sd.values())
    return tuple(one[1] if _is_tuple(one) else one for one in sd) if _is_tuple(sd) else (sd,)


def hashable(sd: Any) -> Any:
    """σ for anybody who keeps or compares it."""
    if _is_table(sd):
        return tuple(sd.items())
    return sd if _is_tuple(sd) else float(sd)


def plain(sd: Any) -> Any:
    """σ for a file: a number, a list, or a table by ends."""
    if _is_table(sd):
        return {f"{i}-{j}": one for (i, j), one in sd.items()}
    return list(sd) if _is_tuple(sd) else sd


def in_words(sd: Any) -> str:
    """σ in a sentence."""
    low, high = min(values(sd)), max(values(sd))
    return f"{low:g}" if low == high else f"{low:g} to {high:g} by link"


def _by_ends(given: Mapping[Any, Any]) -> dict[Link, Any]:
    found: dict[Link, Any] = {}
    for ends, one in given.items():
        i, j = _ends(ends)
        if (i, j) in found:
            raise BadAlgorithm(f"sd is given twice for the link of agents {i} and {j}; give it once")
        found[i, j] = _number(one)
        _check(one, f"the link of agents {i} and {j}")
    if not found:
        raise BadAlgorithm("sd is an empty table; give one number, or one for each link")
    return dict(sorted(found.items()))


def _ends(ends: Any) -> list[int]:
    if _is_tuple(ends) and len(ends) == 2 and all(isinstance(end, int | np.integer) for end in ends):
        return sorted(map(int, ends))
    raise BadAlgorithm(f"sd has {ends!r} for a link; a link is the numbers of two agents, (0, 1)")


def _number(one: Any) -> Any:
    """A plain number; whatever stands for one in compiled code is left alone."""
    return float(one) if isinstance(one, NUMBERS) and not isinstance(one, bool) else one


def _check(one: Any, whose: str) -> None:
    number = _number(one)
    wrong = one is None or isinstance(one, bool | str)
    if wrong or (isinstance(number, float) and not (math.isfinite(number) and number > 0)):
        raise BadAlgorithm(
            f"sd = {one!r} for {whose}; where links have a deviation each, it is finite and above zero: take away a "
            "link that is to have none"
        )


def _named(link: Link, network: Network) -> str:
    if network.labels is None:
        return f"agents {link[0]} and {link[1]}"
    return " and ".join(str(network.labels[end]) for end in link)


def _is_mapping(given: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(given, Mapping)


def _is_row(given: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 1)


def _is_table(sd: Any) -> TypeGuard[dict[Link, Any]]:
    return isinstance(sd, dict)


def _is_tuple(sd: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(sd, tuple)
