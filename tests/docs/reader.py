"""Somebody who follows one page from top to bottom, with a Python session and a terminal in one folder.

A comment on the line above a block says how it is used:

    <!-- file: NAME -->       the block is that file; a file of the package is imported as the module it would be
    <!-- row: TABLE -->       the block has the row that enrols an algorithm in the laws
    <!-- output -->           the block is what the Python block before it printed
    <!-- run -->              the commands in the block are run, and the lines below each are among what it prints
    <!-- run together -->     the same, all commands at once, each in a process of its own
    <!-- demo -->             the block is a table that `hocket demo` prints
    <!-- not run: REASON -->  the block is left out

Python and TOML without a comment are run and read; a block of commands needs one.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hocket
from hocket.bench.bench_file import parse_bench
from hocket.cli import main
from hocket.config import parse_config
from hocket.studies import parse_study

BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = "not run: "
PATIENCE = 120  # seconds for commands that wait for each other


@dataclass(frozen=True)
class Block:
    """A fenced block, what the comment above it says, and how many lines lie above."""

    language: str
    text: str
    note: str
    above: int

    @property
    def file(self) -> Path | None:
        """The file that this block is."""
        return Path(self.note.removeprefix("file: ")) if self.note.startswith("file: ") else None

    @property
    def commands(self) -> Iterator[tuple[list[str], list[str]]]:
        """Each command's words, and the lines that are shown below it; a command may go on after a backslash."""
        for part in self.text.removeprefix("$ ").split("\n$ "):
            command, *shown = part.strip().replace("\\\n", " ").split("\n")
            yield shlex.split(command), shown


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        above = text.count("\n", 0, found.start("text"))
        yield Block(found["language"], found["text"], found["note"] or "", above)


@dataclass
class Reader:
    """The page, its folder, and what the session and the terminal hold so far."""

    page: Path
    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    session: ModuleType = field(default_factory=lambda: ModuleType("page"))
    tables: dict[str, Any] = field(default_factory=dict)
    """The page's configuration so far: a block may replace single sections of the one before it."""
    printed: str = ""

    def follow(self, block: Block) -> None:
        """Do what one block says."""
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.note.startswith(NOT_RUN):
            return
        if block.note == "output":
            assert self.printed.splitlines() == block.text.splitlines()
        elif block.note == "run":
            self.type(block)
        elif block.note == "run together":
            self.type_together(block)
        elif block.language == "python":
            self.enter(block)
        elif block.language == "toml":
            tables = tomllib.loads(block.text)
            if "study" in tables:
                parse_study(tables)
            elif "bench" in tables:
                parse_bench(block.text, base=self.folder)
            else:
                self.tables |= tables
                parse_config(self.tables, base=self.folder).build()

    def enter(self, block: Block) -> None:
        """Run Python in the session, or as a module if the block is a file of the package."""
        if block.file is None:
            # Blank lines above make an error point to the line of the page.
            code = compile("\n" * block.above + block.text, str(self.page), "exec")
            exec(code, vars(self.session))
        elif block.file.parts[0] == "hocket":
            name = ".".join(block.file.with_suffix("").parts)
            spec = importlib.util.spec_from_file_location(name, self.folder / block.file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            self.patch.setitem(sys.modules, name, module)
            spec.loader.exec_module(module)
        self.printed = self.capture.readouterr().out

    def type(self, block: Block) -> None:
        """Run commands; what the page shows below one must be among the lines that it prints."""
        for (name, *arguments), shown in block.commands:
            assert name == "hocket"
            assert main(arguments) == 0, self.capture.readouterr().err
            printed = [line.split() for stream in self.capture.readouterr() for line in stream.splitlines()]
            assert [line for line in shown if line.split() not in printed] == []

    def type_together(self, block: Block) -> None:
        """Run commands that wait for each other."""
        environment = os.environ | {
            "PYTHONPATH": str(Path(hocket.__file__).parents[1]),
            "JAX_PLATFORMS": "cpu",
            "OPENBLAS_NUM_THREADS": "1",
        }
        running = [
            subprocess.Popen(
                [sys.executable, "-m", name, *arguments],
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for (name, *arguments), _ in block.commands
        ]
        try:
            for process in running:
                printed, _ = process.communicate(timeout=PATIENCE)
                assert process.returncode == 0, printed
        finally:
            for process in running:
                process.kill()
                process.communicate()
