"""Whose code a stated mechanism is about: a theorem is about what an algorithm really does, and not about its parent.

A class states its noise in `mechanism`, and stands for all code that it has itself or inherits. Whatever a subclass, an
instance or somebody who patches it puts in the place of that code is not what was stated. So a certificate is refused
there, save for classes that state their own noise on gradients, whose rounds are played and held against what they
state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms.compressors import Compressor
from hocket.errors import HocketError
from hocket.noise.draws import Gaussian, Paired
from hocket.noise.mechanism import Mechanism
from hocket.privacy.dp.conduct import SAME, points_of, unfit
from hocket.privacy.leakage.levels import Levels, planned_levels
from hocket.privacy.leakage.rule import Rule

HOME = ("hocket", "equinox", "abc")
"""Where algorithms live whose code the theorems were held against, by test, and what they are made with."""
SILENT = frozenset(
    [
        "key",
        "label",
        "in_words",
        "title",
        "name",
        "analysed",
        "beyond_theorem3",
        "caveat",
        "open_anyway",
        "soon_open",
        "altered",
        "unproved",
        "taken_for_granted",
        "cure",
        "remarks",
        "typical",
        "certified",
        "with_certificate",
        "bounded_noise",
        "noise_bound",
        "perturbation",
    ]
)
"""What a subclass may say in its own words: no word that an agent says follows from it."""

LOOKUPS = ("__getattr__", "__getattribute__")
"""By which a class may give anything for what it has."""
CALLED = ("fget", "func", "__func__")
"""Where properties, those that remember, and functions of a class keep what they call."""
STANDS_IN = ("by_coordinate", "effective")
"""What another algorithm is taken for it by, where its rounds are read."""


def replaced(algorithm: Algorithm) -> str:
    """Why what an algorithm states is not about its own code, as the begin of a sentence; empty if it is."""
    patched = _patched(algorithm)
    if patched:
        return patched
    stating = next(kind for kind in type(algorithm).__mro__ if "mechanism" in vars(kind))
    for kind in type(algorithm).__mro__:
        foreign = sorted(one for one in vars(kind) if _from_elsewhere(kind, one))
        if foreign:
            return f"{', '.join(foreign)} of {kind.__name__} was put in from elsewhere"
        if kind in stating.__mro__:
            continue  # a second base comes after it, and its fields stand before all methods
        changed = sorted(one for one in _written(kind) if _counts(stating, one))
        if changed:
            return f"{kind.__name__} has {', '.join(changed)} of its own, and states the noise of {stating.__name__}"
    return next((why for one in _inside(algorithm) if (why := _strange(one))), "")


def _written(kind: type) -> set[str]:
    """What a class has itself. A field without a value is not among its `vars`, and stands in a method's place for all
    of its instances; inherited fields are the same objects."""
    before = {
        id(one) for base in kind.__bases__ for one in getattr(base, "__dataclass_fields__", {}).values()
    }
    fields = vars(kind).get("__dataclass_fields__", {})
    return {*vars(kind), *(name for name, one in fields.items() if id(one) not in before)}


def _inside(algorithm: Any) -> Iterator[Algorithm | Compressor]:
    """The algorithms that one is made of, and what makes words of their vectors."""
    for field in dataclasses.fields(algorithm):
        one = getattr(algorithm, field.name)
        if isinstance(one, Algorithm | Compressor):
            yield one
            yield from _inside(one)


def _strange(inner: Algorithm | Compressor) -> str:
    """Why an algorithm inside another may do more than minimise the hidden objective; empty if it may not."""
    name = type(inner).__name__
    if not is_ours(type(inner)):
        return f"{name} inside it is not hocket's, and could ask for what noise hides"
    foreign = [one for kind in type(inner).__mro__ for one in vars(kind) if _from_elsewhere(kind, one)]
    return _patched(inner) or (f"{foreign[0]} of {name} was put in from elsewhere" if foreign else "")


def rewritten(algorithm: Algorithm) -> str:
    """What of an algorithm's code is not hocket's, as the begin of a sentence; empty if all that counts is."""
    for kind in type(algorithm).__mro__:
        own = sorted(
            one for one in _written(kind) if one not in SILENT and not one.startswith(("__", "_abc_"))
        )
        if own and not is_ours(kind):
            return f"{', '.join(own)} of {kind.__name__} is not hocket's"
    return _patched(algorithm)


def misread(algorithm: Algorithm) -> str:
    """Why an algorithm's code cannot be read off its rounds: another may stand in for it there; empty if it can."""
    patched = _patched(algorithm)
    if patched:
        return patched
    for kind in type(algorithm).__mro__:
        own = [one for one in STANDS_IN if one in _written(kind)]
        if own and not is_ours(kind):
            return f"{kind.__name__} has {', '.join(own)} of its own"
    return ""


def unvouched(algorithm: Algorithm, setting: Setting, mechanism: Mechanism) -> tuple[str, ...]:
    """Why no theorem holds for an algorithm's own code, whatever noise it states; empty if one does."""
    why = replaced(algorithm)
    if why:
        return (
            f"{why}: of its code nothing is known; state its own noise in `mechanism`, or ask "
            'by="linearisation", which reads the code itself',
        )
    stating = next(kind for kind in type(algorithm).__mro__ if "mechanism" in vars(kind))
    if is_ours(stating):
        return ()
    if mechanism.on == "objective":
        return (
            f"{stating.__name__} states its noise itself, and that all it says follows from the noisy objective alone "
            "cannot be read off its code; use an algorithm of hocket's",
        )
    return tuple(_otherwise(algorithm, setting, mechanism))


def _patched(algorithm: Any) -> str:
    """What of an instance is no field of its class, as the begin of a sentence."""
    found = sorted(set(vars(algorithm)) - {one.name for one in dataclasses.fields(algorithm)})
    name = type(algorithm).__name__
    return f"{', '.join(found)} of this very {name} was put in the place of its class's own" if found else ""


def is_ours(kind: type) -> bool:
    """Whether a class is one of hocket's."""
    return kind.__module__.partition(".")[0] in (*HOME, "builtins")


def _counts(stating: type, name: str) -> bool:
    """Whether a name that a subclass has too takes the place of code that was stated."""
    if name in LOOKUPS:
        return True
    own_words = name in SILENT or name.startswith(("__", "_abc_")) or not hasattr(stating, name)
    # What is a field of the class that states the noise is a number of it; a field in a method's place is code.
    return not own_words and name not in {one.name for one in dataclasses.fields(stating)}


def _from_elsewhere(kind: type, name: str) -> bool:
    """Whether a function of one of hocket's classes is defined in none of its modules.

    From Python 3.13 on every dataclass has the `__replace__` of the standard library.
    """
    found = vars(kind)[name]
    # A property has no module; the function that it calls has.
    inner = next((one for place in CALLED if (one := getattr(found, place, None)) is not None), found)
    module = getattr(inner, "__module__", None)
    return (
        is_ours(kind)
        and (callable(inner) or hasattr(inner, "__get__"))
        and isinstance(module, str)
        and module.partition(".")[0] not in HOME
        and (name, module) != ("__replace__", "dataclasses")
    )


def _otherwise(algorithm: Algorithm, setting: Setting, mechanism: Mechanism) -> Iterator[str]:
    """What the rounds of an algorithm do otherwise than it states, played one after the other."""
    name = type(algorithm).__name__
    if mechanism.persistent_sd is not None and np.any(mechanism.persistent_sd):
        yield f"{name} states noise that is kept over rounds, which is not held against its code"
        return
    try:
        levels = planned_levels(
            setting.network, algorithm, dim=setting.dim, step=setting.step, rounds=setting.rounds
        )
        if levels.algorithm is not algorithm:
            yield f"another algorithm stands in for {name} where its rounds are read"
            return
        rule = points_of(algorithm, setting, rounds=setting.rounds + 1)
    except HocketError as error:
        yield str(error)
        return
    if len(rule.said) != 1 or rule.said[0].told or rule.said[0].summed or rule.said[0].numbers != 1:
        yield f"{name} says more in a round than one word to all, and theorems are about one"
        return
    if rule.states > 1:
        return  # said already, of what is carried over rounds
    if any(not _fresh(draw) for draw in levels.draws.values()):
        yield f"{name} draws noise that is not both normal and fresh in every round"
        return
    yield from map(str, unfit(algorithm, setting, rounds=setting.rounds + 1))
    yield from _noise_in_messages(rule, levels, setting, mechanism, name)


def _noise_in_messages(
    rule: Rule, levels: Levels, setting: Setting, mechanism: Mechanism, name: str
) -> Iterator[str]:
    """Whether noise in every word is as large beside the gradient in it as was stated."""
    alpha = np.concatenate([[0.0], setting.step.table(1, setting.rounds + 1)])
    gradient, word = rule.given.start, rule.said[0].outputs.start
    noise = slice(rule.given.start + 1, rule.given.stop)
    if np.abs(rule.rounds[:, :, word, gradient]).max(initial=0.0) > SAME:
        yield f"{name} says a gradient in the round in which it takes it, before noise is drawn for it"
    if np.abs(rule.rounds[:, :, rule.after, noise]).max(initial=0.0) > SAME:
        yield f"{name} puts noise into its state, where the next word shows it once more"
    for k in range(2, setting.rounds + 2):
        shown = np.abs(rule.rounds[k - 1, :, word, 0] * rule.rounds[k - 2, :, rule.after, gradient]).max()
        scale = alpha[k - 1] if mechanism.scaled_by == "last step" else alpha[k]
        for whose, kind, stated in (
            ("between neighbours", Paired, mechanism.link_sd),
            ("of its own", Gaussian, mechanism.own_sd),
        ):
            drawn = np.sqrt(
                sum(
                    (
                        np.abs(rule.rounds[k - 1, :, word, noise][:, rule.shares[one]]).min()
                        * np.asarray(draw.sd)
                    )
                    ** 2
                    for one, draw in levels.draws.items()
                    if type(draw) is kind
                )
            )
            if np.any(np.asarray(stated) * shown * scale > (1 + SAME) * alpha[k - 1] * drawn):
                yield (
                    f"in round {k} {name} says noise {whose} of {np.min(drawn):.4g} over a gradient times {shown:.4g}, "
                    f"and states {np.max(stated) * scale:.4g} over one times {alpha[k - 1]:.4g}"
                )
                return


def _fresh(draw: Any) -> bool:
    normal = type(draw) is Gaussian or (type(draw) is Paired and draw.normal)
    from_two = getattr(draw, "first", 1) <= 2
    return not np.any(draw.sd) or (
        normal and from_two and not draw.once and getattr(draw, "given", None) is None
    )
