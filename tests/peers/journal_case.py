"""Journals to try out: their plan, rounds to write, and another process that holds one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hocket
from hocket.links.journals.journal import EVERYBODY

PLAN, OTHER_PLAN = bytes(range(32)), bytes(range(1, 33))
OPEN = (
    "from pathlib import Path; from hocket.links.journals.journal import *; "
    "j = Journal.open(Path({!r}), bytes(range(32)))"
)
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(hocket.__file__).parents[1])}


def chains(k):
    return {"anna": bytes([k % 256, 1]) * 16, "ben": bytes([k % 256, 2]) * 16}


def begin(journal, k, state=None):
    journal.commit_round(k, state or b"state %d" % k, chains=chains(k), messages={EVERYBODY: b"word %d" % k})


def in_another_process(code, **options):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        **options,
    )
