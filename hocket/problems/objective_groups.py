"""Agents sorted by the kind of their objective.

All agents of a group share one function and differ in their data, so that a group runs as one batch. A list
of different callables becomes several groups; no branch is taken inside compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Int, PyTree

from hocket.errors import BadProblem
from hocket.problems import Loss, Objective, Samples
from hocket.problems.objective import Name, from_agents, from_stacked, stacked

AnyLoss = Objective | Callable[..., Any]


class Group(eqx.Module):
    """Agents with the same objective: `data` holds theirs, stacked in the order of `members`."""

    objective: Objective
    data: PyTree
    members: Int[Any, " size"]

    def data_of(self, place: int) -> PyTree:
        """The data of the member at this place."""
        return jax.tree.map(lambda leaf: leaf[place], self.data)


def group_agents(loss: AnyLoss | list[AnyLoss], data: PyTree, dim: int, name: Name) -> tuple[Group, ...]:
    """Groups from what users write: one loss or one each, data stacked or a list with an entry per agent."""
    if not isinstance(loss, list | tuple):
        members = np.arange(_count_agents(data))
        entries = data if isinstance(data, list) else None
        return (_group(loss, entries, data, members, dim, name),)
    if not loss:
        raise BadProblem("the list of losses is empty; give one per agent")
    if data is None:
        data = [None] * len(loss)
    if _count_agents(data) != len(loss):
        raise BadProblem(
            f"there are {len(loss)} losses and data for {_count_agents(data)} agents; give one each"
        )
    members_of: dict[tuple[int, bool], list[int]] = {}
    for j, one in enumerate(loss):
        lacks_data = isinstance(data, list) and data[j] is None
        members_of.setdefault((id(one), lacks_data), []).append(j)
    return tuple(_pick(loss, data, members, dim, name) for members in members_of.values())


def _pick(loss: Any, data: PyTree, members: list[int], dim: int, name: Name) -> Group:
    """The group of these members, out of everybody's losses and data."""
    chosen = np.array(members)
    if isinstance(data, list):
        return _group(loss[members[0]], [data[j] for j in members], None, chosen, dim, name)
    return _group(loss[members[0]], None, jax.tree.map(lambda leaf: leaf[chosen], data), chosen, dim, name)


def _group(
    loss: AnyLoss, entries: list[PyTree] | None, whole: PyTree, members: np.ndarray, dim: int, name: Name
) -> Group:
    """One group, from an entry per member or from stacked data."""
    objective = loss if isinstance(loss, Objective) else Loss(loss)
    reduction = objective.reduction

    def call(place: int) -> str:
        return name(int(members[place]))

    if entries is None:
        data = jax.tree.map(_as_array, whole)
        if reduction is not None and not isinstance(data, Samples):
            data = from_stacked(data, reduction, call)
    elif entries[0] is None:
        data = None
    else:
        # Lists inside an agent's data are arrays in the making, not structure.
        entries = [
            jax.tree.map(_as_array, entry, is_leaf=lambda node: isinstance(node, list)) for entry in entries
        ]
        if reduction is None or isinstance(entries[0], Samples):
            data = stacked(entries, call)
        else:
            data = from_agents(entries, reduction, call)
    _check_finite(data, call)
    return Group(objective, objective.prepared(data, dim, call), members)


def _count_agents(data: PyTree) -> int:
    """The length of the leading axis that all arrays share."""
    if isinstance(data, list):
        counts = {len(data)}
    else:
        counts = {np.shape(leaf)[0] if np.shape(leaf) else 0 for leaf in jax.tree.leaves(data)}
    if len(counts) != 1:
        raise BadProblem(
            f"the data are for {sorted(counts)} agents; stack every array along a leading axis of agents"
            if counts
            else "without data the number of agents is unknown; give a list of losses, one per agent"
        )
    (count,) = counts
    if not count:
        raise BadProblem("the data hold no agents; stack every array along a leading axis of agents")
    return count


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array) else np.asarray(leaf)


def _check_finite(data: PyTree, name: Name) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(data):
        numbers = np.asarray(leaf)
        if numbers.dtype == object:
            numbers = _floats(numbers)
        if numbers.dtype.kind in "USM":
            kind = "dates" if numbers.dtype.kind == "M" else "text"
            raise BadProblem(
                f"the data of {name(0)} hold {kind}, {numbers.ravel()[0]!s} first; turn it into numbers, a column for "
                "each category"
            )
        if not np.issubdtype(numbers.dtype, np.inexact):
            continue
        wrong = np.argwhere(~np.isfinite(numbers))
        if wrong.size:
            place, *inside = wrong[0].tolist()
            where = f"{jax.tree_util.keystr(path)}{inside}" if path or inside else "a number"
            raise BadProblem(
                f"the data of {name(place)} hold {numbers[tuple(wrong[0])]} at {where}; clean or drop it"
            )


def _floats(numbers: np.ndarray) -> np.ndarray:
    try:
        return numbers.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadProblem(f"the data are not numbers: {error}; give arrays of equal rows") from error
