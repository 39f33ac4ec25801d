"""`hocket peer demo`: five members on this machine, in processes of their own, over real links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer, aside

if TYPE_CHECKING:
    from hocket.federation.demo.demonstration import Demonstration

GOALS = (1.0, 0.1, 0.01, 1e-3)
"""Gaps to the pooled optimum, of all objectives' sum, which begins at 10.2."""
EQUAL = 1e-12
"""Differences up to here are rounding: float64, 200 rounds, two orders of summation."""


def demo(
    *,
    algorithm: Annotated[
        str, Parameter(help="dgd, rss-nb, rss-nb-anchored, rss-lb or function-sharing.")
    ] = "rss-nb-anchored",
    inner: Annotated[
        str | None,
        Parameter(
            help="What function-sharing carries out, such as aug-dgm; by default dgd, as in the paper."
        ),
    ] = None,
    rounds: Annotated[int, Parameter(help="How many rounds.")] = 200,
    out: Annotated[
        Path | None, Parameter(help="Folder to write to; by default the next free runs/peers-1, …")
    ] = None,
) -> Answer:
    """Let five members learn to read digits together, and compare them with the simulator on the same noise.

    With --inner they do so twice, with that method inside and with DGD, and the answer says how soon each is near the
    optimum of all digits.

    Real processes, real certificates, TLS 1.3 on loopback, a journal each. Their secrets come from a seed that
    everybody knows, so that the run can be replayed: it shows how things work and hides nothing.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from hocket.config import new_folder
    from hocket.errors import BadConfig
    from hocket.federation.demo.demonstration import ALGORITHMS, demonstrate

    if algorithm not in ALGORITHMS:
        raise BadConfig(f"--algorithm {algorithm}; choose one of {', '.join(ALGORITHMS)}")
    if inner is not None and algorithm != "function-sharing":
        raise BadConfig(f"--inner {inner} is for function-sharing, and --algorithm is {algorithm}")
    folder, console = new_folder("peers", out), aside()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True
    ) as progress:
        bars: dict[str, Any] = {}

        def watch(reached: Any) -> None:
            for name, k in reached.items():
                bars.setdefault(name, progress.add_task(name, total=rounds) if name not in bars else None)
                progress.update(bars[name], completed=k)

        shown = demonstrate(folder, algorithm=algorithm, rounds=rounds, inner=inner, watch=watch)
        plain = None
        if inner is not None:
            bars.clear()
            plain = demonstrate(folder / "with-dgd", algorithm=algorithm, rounds=rounds, watch=watch)
    equal = shown.deviation <= EQUAL
    data = {
        "folder": str(folder),
        "algorithm": algorithm,
        "rounds": rounds,
        "seconds": shown.seconds,
        "deviation": shown.deviation,
        "equal": equal,
        "gap": shown.replay.gap,
        "accuracy": list(shown.accuracies),
        "reached": {f"{goal:g}": shown.reached(goal) for goal in GOALS},
        "dgd_reached": None if plain is None else {f"{goal:g}": plain.reached(goal) for goal in GOALS},
    }
    played = algorithm if inner is None else f"{algorithm} with {inner} inside"
    words = [
        f"Five processes played {rounds} rounds of {played} over TLS 1.3 in {shown.seconds:.1f} s, start included.",
        f"Their final states differ from the simulator's, on the same noise, by {shown.deviation:.2g} at most"
        + (": equal up to rounding." if equal else f", which is more than {EQUAL:g}."),
        f"Their gap to the optimum of all digits together is {shown.replay.gap:.2g}.",
        *([] if plain is None else _beside(shown, plain, str(inner))),
        f"What they publish reads {min(shown.accuracies):.1%} to {max(shown.accuracies):.1%} of held-out digits right.",
        f"Plan, identities, journals and logs: {folder}",
    ]
    return Answer(data, words)


def _beside(shown: Demonstration, plain: Demonstration, inner: str) -> list[Any]:
    """How soon both were near the pooled optimum."""
    from hocket.report.tables import Table

    def when(one: Demonstration, goal: float) -> str:
        found = one.reached(goal)
        return "not reached" if found is None else f"round {found[0]:,}, {found[1]:.1f} s"

    rows = tuple((f"{goal:g}", when(shown, goal), when(plain, goal)) for goal in GOALS)
    return [Table(("gap to the pooled optimum", f"with {inner} inside", "with dgd inside"), rows)]
