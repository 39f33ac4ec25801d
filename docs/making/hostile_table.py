"""The table of hostile members: every deviation of the tests, played once more, and what came of it.

python -m docs.making.hostile_table      writes it into docs/hostile-members.md, between its two marks
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.peers.hostile import Deviation, Honest
from tests.peers.hostile_cases import everywhere
from tests.peers.hostile_control import CONTROL
from tests.peers.hostile_handshake import AGREEING
from tests.peers.hostile_means import MEANS
from tests.peers.hostile_oracles import check
from tests.peers.hostile_records import RECORDS
from tests.peers.hostile_stage import Stage
from tests.peers.hostile_sums import SUMS
from tests.peers.hostile_words import WORDS

PAGE = Path(__file__).parents[1] / "hostile-members.md"
BEGIN, END = "<!-- table begins -->\n", "<!-- table ends -->\n"
TABLES: dict[str, Sequence[Deviation]] = {
    "Words": WORDS,
    "Votes and the roll": CONTROL,
    "Handshakes": AGREEING,
    "Records of what was heard": RECORDS,
    "Means of the whole": MEANS,
    "Sums over all members": SUMS,
}


def rows(stages: Sequence[Stage]) -> Iterator[str]:
    """A line for each deviation."""
    for stage in stages:
        what = stage.deviation.what.replace("|", "\\|")
        yield f"| {stage.deviation.name} | {stage.deviation.members} | {what} | {came_of(stage)} |"


def came_of(stage: Stage) -> str:
    """What the honest members came to, in a few words."""
    return "; ".join(sorted({outcome(one) for one in stage.honest.values()}))


def outcome(one: Honest) -> str:
    """Finished, stopped by an error, or waiting for somebody."""
    if one.error is not None:
        return f"stops: {type(one.error).__name__}"
    return "finishes" if one.finished is not None else "waits, and says for whom"


def written(tables: dict[str, Sequence[Deviation]]) -> str:
    """All tables, as played on four members: under anchored RSS-NB, or under what alone they are for."""
    parts = []
    for title, table in tables.items():
        with tempfile.TemporaryDirectory() as folder:
            usual = "anchored" if "anchored" in table[0].algorithms else table[0].algorithms[0]
            stages = everywhere(Path(folder), table, "K4", usual)
            check(stages)
            head = "| deviation | members | what it does | what the others come to |\n|---|---|---|---|\n"
            parts.append(f"## {title}\n\n{head}" + "\n".join(rows(stages)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{written(TABLES)}\n{END}{after}", encoding="utf-8")
