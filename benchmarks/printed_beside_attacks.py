"""What a verdict prints, beside the best attack that we ship: none may be much better than what is printed.

    python benchmarks/printed_beside_attacks.py                 96 cells, 20 seeds each; about half an hour of one core
    python benchmarks/printed_beside_attacks.py --seeds 4       a glance
    python benchmarks/printed_beside_attacks.py --jobs 16       on more cores
    python benchmarks/printed_beside_attacks.py --rows rows.jsonl    keeps what is done, and goes on from there

`python benchmarks/printed_page.py rows.jsonl` makes a page of documentation of it.

A cell is an algorithm, a listener, a class of objectives, and whether the feasible set is active. Printed is the ± of
`hk.leakage` with the form of the run's own objectives, as an audit of that run prints it. An attack's error is that of
the last gradient, over all honest agents and coordinates as a part of what was printed of each, root mean square; of
the medians over seeds the smallest counts, whichever attack it is. Wanted: 0.8 or more, since the median of an attack
that does exactly as well as predicted is a little under 1. A ± beyond the size of a gradient is printed as "as good as
unknown" and counts as that size, by which anybody who guesses zero is off. "exact" is printed where nothing is
claimed to be hidden.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import hocket as hk
from hocket.errors import HocketError
from hocket.privacy import attacks
from hocket.privacy.attacks.messages import mixed
from hocket.privacy.audit.theorem import privacy_claim
from hocket.privacy.leakage.dry_run import models_of_run
from hocket.privacy.profile import profile
from hocket.runs.view import View

ROUNDS, WANTED = 40, 0.8
STEP = hk.Power(0.5, 10, 0.75)
WIDE, NARROW = hk.Box(-50, 50), hk.Box(-0.1, 0.1)
ALGORITHMS: dict[str, hk.Algorithm] = {
    "DGD": hk.Dgd(),
    "RSS-NB": hk.RssNb(2.0),
    "RSS-NB, persistent": hk.RssNb(2.0, persistent=0.5),
    "RSS-LB": hk.RssLb(2.0),
    "FS": hk.FunctionSharing(2, 2.0),
    "own noise": hk.IndependentNoise(1.0),
}
LISTENERS = {
    "one of K5": (hk.Network.complete(5), (0,), "coalition"),
    "eavesdropper on C5": (hk.Network.cycle(5), (), "states"),
}


def quadratics(feasible: hk.FeasibleSet) -> hk.Problem:
    rng = np.random.default_rng(1)
    return hk.least_squares(
        rng.normal(size=(5, 4, 2)), rng.normal(size=(5, 4)), feasible=feasible, reduction="mean"
    )


def polynomials(feasible: hk.FeasibleSet) -> hk.Problem:
    """Bowls and quartics around centres of their own, in two coordinates."""
    centres = np.random.default_rng(2).normal(size=5)
    rows = [
        [0, -2 * a, 1.0] if j % 2 else [0, -4 * a**3, 6 * a**2, -4 * a, 1.0] for j, a in enumerate(centres)
    ]
    return hk.polynomials([np.array(row) / 2 for row in rows], feasible=feasible, dim=2)


def logistic(feasible: hk.FeasibleSet) -> hk.Problem:
    rng = np.random.default_rng(3)
    return hk.logistic(
        2 * rng.normal(size=(5, 2, 2)),
        np.sign(rng.normal(size=(5, 2))),
        l2=0.1,
        reduction="mean",
        feasible=feasible,
    )


def network_loss(x: jnp.ndarray, records: jnp.ndarray) -> jnp.ndarray:
    hidden = jnp.tanh(records[:, :2] @ x[:2] + x[2])
    return jnp.mean((hidden * x[3] + x[4] - records[:, 2]) ** 2)


def neural(feasible: hk.FeasibleSet) -> hk.Problem:
    """A network of five weights, on two records each."""
    records = np.random.default_rng(4).normal(size=(5, 2, 3))
    return hk.Problem(network_loss, records, feasible=feasible, dim=5)


CLASSES: dict[str, Callable[[hk.FeasibleSet], hk.Problem]] = {
    "quadratic": quadratics,
    "polynomial": polynomials,
    "logistic": logistic,
    "MLP": neural,
}


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    algorithm: str
    listener: str
    objectives: str
    active: bool


@dataclass(frozen=True)
class Row:
    """What was printed and found, in the median over seeds."""

    cell: Cell
    printed: float
    attack: str
    found: float
    ratio: float
    note: str
    seeds: int = 0
    seconds: float = 0.0
    """Of one core."""

    def __str__(self) -> str:
        cell, active = self.cell, "active" if self.cell.active else "wide"
        place = f"{cell.algorithm:17} {cell.listener:10} {cell.objectives:11} {active:7}"
        if np.isnan(self.ratio):
            return f"{place} {self.printed:9.3g}   {self.note}"
        verdict = "" if self.ratio >= WANTED else "  BEATEN"
        return f"{place} {self.printed:9.3g} {self.found:9.3g} {self.ratio:7.2f}  {self.attack}{verdict}  {self.note}"


def cells() -> Iterator[Cell]:
    for one in itertools.product(ALGORITHMS, LISTENERS, CLASSES, (False, True)):
        yield Cell(*one)


def measured(cell: Cell, seeds: int) -> Row:
    """A cell over all seeds."""
    warnings.simplefilter("ignore")
    network, coalition, threat = LISTENERS[cell.listener]
    algorithm, problem = ALGORITHMS[cell.algorithm], CLASSES[cell.objectives](NARROW if cell.active else WIDE)
    start = np.random.default_rng(5).uniform(-0.1, 0.1, size=problem.dim)
    if privacy_claim(algorithm, problem.objective_class, dim=problem.dim):
        return Row(cell, float("nan"), "", float("nan"), float("nan"), "a theorem, no estimate")
    if profile(algorithm).hides_nothing:
        return Row(cell, 0.0, "", float("nan"), float("nan"), "exact: nothing is claimed")
    found: dict[str, list[tuple[float, float]]] = {}
    printed = []
    for seed in range(seeds):
        run = hk.solve(
            problem, network, algorithm, rounds=ROUNDS, step=STEP, start=start, seed=seed, keep="transcript"
        )
        estimate = hk.leakage(
            network,
            algorithm,
            coalition=coalition,
            threat=threat,
            rounds=ROUNDS,
            step=STEP,
            dim=problem.dim,
            models=models_of_run(run),
        )
        said, size = estimate.sd[list(estimate.honest)], gradient_size(run)
        printed.append(float(np.sqrt(np.mean(said**2))))
        if not said.any():
            continue  # everybody's gradient is said to be known exactly: no attack does better
        for name, every in tried(run, cell, coalition, threat).items():
            errors = {j: error for j, error in every.items() if estimate.sd[j] > 0}
            if not errors:
                continue
            # Beyond the size of a gradient ± says "as good as unknown": anybody who guesses zero is off by that much.
            ratios = [error / min(estimate.sd[j], size) for j, error in errors.items()]
            found.setdefault(name, []).append(
                (
                    float(np.sqrt(np.mean(np.square(ratios)))),
                    float(np.sqrt(np.mean(np.square([*errors.values()])))),
                )
            )
    typical = float(np.median(printed))
    medians = {name: np.median(rows, axis=0) for name, rows in found.items() if len(rows) > seeds // 2}
    if not medians:
        return Row(
            cell,
            typical,
            "",
            float("nan"),
            float("nan"),
            "exact: nothing is claimed" if typical == 0 else "no attack",
        )
    best = min(medians, key=lambda name: medians[name][0])
    ratio, error = medians[best]
    return Row(cell, typical, best, float(error), float(ratio), "cautious" if ratio > 3 else "")


def tried(run: hk.Run, cell: Cell, coalition: tuple[int, ...], threat: str) -> dict[str, dict[int, float]]:
    """The error of every attack that applies, by target."""
    view, everything = run.view(coalition, threat=threat), run.view(threat="states")
    found: dict[str, dict[int, attacks.Attack]] = {
        "averaging": attacks.averaging_attacks(view, start=run.path[0])
    }
    if not profile(run.algorithm).per_neighbour:
        found["mean"] = {j: attacks.strongest_average(view, j) for j in view.honest}
        found["difference"] = {j: attacks.difference_attack(view, j) for j in view.honest}
    for name, active in (
        (("model", False), ("model, X cut off", True)) if profile(run.algorithm).plain else ()
    ):
        if active and not cell.active:
            continue
        try:
            found[name] = attacks.model_attacks(view, run.problem, active=active)
        except (HocketError, np.linalg.LinAlgError):
            continue
    if cell.active and profile(run.algorithm).plain:
        every = attacks.projection_attacks(view, run.problem.feasible)
        found["projection"] = {j: one.gradient for j, one in every.items()}
    return {
        name: {j: error_of(run, everything, one) for j, one in by_target.items() if one.estimate is not None}
        for name, by_target in found.items()
        if by_target and any(one.estimate is not None for one in by_target.values())
    }


def gradient_size(run: hk.Run) -> float:
    """The root mean square of all agents' last gradients, per coordinate."""
    last = [run.problem.gradient(j, x) for j, x in enumerate(run.path[-2])]
    return float(np.sqrt(np.mean(np.square(last))))


def error_of(run: hk.Run, everything: View, attack: attacks.Attack) -> float:
    """What the estimate of the last gradient is off by, per coordinate."""
    (target,) = attack.target
    assert attack.estimate is not None
    at = mixed(everything, target)[ROUNDS - 1] if attack.at is None else attack.at[-1]
    truth = np.asarray(run.problem.gradient(target, np.asarray(at, dtype=np.float64)))
    return float(np.sqrt(np.mean((attack.estimate[-1] - truth) ** 2)))


def _measured(what: tuple[Cell, int]) -> Row:
    began = time.process_time()
    row = measured(*what)
    return replace(row, seeds=what[1], seconds=time.process_time() - began)


def rows_in(path: Path) -> list[Row]:
    """What an earlier run kept."""
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [Row(**row | {"cell": Cell(**row["cell"])}) for row in kept]


def played(todo: list[tuple[Cell, int]], jobs: int) -> Iterator[Row]:
    """Cell by cell; in one process what was compiled for a cell serves the next."""
    if jobs == 1:
        yield from map(_measured, todo)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(_measured, todo)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="cells whose description has this in it")
    parser.add_argument("--rows", type=Path, help="a file to keep rows in; those in it are not done again")
    given = parser.parse_args()
    rows = [row for row in rows_in(given.rows) if row.seeds == given.seeds] if given.rows else []
    done = {row.cell for row in rows}
    todo = [(cell, given.seeds) for cell in cells() if given.only in str(cell) and cell not in done]
    head = f"{'algorithm':17} {'listener':10} {'objectives':11} {'X':7}"
    print(f"{head} {'printed ±':>9} {'found':>9} {'ratio':>7}  attack", flush=True)
    for row in played(todo, given.jobs):
        rows.append(row)
        print(row, f"[{row.seconds:.0f} s]", flush=True)
        if given.rows:
            with given.rows.open("a") as file:
                print(json.dumps(asdict(row)), file=file)
    beaten = [row for row in rows if row.ratio < WANTED]
    cautious = [row for row in rows if row.ratio > 3]
    print(
        f"{len(rows)} cells, {given.seeds} seeds each: {len(beaten)} beaten (ratio below {WANTED}), "
        f"{len(cautious)} cautious (above 3); {sum(row.seconds for row in rows):.0f} s of one core"
    )


if __name__ == "__main__":
    main()
