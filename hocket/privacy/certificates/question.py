"""What a certificate is asked to protect and against whom, from the words of whoever asks, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from numbers import Real
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


def check_types(algorithm: Any, **given: Any) -> None:
    """Refuse what is not of the kind that its argument takes, by name, before anything is worked out."""
    wanted = {
        "algorithm": (isinstance(algorithm, str | Algorithm), "a key, such as 'rss-nb', or an algorithm")
    }
    for name in ("coalition", "leavers"):
        fits = given[name] is None and name == "coalition"
        wanted[name] = (fits or _some_of(given[name]), "agents, such as {0, 2}")
    for name in ("sigma", "own", "anchor_sigma"):
        fits = (given[name] is None and name == "sigma") or _numbers(given[name])
        wanted[name] = (fits, "a standard deviation, such as 2.0")
    move, shift, search = given["move"], given["shift"], given["search"]
    fits = move is None or (
        isinstance(move, Sequence) and not isinstance(move, str | bytes) and len(move) == 3
    )
    wanted["move"] = (fits, "(from, to, coefficients), such as (1, 4, [0.6, -0.8])")
    wanted["shift"] = (
        shift is None or isinstance(shift, Mapping),
        "a mapping from agents to coefficients, such as {1: [1.0], 4: [-1.0]}",
    )
    for name in ("kept", "linear", "batches", "on_grid"):
        wanted[name] = (_flag(given[name]), "True or False")
    wanted["search"] = (search is None or _flag(search), "True, False or None")
    for name in ("release", "by"):
        wanted[name] = (isinstance(given[name], str), "one of its words, a string")
    wanted["rate"] = (_number(given["rate"]), "a probability above 0, up to 1")
    problem, objectives = given["problem"], given["objectives"]
    wanted["problem"] = (problem is None or isinstance(problem, Problem), "an hk.Problem")
    wanted["objectives"] = (
        objectives is None or isinstance(objectives, str | ObjectiveClass),
        "a class of objectives, such as 'polynomial:2' or 'any'",
    )
    for name, (fits, cure) in wanted.items():
        if not fits:
            shown = algorithm if name == "algorithm" else given[name]
            raise BadInput(f"{name} = {repr(shown)[:60]}; give {cure}")
    if given["dim"] is not None:
        whole("dim", given["dim"])


def _number(value: Any) -> bool:
    """Whether it is one real number that a double can hold, or infinite, or none at all: ranges are checked later."""
    if not isinstance(value, Real | np.number) or isinstance(value, bool | complex | np.complexfloating):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _numbers(value: Any) -> bool:
    if not isinstance(value, Iterable):
        return _number(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiu"
    # An iterator is read once, by whoever takes its numbers.
    return not isinstance(value, str | bytes | Mapping | Set) and (
        not isinstance(value, Sequence) or all(_number(one) for one in value)
    )


def _some_of(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


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
    some = [*agents]
    return check_coalition(some, n) if some else frozenset()


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
