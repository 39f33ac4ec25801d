"""Every option of every entry point that prints a claim, with values that stand for it: the axes of the matrix.

The axes are checked against the code (`missing`): an option that is in the code and not here makes a test fail, and
the sentence says what to add. The first value of an option is what a cell has where nothing is said.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np

import hocket as hk
from hocket.algorithms import ALL
from hocket.algorithms.parts.compressors import Compressor, Whole
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.totals import Totals
from hocket.cli.certify import certify as certify_command
from hocket.federation.plan.sections import CertificateSection
from hocket.noise.functions import FAMILIES
from hocket.privacy import plan_certificate
from hocket.privacy.questions import KINDS
from hocket.problems.penalty import Penalty
from hocket.problems.sets import Everywhere, FeasibleSet
from hocket.steps import Derived, Step, as_step
from hocket.studies.spec.study import SECTIONS
from tests.claims.bases import BASES

Values = dict[str, Any]
"""Of one option, by how it is called in the name of a cell."""

NOTHING = "says nothing of privacy: "

INNER: Values = {
    kind.__name__: kind()
    for kind in ALL
    if all(
        one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING
        for one in dataclasses.fields(kind)
    )
}
"""Every algorithm that needs no number to begin with, to be put inside function sharing."""
BY_LINK = {4: [0.8, 1.0, 1.5, 2.0, 1.2, 0.9], 5: [0.8, 1.0, 1.5, 2.0, 1.2]}
"""σ by link, of a network of four or a ring of five."""

FIELDS: dict[str, dict[str, Values]] = {
    "CertifiedRssNb": {
        "sd": {"by link": {"sd": BY_LINK}, "none": {"sd": 0.0}, "3": {"sd": 3.0}},
        "own": {"half": {"own": 0.5}, "none": {"own": 0.0}},
        "persistent": {"half": {"persistent": 0.5}, "whole": {"persistent": 1.0}},
        "clip": {"1": {"clip": 1.0}, "none": {"clip": None}},
        "grid": {"2^-16": {"grid": 2.0**-16}, "2^-16 and a clip": {"grid": 2.0**-16, "clip": 1.0}},
    },
    "RssNb": {
        "delta": {"30": {"delta": 30.0}, "none": {"delta": 0.0}},
        "persistent": {
            "half": {"persistent": 0.5},
            "whole": {"persistent": 1.0},
            "none": {"persistent": 0.0},
        },
        "split": {"paper": {"split": "paper"}},
        "given": {"given": {"given": lambda i, j, k: np.array([0.5])}},
        "distribution": {one: {"distribution": one} for one in ("uniform", "gaussian")},
        "failure": {"1e-3": {"failure": 1e-3}},
    },
    "FunctionSharing": {
        "degree": {"1": {"degree": 1}, "3": {"degree": 3}},
        "bound": {"2": {"bound": 2.0, "sd": None}},
        "family": {one: {"family": one} for one in ("linear", "quadratic", "cosine", "polynomial")}
        | {"linear of degree 1": {"family": "linear", "degree": 1}},
        "given": {"given": {"given": lambda i, j, k: np.ones(3)}},
        "distribution": {"normal bound": {"distribution": "gaussian", "bound": 2.0, "sd": None}},
        "failure": {"1e-3": {"failure": 1e-3, "distribution": "gaussian", "bound": 2.0, "sd": None}},
        "sd": {"by link": {"sd": BY_LINK}},
        "own": {"half": {"own": 0.5}, "none": {"own": 0.0}},
        "grid": {"2^-16": {"grid": 2.0**-16}},
        "inner": {name: {"inner": one} for name, one in INNER.items()},
    },
    "JointAverage": {
        "own": {"none": {"own": 0.0}, "half": {"own": 0.5}},
        "clip": {"none": {"clip": None}, "2": {"clip": 2.0}},
    },
    "PrivateDgd": {
        "epsilon": {"8": {"epsilon": 8.0}, "none": {"epsilon": float("inf")}},
        "clip": {"2": {"clip": 2.0}},
        "releases": {"1": {"releases": 1}, "9": {"releases": 9}},
        "failure": {"1e-3": {"failure": 1e-3}},
    },
    "RssLb": {
        "delta": {"3": {"delta": 3.0}},
        "unprotected": {"yes": {"unprotected": True}},
        "given": {"given": {"given": lambda i, j, k: np.array([0.5])}},
    },
    "IndependentNoise": {"sd": {"3": {"sd": 3.0}}},
    "AcceleratedTracking": {
        "share": {"half": {"share": 0.5}},
        "strong_convexity": {"1": {"strong_convexity": 1.0}},
    },
    "Admm": {"penalty": {"2": {"penalty": 2.0}}},
    "Choco": {
        "compressor": {
            "random": {"compressor": hk.RandomK(1)},
            "quantised": {"compressor": hk.Quantised(4)},
            "whole": {"compressor": Whole()},
        },
        "gamma": {"1": {"gamma": 1.0}},
    },
    "LocalTracking": {"local_steps": {"1": {"local_steps": 1}}},
    "PushSum": {"by_share": {"no": {"by_share": False}}},
    "PushDiging": {"by_share": {"no": {"by_share": False}}},
    "Safeguard": {
        "inner": {"Nids": {"inner": hk.Nids()}},
        "every": {"5": {"every": 5}},
        "growth": {"20": {"growth": 20.0}},
    },
}
"""Fields of every public algorithm: by a name, what is put in the place of the base's."""

FOREIGN = ("subclass", "quiet subclass", "instance", "class", "wrapper", "inner")
"""Whose code takes the place of hocket's, and where: see `tests.claims.foreign`."""
COMMON: dict[str, Values] = {
    "masked": {"no": False, "yes": True},
    "code": {one: one for one in ("hocket's", *FOREIGN)},
    "network": {
        "complete:4": hk.Network.complete(4),
        "cycle:5": hk.Network.cycle(5),
        "star:5": hk.Network.star(5),
        "by turns": hk.Network.varying([hk.Network.cycle(5), hk.Network.complete(5)]),
    },
    "workload": {one: one for one in ("slopes", "squares", "least squares", "logistic", "own loss")},
    "relation": {one: one for one in ("move", "shift", "transfer", "sensitivity", "member")},
    "feasible": {
        "everywhere": Everywhere(),
        "box": hk.Box(-1.0, 1.0),
        "ball": hk.Ball(1.0),
        "simplex": hk.Simplex(1.0),
    },
    "prox": {
        "none": None,
        "L1": hk.L1(0.3),
        "elastic net": hk.ElasticNet(0.3, 0.2),
        "group lasso": hk.GroupLasso(0.3, [[0], [1]]),
        "own": hk.Proximal(lambda x: 0.1 * (x @ x), lambda x, step: x / (1 + 0.2 * step)),
    },
    "reduction": {"sum": "sum", "mean": "mean"},
    "step": {
        "constant": hk.Constant(0.1),
        "falling": hk.Power(1.0, 4.0, 1.0),
        "rising": lambda k: 0.04 * k,
        "auto": "auto",
    },
    "start": {"zero": "zero", "far": "far", "rows": "rows"},
    "grad_at": {"mixed": "mixed", "projected": "projected"},
    "rounds": {"4": 4, "1": 1},
    "adversary": {
        "coalition {0}": {"coalition": {0}},
        "any one": {"colluders": 1},
        "nobody inside": {"colluders": 0},
        "coalition {0, 3}": {"coalition": {0, 3}},
    },
    "conduct": {"semi-honest": False, "malicious": True},
    "records": {"1": 1, "2": 2, "by agent": {1: 1}},
    "runs": {"1": 1, "2": 2},
    "kept": {"no": False, "yes": True},
    "leavers": {"nobody": (), "agent 3": (3,)},
    "release": {"nothing": "nothing", "mixed": "mixed", "raw": "raw", "means": "means"},
    "batches": {"no": False, "yes": True},
    "rate": {"1": 1.0, "0.5": 0.5},
    "on_grid": {"no": False, "yes": True},
    "by": {"theorem": "theorem", "linearisation": "linearisation", "search": "search", "bound": "bound"},
    "every": {"1": 1, "2": 2},
    "channel": {
        "none": None,
        "inactive": hk.Channel(inactive=0.3),
        "loss": hk.Channel(loss=0.2),
        "delay": hk.Channel(delay=2),
    },
    "objectives": {"unsaid": None, "any": "any", "polynomial:2": "polynomial:2", "quadratic": "quadratic"},
    "said": {"problem": "problem", "dim alone": "dim"},
    "entry": {"algorithm": "algorithm", "key": "key", "audit": "audit"},
}
"""Options of the problem, of `hk.solve` and of `hk.certify`."""

PARAMETERS: dict[str, dict[str, str]] = {
    "certify": {
        "network": "network",
        "algorithm": "entry",
        "coalition": "adversary",
        "colluders": "adversary",
        "sigma": "entry",
        "independent": "entry",
        "persistent": "entry",
        "move": "relation",
        "shift": "relation",
        "transfer": "relation",
        "sensitivity": "relation",
        "problem": "said",
        "dim": "said",
        **{
            one: one
            for one in (
                [
                    "records",
                    "step",
                    "rounds",
                    "runs",
                    "kept",
                    "leavers",
                    "release",
                    "batches",
                    "rate",
                    "on_grid",
                    "by",
                    "every",
                    "objectives",
                ]
            )
        },
    },
    "solve": {
        "problem": "workload",
        "network": "network",
        "algorithm": "entry",
        **{one: one for one in ("rounds", "step", "start", "grad_at", "channel")},
        "seed": NOTHING + "noise is drawn anew for every seed, and cells are played under several",
        "keep": NOTHING + "it keeps more at home",
        "engine": NOTHING + "engines agree on every message, and cells are held against the simulator's",
        "dtype": NOTHING + "certificates are about real numbers, or about a grid whose sums are exact",
        "tolerance": NOTHING + "it is refused where noise hides records, and moves leave the gap as it is",
        "measure": NOTHING + "it decides what is measured at home",
        "time_average": NOTHING + "it decides what is measured at home",
        "checkpoint": NOTHING + "a folder at home",
        "progress": NOTHING + "a bar on one's own screen",
    },
    "audit": {
        "network": "network",
        "coalition": "adversary",
        "colluders": "adversary",
        "run": "entry",
        "algorithm": "entry",
        "sigma": "entry",
        "dim": "said",
        **{one: one for one in ("objectives", "rounds", "step", "runs")},
        "local_steps": NOTHING + "above 1 no certificate is printed",
        **dict.fromkeys(("gradient_size", "feasible"), NOTHING + "of estimates"),
        "forbidden": NOTHING + "of links that may be added",
        "watch": NOTHING + "a bar on one's own screen",
    },
    "plan_certificate": {
        "networks": "network",
        "algorithm": "entry",
        "epsilon": "goal",
        "delta": "goal",
        "colluders": "adversary",
        "transfer": "relation",
        "sensitivity": "relation",
        "clip": "relation",
        "rounds": "rounds",
        "runs": "runs",
        "rate": "rate",
        "slack": "slack",
        "per_link": "per_link",
    },
    "hocket certify": {
        "topology": "network",
        "edges": "network",
        "algorithm": "entry",
        "colluders": "adversary",
        "coalition": "adversary",
        "sigma": "entry",
        "independent": "entry",
        "persistent": "entry",
        **dict.fromkeys(("move", "shift", "transfer", "sensitivity"), "relation"),
        **{one: one for one in ("records", "rounds", "step", "rate", "runs", "kept", "leavers")},
        "delta": NOTHING + "it is the δ at which the same μ is said",
    },
    "Problem": {
        "loss": "workload",
        "data": "relation",
        "feasible": "feasible",
        "dim": "workload",
        "prox": "prox",
        "objectives": NOTHING + "anybody who declares a class answers for it; what is derived is checked",
        **dict.fromkeys(
            ("convex", "lipschitz", "smoothness", "optimum", "names"),
            NOTHING + "it decides steps and what is measured at home; derived steps are the axis 'step'",
        ),
    },
    "train": {
        **{
            one: "train." + one
            for one in [
                "model",
                "network",
                "algorithm",
                "epochs",
                "step",
                "local_steps",
                "batch",
                "momentum",
                "feasible",
                "private",
                "clip",
            ]
        },
        "shards": "train.relation",
        "start": "train.start",
        "test": NOTHING + "public by its nature: nobody learns from it",
        "seed": NOTHING + "noise is drawn anew for every seed, and cells are played under several",
        "every": NOTHING + "it decides when models are judged",
        "keep": NOTHING + "it keeps more at home",
        "engine": NOTHING + "engines agree on every message",
        "checkpoint": NOTHING + "a folder at home",
        "progress": NOTHING + "a bar on one's own screen",
    },
}
"""By entry point: the axis on which each parameter is varied, or why it says nothing of privacy."""


def parameters(call: Any) -> list[str]:
    """What a function takes, fields of its argument objects by their own names."""
    names = [
        name for name, one in inspect.signature(call).parameters.items() if one.kind is not one.VAR_KEYWORD
    ]
    if call not in TAKEN:
        return names
    objects = {*KINDS} - ({"objectives"} if "form" in TAKEN[call] else set())
    taken = {*TAKEN[call]} - {"form", *names}
    return [*(name for name in names if name not in objects), *sorted(taken)]


TAKEN = {
    call: importlib.import_module(call.__module__).TAKEN for call in (hk.certify, hk.audit, plan_certificate)
}
"""Fields of a question that these take."""
ENTRIES = {
    "certify": hk.certify,
    "audit": hk.audit,
    "solve": hk.solve,
    "plan_certificate": plan_certificate,
    "hocket certify": certify_command,
    "train": hk.train,
    "Problem": hk.Problem,
}

SECTION_KEYS: dict[str, set[str]] = {
    "privacy": {"epsilon", "delta"},
    "certificate": {
        *(
            "protect",
            "epsilon",
            "delta",
            "sensitivity",
            "sigma",
            "own",
            "mu",
            "columns",
            "target",
            "kappa",
            "rate",
        )
    },
}
"""Keys of the sections of files that promise something: [privacy] of a study, [certificate] of a plan."""

INSIDE = {
    "MaskedStart": "the axis 'masked' of this table",
    "Totals": "a study's sums, which `hocket.studies.disclosure.promise` speaks for",
    "Alone": "sends nothing",
    "Even": "stands in for PushSum and PushDiging where rounds are read",
    "Unclipped": "stands in for PrivateDgd where audits read rounds",
    "OwnSteps": "stands in for JointAverage where rounds are read",
    "Replayed": "plays real noise again",
    "CountedAlgorithm": "counts what is paid",
}
"""Algorithms of hocket that are not public, and why they have no rows."""


CHANNEL = {
    **dict.fromkeys(("loss", "inactive", "delay"), "COMMON['channel']"),
    **dict.fromkeys(
        ("burst", "both_ways", "seed"),
        "of the messages that are lost, and cells are played for those that were",
    ),
}
"""Fields of `hk.Channel`, and where they are varied."""


def descendants(kind: type) -> set[type]:
    """All classes below one."""
    return {one for below in kind.__subclasses__() for one in (below, *descendants(below))}


def kinds() -> list[type[hk.Algorithm]]:
    """Every algorithm class of hocket that somebody could instantiate."""
    for module in pkgutil.walk_packages(hk.__path__, "hocket."):
        if module.name.startswith(
            ("hocket.algorithms.", "hocket.learning.", "hocket.federation.verification.")
        ):
            importlib.import_module(module.name)
    found, queue = [], [hk.Algorithm]
    while queue:
        for kind in queue.pop().__subclasses__():
            queue.append(kind)
            if kind.__module__.startswith("hocket.") and not inspect.isabstract(kind):
                found.append(kind)
    return sorted(set(found), key=lambda kind: kind.__name__)


def missing() -> Iterator[str]:
    """What is in the code and has no row here, as sentences; and what is here and no longer in the code."""
    here = "tests/claims/options.py"
    played = {base.kind for base in BASES}
    for kind in kinds():
        name, fields = kind.__name__, [one.name for one in dataclasses.fields(kind)]
        if name in INSIDE:
            if kind in ALL:
                yield f"{name} is public: take it out of INSIDE in {here}"
            continue
        if kind not in played:
            yield f"{name} is no mechanism of the matrix: add it to hocket.algorithms.ALL, or to INSIDE in {here}"
        known = FIELDS.get(name, {})
        for field in fields:
            if field not in known:
                yield f"{name}.{field} has no values: add FIELDS[{name!r}][{field!r}] to {here}"
        for field in known:
            if field not in fields:
                yield f"{name} has no field {field!r} any more: take it out of FIELDS in {here}"
    for entry, call in ENTRIES.items():
        names, known = parameters(call), PARAMETERS[entry]
        for name in names:
            if name not in known:
                yield f"{entry}({name}=) is on no axis: add PARAMETERS[{entry!r}][{name!r}] to {here}"
        for name in known:
            if name not in names:
                yield f"{entry} has no parameter {name!r} any more: take it out of PARAMETERS in {here}"
        for axis in known.values():
            known_axis = axis in COMMON or axis.startswith((NOTHING, "train.")) or axis in PLANNED
            if not known_axis:
                yield f"the axis {axis!r} of {entry} has no values: add COMMON[{axis!r}] to {here}"
    for axis, base in (("feasible", FeasibleSet), ("prox", Penalty)):
        known_kinds = {type(one).__name__ for one in COMMON[axis].values()}
        for kind in base.__subclasses__():
            if kind.__module__.startswith("hocket.") and kind.__name__ not in known_kinds:
                yield f"{kind.__name__} stands in no cell: add one to COMMON[{axis!r}] in {here}"
    steps = {type(as_step(one)) for name, one in COMMON["step"].items() if name != "auto"} | {Derived}
    for kind in descendants(Step) - steps:
        if kind.__module__ == Step.__module__:
            yield f"{kind.__name__} stands in no cell: add one to COMMON['step'] in {here}"
    for kind in descendants(Compressor) - {
        type(one["compressor"]) for one in FIELDS["Choco"]["compressor"].values()
    }:
        if kind.__module__ == Compressor.__module__ and kind is not type(hk.Choco().compressor):
            yield f"{kind.__name__} stands in no cell: add one to FIELDS['Choco']['compressor'] in {here}"
    for family in {*FAMILIES} - {*FIELDS["FunctionSharing"]["family"]}:
        yield f"the family {family!r} stands in no cell: add it to FIELDS['FunctionSharing'] in {here}"
    for name in {one.name for one in dataclasses.fields(hk.Channel)} ^ {*CHANNEL}:
        yield f"Channel.{name} is in the code or in the table alone: see CHANNEL in {here}"
    for section, model in (("privacy", SECTIONS["privacy"]), ("certificate", CertificateSection)):
        for key in {*model.model_fields} ^ SECTION_KEYS[section]:
            yield f"[{section}] {key} is in the code or in the table alone: see SECTION_KEYS in {here}"


PLANNED = {"goal", "slack", "per_link"}
"""Axes of plans of noise: they choose numbers, which are then certified like any others."""
assert MaskedStart.__name__ in INSIDE
assert Totals.__name__ in INSIDE
