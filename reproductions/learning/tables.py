"""The tables: what was reached, at what price, what each choice changes; and what they come to, in words."""

from __future__ import annotations

from hocket.report.tables import Table
from reproductions.learning.cases import (
    ALONE,
    CANCELLING,
    DGD,
    DP_SGD,
    EQUAL,
    INDEPENDENT,
    JOINT,
    LB,
    METHODS,
    NB,
    SGD_C,
    USUAL_STEPS,
)
from reproductions.learning.outcomes import Found, Summary, name_of
from reproductions.learning.runs import CONCENTRATION, LARGER

MISSING = "—"
FALL = 0.5
"""Points below DGD from which on accuracy is said to fall: more than seeds differ by."""


def tables(found: Found) -> list[Table]:
    """All that there are runs for."""
    made = [
        curves_table(found),
        price_table(found),
        noise_table(found),
        steps_table(found),
        shards_table(found),
    ]
    return [table for table in made if table.rows]


def curves_table(found: Found) -> Table:
    """The end of every curve of the figure."""
    networks = found.size.networks
    compared = [(SGD_C, 0.0), (DGD, 0.0), (JOINT, 0.0)]
    compared += [(method, level) for level in found.size.levels for method in CANCELLING]
    rows = []
    for split in found.splits:
        for method, level in compared:
            per_network = [found.of(method, level, split=split, network=network) for network in networks]
            behind = [found.behind(method, level, split=split, network=network) for network in networks]
            if any(per_network):
                title = name_of(method, level) + (f"; {split}" if len(found.splits) > 1 else "")
                rows.append((title, *map(shown, per_network), *map(points, behind)))
    head = ("", *networks, *(f"below DGD, {network}" for network in networks))
    epochs = min((outcome.epochs[-1] for outcome in found.outcomes.values()), default=0)
    caption = f"Accuracy after {epochs:.0f} epochs, equal shards, H = 40"
    return Table(head, tuple(rows), caption, numeric=frozenset(range(1, len(head))))


def price_table(found: Found) -> Table:
    """One row for each kind of privacy."""
    low = found.size.levels[0]
    kinds = [(SGD_C, 0.0), (DGD, 0.0), (ALONE, 0.0), (JOINT, 0.0)]
    kinds += [(method, low) for method in (*CANCELLING, INDEPENDENT)]
    kinds += [(DP_SGD, epsilon) for epsilon in found.size.epsilons]
    rows = []
    for method, level in kinds if found.of(ALONE) else ():
        reached = found.of(method, level)
        if reached is not None:
            noise = f"{reached.noise:.2f}" if reached.noise else MISSING
            below = points(found.behind(method, level))
            rows.append((name_of(method, level), noise, str(reached), below, METHODS[method].hides))
    head = ("", "noise / gradient", "accuracy, %", "below DGD", "hides")
    return Table(head, tuple(rows), "The price of each kind of privacy, on C5", numeric=frozenset({1, 2, 3}))


def noise_table(found: Found) -> Table:
    """Accuracy against noise, method by method."""
    methods = (*CANCELLING, INDEPENDENT)
    levels = sorted({level for method in methods for level in found.levels(method)})
    rows = [(f"{level:.2g}", *(shown(found.of(method, level)) for method in methods)) for level in levels]
    if rows:
        falls = [fall(found, method) for method in methods]
        rows.append(
            (f"falls by {FALL:g}", *(MISSING if level is None else f"at {level:.2g}" for level in falls))
        )
    head = ("noise / gradient", *methods)
    caption = (
        "Accuracy against noise, on C5: deviation of a coordinate per local step, over the rms of a gradient"
    )
    return Table(head, tuple(rows), caption, numeric=frozenset(range(1, len(head))))


def fall(found: Found, method: str) -> float | None:
    """The lowest level at which a method ends clearly below DGD; None where none does."""
    for level in found.levels(method):
        behind = found.behind(method, level)
        if behind is not None and behind > FALL:
            return level
    return None


def steps_table(found: Found) -> Table:
    """What exchanging rarely costs and saves."""
    low, methods = found.size.levels[0], (DGD, JOINT, NB, LB)
    rows = []
    for steps in found.size.local_steps:
        summaries = [found.of(method, low, local_steps=steps) for method in methods]
        first = next((summary.outcomes[0] for summary in summaries if summary is not None), None)
        if first is not None:
            megabytes = 4 * first.parameters * first.exchanges / 1e6
            rows.append((str(steps), f"{first.exchanges:,}", f"{megabytes:,.0f}", *map(shown, summaries)))
    if len(rows) < 2:
        rows = []
    head = ("local steps H", "exchanges", "MB per link and direction", *(name_of(m, low) for m in methods))
    return Table(head, tuple(rows), "Exchanging every H steps, on C5", numeric=frozenset(range(1, len(head))))


def shards_table(found: Found) -> Table:
    """Agents that hold different labels."""
    low = found.size.levels[0]
    methods = (SGD_C, DGD, JOINT, *CANCELLING, ALONE)
    rows = []
    for shards in (EQUAL, *found.size.skewed):
        for network in found.size.networks:
            summaries = [found.of(method, low, shards=shards, network=network) for method in methods]
            if any(summaries):
                rows.append((f"{shards}, {network}", *map(both, summaries)))
    if len(rows) <= len(found.size.networks):
        rows = []
    head = ("shards", *(name_of(method, low) for method in methods))
    caption = "Where agents hold different labels: accuracy of their own models after H steps alone / of the mean model"
    return Table(head, tuple(rows), caption, numeric=frozenset(range(1, len(head))))


def order(found: Found) -> list[tuple[str, float, Summary, Summary, Summary]]:
    """DGD, RSS-NB and RSS-LB on the first network, for every split and both levels."""
    rows = []
    for split in found.splits:
        for level in found.size.levels:
            three = [found.of(method, level, split=split) for method in (DGD, NB, LB)]
            if all(three):
                rows.append((split, level, *three))
    return rows


def shown(summary: Summary | None) -> str:
    """Mean and spread over seeds, or that there are none."""
    return MISSING if summary is None else str(summary)


def both(summary: Summary | None) -> str:
    """The agents' own models, and the mean of their parameters."""
    return MISSING if summary is None else f"{summary} / {summary.of_the_mean:.2f}"


def points(behind: float | None) -> str:
    """A difference in points of a per cent."""
    return MISSING if behind is None else f"{behind:+.2f}".replace("-", "−")


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
        "Joint average: own steps from a common point, then the exact average of all, by a total: as with a server, "
        "whatever the network. Over links an exchange sends a model up and one down each link of a tree.",
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
    joint = "" if (exact := found.of(JOINT)) is None else f", the joint average {exact.mean:.2f} %"
    return (
        f"{stands_in}SGD-C reaches {central.mean:.2f} %, DGD {plain.mean:.2f} %{joint}; with noise of {low:.2g} times "
        f"a gradient the private ones end at most {max(worst, 0):.2f} points below {yardstick} ({name} on {network})."
        + after
    )
