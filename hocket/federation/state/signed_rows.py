"""The rows that a member checked when it signed: `run` refuses others, and says how many differ.

Of a study these are the rows that its conditions choose, in the columns that it reads, as numbers, in any order: a
table exported again is the same, whatever else is in it. Of a task that gives a digest of its data these are all of
them. What is kept are digests under this home's secret, in the run's folder, for its owner alone. A task that gives
none is not bound.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt64

from hocket.errors import JournalError, UnsafePlan
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.accounts import EACH, MOST
from hocket.federation.state.digests import row_digests, salted_digest
from hocket.federation.state.home import Home
from hocket.federation.workloads.task import Task
from hocket.files import UNREADABLE, arrays
from hocket.machine import replaced
from hocket.privacy.wording import counted

FILE = "signed-rows.npz"


def unbound(plan: FederationPlan) -> str:
    """What is said where a member has signed without its data."""
    return (
        "No rows are bound by this member's signature: nothing would notice that they were changed since. Signing with "
        f"{plan.kind.rows} binds them."
    )


@dataclass(frozen=True, eq=False)
class SignedRows:
    """Digests of rows, cell by cell where they are known so."""

    whole: str
    """Of everything, with a mark of the secret before a colon."""
    columns: tuple[str, ...]
    """None where only whole rows are known."""
    cells: UInt64[np.ndarray, "rows columns"]

    def save(self, folder: Path) -> None:
        """Keep them in a run's folder."""
        text = io.BytesIO()
        np.savez_compressed(
            text, whole=np.array(self.whole), columns=np.array(self.columns, str), cells=self.cells
        )
        with replaced(folder / FILE, mode=0o600) as file:
            file.write(text.getvalue())

    @classmethod
    def read(cls, folder: Path) -> SignedRows | None:
        """Those of a run's folder; None if no rows were checked when its plan was signed."""
        path = folder / FILE
        try:
            kept = arrays(path)
            cells = kept["cells"]
            if cells.dtype != np.uint64 or cells.ndim != 2:
                raise ValueError
            return cls(str(kept["whole"]), tuple(map(str, kept["columns"])), cells)
        except FileNotFoundError:
            return None
        except (*UNREADABLE, KeyError):
            raise JournalError(
                f"{path} is damaged: nobody can tell whether the rows are those that were signed; sign again with the "
                "data at hand: hocket peer sign PLAN --data TABLE"
            ) from None


def rows_to_sign(home: Home, task: Task | None) -> SignedRows | None:
    """The rows of what a member brings; None if it does not tell them."""
    tell = getattr(task, "rows_to_sign", None)
    if tell is not None:
        return tell(home.accounts.secret)
    whole = salted_digest(home, task)
    return SignedRows(whole, (), row_digests(home, task)[:, None]) if whole else None


def check_signed_rows(home: Home, task: Task, folder: Path) -> bool:
    """Refuse other rows than those that were signed; whether any were."""
    signed = SignedRows.read(folder)
    now = None if signed is None else rows_to_sign(home, task)
    if signed is None or (now is not None and now.whole == signed.whole):
        return signed is not None
    again = "sign again with the data at hand: hocket peer sign PLAN --data TABLE (or --task FILE.py:NAME)"
    if now is None:
        raise UnsafePlan(
            "whether these are the data that this member signed cannot be told: the task gave a digest of them then, "
            f"and gives none now. Give it one; or {again}"
        )
    if now.whole.partition(":")[0] != signed.whole.partition(":")[0]:
        raise UnsafePlan(
            "whether these are the rows that this member signed cannot be told: the secret that salts their digests, "
            f"in accounts.db of its home, is another one now. Restore it from a backup; or {again}"
        )
    raise UnsafePlan(
        f"these are not the rows that this member signed: {_difference(signed, now)}. A signature is for the rows that "
        f"were checked. Run on the data as they were; or {again}"
    )


def _difference(before: SignedRows, now: SignedRows) -> str:
    """How many rows were added, changed and removed, as far as digests tell."""
    if before.columns != now.columns:
        return "it was another version of the study"
    if not before.columns and (len(before.cells) in (0, MOST) or len(now.cells) in (0, MOST)):
        return "the digest of the data has changed; how many rows have cannot be told"
    gone, come = _rows(before.cells), _rows(now.cells)
    added, removed = [*(come - gone).elements()], [*(gone - come).elements()]
    changed = dict[str, int]()
    for place, name in enumerate(before.columns):
        added, removed, found = _paired(added, removed, place)
        if found:
            changed[name] = found
    parts = [
        f"{counted(len(added), 'row')} added" if added else "",
        f"{counted(sum(changed.values()), 'row')} changed (in {', '.join(changed)})" if changed else "",
        f"{counted(len(removed), 'row')} removed" if removed else "",
    ]
    return ", ".join(part for part in parts if part) or "something else than single rows was changed"


def _rows(cells: UInt64[np.ndarray, "rows columns"]) -> Counter[bytes]:
    return Counter(row.tobytes() for row in np.ascontiguousarray(cells))


def _paired(added: list[bytes], removed: list[bytes], place: int) -> tuple[list[bytes], list[bytes], int]:
    """Rows that are the same but for the cell in one place are one row that was changed."""

    def rest(row: bytes) -> bytes:
        return row[: place * EACH] + row[(place + 1) * EACH :]

    waiting = defaultdict[bytes, list[bytes]](list)
    for row in removed:
        waiting[rest(row)].append(row)
    left = [row for row in added if not (waiting.get(rest(row)) and waiting[rest(row)].pop())]
    gone = [row for rows in waiting.values() for row in rows]
    return left, gone, len(added) - len(left)
