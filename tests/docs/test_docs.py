"""Every example in README and docs runs, each page from top to bottom, and what the pages name exists.

A comment on the line above a block says how it is used:

    <!-- file: NAME -->   the block is that file; a file of the package is imported as the module it would be
    <!-- row: TABLE -->   the block has the row that enrols an algorithm in the laws
    <!-- output -->       the block is what the Python block before it printed
    <!-- run -->          the commands in the block are run, and the lines below each are among what it prints
    <!-- demo -->         the block is the table that `hocket demo` prints
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
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
from hocket import algorithms
from hocket.cli import main
from hocket.config import parse_config
from hocket.config.algorithms import SECTIONS
from hocket.config.networks import NetworkSection
from hocket.config.playing import ConstantSection, PowerSection, RunSection
from hocket.config.problems import PROBLEMS, FromPython
from hocket.config.sets import SETS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\]\((?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
NAME = re.compile(r"\bhk\.(\w+(?:\.\w+)*)")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


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


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        above = text.count("\n", 0, found.start("text"))
        yield Block(found["language"], found["text"], found["note"] or "", above)


@dataclass
class Reader:
    """Somebody who follows one page, with a Python session and a terminal in one folder."""

    page: Path
    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    session: ModuleType = field(default_factory=lambda: ModuleType("page"))
    tables: dict[str, Any] = field(default_factory=dict)
    """The page's configuration so far: a block may replace single sections of the one before it."""
    printed: str = ""

    def follow(self, block: Block) -> None:
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.note == "output":
            assert self.printed.splitlines() == block.text.splitlines()
        elif block.note == "run":
            self.type(block.text)
        elif block.language == "python":
            self.enter(block)
        elif block.language == "toml":
            self.tables |= tomllib.loads(block.text)
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

    def type(self, text: str) -> None:
        """Run commands; what the page shows below one must be among the lines that it prints."""
        for part in text.removeprefix("$ ").split("\n$ "):
            command, *shown = part.strip().split("\n")
            name, *arguments = shlex.split(command)
            assert name == "hocket"
            assert main(arguments) == 0, self.capture.readouterr().err
            printed = [line.split() for stream in self.capture.readouterr() for line in stream.splitlines()]
            assert [line for line in shown if line.split() not in printed] == []


@each_page
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    reader = Reader(page, tmp_path, capsys, monkeypatch)
    monkeypatch.setitem(sys.modules, "page", reader.session)
    for block in blocks(page):
        reader.follow(block)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        if link["file"].startswith("https://"):
            continue
        target = (page.parent / link["file"]).resolve() if link["file"] else page
        assert target.exists(), f"{page.name} links to {link['file']}, which does not exist"
        if link["heading"]:
            assert link["heading"] in headings(target), f"{page.name}: there is no {link[0]}"


def headings(page: Path) -> set[str]:
    """Headings as they are linked to: lower case, words joined by hyphens, other signs dropped."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_names_exist(page: Path) -> None:
    """Whatever a page calls hk.something is there."""
    text = page.read_text(encoding="utf-8").replace("hk.ReturnedNoise", "")  # the page tells how to add it
    for name in {found[1] for found in NAME.finditer(text)}:
        value: Any = hocket
        for part in name.split("."):
            assert hasattr(value, part), f"{page.name} speaks of hk.{name}, which does not exist"
            value = getattr(value, part)


def test_every_page_is_in_the_readme() -> None:
    linked = {link["file"] for link in LINK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))}
    assert {f"docs/{page.name}" for page in ROOT.glob("docs/*.md")} <= linked


def test_the_files_that_the_design_names_exist() -> None:
    named = re.findall(r"`([\w/]+(?:\.py|\.toml|/))`", (ROOT / "docs/design.md").read_text(encoding="utf-8"))
    missing = [path for path in named if not any((top / path).exists() for top in (ROOT, ROOT / "hocket"))]
    assert missing == []


@pytest.mark.parametrize("page", ["README.md", "docs/algorithms.md"])
def test_every_algorithm_is_described(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [name for name in algorithms.__all__ if f"`hk.{name}(" not in text] == []


def test_every_configuration_key_is_described() -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    sections = [*PROBLEMS.values(), FromPython, *SETS.values(), *SECTIONS.values()]
    sections += [NetworkSection, PowerSection, ConstantSection, RunSection]
    keys = {key for section in sections for key in section.model_fields} | {*PROBLEMS, *SETS, *SECTIONS}
    assert sorted(key for key in keys if not re.search(rf"`{key}\b", text)) == []


@pytest.mark.slow
def test_the_demo_prints_the_table_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    (table,) = (block for block in blocks(ROOT / "README.md") if block.note == "demo")
    assert [line for line in table.text.splitlines() if line.split() not in printed] == []


@pytest.mark.slow
def test_one_file_and_one_row_enrol_an_algorithm_in_every_law(tmp_path: Path) -> None:
    """Do to a copy of the project what the page says, and nothing else; then run the laws."""
    for folder in ("hocket", "tests/laws"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        shutil.copyfile(ROOT / file, tmp_path / file)
    found = list(blocks(ROOT / "docs/add-an-algorithm.md"))
    file = next(block for block in found if block.file is not None)
    (tmp_path / str(file.file)).write_text(file.text, encoding="utf-8")
    (row,) = (block for block in found if block.note == "row: tests/laws/table.py")
    imported, _, built = row.text.partition("\n")
    table = tmp_path / "tests/laws/table.py"
    text = table.read_text(encoding="utf-8")
    text = text.replace("import hocket as hk\n", f"import hocket as hk\n{imported}\n")
    text = text.replace("ROWS = [\n", f"ROWS = [\n    {built.partition('row = ')[2].strip()},\n")
    table.write_text(text, encoding="utf-8")
    laws = [sys.executable, "-m", "pytest", "tests/laws", "-k", "returned-noise", "-p", "no:cacheprovider"]
    done = subprocess.run(laws, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) >= 10  # one for every law that fits any row
