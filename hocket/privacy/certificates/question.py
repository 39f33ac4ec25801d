"""What a certificate is asked to protect and against whom, from the words of whoever asks, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.protected import Protected, Record, Shift, Transfer, as_move, as_shift
from hocket.privacy.certificates.source import Source, whole
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.runs.view import check_coalition


def protected_of(
    network: Network,
    source: Source,
    move: Any,
    shift: Any,
    transfer: float | None,
    sensitivity: float | None,
    records: int | Mapping[int, int],
) -> Protected:
    given = {"move": move, "shift": shift, "transfer": transfer, "sensitivity": sensitivity}
    named_ones = [name for name, value in given.items() if value is not None]
    if (
        not named_ones
        and isinstance(source.mechanism, Mechanism)
        and source.mechanism.sensitivity is not None
    ):
        sensitivity, named_ones = source.mechanism.sensitivity, ["sensitivity"]
    if len(named_ones) != 1:
        raise BadInput(
            f"a certificate hides one kind of change, and {' and '.join(named_ones) or 'none'} was named; give one of "
            "move=(i, j, c), shift={agent: c}, transfer=norm and sensitivity=S"
        )
    if move is not None:
        return as_move(network.n, move)
    if shift is not None:
        return as_shift(network.n, shift)
    if transfer is not None:
        return Transfer(_size("transfer", transfer))
    assert sensitivity is not None
    return Record(_size("sensitivity", sensitivity), _held(records, network.n))


def weighed(protected: Protected, algorithm: str | Algorithm, dim: int | None) -> Protected:
    """A shift in units of noise, where some coefficients have less of it than others: of those that are not known by
    their place, all count as if they had the least."""
    functions = algorithm.functions if isinstance(algorithm, Algorithm) else None
    if not isinstance(protected, Shift) or functions is None:
        return protected
    relative = functions.family.relative_variance(dim or 1)
    if relative is None:
        return protected
    known = protected.rows.shape[1] == len(relative)
    return replace(protected, rows=protected.rows / np.sqrt(relative if known else relative.min()))


def dimension_of(algorithm: str | Algorithm, move: Any, shift: Any, dim: int | None) -> int | None:
    """How many coordinates a state has: as was said, or as many as what moves between gradients."""
    given = next(iter(shift.values())) if isinstance(shift, Mapping) and shift else move[2] if move else None
    if not isinstance(algorithm, Algorithm) or algorithm.noise_on != "gradients" or given is None:
        return dim
    width = int(np.size(given))
    if dim is not None and dim != width:
        raise BadInput(
            f"dim = {dim}, and what moves has {width} coefficients; a slope has one per coordinate"
        )
    return width


def class_of(problem: Problem | None, objectives: ObjectiveClass | str | None) -> ObjectiveClass | None:
    """The class of all objectives: what is declared must hold those of the problem."""
    declared = ObjectiveClass.parse(objectives) if isinstance(objectives, str) else objectives
    if problem is None:
        return declared
    found = problem.objective_class
    if declared is not None and not declared.includes(found):
        raise BadInput(
            f"objectives = {declared}, and those of the problem are {found}; leave objectives= out"
        )
    return found if declared is None else declared


def check_dimension(source: Source, dim: int | None) -> None:
    """Noise by a bound is dealt over all coordinates: how many there are must be said."""
    if dim is not None or not isinstance(source.algorithm, Algorithm) or source.setting is None:
        return
    one, two = (source.algorithm.mechanism(replace(source.setting, dim=some)) for some in (1, 2))
    if (
        isinstance(one, Mechanism)
        and isinstance(two, Mechanism)
        and not np.array_equal(one.link_sd, two.link_sd)
    ):
        raise BadInput(f"noise of {source.title} is dealt over all coordinates; say how many there are: dim=")


def _held(records: int | Mapping[int, int], n: int) -> int | dict[int, int]:
    if not isinstance(records, Mapping):
        return whole("records", records)
    if not records:
        raise BadInput(
            "records is empty; map agents to how many of their records are replaced, or give a number"
        )
    known_agents(records, n)
    return {int(agent): whole(f"records of agent {agent}", count) for agent, count in records.items()}


def known_agents(agents: Iterable[int], n: int) -> frozenset[int]:
    """Agents of this network; nobody is a coalition too, of one who hears all words."""
    if not isinstance(agents, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        return check_coalition(agents, n)
    some = frozenset(agents)
    return check_coalition(some, n) if some else some


def adversary_of(
    network: Network, coalition: Iterable[int] | None, colluders: int | None, gone: frozenset[int]
) -> tuple[frozenset[int] | None, int]:
    """The coalition by name with those who left, or None and how many collude."""
    if (coalition is None) == (colluders is None):
        both = "both were named" if coalition is not None else "neither was named"
        raise BadInput(f"a certificate is against a coalition= by name or so many colluders=, and {both}")
    if coalition is not None:
        members = known_agents(coalition, network.n) | gone
        if len(members) == network.n:
            raise BadInput(f"the coalition is all {network.n} agents; leave out whoever is to be protected")
        return members, len(members)
    f = whole("colluders", colluders, least=0)
    if f + len(gone) >= network.n:
        raise BadInput(
            f"{f} colluders and {len(gone)} who left, of {network.n} agents, leave nobody honest; plan for "
            f"at most {network.n - len(gone) - 1}"
        )
    return None, f


def _size(name: str, value: Any) -> float:
    number = np.shape(value) == () and np.asarray(value).dtype.kind in "fiu"
    if not (number and np.isfinite(value) and value >= 0):
        raise BadInput(f"{name} = {value!r} is a norm; give a number that is zero or more")
    return float(value)
