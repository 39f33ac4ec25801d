"""The commands of `hocket reproduce`: the paper's experiments, and a verdict on each of its claims."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from hocket.cli.answer import Answer, aside, bar
from hocket.cli.options import PARAMETER, Out, add
from hocket.errors import BadConfig

if TYPE_CHECKING:
    from reproductions.experiment import Experiment

Quick = Annotated[bool, Parameter(help="A small run to see that it works; its numbers say little.")]
Data = Annotated[
    Path | None,
    Parameter(
        help="Folder that holds the data; by default HOCKET_DATA, then the cache, then stand-in digits."
    ),
]
Download = Annotated[bool, Parameter(help="Fetch missing data into the cache, checked by hash.")]
Parts = Annotated[
    list[str] | None,
    Parameter(help="Run this part alone: curves, price, noise, steps, shards; may be repeated."),
]

reproduce = App(
    name="reproduce",
    help="Reproduce the paper: its figures, its trade-off, and a verdict on each of its claims.",
    help_epilogue="Example: hocket reproduce polynomials",
    default_parameter=PARAMETER,
)


def run(experiment: Experiment[Any, Any], out: Path | None, quick: bool = False, **options: Any) -> Answer:
    """Run an experiment into a new folder, and give what was found and where it is."""
    from hocket.config import new_folder

    folder = new_folder(experiment.name, out)
    return answer_of(experiment, play(experiment, quick, **options), folder)


def play(experiment: Experiment[Any, Any], quick: bool, **options: Any) -> Any:
    """What an experiment found at one of its two sizes."""
    return experiment.play(experiment.size(quick), bar(experiment.doing), **options)


def answer_of(experiment: Experiment[Any, Any], found: Any, folder: Path) -> Answer:
    """Write what was found into its folder, and give it."""
    from reproductions.experiment import write

    page = write(experiment, found, folder)
    return answer_with_page(
        experiment.answer(found), [*experiment.tables(found), *experiment.notes(found)], page
    )


def answer_with_page(data: dict[str, Any], lines: list[Any], page: Path) -> Answer:
    """What was found, where its page is, and the conclusion as the last line."""
    where = {"folder": str(page.parent), "report": str(page)}
    return Answer(data | where, [*lines, f"Report: {page}", data["conclusion"]])


def polynomials(*, out: Out = None, quick: Quick = False) -> Answer:
    """Draw the paper's first figure: four algorithms at two noise levels, on two problems and two networks.

    Also prints measured medians beside reference ones; takes less than a minute on two cores.
    """
    from reproductions.polynomials.report import POLYNOMIALS

    return run(POLYNOMIALS, out, quick)


def tradeoff(*, out: Out = None, quick: Quick = False) -> Answer:
    """Measure what the paper says in words: the gap against noise and rounds, with fitted exponents.

    Cancelling noise stands beside independent noise of the same size, and beside differential privacy at fixed ε,
    whose gap stops falling. Takes up to three minutes on two cores.
    """
    from reproductions.tradeoff.report import TRADEOFF

    return run(TRADEOFF, out, quick)


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


def reuters(
    *,
    data: Data = None,
    out: Out = None,
    quick: Quick = False,
    download: Download = False,
    only: Parts = None,
) -> Answer:
    """Train logistic regression on Reuters across five agents, on Keras's division of the texts and on a cleaned one.

    Every run is written as it ends, and --quick has less data: as with mnist.
    """
    return _learn("reuters", quick, data=data, out=out, download=download, only=only or ())


def _learn(name: str, quick: bool, **options: Any) -> Answer:
    from reproductions.learning.report import LEARNING

    found = play(LEARNING[name], quick, say=aside().print, **options)
    return answer_of(LEARNING[name], found, found.folder)


def privacy(*, out: Out = None, quick: Quick = False) -> Answer:
    """Attack every algorithm and set the errors beside what was predicted; persistent noise, a witness, and graphs.

    Draws reconstruction error against rounds for several coalitions and two noise levels. Takes about three minutes on
    two cores; --quick half a minute.
    """
    from reproductions.privacy.report import PRIVACY

    return run(PRIVACY, out, quick)


def certificates(*, out: Out = None, quick: Quick = False) -> Answer:
    """Hold every certificate against likelihood ratios of real runs, and work out what it costs.

    Noise beside a trusted server and beside local privacy, four clinics' regression over links at ε = 1, and DECOR's
    published settings against insiders. Takes some ten minutes on two cores; --quick half a minute.
    """
    from reproductions.certificates.report import CERTIFICATES

    return run(CERTIFICATES, out, quick)


def reconstruction(*, data: Data = None, out: Out = None, quick: Quick = False) -> Answer:
    """Count whose values attackers reconstruct from plain gossip, as published, and what hocket's algorithms leave.

    Mrini et al. (ICML 2024) on the Florentine families, Facebook ego 414 (where --data holds facebook/414.edges) and
    Erdős-Rényi graphs: counts of their code beside ours. Takes about three minutes on two cores; --quick ten seconds.
    """
    from reproductions.reconstruction.report import RECONSTRUCTION

    return run(RECONSTRUCTION, out, quick, data=data)


def learning_attacks(*, quick: Quick = False) -> Answer:
    """Attack learning on the digits: samples from gradients and from sums, and membership in training, by algorithm.

    Prints one table. Takes about eight minutes on two cores; --quick about four.
    """
    from reproductions.attacks import QUICK, Effort, attack_notes, attack_rows, attack_table

    effort = QUICK if quick else Effort()
    rows = attack_rows(effort=effort, say=aside().print)
    return Answer({"rows": [row.data() for row in rows]}, [attack_table(rows, effort), *attack_notes(rows)])


def claims(*, out: Out = None, only: list[str] | None = None) -> Answer:
    """Go through every claim of the paper: it holds, holds as corrected, or fails.

    Runs the check that stands for each claim and prints its evidence; takes about two minutes. The folder gets
    claims.md, over an older one.

    Args:
        only: Check this claim alone; may be given more than once.
    """
    from hocket.config import new_folder
    from reproductions.claims import GROUPS
    from reproductions.claims.ledger import data, judge, paragraphs, write

    if only and out is not None:
        raise BadConfig("--only checks some claims, --out writes a page of all; leave one of them away")
    ledger = judge(GROUPS, only or (), bar("Checking claims"))
    found, lines = data(ledger), paragraphs(ledger)
    if only:
        return Answer(found, [*lines, found["conclusion"]])
    page = write(ledger, out if out is not None else new_folder("claims"))
    return answer_with_page(found, lines, page)


def everything(
    *, data: Data = None, out: Out = None, quick: Quick = False, download: Download = False
) -> Answer:
    """Run every part one after the other, each into its own folder inside --out.

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
    lines = [f"{name}: {one.data['report']}\n    {one.data['conclusion']}" for name, one in answers.items()]
    conclusion = f"{len(parts)} parts, all in {folder}."
    whole = {"parts": {name: one.data for name, one in answers.items()}, "folder": str(folder)}
    return Answer(whole | {"conclusion": conclusion}, [*lines, conclusion])


for command, name, options in (
    (polynomials, "polynomials", "--out polynomials"),
    (tradeoff, "tradeoff", "--out tradeoff"),
    (mnist, "mnist", "--data my-data --out mnist"),
    (reuters, "reuters", "--data my-data --out reuters"),
    (privacy, "privacy", "--out privacy"),
    (certificates, "certificates", "--out certificates"),
    (reconstruction, "reconstruction", "--data my-data"),
    (learning_attacks, "learning-attacks", "--quick"),
    (claims, "claims", "--only lemma-1"),
    (everything, "all", "--quick --out paper"),
):
    add(reproduce, command, f"reproduce {name} {options}", name=name)
