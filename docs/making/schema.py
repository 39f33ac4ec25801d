"""The page of the configuration's schema, from the models that check it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from hocket.config import problems, sections
from hocket.federation.plan import sections as plan

INTRODUCTION = """# Schema of the configuration

Every section and key that a configuration file or a plan may have, read off the models that check them. Keys that are
not listed are refused. [Configuration](../configuration.md) explains them with examples.
"""


def schema_page() -> str:
    """One table of Markdown for every kind of section."""
    return "\n".join([INTRODUCTION, *_files(), *_plans()]) + "\n"


def _files() -> Iterator[str]:
    yield "\n## [problem]\n"
    yield from _kinds("kind", problems.PROBLEMS)
    yield from _table("python = …", problems.FromPython)
    yield "\n## [problem.feasible]\n"
    yield from _kinds("kind", problems.SETS)
    yield "\n## [network]\n"
    yield from _table(None, sections.NetworkSection)
    yield "\n## [algorithm]\n"
    yield from _kinds("name", sections.ALGORITHM_SECTIONS)
    yield "\n## [step]\n"
    yield from _table("a, b, p", sections.PowerSection)
    yield from _table("constant", sections.ConstantSection)
    yield "\n## [run]\n"
    yield from _table(None, sections.RunSection)
    yield "\n## [channel]\n"
    yield from _table(None, sections.ChannelSection)


def _plans() -> Iterator[str]:
    yield "\n## A federation's plan\n"
    yield (
        "`hocket peer plan` writes it, and all sign it. [algorithm], [step] and [feasible] are as above; "
        "cards and signatures are listed by member."
    )
    for name, model in (
        ("[federation]", plan.FederationSection),
        ("[task]", plan.TaskSection),
        ("[run]", plan.PlanRunSection),
        ("[network]", plan.PlanNetworkSection),
        ("[audit]", plan.AuditSection),
    ):
        yield from _table(f"{name} of a plan", model)


def _kinds(key: str, kinds: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    for name, model in kinds.items():
        yield from _table(f'{key} = "{name}"', model, leave_out={key})


def _table(title: str | None, model: type[BaseModel], leave_out: Collection[str] = ()) -> Iterator[str]:
    if title is not None:
        yield f"\n### `{title}`\n"
    fields = {name: field for name, field in model.model_fields.items() if name not in leave_out}
    if not fields:
        yield "No other key."
        return
    yield "| key | default | what is expected |\n|---|---|---|"
    for name, field in fields.items():
        default = "required" if field.is_required() else _shown(field.default)
        yield f"| `{name}` | {default} | {_cell(field.description or '')} |"


def _shown(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
