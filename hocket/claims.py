"""The closed list of what may carry a certificate or a sentence of differential privacy.

Every mechanism on it is a final class with few fields, all combinations of which are tested (`tests/claims`). Anything
else, a subclass, a patched instance, an inner part that is not hocket's, carries no claim, and is told why. Nothing is
inferred from what a class says of itself.

| class | its noise is on | what is promised |
|---|---|---|
| `CertifiedRssNb` | gradients | what `hk.certify` works out |
| `JointAverage` with `own=` | gradients, under masks | what `hk.certify` works out |
| `FunctionSharing` with normal coefficients | objectives | what `hk.certify` works out |
| `PrivateDgd` | gradients | (ε, δ) for one agent's objective, printed by a run |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import (
    ALL,
    BY_KEY,
    CertifiedRssNb,
    FunctionSharing,
    IndependentNoise,
    JointAverage,
    PrivateDgd,
    RssNb,
)
from hocket.algorithms.parts.compressors import Quantised, RandomK, TopK, Whole
from hocket.algorithms.parts.function_noise import is_silent, sd_in
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.totals import Totals
from hocket.errors import BadAlgorithm, HocketError
from hocket.noise.draws import Gaussian, Paired
from hocket.noise.mechanism import Mechanism
from hocket.noise.round_grid import GridOwn, GridPaired
from hocket.noise.stds import Stds, is_above_zero, on_links
from hocket.noise.whole_draws import WholeOwn, WholePaired
from hocket.problems.objective_class import QUADRATIC, ObjectiveClass

MASK = 1e6
"""Deviations of own noise that a mask counts as: a uniform one hides more than any normal noise does, and at this size
what it leaves beside the sum is less than a millionth of a millionth of a certificate's μ²."""
NOISE_ON: dict[str, Literal["objective", "gradients"]] = {
    CertifiedRssNb.name: "gradients",
    FunctionSharing.name: "objective",
}
"""What noise hides where a certificate is asked for by an algorithm's name and standard deviations."""
KNOWN: tuple[type, ...] = (*ALL, MaskedStart, Totals, TopK, RandomK, Quantised, Whole)
"""Classes whose code is hocket's own, as they are when this module is loaded: no list that others may add to."""
SUMS = (JointAverage, Totals)
"""What sends nothing but secure sums."""
HOME = ("hocket", "equinox", "abc")
"""Where code of hocket's classes is defined."""
NUMBERS = ("builtins", "fractions", "numpy", "jax", "jaxlib")
"""Where numbers, texts and arrays come from."""
MADE_WITH: tuple[type, ...] = (Agent, Paired, Gaussian, GridPaired, GridOwn, WholePaired, WholeOwn)
"""What rounds are written against, and what draws the noise of all that is on the list."""
AS_MADE: dict[type, dict[str, Any]] = {
    base: dict(vars(base)) for kind in (*KNOWN, *MADE_WITH) for base in kind.__mro__ if base is not object
}
"""What these classes, and those that they inherit from, have of their own."""


def mechanism(algorithm: Algorithm, setting: Setting) -> Mechanism | str:
    """The normal noise that a certificate can rest on; or why there is none."""
    if why := foreign(algorithm):
        return f'{why}: no certificate is made of it; by="linearisation" reads the code itself'
    known = MECHANISMS.get(type(algorithm))
    if known is None:
        return _none(algorithm)
    return known(algorithm, setting)


def promises(algorithm: Algorithm) -> bool:
    """Whether a run prints a promise of differential privacy without being asked for a certificate."""
    return type(algorithm) is PrivateDgd and not foreign(algorithm)


def withholds_x(algorithm: Algorithm) -> bool:
    """Whether a certificate stands on agents' last states staying at home, and `run.published` in their place."""
    inner = algorithm.algorithm if type(algorithm) is MaskedStart else algorithm
    return type(inner) is CertifiedRssNb and inner.own > 0


def only_sums(algorithm: Any) -> bool:
    """Whether agents send nothing but secure sums, so that Theorem T covers it, whatever it sums."""
    return any(type(algorithm) is one for one in SUMS) and not foreign(algorithm)


def named(name: str) -> type[Algorithm] | None:
    """The class of hocket's that a name stands for; None where somebody has put another in its place."""
    kind = BY_KEY.get(name)
    return kind if kind is not None and is_known(kind) and kind.name == name and not _changed(kind) else None


def foreign(algorithm: Any) -> str:
    """What of an algorithm's code is not hocket's, so that nothing is claimed of it; empty if all is."""
    for one in parts(algorithm):
        kind = type(one)
        if not is_known(kind):
            return f"{kind.__name__} is not one of hocket's classes, and nothing is known of its code"
        if why := _rewritten(one):
            return why
        try:
            dataclasses.replace(
                one
            )  # whatever was set after its numbers had been checked is checked once more
        except (HocketError, TypeError, ValueError) as error:
            return f"this {kind.__name__} was changed after it was made: {error}"
    return next((why for kind in MADE_WITH if (why := _changed(kind))), "")


def rewritten(algorithm: Any) -> str:
    """What was put in the place of code, of an instance or of a class of hocket's; empty if nothing was."""
    return next((why for one in parts(algorithm) if (why := _rewritten(one))), "")


def is_known(kind: type) -> bool:
    """Whether a class is one of hocket's, and not one that says that it is equal to it."""
    return any(kind is one for one in KNOWN)


def _rewritten(one: Any) -> str:
    kind = type(one)
    names = {field.name for field in dataclasses.fields(one)} if dataclasses.is_dataclass(one) else set()
    if dataclasses.is_dataclass(one) and (found := sorted(set(vars(one)) - names)):
        return f"{', '.join(found)} of this very {kind.__name__} was put in the place of its class's own"
    return _changed(kind)


def _changed(kind: type) -> str:
    """What code of hocket's that a class has or inherits is no longer as it was made."""
    for base in kind.__mro__:
        now, made = vars(base), AS_MADE.get(base)
        if made is None and base is not object and is_known(kind):
            return f"{base.__name__} was put among what {kind.__name__} inherits from"
        if made is None:
            changed = _elsewhere(base)
        elif len(now) == len(made) and all(now.get(one) is made[one] for one in made):
            changed = AT_FIRST[base]
        else:
            names = {name for name in {**made, **now} if now.get(name) is not made.get(name)}
            changed = {name for name in names if _is_code(now.get(name)) or _is_code(made.get(name))}
            changed |= _elsewhere(base)
        if changed:
            return f"{', '.join(sorted(changed))} of {base.__name__} was put in from elsewhere"
    return ""


def _elsewhere(base: type) -> set[str]:
    """What functions a class of hocket's has that are defined in none of its modules."""
    ours = base.__module__.partition(".")[0] == "hocket"
    return {name for name, what in vars(base).items() if ours and _from_elsewhere(name, what)}


def parts(algorithm: Any) -> Iterator[Any]:
    """An algorithm, and all that it is made of that is neither a number, a text nor an array: the algorithm inside it,
    what makes messages of its vectors, or whatever stands in their place. Noise that a user gave is looked at by
    itself."""
    yield algorithm
    for field in dataclasses.fields(algorithm) if dataclasses.is_dataclass(algorithm) else ():
        one = getattr(algorithm, field.name, None)
        if field.name != "given" and not _is_plain(one):
            yield from parts(one)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list | dict):
        return all(map(_is_plain, value.values() if isinstance(value, dict) else value))
    return type(value).__module__.partition(".")[0] in NUMBERS and not callable(value)


def _is_code(what: Any) -> bool:
    return callable(what) or hasattr(what, "__get__")


def _from_elsewhere(name: str, what: Any) -> bool:
    """Whether a function of a class is defined in a module that is neither hocket's nor what its classes are made with.

    From Python 3.13 on every dataclass has the `__replace__` of the standard library.
    """
    # A property has no module; the function that it calls has.
    inner = next((one for place in ("fget", "func", "__func__") if (one := getattr(what, place, None))), what)
    module = getattr(inner, "__module__", None)
    home = (*HOME, "builtins", "typing")
    known = isinstance(module, str) and module.partition(".")[0] in home
    return (
        _is_code(what)
        and isinstance(module, str)
        and not known
        and (name, module) != ("__replace__", "dataclasses")
    )


AT_FIRST = {base: _elsewhere(base) for base in AS_MADE}
"""What had been put into these classes before this module was loaded."""


def _of_certified_rss_nb(algorithm: CertifiedRssNb, setting: Setting) -> Mechanism:
    drawn, grid, own = algorithm.noise(setting), algorithm.round_grid, float(algorithm.own)
    sd = np.asarray(drawn["paired"].sd)
    if grid is not None:
        # A silent link has no noise, and counts for none.
        sd, own = np.array([[*map(grid.counted_as, row)] for row in sd.tolist()]), grid.counted_as(own)
    return Mechanism(
        on="gradients",
        link_sd=sd,
        own_sd=own,
        persistent_sd=np.asarray(drawn["persistent"].sd)[0] if "persistent" in drawn else None,
        projects="before the step",
        exact=grid is not None,
        sensitivity=None if algorithm.clip is None else 2 * algorithm.clip,
    )


def _of_masked_start(algorithm: MaskedStart, setting: Setting) -> Mechanism | str:
    inner = algorithm.algorithm
    if type(inner) is RssNb:
        return _none(inner)
    if type(inner) is not CertifiedRssNb or not (inner.persistent < 1 and is_above_zero(inner.sd)):
        return (
            f"{inner.title} has no fresh noise in its first message, and a start that is not public is hidden by "
            "nothing: take hk.CertifiedRssNb with sd above zero and persistent below 1, or a public start"
        )
    found = mechanism(inner, setting)
    return found if isinstance(found, str) else replace(found, start="published")


def _of_joint_average(algorithm: JointAverage, setting: Setting) -> Mechanism | str:
    if not algorithm.own > 0:
        return (
            f"{algorithm.title} shows the sum over honest agents exactly, and a record changes that sum; give own=, "
            "the deviation of noise that every agent adds by itself"
        )
    return Mechanism(
        on="gradients",
        link_sd=np.where(setting.network.active, MASK * algorithm.own, 0.0),
        own_sd=float(algorithm.own),
        projects="after the step",
        masked=True,
        sensitivity=None if algorithm.clip is None else 2 * algorithm.clip,
    )


def _of_function_sharing(algorithm: FunctionSharing, setting: Setting) -> Mechanism | str:
    if algorithm.given is not None:
        return "noise of the user's own takes the place of random draws, and nothing is known of it"
    if not algorithm.normal:
        return (
            "FS draws its coefficients uniformly here, and a uniform draw has edges that tell two objectives apart "
            "for certain; give sd= for normal ones"
        )
    if algorithm.family == "cosine":
        return (
            "a certificate is about objectives in the span of their noise, and FS has waves as noise functions, which "
            "hide no polynomial"
        )
    if is_silent(algorithm):
        return "FS without noise is plain DGD"
    stored, own = algorithm.stored, float(algorithm.own)
    sd = on_links(sd_in(algorithm, setting), setting.network)
    if stored is not None:
        sd, own = np.array([stored.counted_as(one) for one in sd.tolist()]), stored.counted_as(own)
    return Mechanism("objective", sd[None], own_sd=own, exact=stored is not None)


MECHANISMS: dict[type, Callable[[Any, Setting], Mechanism | str]] = {
    CertifiedRssNb: _of_certified_rss_nb,
    MaskedStart: _of_masked_start,
    JointAverage: _of_joint_average,
    FunctionSharing: _of_function_sharing,
}
"""The list: a mechanism that is added needs a row in `tests/claims/bases.py`, which fails without one."""


def _none(algorithm: Algorithm) -> str:
    """Why an algorithm of hocket's that is not on the list has no certificate."""
    if type(algorithm) is RssNb:
        whose = (
            "noise that a user brought along"
            if algorithm.given is not None
            else f"{algorithm.distribution} noise"
        )
        return (
            f"RSS-NB as printed deals {whose}, of which no certificate is made: take certified-rss-nb, "
            "hk.CertifiedRssNb(sd, own)"
        )
    if type(algorithm) is IndependentNoise:
        return (
            "independent noise is a baseline, and nothing limits what one record adds to its gradients: take "
            "hk.CertifiedRssNb(sd, own), whose own noise certificates know"
        )
    return f"{algorithm.title} has no normal noise that would hide a record or a move from an eavesdropper on all links"


def with_certificate(
    name: str, sd: Stds, own: float, *, unit: float, clip: float | None, objectives: ObjectiveClass
) -> Algorithm:
    """The algorithm of this name with normal noise on which a certificate stands: σ between neighbours, perhaps by
    link, and τ of one's own; on a grid of this unit as far as it can be. `clip` is what a step's displacement is cut
    to, where members are protected."""
    kind = BY_KEY[name]
    if kind is CertifiedRssNb:
        return CertifiedRssNb(sd, own, clip=clip, grid=None if clip is None else unit)
    if kind is not FunctionSharing:
        raise BadAlgorithm(
            f"{name} has no normal noise that a certificate stands on; choose one of {', '.join(NOISE_ON)}"
        )
    if clip is not None:
        raise BadAlgorithm(
            "FS hides objectives, and nothing bounds how much a whole member's weighs: it protects records and "
            "transfers; to protect members choose an algorithm that clips its steps"
        )
    if objectives.degree is not None:
        return FunctionSharing(max(objectives.degree, 1), sd=sd, own=own, grid=unit)
    if objectives == QUADRATIC:
        return FunctionSharing(2, sd=sd, own=own, family="quadratic", grid=unit)
    raise BadAlgorithm(
        f"objectives are {objectives.words}, and FS hides quadratics and separable polynomials; declare objectives "
        "of that kind if they are, or choose another algorithm"
    )
