"""`hocket peer demo`: five members on this machine, in processes of their own, over real links."""

from __future__ import annotations

from typing import Any

from hocket.cli.answer import Answer, aside
from hocket.cli.options import Out
from hocket.errors import BadConfig

GOALS = (1.0, 0.1, 0.01, 1e-3)
"""Gaps to the pooled optimum, of all objectives' sum, which begins at 10.2."""
EQUAL = 1e-12
"""Differences up to here are rounding: float64, 200 rounds, two orders of summation."""


def demo(
    *, algorithm: str = "rss-nb-persistent", inner: str | None = None, rounds: int = 200, out: Out = None
) -> Answer:
    """Let five members learn to read digits together, and compare them with the simulator on the same noise.

    Real processes, real TLS certificates, TLS 1.3 on loopback, a journal each. Their secrets come from a public seed,
    so that the run can be replayed: it shows how things work and hides nothing.

    Args:
        algorithm: dgd, rss-nb, rss-nb-persistent, rss-lb or function-sharing.
        inner: What function-sharing carries out, such as aug-dgm; by default dgd, as in the paper.
        rounds: How many rounds.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from hocket.config import new_folder
    from hocket.demo.members.demonstration import ALGORITHMS, demonstrate

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
    equal = shown.deviation <= EQUAL
    reached = {f"{goal:g}": shown.reached(goal) for goal in GOALS}
    data = {
        "folder": str(folder),
        "algorithm": algorithm,
        "rounds": rounds,
        "seconds": shown.seconds,
        "deviation": shown.deviation,
        "equal": equal,
        "gap": shown.replay.gap,
        "accuracy": list(shown.accuracies),
        "reached": reached,
    }
    played = algorithm if inner is None else f"{algorithm} with {inner} inside"
    soon = [f"{goal} in round {found[0]:,}, {found[1]:.1f} s" for goal, found in reached.items() if found]
    lines = [
        f"Five processes played {rounds} rounds of {played} over TLS 1.3 in {shown.seconds:.1f} s, start included.",
        f"Their final states differ from the simulator's, on the same noise, by {shown.deviation:.2g} at most"
        + (": equal up to rounding." if equal else f", which is more than {EQUAL:g}."),
        f"Their gap to the optimum of all digits together is {shown.replay.gap:.2g}"
        + (f"; it was below {', '.join(soon)}." if soon else "."),
        f"What they publish reads {min(shown.accuracies):.1%} to {max(shown.accuracies):.1%} of held-out digits right.",
        f"Plan, identities, journals and logs: {folder}",
    ]
    return Answer(data, lines)
