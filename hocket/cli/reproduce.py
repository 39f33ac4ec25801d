"""`hocket reproduce`: the paper's experiments, what it only says in words, and a verdict on each of its claims."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from hocket.cli.answer import Answer, aside
from hocket.errors import BadConfig

if TYPE_CHECKING:
    from hocket.experiments.work import Watch

Out = Annotated[Path | None, Parameter(help="Folder to write to; by default the next free runs/NAME-1, …")]
Quick = Annotated[
    bool, Parameter(negative=(), help="A small run to see that it works; its numbers say little.")
]

reproduce = App(
    name="reproduce",
    help="Reproduce the paper: its figures, its trade-off, and a verdict on each of its claims.",
    help_epilogue="Example: hocket reproduce polynomials",
)


@reproduce.command(help_epilogue="Example: hocket reproduce polynomials --out polynomials")
def polynomials(*, out: Out = None, quick: Quick = False) -> Answer:
    """Draw the paper's first figure: four algorithms at two noise levels, on two problems and two networks.

    Also prints measured medians beside reference ones; takes less than a minute on two cores.
    """
    from hocket.config import new_folder
    from hocket.experiments import polynomials as experiment

    folder = new_folder("polynomials", out)
    found = experiment.play(experiment.QUICK if quick else experiment.FULL, _watch("Running sweeps"))
    page = experiment.write(found, folder)
    words = [experiment.reference_table(found), experiment.result_table(found), *experiment.notes(found)]
    return _answer(experiment.data(found), words, folder, page)


@reproduce.command(help_epilogue="Example: hocket reproduce tradeoff --out tradeoff")
def tradeoff(*, out: Out = None, quick: Quick = False) -> Answer:
    """Measure what the paper says in words: the gap against noise and rounds, with fitted exponents.

    Cancelling noise stands beside independent noise of the same size, and beside differential privacy at fixed ε,
    which stops at a floor. Takes up to three minutes on two cores.
    """
    from hocket.config import new_folder
    from hocket.experiments import tradeoff as experiment

    folder = new_folder("tradeoff", out)
    found = experiment.play(experiment.QUICK if quick else experiment.FULL, _watch("Running sweeps"))
    page = experiment.write(found, folder)
    tables = [experiment.price_table(found), experiment.noise_table(found), experiment.bound_table(found)]
    return _answer(experiment.data(found), [*tables, *experiment.notes(found)], folder, page)


@reproduce.command(help_epilogue="Example: hocket reproduce claims --only lemma-1")
def claims(
    *,
    out: Annotated[
        Path | None,
        Parameter(help="Folder that claims.md is written to, over an older one; by default runs/claims-1, …"),
    ] = None,
    only: Annotated[
        list[str] | None, Parameter(negative=(), help="Check this claim alone; may be given more than once.")
    ] = None,
) -> Answer:
    """Go through every claim of the paper and say whether it holds, holds as corrected, or fails.

    Runs the check that stands for each claim and prints its evidence; takes about a minute. Claims about privacy and
    learning are listed until their parts are there.
    """
    from hocket.config import new_folder
    from hocket.experiments import claims as experiment

    if only and out is not None:
        raise BadConfig("--only checks some claims, --out writes a page of all; leave one of them away")
    ledger = experiment.judge(experiment.GROUPS, only or (), _watch("Checking claims"))
    data, words = experiment.data(ledger), experiment.paragraphs(ledger)
    if only:
        return Answer(data, [*words, data["conclusion"]])
    page = experiment.write(ledger, out if out is not None else new_folder("claims"))
    return _answer(data, words, page.parent, page)


def _watch(what: str) -> Watch:
    """A bar on standard error, where somebody is there to see it."""
    from rich.progress import track

    console = aside()
    return partial(track, description=what, console=console, transient=True, disable=not console.is_terminal)


def _answer(data: dict[str, Any], words: list[Any], folder: Path, page: Path) -> Answer:
    where = {"folder": str(folder), "report": str(page)}
    return Answer(data | where, [*words, f"Report: {page}", data["conclusion"]])
