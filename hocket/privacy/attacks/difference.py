"""The difference attack, and the collusion attack on RSS-LB that begins where it ends."""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.public_plan import AnyStep, check_target, with_plan
from hocket.privacy.attacks.residuals import Residuals, residuals
from hocket.privacy.attacks.words import Words, own_word
from hocket.privacy.wording import named
from hocket.runs.view import View

# The difference attack: a gradient is what an agent's next word lacks from its mix.


def difference_attack(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Attack:
    """An agent's gradient in every round, from its words and its neighbours'.
    The first thing to try: exact on DGD, and on RSS-NB and FS where all noise on the target's links is known.
    """
    return from_differences("difference", residuals(view, target, step=step, algorithm=algorithm), view)


def from_differences(name: str, found: Residuals, view: View) -> Attack:
    """The outcome that single rounds allow."""
    target = found.target
    what = f"the gradient of agent {target} in each round"
    if not len(found.rounds):
        return Attack(name, (target,), what, False, found.silence)
    exposed = not found.sd.any()
    if exposed:
        heard = named([target, *view.network.neighbours(target)])
        why = f"the words of {heard} were heard, and no noise in them is unknown"
    else:
        why = f"every round has {found.behind} in it"
    return Attack(
        name,
        (target,),
        what,
        exposed,
        why,
        estimate=found.values,
        predicted_sd=found.sd,
        rows=tuple(found.rounds.tolist()),
        at=found.at,
        supposing=found.supposing,
    )


# The collusion attack on RSS-LB: balance itself gives an agent's state away to all its neighbours together.


def lb_collusion_attack(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Attack:
    """An agent's gradient in every round of RSS-LB, exactly, if all its neighbours collude or its links are tapped.
    One neighbour that keeps silent is enough to beat it; `states_behind` gives the states themselves.
    """
    view = _balanced(view, step, algorithm)
    return from_differences("LB collusion", residuals(view, target), view)


def states_behind(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Words:
    """x_j = Σ_i B[i,j] w_{j,i} / Σ_i B[i,j] in every round of RSS-LB; NaN where some neighbour's word is missing."""
    view = _balanced(view, step, algorithm)
    return own_word(view, check_target(view, target))


def _balanced(view: View, step: AnyStep | None, algorithm: Algorithm | None) -> View:
    view = with_plan(view, step, algorithm)
    if not view.algorithm.tells:
        raise BadInput(
            f"this attack undoes the balance of RSS-LB, and this run is {type(view.algorithm).__name__}'s; "
            "use difference_attack"
        )
    return view
