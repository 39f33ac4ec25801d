"""The stronger of the two averages."""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.mean import averaged
from hocket.privacy.attacks.pitman import weighed_by_density
from hocket.privacy.attacks.plan import AnyStep
from hocket.privacy.attacks.residuals import residuals
from hocket.view import View


def strongest_average(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Attack:
    """An agent's gradient by the mean or by Pitman's estimate, whichever predicts the smaller error.
    What to report as the best known attack on RSS where all of N[j] is heard.
    """
    found = residuals(view, target, step=step, algorithm=algorithm)
    return min(averaged(found), weighed_by_density(found), key=lambda attack: attack.typical_sd)
