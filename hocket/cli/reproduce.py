"""`hocket reproduce`: the paper's experiments, what it only says in words, and a verdict on each of its claims."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from hocket.cli.answer import Answer, aside, bar
from hocket.errors import BadConfig

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
    found = experiment.play(experiment.QUICK if quick else experiment.FULL, bar("Running sweeps"))
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
    found = experiment.play(experiment.QUICK if quick else experiment.FULL, bar("Running sweeps"))
    page = experiment.write(found, folder)
    tables = [experiment.price_table(found), experiment.noise_table(found), experiment.bound_table(found)]
    return _answer(experiment.data(found), [*tables, *experiment.notes(found)], folder, page)


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
    return _learn("mnist", data, out, quick, download, only)


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
    return _learn("reuters", data, out, quick, download, only)


def _learn(
    name: str, data: Path | None, out: Path | None, quick: bool, download: bool, only: list[str] | None
) -> Answer:
    from hocket.experiments import learning as experiment

    found, folder = experiment.play(
        experiment.SUBJECTS[name],
        experiment.QUICK if quick else experiment.FULL,
        out=out,
        data=data,
        download=download,
        only=only or (),
        watch=bar("Training"),
        say=aside().print,
    )
    page = experiment.write(found, folder)
    words = [*experiment.tables(found), *experiment.notes(found)]
    return _answer(experiment.data(found), words, folder, page)


@reproduce.command(help_epilogue="Example: hocket reproduce privacy --out privacy")
def privacy(*, out: Out = None, quick: Quick = False) -> Answer:
    """Attack every algorithm and set the errors beside what was foretold; anchors, a witness, and what graphs promise.

    Draws reconstruction error against rounds for several coalitions and two noise levels. Takes about three minutes on
    two cores; --quick half a minute.
    """
    from hocket.config import new_folder
    from hocket.experiments import privacy as experiment

    folder = new_folder("privacy", out)
    found = experiment.play(experiment.QUICK if quick else experiment.FULL, bar("Running and attacking"))
    page = experiment.write(found, folder)
    words = [*experiment.tables(found), *experiment.notes(found)]
    return _answer(experiment.data(found), words, folder, page)


@reproduce.command(
    name="learning-attacks", help_epilogue="Example: hocket reproduce learning-attacks --quick"
)
def learning_attacks(*, quick: Quick = False) -> Answer:
    """Attack learning on the digits: samples from gradients, and who was trained on, under every algorithm.

    Prints one table. Takes about four minutes on two cores; --quick about two.
    """
    from hocket.learning import attacks

    effort = attacks.QUICK if quick else attacks.Effort()
    rows = attacks.attack_rows(effort=effort, say=aside().print)
    words = [attacks.attack_table(rows, effort), *attacks.attack_notes(rows)]
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
    from hocket.experiments import claims as experiment

    if only and out is not None:
        raise BadConfig("--only checks some claims, --out writes a page of all; leave one of them away")
    ledger = experiment.judge(experiment.GROUPS, only or (), bar("Checking claims"))
    data, words = experiment.data(ledger), experiment.paragraphs(ledger)
    if only:
        return Answer(data, [*words, data["conclusion"]])
    page = experiment.write(ledger, out if out is not None else new_folder("claims"))
    return _answer(data, words, page.parent, page)


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
        "claims": claims,
        "mnist": partial(mnist, **learnt),
        "reuters": partial(reuters, **learnt),
    }
    answers: dict[str, Answer] = {}
    for place, (name, run) in enumerate(parts.items(), start=1):
        aside().print(f"{place} of {len(parts)}: {name}")
        answers[name] = run(out=folder / name)
    words = [f"{name}: {one.data['report']}\n    {one.data['conclusion']}" for name, one in answers.items()]
    conclusion = f"{len(parts)} parts, all in {folder}."
    whole = {"parts": {name: one.data for name, one in answers.items()}, "folder": str(folder)}
    return Answer(whole | {"conclusion": conclusion}, [*words, conclusion])


def _answer(data: dict[str, Any], words: list[Any], folder: Path, page: Path) -> Answer:
    where = {"folder": str(folder), "report": str(page)}
    return Answer(data | where, [*words, f"Report: {page}", data["conclusion"]])
