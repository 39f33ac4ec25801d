"""Which runs a dataset has served, a line of JSON each with its plan: what an audit must know, whatever was run.

What runs on the same data tell adds up, and the run that hid least may decide; so each is kept as its plan, and not as
a number. A plan is begun once: whoever lost its journal needs a new plan, which is audited as a run more. Nothing in
the file is secret. Lines are only ever added, under a lock, so that runs that begin together are all counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hocket.errors import JournalError
from hocket.files import json_value
from hocket.links.database import locked
from hocket.links.text import is_table
from hocket.machine import private_folder, replace_text

BEGUN = (
    "this plan was begun before, and the journal of that run is gone: run again, it would deal fresh noise on the same "
    "data, which nobody has agreed to. Draw up a new plan: it counts as a run more"
)
"""Why a plan does not begin twice."""


class Served(NamedTuple):
    """One run on these data."""

    run: str
    """Tells runs apart, even of the same plan."""
    plan: str
    """The run's hash in the plan, see `FederationPlan.run_hash`."""
    algorithm: str
    data: str = ""
    """A digest of the data, salted by a secret of this home; empty if the task gave none."""
    record: str = ""
    """The plan but for its members' cards, as JSON; empty in lines of earlier versions, which kept none."""
    left: str = ""
    """Who was dropped from it, with the last round of each, as JSON; empty if nobody was."""


@dataclass(frozen=True)
class Ledger:
    """The runs of one dataset on this machine."""

    path: Path

    @property
    def runs(self) -> tuple[Served, ...]:
        """All runs that were begun, each once."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ()
        except UnicodeDecodeError:
            raise JournalError(
                f"{self.path} is damaged: it is no text in UTF-8; restore it, or count its runs by hand"
            ) from None
        except OSError as error:
            raise JournalError(f"{self.path} cannot be read: {error.strerror}; change that first") from error
        found = [self._read(line, number) for number, line in enumerate(lines, 1) if line]
        return tuple({one.run: one for one in found}.values())

    def begin(self, run: Served, allow: Callable[[tuple[Served, ...]], object] = lambda before: None) -> int:
        """How many runs these data have served, this one included; it counts once, however often it resumes.

        `allow` is asked before a new run is counted, with those before it, and raises if it must not begin.
        """
        with one_at_a_time(self.path.with_name(self.path.name + ".lock"), self.path):
            before = self.runs
            if any(run.run == one.run for one in before):
                return len(before)
            if any(run.plan == one.plan for one in before):
                raise JournalError(BEGUN)
            allow(before)
            self._append(run)
            return len(before) + 1

    def leave(self, plan: str, left: Mapping[str, int]) -> None:
        """Put down who has left a plan's run: what leavers heard they keep, whatever becomes of the run's folder."""
        with one_at_a_time(self.path.with_name(self.path.name + ".lock"), self.path):
            for one in self.runs:
                if one.plan == plan:
                    self._append(one._replace(left=json.dumps(dict(left))))

    def forget(self, plan: str) -> bool:
        """Take a plan's run off the list; only for one of which nothing was ever sent. Whether there was one."""
        with one_at_a_time(self.path.with_name(self.path.name + ".lock"), self.path):
            if not any(one.plan == plan for one in self.runs):
                return False
            lines = self.path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line and json_value(line)["plan"] != plan]
            with _explained(self.path):
                replace_text(self.path, "".join(f"{line}\n" for line in kept))
            return True

    def _append(self, run: Served) -> None:
        with _explained(self.path), open(self.path, "a+b") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")  # a line that a crash cut short stays one of its own, and is found damaged
            line = run._asdict() | {"record": json_value(run.record) if run.record else None}
            line = line | {"left": json_value(run.left)} if line.pop("left") else line
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, line: str, number: int) -> Served:
        try:
            found = json_value(line)
            record, left = found.pop("record", None), found.pop("left", None)
            texts = ("" if one is None else json.dumps(one) for one in (record, left))
            served = Served(**found, **dict(zip(("record", "left"), texts, strict=True)))
            parts: list[Any] = [*served]
            tables = all(one is None or is_table(one) for one in (record, left))
            if not all(isinstance(part, str) for part in parts) or not tables:
                raise ValueError
            return served
        except (AttributeError, TypeError, ValueError, RecursionError):
            raise JournalError(
                f"line {number} of {self.path} is damaged; restore the file, or remove the line and remember that a "
                "run is missing"
            ) from None


@contextmanager
def one_at_a_time(lock: Path, what: Path | None = None) -> Generator[None]:
    """Hold a lock, and wait for it if another process does, for as long as `locked` does."""
    with ExitStack() as holding:
        with _explained(what or lock):
            private_folder(lock.parent)
            holding.enter_context(locked(lock))
        yield


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise JournalError(
            f"{path} cannot be written: {error.strerror}; runs must be counted, so change that and start again"
        ) from error
