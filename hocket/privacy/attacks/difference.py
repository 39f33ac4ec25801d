"""The difference attack: a gradient is what an agent's next word lacks from its mix."""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.plan import AnyStep
from hocket.privacy.attacks.residuals import Residuals, residuals
from hocket.privacy.wording import named
from hocket.view import View


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
