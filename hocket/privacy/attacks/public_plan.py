"""The public plan behind a view, and whom an attack may be aimed at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import ALL
from hocket.errors import BadInput, NotRecorded
from hocket.noise.draws import Draw
from hocket.runs.view import View
from hocket.steps import Step, as_step

AnyStep = Step | float | Callable[[int], float]


def with_plan(
    view: View, step: AnyStep | None, algorithm: Algorithm | None, *, any_words: bool = False
) -> View:
    """The view with step and algorithm filled in, which a run loaded from disk lacks.

    Both are public, so every attacker has them. An algorithm whose noise is switched off becomes what it then is.
    Most attacks take words for x and noise; one that does not says `any_words`.
    """
    given = {
        "step": view.step if step is None else as_step(step),
        "algorithm": algorithm or view.algorithm,
    }
    for name, value in given.items():
        if value is None:
            raise NotRecorded(
                f"this view does not know the {name}, since its run was loaded from disk; pass {name}="
            )
    if not (given["algorithm"].plain or any_words):
        known = ", ".join(kind.__name__ for kind in ALL if kind.plain)
        raise BadInput(
            f"no attack but averaging_attack understands what agents say in {type(given['algorithm']).__name__}; "
            f"they know {known}"
        )
    return dataclasses.replace(view, step=given["step"], algorithm=given["algorithm"].effective())


def check_target(view: View, target: int) -> int:
    """A target is an honest agent of the network."""
    if not 0 <= target < view.network.n:
        raise BadInput(f"agent {target} is unknown: this network has agents 0 to {view.network.n - 1}")
    if target in view.coalition:
        raise BadInput(
            f"agent {target} is in the coalition, which knows its objective; aim at an honest agent"
        )
    return int(target)


def planned_draws(view: View) -> Mapping[str, Draw]:
    """How the plan's noise is distributed: public, unlike the draws themselves."""
    algorithm = view.algorithm
    if uses_own_noise(view):
        # A user's noise is the run's secret; all that an attacker can suppose is that it looks like random draws.
        algorithm = dataclasses.replace(algorithm, noise=None)
    assert view.step is not None
    return algorithm.draws(Setting(view.network, dimension(view), view.step, view.rounds))


def uses_own_noise(view: View) -> bool:
    """Whether the user brought noise along, of whose distribution nothing is known."""
    return getattr(view.algorithm, "noise", None) is not None


def dimension(view: View) -> int:
    """How many numbers a word has."""
    if not view.words or not view.words[0]:
        raise BadInput("nothing was said in what this coalition sees; there is nothing to attack")
    return next(iter(view.words[0].values())).shape[1]
