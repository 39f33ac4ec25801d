"""One logistic regression over four hospitals, by secure sums and as one would do it with a server; and on a public
split.

    HOCKET_DATA=folder python benchmarks/studies.py

The folder holds heart/cleveland.csv, hungarian.csv, switzerland.csv and va.csv, with a header, from the UCI archive's
heart disease data. Rivals are the smallest honest versions: Newton's method with each site's score and information in
the clear at a server, as DataSHIELD's ds.glm and vantage6's GLM have it; and federated averaging, as Flower has it, by
the best of several steps. Errors are in standard errors of the pooled fit. Bytes are what a site sends: 16 a number in
a total, 8 in the clear; over links every number goes up and down a tree.

The second table is accuracy on the test rows of FLamby's Fed-Heart-Disease (its split, made anew from its rule). The
third is of a study that promises an ε of any row against one colluder of four: root mean square errors over several
draws of noise, beside a trusted centre that adds noise once and beside members who each add all of it. Last, and
without any data of others, fifty members and twenty columns over real links (many_members.py).
"""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import many_members
import numpy as np

from hocket.errors import NotEstimable
from hocket.studies import Results, Table, check_table, parse_study, read_table, simulate, simulate_analysis
from hocket.studies.results.results import concluded

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
COLUMNS = ("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak")
STUDY = tomllib.loads((Path(__file__).parents[1] / "examples/heart.toml").read_text(encoding="utf-8"))
MANY = (50, 20, 200)
"""Members, columns, and rows of each."""
LOCAL_STEPS = 5
STEPS = (0.3, 1.0, 3.0)
ROUNDS = (10, 100, 1000)
PUBLISHED = {
    "pooled": 79.1,
    "FedAvg": 75.2,
    "Scaffold": 75.2,
    "FedProx": 75.2,
    "Cyclic": 77.6,
    "FedAdam": 77.6,
    "FedAdagrad": 78.3,
    "FedYogi": 78.3,
}
"""Of FLamby's paper, per cent right."""


@dataclass(frozen=True)
class Site:
    """One hospital's rows, by hand."""

    X: np.ndarray
    y: np.ndarray


def complete(table: Table) -> Table:
    """The rows in which no cell of the ten columns is missing."""
    kept = [all(str(table.columns[name][row]).strip() for name in COLUMNS) for row in range(table.rows)]
    return Table.of(
        {
            name: [cell for cell, ok in zip(cells, kept, strict=True) if ok]
            for name, cells in table.columns.items()
        }
    )


def by_hand(table: Table) -> Site:
    """The design as the study has it."""
    of = {name: np.array(table.columns[name], dtype=float) for name in (*COLUMNS, "num")}
    X = [np.ones(table.rows), of["age"], of["sex"], *(of["cp"] == level for level in (2, 3, 4))]
    X += [of["trestbps"], of["chol"], of["fbs"], *(of["restecg"] == level for level in (1, 2))]
    X += [of["thalach"], of["exang"], of["oldpeak"]]
    return Site(np.stack(X, axis=1).astype(float), (of["num"] > 0).astype(float))


def chance(X: np.ndarray, beta: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-X @ beta))


def newton(sites: list[Site], rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Each site's score and information at a server; returns the coefficients and their errors."""
    beta = np.zeros(sites[0].X.shape[1])
    information = np.eye(len(beta))
    for _ in range(rounds):
        score, information = np.zeros_like(beta), np.zeros((len(beta), len(beta)))
        for site in sites:
            p = chance(site.X, beta)
            score += site.X.T @ (site.y - p)
            information += site.X.T @ (site.X * (p * (1 - p))[:, None])
        beta = beta + np.linalg.solve(information, score)
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def averaging(sites: list[Site], step: float) -> list[np.ndarray]:
    """Federated averaging of local gradient steps, columns standardised together; the coefficients at ROUNDS."""
    pooled = np.concatenate([site.X for site in sites])
    mean, sd = pooled.mean(axis=0), pooled.std(axis=0)
    mean[0], sd[0] = 0.0, 1.0
    share = np.array([len(site.y) for site in sites]) / len(pooled)
    beta, kept = np.zeros(pooled.shape[1]), []
    for number in range(1, ROUNDS[-1] + 1):
        locals_ = []
        for site in sites:
            X, own = (site.X - mean) / sd, beta.copy()
            for _ in range(LOCAL_STEPS):
                own = own + step * X.T @ (site.y - chance(X, own)) / len(site.y)
            locals_.append(own)
        beta = share @ np.array(locals_)
        if number in ROUNDS:
            raw = beta / sd
            raw[0] = beta[0] - (beta * mean / sd)[1:].sum()
            kept.append(raw)
    return kept


def fits(tables: dict[str, Table]) -> list[tuple[str, ...]]:
    """All ways on all rows."""
    sites = [by_hand(table) for table in tables.values()]
    best, error = newton(sites, 50)
    p = len(best)
    triangle = p + p * (p + 1) // 2

    def off(beta: np.ndarray) -> str:
        return f"{np.abs((beta - best) / error).max():.1e}"

    results = simulate(parse_study(STUDY), tables)
    assert results.findings.fit is not None
    lines = [
        (
            "hocket, by totals",
            str(results.totals),
            f"{16 * results.numbers:,}",
            off(results.findings.fit.beta),
            "sums over all sites, by all",
        )
    ]
    for rounds in (4, 7):
        beta, _ = newton(sites, rounds)
        lines.append(
            (
                "Newton and a server",
                str(rounds),
                f"{8 * rounds * triangle:,}",
                off(beta),
                "each site's sums, by the server",
            )
        )
    fitted = {step: averaging(sites, step) for step in STEPS}
    for place, rounds in enumerate(ROUNDS):
        beta = min(
            (found[place] for found in fitted.values()), key=lambda one: np.abs((one - best) / error).max()
        )
        lines.append(
            (
                "federated averaging",
                f"{rounds:,}",
                f"{8 * rounds * p:,}",
                off(beta),
                "each site's models, by the server",
            )
        )
    return lines


def split(tables: dict[str, Table]) -> tuple[dict[str, Table], dict[str, Table]]:
    """FLamby's rule: a third of each hospital's rows for tests, with about as many ill, by the seed that it names."""
    from sklearn.model_selection import train_test_split

    train, test = {}, {}
    for name, table in tables.items():
        ill = np.array([int(float(one) > 0) for one in table.columns["num"]])
        few = min((ill == 0).sum(), (ill == 1).sum()) <= 2
        kept, held = train_test_split(
            np.arange(table.rows),
            test_size=1.0 - 0.66,
            train_size=0.66,
            random_state=43,
            shuffle=True,
            stratify=None if few else ill,
        )
        # It sorts rows back by place.
        for into, places in ((train, sorted(kept)), (test, sorted(held))):
            into[name] = Table.of(
                {key: [cells[row] for row in places] for key, cells in table.columns.items()}
            )
    return train, test


def accuracy(tables: dict[str, Table]) -> tuple[float, float, int]:
    """Per cent right on test rows: the mean of the hospitals', and of all rows; and how many totals it took."""
    train, test = split(tables)
    results = simulate(parse_study(STUDY), train)
    assert results.findings.fit is not None
    beta = results.findings.fit.beta
    right = {
        name: (chance(site.X, beta) > 0.5) == (site.y == 1)
        for name, site in ((name, by_hand(table)) for name, table in test.items())
    }
    mean = 100 * float(np.mean([one.mean() for one in right.values()]))
    return mean, 100 * float(np.concatenate(list(right.values())).mean()), results.totals


NOISY = {
    "study": {"title": "Heart rates", "formula": "thalach ~ age"},
    "columns": {"age": {"range": [20, 80]}, "thalach": {"range": [60, 220]}, "sex": {"levels": [0, 1]}},
}
DELTA = 1e-6
DRAWS = 60
EPSILONS = (0.5, 1.0, 4.0)


def with_promise(tables: dict[str, Table], epsilon: float, among: str, part: str) -> Results:
    """A study with noise for one colluder, as a trusted centre has it, or as everybody for itself."""
    asked = {key: NOISY[key] for key in ("columns",)}
    asked["study"] = NOISY["study"] if part == "linear" else {"title": "Heart rates"}
    if part == "describe":
        asked["describe"] = {"columns": ["age", "thalach", "sex"]}
    study = parse_study({**asked, "privacy": {"epsilon": epsilon, "delta": DELTA}})
    if among == "hocket":
        return simulate(study, tables, colluders=1)
    if among == "local":
        return simulate(study, tables, colluders=len(tables) - 1)
    pooled = Table.of(
        {
            name: [cell for one in tables.values() for cell in one.columns[name]]
            for name in ("age", "thalach", "sex")
        }
    )
    return simulate_analysis({"centre": concluded(check_table(study, pooled)[1])}).result


def noisy(tables: dict[str, Table]) -> list[tuple[str, ...]]:
    """Errors of a mean, a count and a slope, by ε and by who adds noise."""
    exact = simulate(parse_study(NOISY), tables).data["coefficients"]["age"]
    ages = np.concatenate([np.array(one.columns["age"], dtype=float) for one in tables.values()])
    women = sum(int(float(sex) == 0) for one in tables.values() for sex in one.columns["sex"])
    lines = []
    for epsilon in EPSILONS:
        for among in ("centre", "hocket", "local"):
            off: dict[str, list[float]] = {"mean": [], "count": [], "slope": []}
            hidden = 0
            for _ in range(DRAWS):
                found = with_promise(tables, epsilon, among, "describe").findings.description
                assert found is not None
                mean, levels = found.columns["age"].mean, found.columns["sex"].levels
                assert levels is not None
                off["mean"] += [] if mean is None else [mean - ages.mean()]
                off["count"].append(float(levels["0"] or 0) - women)
                try:
                    fit = with_promise(tables, epsilon, among, "linear").data["coefficients"]["age"]
                    off["slope"].append((fit["estimate"] - exact["estimate"]) / exact["se"])
                except NotEstimable:
                    hidden += 1
            rms = {key: f"{np.sqrt(np.mean(np.square(one))):.3g}" if one else "-" for key, one in off.items()}
            slope = f"{rms['slope']}" + (f" ({hidden} of {DRAWS} refused)" if hidden else "")
            lines.append((f"{epsilon:g}", among, rms["mean"], rms["count"], slope))
    return lines


def main() -> None:
    folder = Path(os.environ.get("HOCKET_DATA", "")) / "heart"
    if folder.is_dir():
        hospitals(folder)
    else:
        print("HOCKET_DATA names no folder with heart/: no hospitals", file=sys.stderr)
    print(many_members.line(*MANY))


def hospitals(folder: Path) -> None:
    """Both tables."""
    tables = {name: complete(read_table(folder / f"{name}.csv")) for name in HOSPITALS}
    print("rows:", {name: table.rows for name, table in tables.items()})
    print(f"{'':22} {'exchanges':>9} {'bytes a site':>13} {'off by (se)':>12}  seen")
    for name, exchanges, sent, off, seen in fits(tables):
        print(f"{name:22} {exchanges:>9} {sent:>13} {off:>12}  {seen}")
    mean, pooled, totals = accuracy(tables)
    print(
        f"\nper cent right on FLamby's test rows, by {totals} totals: {pooled:.1f}; mean of hospitals {mean:.1f}"
    )
    print(
        f"\nwith noise, δ = {DELTA:g}; errors of the mean age (years), of the women's count, of the slope (its se)"
    )
    for line in noisy(tables):
        print("{:>4} {:8} {:>8} {:>8} {:>8}".format(*line))
    print("published:", ", ".join(f"{name} {value}" for name, value in PUBLISHED.items()))


if __name__ == "__main__":
    main()
