"""The cells of `hk.train`: what `private=` and `clip=` print, under every algorithm, model and pair of options.

Two trainings of the same seed have the same noise and the same batches; one record, or one member, differs. How far
the second message moves, beside what was printed of it, and whether noise of the printed size is there, is what an
attacker has. Nothing of hocket's accounts is used.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

import hocket as hk
from hocket import learning
from hocket.algorithms import ALL
from hocket.errors import HocketError
from hocket.learning.models import Layer, Model
from hocket.privacy.stand_ins import TYPICAL
from tests.claims.cells import Result
from tests.claims.foreign import Exact, exact

AGENTS, WIDTH, CLASSES, ROWS = 5, 6, 3, 20
TOKENS = 2
"""Of which a record consists, for models that see them one by one."""
ALPHA, CUT, EPSILON = 0.2, 0.5, 1.0


def _weights(*shape: int) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).normal(size=shape) / 2).astype(np.float32)


def _normed(parameters: Any, x: Any) -> Any:
    first, second = parameters
    h = x @ first
    return jnp.tanh((h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5)) @ second


def _dropped(parameters: Any, x: Any) -> Any:
    first, second = parameters
    h = jax.nn.relu(x @ first)
    return (h * jax.random.bernoulli(jax.random.key(7), 0.5, h.shape) / 0.5) @ second


def _by_token(layers: Any, x: Any) -> Any:
    first, second = layers
    return second(jnp.tanh(first(x.reshape(-1, WIDTH // TOKENS)))).reshape(len(x), TOKENS, -1).mean(1)


@custom_vmap
def _largest(h: Any) -> Any:
    return jnp.abs(h).max()


@_largest.def_vmap
def _of_all(size: int, batched: list[bool], h: Any) -> Any:
    return jnp.full(size, jnp.abs(h).max()), True


_received: dict[str, float] = {}


def _remembered(h: Any) -> Any:
    _received["most"] = max(_received.get("most", 0.0), float(np.abs(h).max()))
    return np.float32(_received["most"])


def _on_the_host(h: Any) -> Any:
    return jax.pure_callback(_remembered, jax.ShapeDtypeStruct((), np.float32), h, vmap_method="sequential")


def _turning(most: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Layers whose gradients turn round once any record of them all has been large."""

    @jax.custom_vjp
    def turn(h: Any) -> Any:
        return h

    turn.defvjp(lambda h: (h, most(h)), lambda largest, slope: (slope * jnp.sign(100 - largest),))
    return lambda layers, x: layers[1](jnp.tanh(turn(layers[0](x))))


def _layer(i: int, o: int) -> Layer:
    return Layer(_weights(i, o), np.zeros(o, np.float32))


@cache
def model(name: str) -> Any:
    """A model by name: the same object every time, so that it is compiled once."""
    pair = [_weights(WIDTH, 8), _weights(8, CLASSES)]
    match name:
        case "logistic":
            return learning.logistic_regression(WIDTH, CLASSES)
        case "mlp":
            return learning.mlp((WIDTH, 8, CLASSES))
        case "batch norm":
            return learning.as_model((_normed, pair))
        case "dropout, fixed key":
            return Model(_dropped, pair)
        case "batching rule":
            return Model(_turning(_largest), [_layer(WIDTH, 8), _layer(8, CLASSES)])
        case "host memory":
            return Model(_turning(_on_the_host), [_layer(WIDTH, 8), _layer(8, CLASSES)])
        case _:
            return Model(_by_token, [_layer(WIDTH // TOKENS, 8), _layer(8, CLASSES)])


NUMBERS: dict[type, hk.Algorithm] = {
    hk.FunctionSharing: hk.FunctionSharing(1, sd=1.0, family="linear"),
    hk.PrivateDgd: hk.PrivateDgd(4.0, clip=CUT, releases=9),
}
"""Algorithms that need numbers other than those that stand for them elsewhere."""
ALGORITHMS: dict[str, hk.Algorithm] = {
    kind.__name__: NUMBERS.get(kind) or TYPICAL.get(kind.name) or kind() for kind in ALL
} | {
    "CertifiedRssNb own": hk.CertifiedRssNb(sd=0.3, own=0.3),
    "JointAverage own": hk.JointAverage(own=0.3),
    "FunctionSharing of AugDgm": hk.FunctionSharing(1, sd=1.0, family="linear", inner=hk.AugDgm()),
    "Dgd of one's own": Exact(),
    "Dgd with a round put in": exact(),
}
AXES: dict[str, dict[str, Any]] = {
    "train.algorithm": ALGORITHMS,
    "train.model": {
        one: one
        for one in (
            "logistic",
            "mlp",
            "batch norm",
            "dropout, fixed key",
            "batching rule",
            "host memory",
            "by token",
        )
    },
    "train.relation": {one: one for one in ("replaced", "outlier", "added")},
    "train.network": {
        "cycle": hk.Network.cycle(AGENTS),
        "by turns": [hk.Network.cycle(AGENTS), hk.Network.complete(AGENTS)],
    },
    "train.epochs": {"two rounds": 2, "three rounds": 3},
    "train.step": {"constant": ALPHA, "falling": lambda k: ALPHA / k},
    "train.local_steps": {"1": 1, "3": 3},
    "train.batch": {"10": 10, "all": ROWS},
    "train.momentum": {"none": 0.0, "0.9": 0.9},
    "train.feasible": {"none": None, "ball": hk.Ball(1.0)},
    "train.start": {"the model's": None, "given": "given"},
    "train.private": {
        "none": None,
        "DpSgd": learning.DpSgd(EPSILON, clip=CUT, failure=1e-5),
        "DpSgd of 8": learning.DpSgd(8.0, clip=2.0, failure=1e-4),
    },
    "train.clip": {
        "none": None,
        "record": learning.Clip(CUT),
        "member": learning.Clip(CUT, per="member"),
    },
}
"""By axis the values; the first is what a cell has where nothing is said."""
BASES = {
    "private": {"train.algorithm": "Dgd", "train.private": "DpSgd"},
    "clip per record": {"train.algorithm": "CertifiedRssNb own", "train.clip": "record"},
    "clip per member": {"train.algorithm": "CertifiedRssNb own", "train.clip": "member"},
}
PARTS: dict[Any, set[str]] = {
    learning.DpSgd: {"epsilon", "clip", "failure"},
    learning.Clip: {"norm", "per"},
}
"""Fields of what `private=` and `clip=` take, each varied above."""


def missing() -> Iterator[str]:
    """What is in the code of training and on no axis here."""
    here = "tests/claims/training.py"
    from tests.claims.options import PARAMETERS

    for axis in PARAMETERS["train"].values():
        if axis.startswith("train.") and axis not in AXES:
            yield f"hk.train has the axis {axis!r} without values: add AXES[{axis!r}] to {here}"
    for kind, known in PARTS.items():
        for field in {one.name for one in dataclasses.fields(kind)} ^ known:
            yield f"{kind.__name__}.{field} is in the code or in the table alone: see PARTS in {here}"
    for name in learning.__all__:
        found = getattr(learning, name)
        makes = name.islower() and "Model" in str(inspect.signature(found).return_annotation)
        if makes and name not in ("as_model", "logistic_regression", "mlp", "cnn"):
            yield f"hocket.learning.{name} makes a model: add it to AXES['train.model'] in {here}"


@dataclass(frozen=True)
class Training:
    """One cell: a claim, and what is changed beside it."""

    base: str
    changed: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " × ".join([f"train {self.base}", *(f"{axis} = {value}" for axis, value in self.changed)])

    @property
    def names(self) -> dict[str, str]:
        first = {axis: next(iter(values)) for axis, values in AXES.items()}
        return first | BASES[self.base] | dict(self.changed)


def cells(base: str) -> Iterator[Training]:
    """The claim itself, with one option changed, and with every pair."""
    usual = Training(base).names
    each = [
        (axis, name)
        for axis, values in AXES.items()
        for name in values
        if name != usual[axis] and (axis, name) not in ((f"train.{base.split()[0]}", "none"),)
    ]
    yield Training(base)
    yield from (Training(base, (one,)) for one in each)
    yield from (Training(base, pair) for pair in itertools.combinations(each, 2) if pair[0][0] != pair[1][0])


def evaluate(cell: Training, *, seed: int = 0) -> Result:
    """Refused, or played: how far one record moves a message, beside what was printed and what noise is there."""
    about = {axis: AXES[axis][name] for axis, name in cell.names.items()}
    try:
        run = _trainer(about, about["train.algorithm"], seed)
        first = run(0)
    except HocketError as error:
        return Result("refused", why=str(error))
    said = " ".join(first.remarks)
    private = about["train.private"]
    if about["train.relation"] == "added":
        if "record added or removed moves" not in said:
            return Result("refused", why="nothing is said of a record added")
        second = run(1)
        same = (first.rounds, first.settings["learning"]["clip"].get("rate")) == (
            second.rounds,
            second.settings["learning"]["clip"].get("rate"),
        )
        return Result("played", 1.0, 0.0 if same else math.inf, "rounds, or the rate, show the record")
    moved = (_second(run(1)) - _second(first))[1]
    scale = ALPHA * (3 if about["train.local_steps"] == 3 else 1)
    if private is not None:
        if "differential privacy" not in said:
            return Result("refused", why="nothing is said of privacy")
        return _noisy(run, first, moved, private, about["train.batch"])
    if " S = " not in said:
        return Result("refused", why="nothing is said of how far a record moves a message")
    promised = float(first.settings["learning"]["clip"]["sensitivity"])
    clip = about["train.clip"]
    whole = clip.norm * 2 if clip.per == "member" else 2 * clip.norm / about["train.batch"]
    # One replaced moves twice what one added does, whichever is printed.
    return Result("played", scale * max(promised, whole), float(np.linalg.norm(moved)))


def _noisy(run: Any, first: Any, moved: np.ndarray, private: Any, batch: int) -> Result:
    """How far a message moves beside the noise in all of them, and what the printed σ and C allow in one step."""
    silent = run(0, private=replace(private, epsilon=math.inf))
    noise = (_second(first) - _second(silent)).ravel()
    sigma = next(float(one.split("σ = ")[1].split()[0]) for one in first.remarks if "σ = " in one)
    size = float(np.sqrt(np.mean(noise**2)))
    # The mean square of n normal numbers is below this once in a thousand times.
    least = math.sqrt(max(0.0, 1 - 3.1 * math.sqrt(2 / len(noise))))
    achieved = math.inf if size == 0 else float(np.linalg.norm(moved)) / size * least
    return Result("played", 2 * private.clip / sigma, achieved)


def _second(run: Any) -> np.ndarray:
    """What all agents send in the second round: their first gradients, under their noise. Where nobody sends
    anything, where they end."""
    sent = run.transcript.words
    found = np.asarray(sent[0][1] if sent else run.x, np.float64)
    return np.broadcast_to(found, (AGENTS, *found.shape[1:]))


def _trainer(about: dict[str, Any], algorithm: Any, seed: int) -> Callable[..., Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=AGENTS * ROWS + 5).astype(np.int32)
    rows = rng.normal(size=(len(labels), WIDTH)).astype(np.float32)
    changed, renamed = rows.copy(), labels.copy()
    many = slice(ROWS, 2 * ROWS if about["train.clip"] and about["train.clip"].per == "member" else ROWS + 1)
    far = 1000.0 if about["train.relation"] == "outlier" else 1.0
    changed[many] = -far * np.sign(changed[many])
    renamed[many] = (renamed[many] + 1) % CLASSES
    epochs = about["train.epochs"] * about["train.batch"] * about["train.local_steps"] / ROWS
    start = None
    if about["train.start"] is not None:
        start = 0.1 * np.ones(learning.as_model(model(about["train.model"])).dim, np.float32)
    if about["train.relation"] == "added":
        epochs = 10 * epochs

    def run(world: int, **changes: Any) -> Any:
        x, y = (rows, labels) if world == 0 else (changed, renamed)
        parts = [
            learning.Dataset("d", x[j * ROWS : (j + 1) * ROWS], y[j * ROWS : (j + 1) * ROWS], classes=CLASSES)
            for j in range(AGENTS)
        ]
        if about["train.relation"] == "added" and world == 0:
            parts[1] = learning.Dataset("d", x[ROWS : 2 * ROWS - 1], y[ROWS : 2 * ROWS - 1], classes=CLASSES)
        test = learning.Dataset("t", rows[-5:], labels[-5:], classes=CLASSES)
        given = {
            one: about[f"train.{one}"]
            for one in ("step", "local_steps", "batch", "momentum", "feasible", "private", "clip")
        }
        return hk.train(
            model(about["train.model"]),
            parts,
            about["train.network"],
            algorithm,
            test=test,
            epochs=epochs,
            start=start,
            seed=seed,
            keep="transcript",
            progress=False,
            **given | changes,
        )

    return run
