"""A member's table, read from CSV or Parquet, however the member writes it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket.errors import BadStudy
from hocket.files import csv_rows, read_bytes
from hocket.studies.data.separators import NUMBER, maybe_thousands

DELIMITERS = (",", ";", "\t", "|")
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""First bytes by which a file tells its encoding."""
COMMA = re.compile(r"[+-]?\d+,\d+")
POINT = re.compile(r"[+-]?\d*\.\d+")
LARGEST = 2_000_000_000
"""Bytes of a file; larger ones want another tool to cut out the columns first."""


@dataclass(frozen=True)
class Table:
    """Columns of cells as they were written."""

    columns: Mapping[str, Sequence[Any]] = field(repr=False)
    rows: int
    name: str = "the table"
    """What errors call it."""
    decimal: str = "."
    notes: tuple[str, ...] = field(default=(), repr=False)
    """What was taken for granted when it was read."""

    def __repr__(self) -> str:
        """Its shape and what its columns are called, and nobody's cells: reprs end in logs and tracebacks."""
        return f"Table({self.name!r}, rows={self.rows}, columns={[*self.columns]})"

    @staticmethod
    def of(columns: Mapping[str, Iterable[Any]], name: str = "the table") -> Table:
        """A table from columns in memory, such as a data frame's."""
        read = {key: list(cells) for key, cells in columns.items()}
        lengths = {len(cells) for cells in read.values()}
        if len(lengths) > 1:
            raise BadStudy(f"{name} has columns of {sorted(lengths)} rows; each needs as many")
        return Table(read, lengths.pop() if lengths else 0, name)


def read_table(
    path: Path, *, delimiter: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> Table:
    """The rows of a CSV or Parquet file; whatever cannot be told from the file must be said."""
    if path.is_dir():
        raise BadStudy(f"{path} is a folder; name a CSV or Parquet file")
    if not path.is_file():
        raise BadStudy(f"there is no file {path}; name a CSV or Parquet file")
    if path.stat().st_size > LARGEST:
        raise BadStudy(
            f"{path} has {path.stat().st_size:,} bytes, where {LARGEST:,} are the most; keep the columns needed"
        )
    for name, sign in (("--delimiter", delimiter), ("--decimal", decimal)):
        if sign is not None and len(sign) != 1:
            raise BadStudy(f"{name} {sign!r} is not one character")
    if decimal not in (None, ".", ","):
        raise BadStudy(f"--decimal {decimal!r}: numbers have a point or a comma")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _parquet(path)
    return _csv(path, _decoded(path, encoding), delimiter, decimal)


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import ArrowException, parquet  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        raise BadStudy(
            f"{path} needs pyarrow to be read: install hocket[studies], or save it as CSV"
        ) from None
    try:
        read = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise BadStudy(f"{path} is not a Parquet file: {str(error).splitlines()[0][:200]}") from None
    return Table(
        {name: read.column(name).to_pylist() for name in read.column_names}, read.num_rows, path.name
    )


def _decoded(path: Path, encoding: str | None) -> str:
    data = read_bytes(path, LARGEST)
    marked = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding or marked).removeprefix("\ufeff")
    except LookupError:
        raise BadStudy(f"there is no encoding {encoding!r}; try utf-8, latin-1 or cp1252") from None
    except UnicodeDecodeError as error:
        raise BadStudy(
            f"{path} is not text in {encoding or marked}, from byte {error.start} on; say which encoding it is in, "
            "such as --encoding latin-1, or save it as UTF-8"
        ) from None


def _csv(path: Path, text: str, delimiter: str | None, decimal: str | None) -> Table:
    if "\0" in text:
        raise BadStudy(
            f"{path} is not a text of rows: it holds zero bytes; save it as CSV, or, if it is one in UTF-16 or "
            "UTF-32, say --encoding utf-16-le or --encoding utf-32"
        )
    header = text.split("\n", 1)[0]
    if not header.strip():
        raise BadStudy(f"{path} begins with an empty line; its first line must name the columns")
    sign = delimiter or max(DELIMITERS, key=header.count)
    try:
        lines = csv_rows(text, sign)
    except csv.Error as error:
        raise BadStudy(
            f"{path} cannot be read as rows: {error}; is {sign!r} its delimiter? (--delimiter)"
        ) from None
    names = [name.strip() for name in lines[0]]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise BadStudy(f"{path} names the column {twice[0]!r} twice; give each its own name")
    rows = [line for line in lines[1:] if any(cell.strip() for cell in line)]
    for line, cells in enumerate(rows, 2):
        if len(cells) != len(names):
            raise BadStudy(
                f"{path}, row {line}: {len(cells)} cells under {len(names)} columns; is {sign!r} its delimiter, "
                "and are cells that hold it in quotes?"
            )
    columns = {name: [cells[place] for cells in rows] for place, name in enumerate(names)}
    decimal, notes = _decimal(path, columns, sign, decimal)
    if delimiter is None and sign != ",":
        notes = (f"columns are separated by {'a tab' if sign == chr(9) else sign!r}", *notes)
    return Table(columns, len(rows), path.name, decimal, notes)


def _decimal(
    path: Path, columns: Mapping[str, Sequence[Any]], sign: str, decimal: str | None
) -> tuple[str, tuple[str, ...]]:
    """A point or a comma: told from the cells where only one of them makes sense."""
    if sign == "," and decimal is None:
        return ".", ()
    cells = {name: [cell.strip() for cell in column if "," in cell] for name, column in columns.items()}
    commas = {name: [cell for cell in some if COMMA.fullmatch(cell)] for name, some in cells.items()}
    either = {
        name: some[0]
        for name, some in commas.items()
        if some and maybe_thousands(map(str.strip, columns[name]))
    }
    if decimal is not None:
        notes = [f"in column {name}, {cell} is read as {_number(cell):g}" for name, cell in either.items()]
        return decimal, tuple(notes) if decimal == "," else ()
    found = [cell for some in commas.values() for cell in some]
    points = {
        name: some
        for name, column in columns.items()
        if (some := [cell for cell in map(str.strip, column) if "." in cell and NUMBER.fullmatch(cell)])
    }
    if sign == ";" and not found and all(maybe_thousands(some, ".") for some in points.values()):
        for name, (cell, *_) in points.items():
            raise BadStudy(
                f"{path}, column {name}: in numbers such as {cell}, points may stand between thousands or be decimal; "
                f"if {cell} is {cell.replace('.', '')}, take the points out of the file, and if they are decimal, say "
                "--decimal ."
            )
    if not found or any(POINT.fullmatch(cell) for some in points.values() for cell in some):
        return ".", ()
    for name, cell in either.items():
        raise BadStudy(
            f"{path}, column {name}: in numbers such as {cell}, commas may stand between thousands or be decimal; if "
            f"{cell} is {cell.replace(',', '')}, take the commas out of the file, and if it is {_number(cell):g}, say "
            "--decimal ,"
        )
    return ",", (f"commas are decimal, as in {found[0]}",)


def _number(cell: str) -> float:
    return float(cell.replace(",", "."))
