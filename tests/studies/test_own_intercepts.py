"""What members' own intercepts would tell of each member, however many there are, and that they are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hocket.errors import BadStudy
from hocket.studies import Table, check, glm, parse_study, rehearse
from hocket.studies.analysis import analyse
from hocket.studies.check import check_table
from hocket.studies.promise import Among
from hocket.studies.rehearsal import fresh_bits, rehearse_analysis, summed
from hocket.studies.symmetric import unpacked

NAMES = tuple(f"x{number}" for number in range(9))
STUDY = parse_study(
    {
        "study": {"title": "T", "formula": f"y ~ {' + '.join(NAMES)}", "site": True},
        "columns": {name: {"levels": ["no", "yes"], "map": ["yes"]} for name in NAMES},
    }
)
HEAVY = 1e5
"""What a part outside the column space costs."""


def clinics(members: int) -> dict[str, np.ndarray]:
    rng, found = np.random.default_rng(1), {}
    for place in range(members):
        yes = (
            rng.random((int(rng.integers(60, 160)), len(NAMES))) < rng.uniform(0.25, 0.75, len(NAMES))
        ) * 1.0
        found[f"m{place}"] = np.column_stack([yes, yes.sum(axis=1) + rng.normal(size=len(yes))])
    return found


def table(rows: np.ndarray) -> Table:
    cells: dict[str, Any] = {
        name: ["yes" if one else "no" for one in rows[:, place]] for place, name in enumerate(NAMES)
    }
    return Table.of(cells | {"y": rows[:, -1].tolist()})


def test_own_intercepts_are_taken_out_by_sums_that_tell_every_members_own_counts(monkeypatch):
    """Of five honest members and a sixth that keeps what it is shown: rows and each count of yes, exactly."""
    for module in (check, glm):
        monkeypatch.setattr(module, "refuse_site", lambda members: None)
    brought = clinics(6)
    members = {name: check_table(STUDY, table(rows), Among(6, 1))[1] for name, rows in brought.items()}
    draws, shown = {name: fresh_bits(name) for name in members}, dict[str, np.ndarray]()

    def carry(asked: Any) -> Any:
        heard = summed(asked, draws)
        own, total = asked["m5"].values["model"], heard["m5"]["model"]
        shown.update(
            {name: total[name] - own[name] for name in ("not 0 together", "products") if name in own}
        )
        if "squares" in total:
            n = float(total["rows"][0])
            shown["size"] = np.sqrt(total["squares"] / n - (total["sum"] / n) ** 2)
        if "not 0 together" in own:
            shown["rows"] = total["rows"] - own["rows"]
        return heard

    rehearse_analysis({name: analyse(rows) for name, rows in members.items()}, carry=carry)
    together = unpacked(shown["not 0 together"])[:-1, :-1]
    inside = unpacked(shown["products"]) * np.outer(shown["size"], shown["size"])
    counts = np.concatenate([shown["rows"][:1], np.diag(together)])
    squares = np.block([[counts[:1, None], counts[None, 1:]], [counts[1:, None], together - inside]])
    values, axes = np.linalg.eigh(squares)
    off, along = axes[:, :-5], axes[:, -5:]
    lattice = _reduced(np.eye(10, dtype=int), np.hstack([np.eye(10), HEAVY * off]))
    kept = lattice[np.argsort(np.linalg.norm(lattice @ off, axis=1))[:5]]
    found = _reduced(kept, along / np.sqrt(values[-5:]))
    true = {
        (len(rows), *rows[:, :-1].sum(axis=0).astype(int)) for name, rows in brought.items() if name != "m5"
    }
    assert {tuple(one * np.sign(one[0])) for one in found} == true


def _reduced(basis: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """A basis of vectors that are short as `seen` [Lenstra, Lenstra and Lovász 1982]."""
    basis, k = basis.copy(), 1
    while k < len(basis):
        for j in reversed(range(k)):
            part = np.linalg.qr((basis @ seen).T)[1]
            basis[k] -= round(part[j, k] / part[j, j]) * basis[j]
        part = np.linalg.qr((basis @ seen).T)[1]
        if part[k, k] ** 2 + part[k - 1, k] ** 2 >= 0.99 * part[k - 1, k - 1] ** 2:
            k += 1
        else:
            basis[[k, k - 1]] = basis[[k - 1, k]]
            k = max(k - 1, 1)
    return basis


@pytest.mark.parametrize("members", [2, 6, 50])
def test_own_intercepts_are_refused_among_any_number_before_anything_is_sent(members):
    rows = table(clinics(1)["m0"])
    with pytest.raises(BadStudy, match=rf"site = true among {members} members: .* Leave site out"):
        check_table(STUDY, rows, Among(members, 1))


def test_own_intercepts_are_refused_by_the_members_that_take_part(monkeypatch):
    """Each counts the members in the first sum, whatever it was told."""
    monkeypatch.setattr(check, "refuse_site", lambda members: None)
    with pytest.raises(BadStudy, match="site = true among 6 members"):
        rehearse(STUDY, {name: table(rows) for name, rows in clinics(6).items()})
