"""How a member's table is read: the same options wherever a command takes one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from pathlib import Path

    from hocket.studies.table import Table


@Parameter(name="*")
@dataclass(frozen=True)
class TableOptions:
    """What a CSV file does not say of itself."""

    delimiter: Annotated[
        str | None, Parameter(help="What separates columns of a CSV file, if the file itself does not tell.")
    ] = None
    encoding: Annotated[
        str | None, Parameter(help="A CSV file's encoding, such as latin-1; UTF-8 by default.")
    ] = None
    decimal: Annotated[
        str | None, Parameter(help="A point or a comma, if the file itself does not tell which is decimal.")
    ] = None

    def read(self, path: Path) -> Table:
        """The table in a file."""
        from hocket.studies.table import read_table

        return read_table(path, delimiter=self.delimiter, encoding=self.encoding, decimal=self.decimal)

    def words(self) -> Iterator[str]:
        """The same options as they are typed."""
        for one in fields(TableOptions):
            value = getattr(self, one.name)
            if value is not None:
                yield from (f"--{one.name}", value)


AS_IT_IS = TableOptions()
"""Nothing is said: the file tells."""
