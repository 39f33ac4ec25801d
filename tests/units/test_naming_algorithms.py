"""Which modules name an algorithm: those that state facts about it by its exact type, and few others, listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hocket
from hocket.algorithms import ALL, BY_CLASS, BY_KEY

PACKAGE = Path(hocket.__file__).parent
CHOOSING = ("__init__.py", "algorithms", "cli", "demo", "explore", "learning")
"""Exports, the algorithms themselves, and anybody who plays some of them or has one as a default."""


def modules() -> list[Path]:
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.relative_to(PACKAGE).as_posix().startswith(CHOOSING)
    ]


PLAIN_ENGLISH = {"independent", "independent noise"}
"""Names of algorithms that are also what noise is called which an agent adds by itself."""


def named(tree: ast.AST) -> Iterator[str]:
    """Every algorithm that code names: imported, looked up, compared with by its key, or spelled in a message."""
    texts = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) if name in BY_CLASS:
                yield name
            case ast.Constant(value=str(text)) if id(node) not in texts:
                yield from {text} & ({*BY_KEY, *(kind.title for kind in ALL)} - PLAIN_ENGLISH)
                yield from (
                    name for name in BY_CLASS if name in text.replace("(", " ").replace(",", " ").split()
                )


FACTS = {
    "claims.py",
    "runs/coverage.py",
    "runs/channel.py",
    "runs/remarks.py",
    "privacy/profile.py",
    "privacy/stand_ins.py",
    "federation/workloads/needs.py",
}
"""What others than the engines know of algorithms stands here, by exact type."""
BESIDE: dict[str, set[str]] = {
    "federation/plan/plan.py": {"Centralised"},
    "privacy/audit/text.py": {"RssNb"},
    "privacy/attacks/likelihood_ratio.py": {"CertifiedRssNb"},
    "privacy/graph/guarantees.py": {"FunctionSharing"},
    "privacy/leakage/levels.py": {"Centralised"},
    "privacy/leakage/noise_plan.py": {"RssNb"},
    "privacy/witness/functions.py": {"FunctionSharing"},
    "runs/theorems.py": {"Centralised"},
    "theory/inverse.py": {"RssNb", "RssLb"},
}
"""Who else names one, and which: a module that is added here should rather state a fact."""


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_other_module_asks_which_algorithm_it_has(path):
    place = path.relative_to(PACKAGE).as_posix()
    if place in FACTS:
        return
    assert {*named(ast.parse(path.read_text(encoding="utf-8")))} == BESIDE.get(place, set())


def test_every_module_listed_is_there():
    assert all((PACKAGE / place).is_file() for place in FACTS | BESIDE.keys())


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_algorithm_has_a_name_and_a_title_of_its_own(kind):
    assert kind.name
    assert kind.title
    assert sum(other.name == kind.name or other.title == kind.title for other in ALL) == 1


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from hocket.algorithms import RssNb", ["RssNb"]),
        ("isinstance(a, hk.Dgd)", ["Dgd"]),
        ('name == "rss-lb"', ["rss-lb"]),
        ('label == "RSS-NB"', ["RSS-NB"]),
        ('f"use RssNb(delta, anchor={x})"', ["RssNb"]),
        ("coverage(algorithm).analysed", []),
    ],
)
def test_a_name_is_seen_wherever_it_stands(code, found):
    assert list(named(ast.parse(code))) == found
