"""The folder of one run in a member's home.

plan.toml       what everybody signed, for anybody who reads the folder later
about.json      who runs it, as which of how many runs on these data, and under which versions
audit.json      the verdict on the plan, as this member was told when it signed
signed-rows.npz digests of the rows that it checked when it signed
survivors.json  the verdict on what remains, if somebody was dropped
journal.db      where the run stands
status.json     what `hocket peer status` shows
stop            `hocket peer stop` asks the running process to stop, until it has
metrics.jsonl   measurements, a line each; of a long run fewer, the longer ago
log.jsonl       what happened, without any state, gradient or noise; log.1.jsonl is what came before
votes/          votes of this member's operator, until they are sent
transcript.json signed digests of all that was said and heard, once finished
files.json      digests of all that may be given away, signed, once finished
disclosure/     keys and steps, if the plan is verifiable: with words, they tell gradients
accepted.json   what its operator accepts to go on with, though it is not safe
published.*     what may be given away at the end
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hocket.errors import BadConfig
from hocket.federation.state.home import Home
from hocket.files import json_value, read_bytes
from hocket.links.journals.database import held
from hocket.links.text import is_list, is_table, json_line
from hocket.machine import private_folder, replace_text, replaced

SHOWN_ONLY = "move it away: the run goes by its journal, and nothing but what is shown is lost"


class Status(BaseModel):
    """What every status says; a process may say more."""

    model_config = ConfigDict(extra="allow", strict=True)

    member: str
    round: int = Field(ge=0)
    rounds: int = Field(ge=1)
    finished: bool
    waiting_for: dict[str, str] = Field(default_factory=dict[str, str])
    waiting_seconds: float = 0.0
    dropped: list[str]
    verdict: list[str]
    measured: dict[str, float]

    @classmethod
    def not_begun(cls, member: str, rounds: int) -> dict[str, Any]:
        """What a member would say that has not begun."""
        said = cls(member=member, round=0, rounds=rounds, finished=False, dropped=[], verdict=[], measured={})
        return said.model_dump()


class Consent(BaseModel):
    """What the audit of a plan says that a member has signed. Nothing in it may be missing."""

    model_config = ConfigDict(extra="ignore", strict=True)

    hash: str
    """Of the plan."""
    runs: int
    """As which of how many runs on its data."""
    earlier: list[str]
    """The plans of the runs that were known."""
    least: float | None
    """How well the best known gradient would be known; None where no gradient is shown."""


class _Inside:
    """The place of a file in the folder."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, folder: RunFolder, _: type) -> Path:
        return folder.path / self.name


@dataclass(frozen=True)
class RunFolder:
    """Names in one run's folder."""

    path: Path

    plan = _Inside("plan.toml")
    about = _Inside("about.json")
    audit = _Inside("audit.json")
    survivors = _Inside("survivors.json")
    journal = _Inside("journal.db")
    metrics = _Inside("metrics.jsonl")
    log = _Inside("log.jsonl")
    votes = _Inside("votes")
    published = _Inside("published")
    """Without its ending, which is the framework's."""
    _accepted = _Inside("accepted.json")
    _status = _Inside("status.json")
    _stop = _Inside("stop")

    @property
    def home(self) -> Home:
        """The home that it lies in."""
        return Home(self.path.resolve().parents[1])

    def make(self) -> None:
        """Make the folder, for its owner alone."""
        private_folder(self.path)
        private_folder(self.votes)

    @property
    def accepted(self) -> set[frozenset[str]]:
        """The sets of members without whom the operator goes on even if what remains is not safe."""
        path = self._accepted
        sets: Any = read_json(path).get("without") if path.exists() else []
        if not is_list(sets) or not all(map(is_list, sets)):
            raise BadConfig(
                f"{path} is damaged: it has no list of sets; move it away, and accept again what you did"
            )
        return {frozenset(map(str, gone)) for gone in sets}

    def accept(self, gone: frozenset[str]) -> None:
        """Keep the operator's word that it goes on without these members, come what may."""
        sets = sorted(map(sorted, self.accepted | {gone}))
        write_json(self._accepted, {"without": sets})

    @property
    def running(self) -> bool:
        """Whether a process takes part in the run now: it holds the journal for as long as it does."""
        return held(self.journal.with_name(self.journal.name + ".lock"))

    def ask_to_stop(self) -> None:
        """Leave a request that the running process meets within a second or so."""
        self._stop.touch()

    @property
    def stop_asked(self) -> bool:
        """Whether the running process is to stop."""
        return self._stop.exists()

    def clear_stop(self) -> None:
        """Forget the request: it was met, or meant for a process that is gone."""
        self._stop.unlink(missing_ok=True)

    @property
    def consent(self) -> Consent | None:
        """What this member agreed to when it signed; None if nothing says so, or not all of it."""
        try:
            return Consent(**read_json(self.audit))
        except (BadConfig, OSError, ValidationError):
            return None

    def write_status(self, status: dict[str, Any]) -> None:
        """Replace the status."""
        # Nothing rests on it, so it need not survive a loss of power: it is written every second.
        with replaced(self._status, durable=False) as file:
            file.write(json_line(status).encode())

    def status(self) -> dict[str, Any]:
        """What the member's process last said about itself."""
        try:
            return Status(**read_json(self._status)).model_dump()
        except FileNotFoundError:
            raise BadConfig(
                f"no run of this plan was begun in {self.path}; begin it with hocket peer run"
            ) from None
        except ValidationError as error:
            wrong = ", ".join(dict.fromkeys(str(part["loc"][0]) for part in error.errors()))
            raise BadConfig(f"{self._status} is damaged: {wrong} cannot be read; {SHOWN_ONLY}") from None

    @property
    def begun(self) -> bool:
        """Whether a process has ever said how the run stands."""
        return self._status.exists()

    @property
    def said_at(self) -> float:
        """When a process last said how the run stands, by the clock of this machine."""
        return self._status.stat().st_mtime


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a file; anybody who reads it sees the old one or the new one."""
    replace_text(path, json_line(data))


MOST_OWN, MOST_GIVEN = 1_000_000_000, 10_000_000
"""Bytes of a file of this member's own, and of one that another member gave."""


def read_json(path: Path, most: int = MOST_OWN) -> dict[str, Any]:
    """What `write_json` wrote, in so many bytes at most."""
    if path.stat().st_size > most:
        raise BadConfig(
            f"{path} has {path.stat().st_size:,} bytes, where {most:,} are the most; ask for it again"
        )
    try:
        found = json_value(read_bytes(path, most))
    except BadConfig:
        found = None
    if not is_table(found):
        raise BadConfig(f"{path} is damaged: it holds no JSON object; {SHOWN_ONLY}")
    return found


def words_in(path: Path) -> list[str]:
    """The verdict that a file holds in words, such as that on the survivors; none where there is no file."""
    if not path.exists():
        return []
    words = read_json(path).get("words")
    if not is_list(words) or not all(isinstance(line, str) for line in words):
        raise BadConfig(f"{path} is damaged: it has no list of words; {SHOWN_ONLY}")
    return words
