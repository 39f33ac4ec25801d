"""The tables of what certificates say and cost, and how to read them."""

from __future__ import annotations

from hocket.report.tables import Table, plain
from reproductions.certificates.by_link import MOVED
from reproductions.certificates.by_link import ROUNDS as LINK_ROUNDS
from reproductions.certificates.clinics import DELTA as LINKS_DELTA
from reproductions.certificates.clinics import EPSILON as LINKS_EPSILON
from reproductions.certificates.clinics import RIDGE
from reproductions.certificates.decor import ROUNDS
from reproductions.certificates.price import BENT, DELTA, EPSILON
from reproductions.certificates.runs import Certificates


def told_table(found: Certificates) -> Table:
    """Each theorem beside how well real runs were told apart."""
    rows = []
    for one in found.held:
        low, high = one.told.interval
        rows.append(
            (
                one.case.theorem,
                one.case.words,
                f"{one.certificate.mu:.4f}",
                f"{one.told.mu:.4f}",
                f"{low:.3f} to {high:.3f}",
                f"{one.told.mu_bound():.3f}",
                f"{one.ratio:.2f}",
            )
        )
    head = ("theorem", "", "μ", "fitted", "95 % interval", "at least", "of μ")
    caption = f"Told apart by likelihood ratios, 2 × {found.size.transcripts:,} transcripts, insider 0 on a ring of 5"
    return Table(head, tuple(rows), caption, numeric=frozenset({2, 3, 5, 6}))


def price_table(found: Certificates) -> Table:
    """The five ways to ε = 1."""
    central = found.rows[0]
    rows = [
        (
            row.name,
            plain(row.sigma),
            plain(row.own),
            f"{row.epsilon:.4f}",
            f"{row.noise:.3f}",
            f"{row.measured_noise:.3f}",
            f"{row.noise / central.noise:.3f}",
            f"{row.excess:.3f}",
            f"{row.measured_excess:.3f}",
            f"{row.rounds:.3g}",
        )
        for row in found.rows
    ]
    head = ("", "σ", "τ", "ε", "noise on the sum", "measured", "over central", "gap", "measured", "rounds")
    caption = f"A record hidden with ε = {EPSILON:g} at δ = {DELTA:g} from any insider, {found.size.runs:,} runs each"
    return Table(head, tuple(rows), caption, numeric=frozenset(range(1, 10)))


def link_table(found: Certificates) -> Table:
    """Noise by link, beside the same on all."""
    rows = [
        (
            one.name,
            str(one.colluders),
            f"{one.transfer.gain:.3f}",
            f"{one.record.gain:.3f}",
            f"{one.worst[0]:.2f}, {one.worst[1]:.2f}",
            "" if one.gap is None else f"{one.gap[0]:.1e}, {one.gap[1]:.1e}",
            f"{max(one.transfer.total / one.transfer.least, one.record.total / one.record.least) - 1:.0e}",
        )
        for one in found.by_link
    ]
    head = ("", "insiders", "for transfers", "for records", "at the worst", "gap", "from the best, at most")
    caption = "How many times the variance equal noise on all links takes; and what is left of it, alike and by link"
    return Table(head, tuple(rows), caption, numeric=frozenset({1, 2, 3, 4, 5, 6}))


def clinic_table(found: Certificates) -> Table:
    """Coefficients' errors at equal ε."""
    rows = [
        (one.name, f"{one.noise:.2f}", f"{one.median:.3f}", f"{one.high:.3f}", f"{100 * one.flat:.1f} %")
        for one in found.errors
    ]
    run = found.clinics
    names = ", ".join(f"{value:.3f}" for value in run.coefficients)
    rows.append(
        ("one run over links", f"{run.drafted.planned.price.on_sum:.2f}", f"{run.error:.3f}", "", names)
    )
    head = ("", "noise on the sum", "median error", "90 %", "not convex; coefficients")
    caption = (
        f"Four clinics' linear regression, ε = {LINKS_EPSILON:g} at δ = {LINKS_DELTA:g} for a record, ridge "
        f"{RIDGE:g}; {found.size.draws:,} draws"
    )
    return Table(head, tuple(rows), caption, numeric=frozenset({1, 2, 3}))


def insider_table(found: Certificates) -> Table:
    """Published settings against insiders."""
    rows = [
        (
            one.name,
            *(f"{value:.1f}" for value in one.as_converted),
            *(f"{value:.2f}" for value in one.exact),
        )
        for one in found.insiders
    ]
    head = ("", *(f"{k} insiders" for k in range(3)), *(f"{k}, exactly" for k in range(3)))
    caption = f"DECOR's settings for ε = 10, {ROUNDS:,} rounds, whole users: what ε is"
    return Table(head, tuple(rows), caption, numeric=frozenset(range(1, 7)))


def gap_table(found: Certificates) -> Table:
    """Its experiment at the same true ε."""
    rows = [
        (
            one.problem,
            one.network,
            str(one.insiders),
            f"{one.epsilon:.2f}",
            plain(one.decor),
            plain(one.falling),
            plain(one.planned),
            f"{one.times:.2f}",
        )
        for one in found.gaps
    ]
    head = (
        "",
        "network",
        "insiders",
        "true ε",
        "DECOR",
        "with falling steps",
        "planned",
        "DECOR over planned",
    )
    caption = f"At the same true ε after {found.size.gap_rounds:,} rounds, {found.size.gap_seeds} runs each"
    return Table(head, tuple(rows), caption, numeric=frozenset(range(2, 8)))


def tables(found: Certificates) -> list[Table]:
    """All of them."""
    return [
        told_table(found),
        price_table(found),
        link_table(found),
        clinic_table(found),
        insider_table(found),
        gap_table(found),
    ]


def notes(found: Certificates) -> list[str]:
    """How to read the tables."""
    return [
        "Told apart: a likelihood ratio of normal noise is normal, with means μ² apart and deviation μ; `at least` is "
        "Clopper and Pearson's bound on its errors, at a confidence of 95 %, for a mechanism known to be Gaussian.",
        "The gap is E Σf(x) − min Σf: the variance of noise on the sum over twice the curvature of Σf. Rounds "
        f"make it ten times smaller, by estimate, if noise bends objectives too, which bend by {BENT:g} themselves.",
        "By link: the best is within the last column of a bound by duality, so that no more is to be had. `At the "
        "worst` is the deviation of noise at the agent who has most, for a unit moved with μ = 1; `gap` the median of "
        f"{found.size.runs:,} runs of function sharing over {LINK_ROUNDS:,} rounds that hide a quadratic of norm "
        f"{MOVED:g}, where equal noise takes a quarter more variance.",
        "Clinics: errors are distances of coefficients from those without noise, under the same ridge. All three rows "
        "share their draws but for their size; draws whose sum is not convex are left out of medians.",
        "DECOR's distance is the mean over users of ‖x − x*‖²; for logistic regression, the mean loss at the user that "
        "is worst off over the least. Data for the latter are drawn in the shape of a9a, not a9a itself.",
        "Planned settings differ from DECOR's in the share of noise between neighbours, chosen against these very "
        "insiders, and in steps that fall; the column between has its noise under the same falling steps. "
        + _by_noise_alone(found),
    ]


def _by_noise_alone(found: Certificates) -> str:
    """What the plan's noise brings by itself, where runs are long enough to say."""
    if found.size.gap_rounds != ROUNDS:
        return "So few rounds say nothing of either."
    alone = [one.falling / one.planned for one in found.gaps]
    return f"Under equal steps DECOR's noise is {min(alone):.2f} to {max(alone):.2f} times as far off as planned noise."


def conclusion(found: Certificates) -> str:
    """What was seen, in one sentence."""
    least = min(one.ratio for one in found.held)
    inside = sum(one.inside for one in found.held)
    row = {one.name: one for one in found.errors}
    over = row["certified"].median / row["central"].median
    local = row["local"].median / row["central"].median
    beaten = (
        f"; at the same true ε DECOR's settings are {min(one.times for one in found.gaps):.2f} to "
        f"{max(one.times for one in found.gaps):.2f} times as far off as planned ones"
        if found.size.gap_rounds == ROUNDS
        else ""
    )
    return (
        f"Told apart by real messages, {inside} of {len(found.held)} certificates lie in the fit's 95 % interval, and "
        f"lower bounds reach {least:.2f} of μ or more; four clinics' coefficients at ε = {LINKS_EPSILON:g} are "
        f"{over:.2f} times as far off as a trusted server's, and {local:.2f} times if each adds noise for "
        f"itself{beaten}."
    )
