"""`hocket reproduce`: the paper's experiments, what it only says in words, and a verdict on each of its claims."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from hocket.cli.answer import Answer, Out, aside, bar
from hocket.errors import BadConfig

if TYPE_CHECKING:
    from hocket.experiments.experiment import Experiment

Quick = Annotated[
    bool, Parameter(negative=(), help="A small run to see that it works; its numbers say little.")
]
Data = Annotated[
    Path | None,
    Parameter(
        help="Folder that holds the data; by default HOCKET_DATA, then the cache, then stand-in digits."
    ),
]
Download = Annotated[bool, Parameter(negative=(), help="Fetch missing data into the cache, checked by hash.")]
Parts = Annotated[
    list[str] | None,
    Parameter(negative=(), help="Run this part alone: curves, price, noise, steps, shards; may be repeated."),
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
    from hocket.experiments.polynomials.report import POLYNOMIALS

    return run(POLYNOMIALS, out, quick)


@reproduce.command(help_epilogue="Example: hocket reproduce tradeoff --out tradeoff")
def tradeoff(*, out: Out = None, quick: Quick = False) -> Answer:
    """Measure what the paper says in words: the gap against noise and rounds, with fitted exponents.

    Cancelling noise stands beside independent noise of the same size, and beside differential privacy at fixed ε,
    which stops at a floor. Takes up to three minutes on two cores.
    """
    from hocket.experiments.tradeoff.report import TRADEOFF

    return run(TRADEOFF, out, quick)


@reproduce.command(help_epilogue="Example: hocket reproduce mnist --data my-data --out mnist")
def mnist(
    *,
    data: Data = None,
    out: Out = None,
    quick: Quick = False,
    download: Download = False,
    only: Parts = None,
) -> Answer:
    """Train the paper's network on MNIST across five agents: accuracy, and the price of each kind of privacy.

    Every run is written as it ends: the same command with the same --out goes on where it was stopped. Takes minutes
    on a GPU and far longer on two cores; --quick, on a tenth of the data and at H = 40 only, about a minute.
    """
    return _learn("mnist", quick, data=data, out=out, download=download, only=only or ())


@reproduce.command(help_epilogue="Example: hocket reproduce reuters --data my-data --out reuters")
def reuters(
    *,
    data: Data = None,
    out: Out = None,
    quick: Quick = False,
    download: Download = False,
    only: Parts = None,
) -> Answer:
    """Train logistic regression on Reuters across five agents, on Keras's division of the texts and on a cleaned one.

    Every run is written as it ends: the same command with the same --out goes on where it was stopped. Takes minutes
    on a GPU and far longer on two cores; --quick, with less data and at H = 40 only, about a minute.
    """
    return _learn("reuters", quick, data=data, out=out, download=download, only=only or ())


def _learn(name: str, quick: bool, **options: Any) -> Answer:
    from hocket.experiments.learning.report import LEARNING

    found = play(LEARNING[name], quick, say=aside().print, **options)
    return shown(LEARNING[name], found, found.folder)


@reproduce.command(help_epilogue="Example: hocket reproduce privacy --out privacy")
def privacy(*, out: Out = None, quick: Quick = False) -> Answer:
    """Attack every algorithm and set the errors beside what was foretold; anchors, a witness, and what graphs promise.

    Draws reconstruction error against rounds for several coalitions and two noise levels. Takes about three minutes on
    two cores; --quick half a minute.
    """
    from hocket.experiments.privacy.report import PRIVACY

    return run(PRIVACY, out, quick)


@reproduce.command(help_epilogue="Example: hocket reproduce certificates --out certificates")
def certificates(*, out: Out = None, quick: Quick = False) -> Answer:
    """Hold every certificate against likelihood ratios of real runs, and work out what it costs.

    Noise beside a trusted server and beside everybody for itself, four clinics' regression over links at ε = 1, and
    DECOR's published settings against insiders. Takes some ten minutes on two cores; --quick half a minute.
    """
    from hocket.experiments.certificates.report import CERTIFICATES

    return run(CERTIFICATES, out, quick)


@reproduce.command(help_epilogue="Example: hocket reproduce reconstruction --data my-data")
def reconstruction(
    *,
    data: Annotated[
        Path | None,
        Parameter(help="Folder that holds facebook/414.edges; by default HOCKET_DATA; left out without it."),
    ] = None,
    out: Out = None,
    quick: Quick = False,
) -> Answer:
    """Count whose values attackers reconstruct from plain gossip, as published, and what hocket's algorithms leave.

    Mrini et al. (ICML 2024) on the Florentine families, Facebook ego 414 and Erdős-Rényi graphs: counts of their code
    beside ours. Takes about three minutes on two cores; --quick ten seconds.
    """
    from hocket.experiments.reconstruction.report import RECONSTRUCTION

    return run(RECONSTRUCTION, out, quick, data=data)


@reproduce.command(
    name="learning-attacks", help_epilogue="Example: hocket reproduce learning-attacks --quick"
)
def learning_attacks(*, quick: Quick = False) -> Answer:
    """Attack learning on the digits: samples from gradients and from sums, and who was trained on, by algorithm.

    Prints one table. Takes about eight minutes on two cores; --quick about four.
    """
    from hocket.learning.attacks import QUICK, Effort, attack_notes, attack_rows, attack_table

    effort = QUICK if quick else Effort()
    rows = attack_rows(effort=effort, say=aside().print)
    words = [attack_table(rows, effort), *attack_notes(rows)]
    return Answer({"rows": [row.data() for row in rows]}, words)


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

    Runs the check that stands for each claim and prints its evidence; takes about two minutes.
    """
    from hocket.config import new_folder
    from hocket.experiments.claims import GROUPS
    from hocket.experiments.claims.ledger import data, judge, paragraphs, write

    if only and out is not None:
        raise BadConfig("--only checks some claims, --out writes a page of all; leave one of them away")
    ledger = judge(GROUPS, only or (), bar("Checking claims"))
    found, words = data(ledger), paragraphs(ledger)
    if only:
        return Answer(found, [*words, found["conclusion"]])
    page = write(ledger, out if out is not None else new_folder("claims"))
    return _answer(found, words, page)


@reproduce.command(name="all", help_epilogue="Example: hocket reproduce all --quick --out paper")
def everything(
    *, data: Data = None, out: Out = None, quick: Quick = False, download: Download = False
) -> Answer:
    """Run every part one after the other, each into its own folder inside --out, and say where everything is.

    Learning takes longest by far on two cores; --quick takes minutes. If it is stopped while it learns, go on with that
    command alone and its folder inside --out.
    """
    from hocket.config import new_folder

    folder = new_folder("all", out)
    sized, learnt = {"quick": quick}, {"quick": quick, "data": data, "download": download}
    parts = {
        "polynomials": partial(polynomials, **sized),
        "tradeoff": partial(tradeoff, **sized),
        "privacy": partial(privacy, **sized),
        "certificates": partial(certificates, **sized),
        "reconstruction": partial(reconstruction, **sized, data=data),
        "claims": claims,
        "mnist": partial(mnist, **learnt),
        "reuters": partial(reuters, **learnt),
    }
    answers: dict[str, Answer] = {}
    for place, (name, part) in enumerate(parts.items(), start=1):
        aside().print(f"{place} of {len(parts)}: {name}")
        answers[name] = part(out=folder / name)
    words = [f"{name}: {one.data['report']}\n    {one.data['conclusion']}" for name, one in answers.items()]
    conclusion = f"{len(parts)} parts, all in {folder}."
    whole = {"parts": {name: one.data for name, one in answers.items()}, "folder": str(folder)}
    return Answer(whole | {"conclusion": conclusion}, [*words, conclusion])


def run(experiment: Experiment[Any, Any], out: Path | None, quick: bool = False, **options: Any) -> Answer:
    """Run an experiment into a new folder, and say what was found and where it is."""
    from hocket.config import new_folder

    folder = new_folder(experiment.name, out)
    return shown(experiment, play(experiment, quick, **options), folder)


def play(experiment: Experiment[Any, Any], quick: bool, **options: Any) -> Any:
    """What an experiment found at one of its two sizes."""
    return experiment.play(experiment.size(quick), bar(experiment.doing), **options)


def shown(experiment: Experiment[Any, Any], found: Any, folder: Path) -> Answer:
    """Write what was found, and say it."""
    from hocket.experiments.experiment import write

    page = write(experiment, found, folder)
    opening = experiment.opening(found)
    first = [] if opening is None else [*opening.sections[0].tables, *opening.summary]
    words = [*first, *experiment.tables(found), *experiment.notes(found)]
    return _answer(experiment.answer(found), words, page)


def _answer(data: dict[str, Any], words: list[Any], page: Path) -> Answer:
    where = {"folder": str(page.parent), "report": str(page)}
    return Answer(data | where, [*words, f"Report: {page}", data["conclusion"]])
