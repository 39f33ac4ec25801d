"""The projection attack: a step that X cuts short ends on the boundary, and the word from there shows the noise alone.

P(v − α∇f) is where X says it is, whatever the gradient. So noise that was drawn once, which a gradient would hide
behind, stands bare in such rounds and averages out over them; and in all other rounds it can then be taken off.
"""

from __future__ import annotations

from collections.abc import Collection

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.equations import equations
from hocket.privacy.attacks.model_class import NAME as MODEL
from hocket.privacy.attacks.model_class import model_attack, model_fit
from hocket.privacy.attacks.model_fit import ModelFit
from hocket.privacy.attacks.sums import AnyFamily
from hocket.privacy.attacks.words import AnyStep, check_target, dimension
from hocket.privacy.families import polynomials
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import View
