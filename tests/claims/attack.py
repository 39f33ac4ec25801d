"""The best attack on normal noise, exactly: how far noise must move for another world to give the same messages.

One run is played in the first world with real noise. In the second world every agent's own generator is fed the very
messages of that run, and the noise is sought, with the least norm, under which it sends the same ones. Noise being
normal, the likelihood ratio of the messages is that of N(0, I) against N(d, I), d the displacement: so ‖d‖ is μ, for
these messages, whatever rounds depend on. Where no noise gives the same messages, the worlds are told apart for
certain. No formula of hocket's certificates is used: only its algorithms, one agent at a time, and its draws.
"""

from __future__ import annotations

import math

import jax
import numpy as np

import hocket as hk
from hocket.steps import as_step
from tests.claims.scene import Scene

NEAR = 1e-9
"""What a message may be off, as a part of the largest, and still be the same: float64, a handful of rounds."""
NO_NOISE = 1e-8
"""Singular values below this part of the largest are none: in that direction there is no noise."""


def achieved(scene: Scene, *more: Scene) -> float:
    """μ of telling the two worlds apart by the messages of this run, or of several; infinite where they are told for
    certain. Several runs share the noise that is drawn once."""
    scenes = [scene, *more]
    for one in more:
        once = {name: table for name, table in scene.shares.items() if scene.draws[name].once}
        object.__setattr__(one, "shares", one.shares | once)
    sent = [leaf for one in scenes for _, _, messages in one.messages for leaf in jax.tree.leaves(messages)]
    near = NEAR * (1 + max((np.abs(leaf).max() for leaf in sent), default=0.0))
    many, shared = len(scene.sources), [*map(scene.kept, scene.sources)]
    # By run: which of all numbers each source is; those drawn once are the same in every run.
    fresh = iter(range(many, many * len(scenes)))
    which = [
        [number if run == 0 or shared[number] else next(fresh) for number in range(many)]
        for run in range(len(scenes))
    ]
    total = 1 + max((max(row) for row in which if row), default=-1)

    def under(moved: np.ndarray) -> list[dict[str, np.ndarray]]:
        found = []
        for one, places in zip(scenes, which, strict=True):
            mine = {name: table.copy() for name, table in one.shares.items()}
            for amount, source in zip(moved[places], scene.sources, strict=True):
                if amount:
                    for name, dealt in source.items():
                        mine[name] += amount * dealt
            found.append(mine)
        return found

    def off(moved: np.ndarray) -> np.ndarray:
        return np.concatenate([one.off(mine) for one, mine in zip(scenes, under(moved), strict=True)])

    def slopes(moved: np.ndarray) -> np.ndarray:
        blocks = [_slopes(one, mine) for one, mine in zip(scenes, under(moved), strict=True)]
        found = np.zeros((sum(map(len, blocks)), total))
        row = 0
        for places, block in zip(which, blocks, strict=True):
            found[row : row + len(block), places] = block
            row += len(block)
        return found

    moved = np.zeros(total)
    moved[:many] = scene.hidden_by
    if np.abs(found := off(moved)).max(initial=0.0) > near:
        moved = np.zeros(total)
        found = off(moved)
    felt = slopes(moved)
    for trial in range(2 * scene.rounds + 4):
        if np.abs(found).max(initial=0.0) <= near:
            # Of all noise that would do, the least: what shows in no message is left out.
            return float(np.linalg.norm(_least(felt, felt @ moved)))
        if trial and trial % 2 == 0:
            felt = slopes(moved)
        moved = moved + _least(felt, -found)
        found = off(moved)
    return math.inf


def _least(slopes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if not slopes.size or not np.isfinite(wanted).all():
        return np.zeros(slopes.shape[1])
    return np.linalg.lstsq(slopes, wanted, rcond=NO_NOISE)[0]


def _slopes(scene: Scene, shares: dict[str, np.ndarray]) -> np.ndarray:
    """How all that is seen moves with each source of noise, by differences: messages are affine in noise."""
    by_agent = []
    for j in scene.honest:
        own = scene._of(j, shares)
        at = scene.sent_by(1, j, own)
        columns: dict[tuple[str, int, int], np.ndarray] = {}
        for name, table in own.items():
            for place in np.ndindex(*table.shape):
                if not any(name in one and one[name][(place[0], j, *place[1:])] for one in scene.sources):
                    continue
                unit = 1e-3 * max(1.0, float(np.abs(table).max()))
                shifted = table.copy()
                shifted[place] += unit
                columns[(name, *place)] = (scene.sent_by(1, j, own | {name: shifted}) - at) / unit
        felt = np.zeros((len(at), len(scene.sources)))
        for number, source in enumerate(scene.sources):
            for (name, row, place), column in columns.items():
                if name in source and (dealt := source[name][row, j, place]):
                    felt[:, number] += dealt * column
        by_agent.append(felt)
    found = scene.seen(by_agent)
    # What cancels in a sum over agents leaves rounding, which is no noise.
    largest = max((float(np.abs(one).max(initial=0.0)) for one in by_agent), default=0.0)
    return np.where(np.abs(found) > NO_NOISE * largest, found, 0.0)


def real_messages(scene: Scene, problem: hk.Problem) -> float:
    """How far the messages of the real engine are from those that were attacked here, as a part of the largest."""
    run = hk.solve(
        problem,
        scene.network,
        scene.algorithm,
        rounds=scene.rounds,
        step=as_step(scene.step),
        seed=scene.seed,
        start=scene.start,
        keep="transcript",
        grad_at=scene.grad_at,  # type: ignore[arg-type]
        progress=False,
    )
    assert run.transcript is not None
    said = [*zip(*run.transcript.words, strict=True), run.released.words]
    flat = [np.asarray(array) for exchange in said for array in exchange]
    mine = []
    for _, total, meant in scene.messages:
        stacked = [np.stack(leaves) for leaves in zip(*map(jax.tree.leaves, meant), strict=True)]
        mine += [np.broadcast_to(one.sum(axis=0), one.shape) if total else one for one in stacked]
    largest = max(np.abs(one).max() for one in mine)
    return max(np.abs(a - b).max() for a, b in zip(flat, mine, strict=True)) / (1 + largest)
