"""Pages from templates: what people wrote is escaped, what is missing is an error."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def render(name: str, **values: Any) -> str:
    """A template of this package, filled."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("hocket.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)


def together(*names: str) -> str:
    """Style sheets or scripts of this package, one after the other, as they are."""
    return "\n".join(files("hocket.report").joinpath(name).read_text(encoding="utf-8") for name in names)
