"""The page of commands, from what `--help` says."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout

from cyclopts import App

from hocket.cli.app import app, main

WIDTH = 84  # what fits beside the site's menus
INTRODUCTION = """# Commands

What `hocket --help` says, command by command. Every command takes `--json`, and then prints one JSON object on standard
output and nothing else. Exit codes: 0; 1 for an error, which comes without a traceback; 2 for a wrong command line; 130
after Ctrl-C. `python -m hocket` is the same as `hocket`.
"""


def commands_page() -> str:
    """One section of Markdown for every command."""
    os.environ["COLUMNS"] = str(WIDTH)
    sections = [
        f"\n{'#' * (2 + len(words))} {' '.join(('hocket', *words))}\n\n```text\n{_help(words)}\n```\n"
        for words in _commands(app)
    ]
    return INTRODUCTION + "".join(sections)


def _commands(parent: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name in parent:
        if not name.startswith("-"):
            yield from _commands(parent[name], (*words, name))


def _help(words: tuple[str, ...]) -> str:
    with redirect_stdout(io.StringIO()) as page:
        main([*words, "--help"])
    return re.sub(r"[ \t]+\n", "\n", page.getvalue()).strip("\n")
