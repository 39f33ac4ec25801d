"""Whether a model looks at one record at a time, which is what clipping per record is about.

Clipped gradients are taken of single records, each as a batch of one, so that a record moves their sum by the norm and
no more, whatever a model does (`hocket.learning.clipping`). But a model whose records know of each other, by batch
normalisation say, is another function of one record than of a batch: what was trained is not what would be used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.errors import BadProblem
from hocket.learning.models import Model

BATCH_LAYERS = ("batchnorm", "batchrenorm", "batchstat")
"""In the name of a layer, or of what it keeps: it takes means over a batch, in whatever framework."""
FIX = (
    "use layers that look at one record, such as LayerNorm or GroupNorm, or clip the whole step of a member: "
    "clip=Clip(norm, per='member')"
)
BATCH, DRAWS, OUTLIER, SPREADS = 5, 3, 1000.0, (0.05, 0.5)
"""Records in a batch that is tried, batches, how far out their largest record lies, and deviations of parameters from
their start: at it many a model is zero."""
EXACTLY, NEARLY = 1e-5, 1e-3
"""How far scores may differ, over the largest: where one program gives both, and where a batch is of another size."""


def check_rows(model: Model, inputs: Any, classes: int) -> None:
    """Refuse a model whose records know of each other, by the names of its layers or by trying it on random inputs.

    Of `inputs` shape and type are used, and no number: what is refused says nothing of anybody's data.
    """
    if named := sorted(name for name in model.layers if _takes_means(name)):
        raise BadProblem(
            f"{model.name} has the layer {named[0]}, which takes means over a batch: no record of it has a gradient "
            f"of its own that could be clipped; {FIX}"
        )
    if why := _interacts(model, tuple(np.shape(inputs)[1:]), np.dtype(inputs.dtype), classes):
        raise BadProblem(
            f"{model.name} {why}: no record of it has a gradient of its own to be clipped; {FIX}"
        )


def _takes_means(name: str) -> bool:
    return any(kind in name.lower().replace("_", "") for kind in BATCH_LAYERS)


@lru_cache(maxsize=64)
def _interacts(model: Model, shape: tuple[int, ...], dtype: np.dtype, classes: int) -> str:
    """How records of a model know of each other; empty where nothing shows that they do."""

    @jax.jit
    def judged(x: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
        scores = model.apply(model.unravel(x), inputs)
        return scores, model.loss(scores, labels)

    def sample(count: int) -> tuple[Any, Any]:
        return jax.ShapeDtypeStruct((count, *shape), dtype), jax.ShapeDtypeStruct((count,), np.int32)

    start = jnp.asarray(model.start)
    for count in (1, BATCH):
        try:
            scores, losses = jax.eval_shape(judged, start, *sample(count))
        except Exception as error:
            return f"fails on a batch of {count}, or its loss does ({error})"
        if scores.shape[:1] != (count,) or losses.shape != (count,):
            return (
                f"gives scores of shape {scores.shape} and losses of shape {losses.shape} for a batch of {count}, "
                "where a row and a number for each record are needed"
            )
    rng = np.random.default_rng(0)  # a public check of a public function
    for spread in SPREADS:
        for _ in range(DRAWS):
            x = start + jnp.asarray(spread * rng.normal(size=start.shape), start.dtype)
            inputs, labels = _drawn(rng, shape, dtype), rng.integers(classes, size=BATCH).astype(np.int32)
            whole = judged(x, inputs, labels)
            place = int(rng.integers(BATCH))
            others = np.arange(BATCH) != place
            far = inputs.copy()
            far[place] = _far(_drawn(rng, shape, dtype)[0])
            changed = (
                judged(x, far, labels),
                judged(x, inputs, np.where(others, labels, (labels + 1) % classes)),
            )
            if any(_differ(whole, found, EXACTLY, others) for found in changed):
                return "gives a record other scores or another loss when a record beside it is replaced"
            for row in range(BATCH):
                alone = judged(x, far[row : row + 1], labels[row : row + 1])
                if _differ(tuple(part[row : row + 1] for part in changed[0]), alone, NEARLY):
                    return "gives a record other scores in a batch than alone, by its place or by the batch's size"
    return ""


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A batch of random inputs."""
    if np.issubdtype(dtype, np.floating):
        return rng.normal(size=(BATCH, *shape)).astype(dtype)
    return rng.integers(2 if np.issubdtype(dtype, np.bool_) else 100, size=(BATCH, *shape)).astype(dtype)


def _far(row: np.ndarray) -> np.ndarray:
    """An outlier; whole numbers count tokens, or are bounded by their type."""
    return row * row.dtype.type(OUTLIER) if np.issubdtype(row.dtype, np.floating) else row


def _differ(first: Any, second: Any, most: float, rows: Any = slice(None)) -> bool:
    """Whether scores or losses differ by more than this part of the largest; what is no number equals the like."""

    def apart(one: Any, other: Any) -> bool:
        one, other = np.asarray(one, np.float64)[rows], np.asarray(other, np.float64)[rows]
        size = max((np.abs(part[np.isfinite(part)]).max(initial=0.0) for part in (one, other)), default=0.0)
        return not np.allclose(one, other, rtol=0, atol=most * (1 + size), equal_nan=True)

    return any(apart(one, other) for one, other in zip(first, second, strict=True))
