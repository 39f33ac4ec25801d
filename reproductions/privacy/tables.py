"""The tables, how to read them, and what they come to."""

from __future__ import annotations

import numpy as np

from hocket.privacy.wording import braced, named
from hocket.report.tables import Table, plain
from reproductions.privacy.anchors import Told
from reproductions.privacy.reconstruction import Reconstruction
from reproductions.privacy.runs import Privacy
from reproductions.privacy.setting import SHARE, SIGHTS, Sight
from reproductions.privacy.theorem2 import COLLUDERS, FALSE_OBJECTIVES, SEVEN_COLLUDERS, fewest_links


def tables(found: Privacy) -> list[Table]:
    """All of them, from the most important on."""
    rest = (shape_table, anchor_table, bias_table, witness_table, promise_table)
    seen = [sight for sight in SIGHTS if sight.network in found.size.networks]
    return [*(reconstruction_table(found, sight) for sight in seen), *(table(found) for table in rest)]


def reconstruction_table(found: Privacy, sight: Sight) -> Table:
    """Foretold and measured errors, as somebody sees every algorithm."""
    size = found.size
    last, level, *higher = size.rounds[-1], *size.deltas
    shown = [(level, k) for k in size.rounds if k in (10, 100) or k == last] + [
        (delta, last) for delta in higher
    ]
    by_name = {(one.algorithm, one.delta): one for one in found.reconstructions if one.sight == sight}
    rows = tuple((name, *(_pair(by_name[name, delta], k) for delta, k in shown)) for name in size.algorithms)
    head = (sight.title, *(f"K = {k:,}" if delta == level else f"Δ = {delta:g}" for delta, k in shown))
    caption = (
        f"Reconstruction error of ∇f_0(x*) in units of a typical gradient, predicted/median, Δ = {level:g}"
    )
    if higher:
        caption += f", and at the last K also Δ = {' and '.join(f'{delta:g}' for delta in higher)}"
    return Table(head, rows, caption, numeric=frozenset(range(1, len(head))))


def _pair(one: Reconstruction, rounds: int) -> str:
    if one.exact:
        return "exact"
    place = one.rounds.index(rounds)
    return f"{one.forecast.at(rounds):.2g}/{one.medians[place]:.2g}"


def shape_table(found: Privacy) -> Table:
    """Two averages where one link hides the target."""
    mean, pitman = found.shapes
    rows = tuple(
        (
            f"K = {k:,}",
            f"{mean.foretold[place]:.2g}/{mean.measured[place]:.2g}",
            f"{pitman.foretold[place]:.2g}/{pitman.measured[place]:.2g}",
            f"{mean.measured[place] / pitman.measured[place]:.2f}",
        )
        for place, k in enumerate(mean.rounds)
    )
    head = ("one neighbour and an eavesdropper", "mean over rounds", "Pitman", "gain")
    caption = "What the shape of the noise adds where one link hides the target, predicted/median: C5, RSS-NB, Δ = 1"
    return Table(head, rows, caption, numeric=frozenset({1, 2, 3}))


def anchor_table(found: Privacy) -> Table:
    """Scaling and keeping persistent noise, for both kinds of step."""
    steps = list(dict.fromkeys(told.step for told in found.over_rounds))
    last = found.size.anchor_rounds[-1]
    rows = [
        (
            f"1 run of {last:,} rounds, {_anchored(scaling)}",
            *(_told(found.over_rounds, step, scaling, True) for step in steps),
        )
        for scaling in dict.fromkeys(told.scaling for told in found.over_rounds)
    ]
    many = f"{found.size.runs[-1]} runs of {found.size.run_rounds} rounds"
    rows += [
        (
            f"{many}, {_anchored(scaling)}, {'kept' if kept else 'drawn anew'}",
            *(_told(found.over_runs, step, scaling, kept) for step in steps),
        )
        for scaling in found.size.scalings
        for kept in (True, False)
    ]
    caption = (
        "Persistent noise scaled by α_{k−1} or by α_k: what an eavesdropper on all links of C5 misses of a "
        "constant gradient, in units of "
        f"Δ, predicted/measured; the persistent share is {SHARE:g}"
    )
    return Table(("persistent", *steps), tuple(rows), caption, numeric=frozenset({1, 2}))


def _anchored(scaling: str) -> str:
    wrong = ", wrongly" if scaling == "α_k" else ""
    return f"by {scaling}{wrong}" if scaling else "no anchor"


def _told(all_told: list[Told], step: str, scaling: str, kept: bool) -> str:
    (told,) = [t for t in all_told if (t.step, t.scaling, t.kept) == (step, scaling, kept)]
    return f"{told.foretold[-1]:.3f}/{told.measured[-1]:.3f}"


def bias_table(found: Privacy) -> Table:
    """What persistent noise costs."""
    rows = []
    for bias in found.biases:
        kind, gaps = ("last iterate", bias.last) if bias.average is None else ("average", bias.average)
        about = f"Δ = {bias.delta:g}, {bias.step}, {bias.rounds:,} rounds, {kind}"
        rows.append((about, *(plain(gap) for gap in gaps.values())))
    head = ("median gap", *found.biases[0].last)
    caption = "What persistent noise costs: the gap that is left, from the optimum on, C5"
    return Table(head, tuple(rows), caption, numeric=frozenset({1, 2, 3}))


def witness_table(found: Privacy) -> Table:
    """Two views, compared number by number."""
    rows = tuple(
        (
            arithmetic,
            f"{shown.run.rounds:,}",
            f"{shown.compared:,}",
            "0" if shown.equal else plain(shown.difference),
            "yes" if shown.same_functions else "NO",
            f"{shown.other.largest_noise:.3g}, {shown.other.bound:g}",
            "yes" if shown.convex else named(shown.not_convex),
        )
        for arithmetic, shown in (
            ("exact fractions", found.witnesses.exact),
            ("floating point", found.witnesses.floating),
        )
    )
    head = ("", "rounds", "numbers seen", "differ by", "same f̂_j", "noise, bound", "convex")
    who = f"{braced(SEVEN_COLLUDERS)} cannot tell what {named(FALSE_OBJECTIVES)} hold"
    caption = f"The paper's seven agents, reconstructed: {who}"
    return Table(head, rows, caption, numeric=frozenset({1, 2, 3, 5}))


def promise_table(found: Privacy) -> Table:
    """P1 and P2 by topology and number of colluders."""
    fewest = fewest_links()
    rows = []
    for promise in found.promises:
        first = promise.found[0]
        verdicts = []
        for held in promise.found:
            words = "P1, P2" if held.p2 else "P1" if held.p1 else "none"
            cheapest = held.p2 and promise.links == fewest[held.colluders]
            verdicts.append(f"{words}*" if cheapest else words)
        rows.append(
            (
                promise.topology,
                str(promise.links),
                str(first.min_degree),
                str(first.vertex_connectivity),
                *verdicts,
            )
        )
    head = ("eight agents", "links", "min degree", "κ", *(f"f = {f}" for f in COLLUDERS))
    caption = "What function sharing promises against f colluders (Theorem 2); * the fewest links that do"
    return Table(head, tuple(rows), caption, numeric=frozenset({1, 2, 3}))


def notes(found: Privacy) -> list[str]:
    """How to read the tables."""
    change = found.change
    return [
        f"Logistic regression in 10 dimensions on five agents, {found.size.problems} data sets, from the optimum on, "
        "which is public: so gradients hardly change, and nothing but noise hides them. The attacker knows the plan "
        "and how long gradients are; a guess of zero is off by 1. Foretold by hk.leakage, before any run; measured "
        "is the best linear attack on the messages of real runs, or the exact one where there is one.",
        "Noise levels: ‖d‖ ≤ Δ per data set; one draw of function sharing is as large as one of RSS-NB's. Exact means "
        "up to rounding, below 1e-11.",
        "Where noise drowns everything, what is predicted for noise drawn once is too low, at Δ = 10 by up to a fifth: "
        "it counts on learning something from the sum of all gradients, which at an optimum is zero whatever they are.",
        "On C5 one neighbour does not receive the target's other neighbour. By rank the decaying step gives "
        "RSS away even "
        "so, but what it tells apart is the change of α_{k+1}/α_k, which dies out: the error hardly falls. On K5 one "
        "agent receives everybody, and averaging works.",
        "Persistent noise hides a constant offset of the gradient, and no more: how a gradient changes is "
        "averaged out like "
        f"before. Between the first and the last quarter of {change.rounds:,} rounds, from far away, the gradient "
        f"moved by {np.median(change.size):.2g}; an attacker behind the persistent noise knows that to "
        f"{np.median(change.error):.2g} (predicted {change.foretold:.2g}), and the gradient itself to "
        f"{np.median(change.offset_error):.2g}.",
        "P1 and P2 are about function sharing, separable polynomials no higher in degree than its noise, and widths "
        "that its bound buys. No theorem covers RSS.",
    ]


def conclusion(found: Privacy) -> str:
    """What was seen, in one plain sentence."""
    apart = np.concatenate([one.agreement() for one in found.reconstructions])
    worst = float(np.nanmax(np.maximum(apart, 1 / apart)))
    tapped = {
        one.algorithm: one.medians
        for one in found.reconstructions
        if one.sight.threat == "states" and one.delta == found.size.deltas[0]
    }
    last = found.size.rounds[-1]
    steady = f"anchored {plain(float(tapped['RSS-NB, persistent'][-1]))}"
    if "FS" in tapped:
        steady = f"FS {plain(float(tapped['FS'][-1]))} and {steady}"
    return (
        f"To an eavesdropper on C5, RSS-NB falls from {plain(float(tapped['RSS-NB'][0]))} to "
        f"{plain(float(tapped['RSS-NB'][-1]))} of a gradient in {last:,} rounds, {steady} stay, DGD is exact; attacks "
        f"agree with what was predicted within {worst:.2f}×; views of the witness differ by "
        f"{'nothing' if found.witnesses.exact.equal else plain(found.witnesses.exact.difference)} in exact arithmetic."
    )
