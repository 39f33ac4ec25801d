"""Every example in README and docs runs, each page from top to bottom, and what the pages say can be found.

A comment on the line above a block says how it is used:

    <!-- file: NAME -->   the block is that file; a file of the package is imported as the module it would be
    <!-- output -->       the block is what the Python block before it printed
    <!-- run -->          the commands in the block are run, and the lines below each are among what it prints
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hocket as hk
from hocket.algorithms import __all__ as algorithms
from hocket.cli import main
from hocket.config import parse_config
from hocket.config.algorithms import SECTIONS as ALGORITHMS
from hocket.config.networks import NetworkSection
from hocket.config.playing import ConstantSection, PowerSection, RunSection
from hocket.config.problems import PROBLEMS, FromPython
from hocket.config.sets import SETS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"(?:^<!-- (?P<note>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@dataclass(frozen=True)
class Block:
    """A fenced block, what the comment above it says, and the number of lines before its first."""

    language: str
    text: str
    note: str
    above: int

    @property
    def file(self) -> Path | None:
        """The file that this block is."""
        return Path(self.note.removeprefix("file: ")) if self.note.startswith("file: ") else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], found["note"] or "", text.count("\n", 0, found.start("text")))
        for found in BLOCK.finditer(text)
    ]


@dataclass
class Reader:
    """Somebody who follows one page with a Python session and a terminal in one folder."""

    page: Path
    folder: Path
    capture: pytest.CaptureFixture[str]
    session: ModuleType
    tables: dict[str, Any] = field(default_factory=dict)
    """The page's configuration so far: a block may replace single sections of the one before it."""
    printed: str = ""

    def follow(self, block: Block) -> None:
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.note == "output":
            assert self.printed.split("\n") == block.text.split("\n")
        elif block.note == "run":
            self.type(block.text)
        elif block.language == "python":
            self.enter(block)
        elif block.language == "toml":
            self.tables |= tomllib.loads(block.text)
            parse_config(self.tables, base=self.folder).build()

    def enter(self, block: Block) -> None:
        """Run Python, as a module of the package if the block is one of its files."""
        if block.file is None:
            # Blank lines above make an error point to the line of the page.
            code = compile("\n" * block.above + block.text, str(self.page), "exec")
            exec(code, vars(self.session))
        elif block.file.parts[0] == "hocket":
            name = ".".join(block.file.with_suffix("").parts)
            spec = importlib.util.spec_from_file_location(name, self.folder / block.file)
            assert spec is not None and spec.loader is not None
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        self.printed = self.capture.readouterr().out

    def type(self, text: str) -> None:
        """Run commands; what the page shows below one must be among the lines that it prints."""
        for part in text.removeprefix("$ ").split("\n$ "):
            command, *shown = part.strip().split("\n")
            name, *arguments = shlex.split(command)
            assert name == "hocket"
            assert main(arguments) == 0, self.capture.readouterr().err
            lines = [line.split() for stream in self.capture.readouterr() for line in stream.split("\n")]
            assert [line for line in shown if line.split() not in lines] == []


@pages
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = ModuleType("page")
    monkeypatch.setattr(sys, "modules", {**sys.modules, "page": session})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    reader = Reader(page, tmp_path, capsys, session)
    for block in blocks(page):
        reader.follow(block)
