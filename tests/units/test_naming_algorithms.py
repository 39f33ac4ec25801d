"""An algorithm describes itself: nobody else asks which one it is, but those who choose one for somebody."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hocket
from hocket.algorithms import ALL, BY_CLASS, BY_KEY

PACKAGE = Path(hocket.__file__).parent
CHOOSING = ("__init__.py", "algorithms", "cli", "demo", "explore", "learning")
"""Exports, the algorithms themselves, and whoever plays some of them or has one as a default."""


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
                yield from {text} & ({*BY_KEY, *(kind.label for kind in ALL)} - PLAIN_ENGLISH)
                yield from (
                    name for name in BY_CLASS if name in text.replace("(", " ").replace(",", " ").split()
                )


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_asks_which_algorithm_it_has(path):
    assert sorted(named(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_algorithm_has_a_key_and_a_label_of_its_own(kind):
    assert kind.key
    assert kind.label
    assert sum(other.key == kind.key or other.label == kind.label for other in ALL) == 1


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from hocket.algorithms import RssNb", ["RssNb"]),
        ("isinstance(a, hk.Dgd)", ["Dgd"]),
        ('name == "rss-lb"', ["rss-lb"]),
        ('label == "RSS-NB"', ["RSS-NB"]),
        ('f"use RssNb(delta, anchor={x})"', ["RssNb"]),
        ("algorithm.analysed", []),
    ],
)
def test_a_name_is_seen_wherever_it_stands(code, found):
    assert list(named(ast.parse(code))) == found
