"""What is shown: words, results as JSON, curves as CSV, the figure, and the page with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hocket.experiments.learning.cases import USUAL_STEPS
from hocket.experiments.learning.figure import drawing
from hocket.experiments.learning.methods import CANCELLING, DGD, LB, METHODS, NB, SGD_C
from hocket.experiments.learning.outcomes import Found, name_of
from hocket.experiments.learning.runs import CONCENTRATION, LARGER
from hocket.experiments.learning.tables import FALL, fall, order, tables
from hocket.experiments.outputs import PAGE, RESULTS, write_csv, write_json
from hocket.report.figures import Drawing
from hocket.report.page import Page


def notes(found: Found) -> list[str]:
    """How to read the tables."""
    subject = found.subject
    words = [remark[0].upper() + remark[1:] + "." for remark in found.remarks if remark]
    words += [
        f"Accuracy is on held-out data, on average over the five agents' own models, mean ± standard deviation of "
        f"{found.size.seeds} seeds; a seed decides shards, start, batches and noise. Batches of {subject.batch}, "
        f"{USUAL_STEPS} local steps between exchanges unless said otherwise, steps of "
        f"{subject.first_step:g}/(1 + epoch/{subject.halving:g})^{subject.decay:g}.",
        "Noise is the standard deviation of one coordinate per local step, over the root mean square of one coordinate "
        "of a batch's gradient in the first exchange: at 1 they are equally large. It is multiplied by H, like the "
        "gradients of an exchange. FS hides under linear functions: a constant offset of each agent's gradient, and "
        "nothing of the curvature.",
        f"DP-SGD: samples' gradients clipped to norm 1, batches {LARGER} times as large and as many times fewer steps "
        "between exchanges; adjacent are two shards that differ in one sample; δ = 1e-5.",
        f"Dirichlet shards have concentration {CONCENTRATION:g}; with labels as shards, label c goes to agent c mod 5.",
        "No theorem of the paper covers small batches or several steps between exchanges.",
    ]
    words += order_notes(found)
    return words


def order_notes(found: Found) -> list[str]:
    """Whether DGD, RSS-NB and RSS-LB come in the order that the paper reports for the cycle."""
    words = []
    for split, level, plain, nb, lb in order(found):
        holds = plain.mean >= nb.mean >= lb.mean
        clear = min(plain.mean - nb.mean, nb.mean - lb.mean) > max(plain.spread, nb.spread, lb.spread)
        verdict = (
            "holds" if holds and clear else "holds, within the spread of seeds" if holds else "does not hold"
        )
        words.append(
            f"The order DGD, RSS-NB, RSS-LB on the cycle, {split}, noise {level:.2g}: {verdict} ({plain}; {nb}; {lb})."
        )
    return words


def conclusion(found: Found) -> str:
    """What was seen, in one plain sentence."""
    low = found.size.levels[0]
    yardstick = DGD if found.subject.name == "mnist" else SGD_C
    gaps = [
        (behind, name_of(method, low), network)
        for network in found.size.networks
        for method in CANCELLING
        if (behind := found.behind(method, low, yardstick=yardstick, network=network)) is not None
    ]
    plain, central = found.of(DGD), found.of(SGD_C)
    if not gaps or plain is None or central is None:
        return f"{len(found.outcomes)} runs; run --only curves for those that the conclusion is drawn from."
    worst, name, network = max(gaps)
    falls = [f"{method} at {level:.2g}" for method in (NB, LB) if (level := fall(found, method)) is not None]
    after = f" Accuracy falls by {FALL:g} points below DGD: {', '.join(falls)}." if falls else ""
    stands_in = "On stand-in digits: " if found.subject.stands_in else ""
    return (
        f"{stands_in}SGD-C reaches {central.mean:.2f} %, DGD {plain.mean:.2f} %; with noise of {low:.2g} times a "
        f"gradient the private ones end at most {max(worst, 0):.2f} points below {yardstick} ({name} on {network})."
        + after
    )


def data(found: Found) -> dict[str, Any]:
    """The results as one JSON object."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for case in found.outcomes:
        about = case.data()
        seed = about.pop("seed")
        if seed == 0:
            summary = found.of(
                case.method,
                case.level,
                split=case.split,
                shards=case.shards,
                local_steps=case.local_steps,
                **({"network": case.network} if case.network else {}),
            )
            assert summary is not None
            groups[tuple(about.values())] = about | {
                "accuracy": summary.mean,
                "spread": summary.spread,
                "accuracy_of_seeds": summary.reached.tolist(),
                "accuracy_early": summary.early,
                "accuracy_of_mean_model": summary.of_the_mean,
                "noise_over_gradient": summary.noise,
                "exchanges": summary.outcomes[0].exchanges,
            }
    devices = sorted({outcome.device for outcome in found.outcomes.values()})
    return {
        "experiment": found.subject.name,
        "stands_in": found.subject.stands_in,
        "results": list(groups.values()),
        "runs": len(found.outcomes),
        "seeds": found.size.seeds,
        "seconds": round(found.seconds, 1),
        "devices": devices,
        "conclusion": conclusion(found),
    }


def write(found: Found, folder: Path) -> Path:
    """Figure, curves, results and page; returns where the page lies."""
    figure = drawing(found)
    if figure is not None:
        figure.save(folder, found.subject.name)
    write_csv(folder / f"{found.subject.name}.csv", _rows(found))
    write_json(folder / RESULTS, data(found))
    return _page(found, figure).save(folder / PAGE)


def _rows(found: Found) -> list[dict[str, Any]]:
    return [
        case.data()
        | {
            "epoch": epoch,
            "accuracy": sum(accuracies) / len(accuracies),
            "worst_agent": min(accuracies),
            "best_agent": max(accuracies),
            "mean_model": mean,
        }
        for case, outcome in found.outcomes.items()
        for epoch, accuracies, mean in zip(
            outcome.epochs, outcome.accuracy, outcome.mean_accuracy, strict=True
        )
    ]


def _page(found: Found, figure: Drawing | None) -> Page:
    subject = found.subject
    return Page(
        title=f"{subject.title}: learning together under noise that cancels",
        summary=[
            conclusion(found),
            "The second experiment of Gade and Vaidya (2017), Figure 2: five agents train one model, each on data of "
            "its own, and speak with their neighbours every 40 steps.",
        ],
        tables=tables(found),
        notes=notes(found),
        figure=figure,
        caption="Accuracy on held-out data against epochs, on average over agents; below, accuracy at the end against "
        "the size of the noise.",
        configuration="\n".join(f"# {method.name} hides {method.hides}" for method in METHODS.values()),
        commands=[f"hocket reproduce {subject.name}" + ("" if subject.stands_in else " --data DIR")],
    )
