"""Every example in README, docs and examples runs, each page from top to bottom, and what the pages name exists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import hocket
from docs.making.pictures import PICTURES
from hocket import algorithms
from hocket.cli import main
from hocket.config.problems import PROBLEMS, SETS, FromPython
from hocket.config.sections import ALGORITHM_SECTIONS as SECTIONS
from hocket.config.sections import ChannelSection, ConstantSection, NetworkSection, PowerSection, RunSection

from .reader import NOT_RUN, Reader, blocks

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
MADE = {ROOT / "docs/reference/commands.md", ROOT / "docs/reference/schema.md"}
"""Pages that `make docs` reads off the code."""
LINK = re.compile(r"\]\((?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
NAME = re.compile(r"\bhk\.(\w+(?:\.\w+)*)")

NEEDS = re.compile(r"^<!-- needs: (\w+) -->$", re.MULTILINE)

LONG = {
    "README.md",
    "docs/add-an-algorithm.md",
    "docs/bench.md",
    "docs/configuration.md",
    "docs/directed-and-lossy.md",
    "docs/four-clinics.md",
    "docs/learning.md",
    "docs/methods.md",
    "docs/privacy.md",
    "docs/sign-off.md",
    "docs/start.md",
    "docs/step-by-step.md",
}
"""Pages whose examples take long."""


def pages(slow: Collection[str] = ()) -> pytest.MarkDecorator:
    """A test for every page; for these pages, a slow one."""
    named = {str(page.relative_to(ROOT)): page for page in PAGES}
    return pytest.mark.parametrize(
        "page",
        [
            pytest.param(page, id=name, marks=pytest.mark.slow if name in slow else ())
            for name, page in named.items()
        ],
    )


each_page = pages()


@pages(slow=LONG)
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in NEEDS.findall(page.read_text(encoding="utf-8")):
        pytest.importorskip(
            package, reason=f"the page is for those who have {package}; CI runs it in a step of its own"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    reader = Reader(page, tmp_path, capsys, monkeypatch)
    monkeypatch.setitem(sys.modules, "page", reader.session)
    before = set(sys.modules)
    try:
        for block in blocks(page):
            reader.follow(block)
    finally:
        # Another page may have a file of the same name.
        for name in {*sys.modules} - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]


@each_page
def test_every_block_of_commands_is_run_or_says_why_not(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("console", "bash", "sh"):
            place = f"{page.name}, line {block.above}"
            assert block.note in ("run", "run together") or block.note.startswith(NOT_RUN), place
        assert block.note != NOT_RUN.strip(), f"{page.name}, line {block.above}: give a reason"


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        if link["file"].startswith("https://"):
            continue
        target = (page.parent / link["file"]).resolve() if link["file"] else page
        if target in MADE:
            continue
        assert target.exists(), f"{page.name} links to {link['file']}, which does not exist"
        if link["heading"]:
            assert link["heading"] in headings(target), f"{page.name}: there is no {link[0]}"


def headings(page: Path) -> set[str]:
    """Headings as they are linked to: lower case, words joined by hyphens, other signs dropped."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_no_page_was_left_half_merged(page: Path) -> None:
    assert not re.findall(r"^(?:<{7} |={7}$|>{7} ).*", page.read_text(encoding="utf-8"), re.MULTILINE)


@each_page
def test_names_exist(page: Path) -> None:
    """Whatever a page calls hk.something is there."""
    text = page.read_text(encoding="utf-8").replace("hk.ReturnedNoise", "")  # the page tells how to add it
    for name in {found[1] for found in NAME.finditer(text)}:
        value: Any = hocket
        for part in name.split("."):
            assert hasattr(value, part), f"{page.name} speaks of hk.{name}, which does not exist"
            value = getattr(value, part)


def test_every_page_is_on_the_menu_of_the_site() -> None:
    menu = re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs")) for page in {*ROOT.glob("docs/**/*.md")} | MADE}
    pages |= {f"examples/{page.parent.name}.md" for page in ROOT.glob("examples/*/README.md")}
    assert sorted(menu) == sorted(pages | {"index.md", "contributing.md", "changelog.md"})


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_as_their_script_draws_them(name: str) -> None:
    drawn = PICTURES[name]().text()
    assert (ROOT / "docs/pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn


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
    sections += [NetworkSection, PowerSection, ConstantSection, RunSection, ChannelSection]
    keys = {key for section in sections for key in section.model_fields} | {*PROBLEMS, *SETS, *SECTIONS}
    assert sorted(key for key in keys if not re.search(rf"`{key}\b", text)) == []


@pytest.mark.slow
def test_the_demo_prints_the_tables_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    tables = [block.text for block in blocks(ROOT / "README.md") if block.note == "demo"]
    assert len(tables) == 2
    assert [line for table in tables for line in table.splitlines() if line.split() not in printed] == []


@pytest.mark.slow
def test_one_file_and_one_row_enrol_an_algorithm_in_every_law(tmp_path: Path) -> None:
    """Do to a copy of the project what the page says, and nothing else; then run the laws."""
    for folder in ("hocket", "tests/laws", "tests/docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("docs", "tests/units"):
        (tmp_path / folder).mkdir()
    shared = ["tests/__init__.py", "tests/conftest.py", "tests/units/certificate_cases.py"]
    for file in ("pyproject.toml", *shared, "docs/add-an-algorithm.md"):
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
