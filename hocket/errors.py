"""Every error hocket raises, as one tree.

    HocketError
    ├── BadInput                what the user handed over cannot be used as it is
    │   ├── BadNetwork          graph or weights
    │   ├── BadProblem          objectives, data, feasible set or start
    │   │   └── NoData          no data folder was named, and nothing was downloaded before
    │   ├── BadAlgorithm        noise level, family or an agent it cannot protect
    │   ├── BadConfig           a configuration file or command-line value
    │   ├── BadStudy            a study, its formula, or a table that does not fit it
    │   │   └── NotEstimable    the joint data cannot tell what the study asks: separation, collinear columns
    │   ├── BadIdentity         a member's key, certificate or passphrase
    │   └── BadPlan             a federation's cards, plan or signatures
    │       └── UnsafePlan      a plan under which insiders would learn too much
    ├── NoTheorem               a guarantee was asked for whose assumptions do not hold
    ├── NotRecorded             the run did not keep what is asked of it
    ├── LinkError               a link cannot be opened, or what came over it cannot be trusted
    │   ├── BadFrame            bytes that are no message of this protocol and plan
    │   └── BadHandshake        noise keys that were not agreed with whom the plan names
    ├── JournalError            a member's record on disk cannot be used or written
    ├── OutOfMemory             a device cannot hold the run
    ├── ClusterError            processes of a cluster cannot find each other, or one of them is lost
    └── RunStopped              a run ended before its last round; what was reached is kept
        ├── Diverged            a state or an objective is no longer finite
        ├── UnsafeRemainder     members left a federation, and the survivors are not safe
        └── Interrupted         somebody pressed Ctrl-C

Messages name the culprit, the limit and the fix. The command line prints them without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class HocketError(Exception):
    """Root of everything hocket raises on purpose."""


class BadInput(HocketError, ValueError):
    """What the user handed over cannot be used as it is."""


class BadNetwork(BadInput):
    """The graph or its weights break an assumption."""


class BadProblem(BadInput):
    """Objectives, data, feasible set or start do not fit together."""


class NoData(BadProblem):
    """No data folder was named, and nothing was downloaded before."""


class BadAlgorithm(BadInput):
    """An algorithm's parameters are out of range, or it cannot protect an agent."""


class BadConfig(BadInput):
    """A configuration file or a command-line value cannot be read."""


class BadStudy(BadInput):
    """A study, its formula, or a member's table cannot be used as it is."""


class NotEstimable(BadStudy):
    """The joint data cannot tell what the study asks for."""


class BadIdentity(BadInput):
    """A member's key, certificate or passphrase cannot be used."""


class BadPlan(BadInput):
    """A federation's cards, plan or signatures do not fit together."""


class UnsafePlan(BadPlan):
    """A plan under which insiders would learn more than was asked for."""


class NoTheorem(HocketError):
    """A guarantee was asked for whose assumptions do not hold."""


class NotRecorded(HocketError):
    """The run did not keep what is asked of it."""


class LinkError(HocketError):
    """A link cannot be opened, or what came over it cannot be read or trusted."""


class BadFrame(LinkError):
    """Bytes that are no message of this protocol and plan."""


class BadHandshake(LinkError):
    """Noise keys that were not agreed with whom the plan names."""


class JournalError(HocketError):
    """A member's record on disk cannot be used or written."""


class OutOfMemory(HocketError, MemoryError):
    """A device cannot hold the run."""


class ClusterError(HocketError):
    """Processes of a cluster cannot find each other, or one of them is lost."""


class RunStopped(HocketError):
    """A run ended before its last round; `checkpoint` is where it can be taken up again."""

    def __init__(self, message: str, *, round: int, run: Any = None, checkpoint: Path | None = None):
        super().__init__(message)
        self.round = round
        self.run = run
        """The `Run` up to here: the last good states and all measurements."""
        self.checkpoint = checkpoint


class Diverged(RunStopped):
    """A state or an objective is no longer finite."""


class UnsafeRemainder(RunStopped):
    """Members left a federation, and the survivors are less protected than was agreed; nothing was sent since."""


class Interrupted(RunStopped):
    """Somebody pressed Ctrl-C."""


def nearest(word: Any, known: Iterable[str]) -> str:
    """The question whether something else was meant, for a message, where anything is near.

    >>> nearest("cicle", ["cycle", "path"]), nearest("ring", ["cycle", "path"])
    (" (did you mean 'cycle'?)", '')
    """
    close = difflib.get_close_matches(word, list(known), n=1) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""
