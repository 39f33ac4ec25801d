"""Words as they travel between members, and whether what arrives can be true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from hocket.agent import Each
from hocket.algorithm import Broadcast, SendEach, opened
from hocket.errors import Diverged, LinkError
from hocket.federation.runtime.role import MemberRole
from hocket.links.wire import Part

SLACK = 1.001
"""By how much a word may be farther out than its noise allows: rounding in single precision, and nothing else."""


def like(example: Any, arrays: Iterable[np.ndarray]) -> Any:
    """Arrays put together as the parts of an example are."""
    tree: Any = jax.tree  # JAX leaves open what a structure is
    return tree.unflatten(tree.structure(example), arrays)


class WireMessages(NamedTuple):
    """What the neighbours said, each with the weight that it gets."""

    own_weight: float
    weights: Sequence[float]
    words: Sequence[Any]

    def mixed_with(self, own: Any) -> Any:
        """B[j,j] · own + Σ_i B[j,i] · (what i said), leaf by leaf."""
        return jax.tree.map(self._mix, own, *self.words)

    def each(self) -> Each:
        """Single neighbours' messages, in the order of their numbers."""
        return Each(np.array(self.weights), jax.tree.map(lambda *rows: np.stack(rows), *self.words))

    def _mix(self, own: Any, *words: Any) -> Any:
        mixed, scratch = self.own_weight * own, np.empty_like(own)
        for weight, word in zip(self.weights, words, strict=True):
            mixed += np.multiply(word, weight, out=scratch)
        return mixed


def arrays_for(role: MemberRole, outgoing: Broadcast | SendEach) -> Mapping[int | None, list[np.ndarray]]:
    """What goes out: by neighbour where each is told its own, under None where all hear the same."""
    if isinstance(outgoing, Broadcast):
        return {None: _leaves(outgoing.message)}
    leaves = _leaves(outgoing.messages)
    return {
        other: [leaf[slot] for leaf in leaves]
        for slot, other in zip(role.slots, role.neighbours, strict=True)
        if other not in role.dropped
    }


def check_message(
    role: MemberRole, name: str, parts: Sequence[Part], mine: Sequence[np.ndarray], k: int
) -> list[np.ndarray]:
    """The arrays of a neighbour's message, if they have the plan's form, are finite and lie where they can lie."""
    if len(parts) != len(mine):
        raise LinkError(f"{name} said {len(parts)} arrays in round {k}, and the algorithm says {len(mine)}")
    arrays = [_checked(role, name, *both, k) for both in zip(parts, mine, strict=True)]
    _check_outside(role, name, arrays[0], k)
    return arrays


def _checked(role: MemberRole, name: str, part: Part, mine: np.ndarray, k: int) -> np.ndarray:
    if not isinstance(part, np.ndarray) or part.shape != mine.shape or part.dtype != mine.dtype:
        said = f"{part.dtype} of shape {part.shape}" if isinstance(part, np.ndarray) else "bytes"
        raise LinkError(
            f"{name} said {said} in round {k}, where the plan has {mine.dtype} of shape {mine.shape}; its task "
            "has another dimension or type: compare the tasks"
        )
    farthest = _farthest(part)
    if not math.isfinite(farthest):
        raise LinkError(
            f"{name} said numbers that are not finite in round {k}; its task diverged. Nothing was lost here: "
            "mend it there, and start this member again"
        )
    if farthest > role.reach:
        raise LinkError(
            f"{name} said a number of size {farthest:.3g} in round {k}, where the plan has a reach of "
            f"{role.reach:g}; it deviates, or its task diverged. Nothing was lost here: settle it with that "
            "member, and start this one again"
        )
    return part


def _farthest(part: np.ndarray) -> float:
    """The largest size among numbers, not finite if one of them is not; places and levels, which are whole, have none.

    By the largest and the least number: nothing of the size of a word is written for it.
    """
    return float(max(part.max(initial=0.0), -part.min(initial=0.0))) if part.dtype.kind == "f" else 0.0


def decoded(name: str, outgoing: Broadcast | SendEach, arrays: Iterable[np.ndarray], k: int) -> Any:
    """What a neighbour's arrays stand for."""
    try:
        return opened(outgoing, like(outgoing[0], arrays))
    except IndexError as error:
        raise LinkError(
            f"{name} said numbers for places in round {k} that no vector of the plan has; it deviates, or runs other "
            "software. Nothing was lost here: settle it with that member, and start this one again"
        ) from error


def check_own(role: MemberRole, arrays: Iterable[Sequence[np.ndarray]], k: int) -> None:
    """Refuse to say what no neighbour would believe."""
    farthest = max((_farthest(part) for parts in arrays for part in parts), default=0.0)
    if not farthest <= role.reach:
        raise Diverged(
            f"this member's own word in round {k} holds a number of size {farthest:.3g}, where the plan has a reach of "
            f"{role.reach:g}; it was not said. Plan smaller steps, a bounded set, or a larger reach",
            round=k,
        )


def _check_outside(role: MemberRole, name: str, word: np.ndarray, k: int) -> None:
    """A word is a state in X under noise of at most α_k Δ, where noise has a bound: farther out it cannot be true.

    Within the plan's reach nothing here overflows in float64, so that the comparison is one of numbers.
    """
    if (beyond := role.beyond) is None or word.shape != (role.plan.dim,):
        return
    said = word.astype(np.float64)
    away = float(np.linalg.norm(said - role.plain_set.project(word)))
    allowed = role.step(k) * beyond
    rounding = 64 * np.finfo(word.dtype).eps * (1 + float(np.linalg.norm(said)))
    if not away <= SLACK * allowed + rounding:
        raise LinkError(
            f"{name} said a word {away:.3g} outside the feasible set in round {k}, where noise carries it "
            f"{allowed:.3g} at most; it deviates, or runs other software. Nothing was lost here: settle it with that "
            "member, and start this one again"
        )


def _leaves(word: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(word)]
