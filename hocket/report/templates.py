"""Pages from templates: what people wrote is escaped, what is missing is an error."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

HERE = "hocket.report"


def render(name: str, package: str = HERE, **values: Any) -> str:
    """A template, filled; one of another package may build upon those of this one."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(one, "") for one in dict.fromkeys((package, HERE))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["whole"] = whole_numbers
    return environment.get_template(name).render(**values)


def whole_numbers(text: str) -> str:
    """Prose in which no line ends within a number.

    >>> whole_numbers("a gap of 4.7e-8") == "a gap of 4.7e\N{NON-BREAKING HYPHEN}8"
    True
    """
    return re.sub(r"(?<=\de)-(?=\d)", "\N{NON-BREAKING HYPHEN}", text)


def together(*names: str, package: str = HERE) -> str:
    """Style sheets or scripts of a package, one after the other, as they are."""
    return "\n".join(files(package).joinpath(name).read_text(encoding="utf-8") for name in names)


def digest(text: str) -> str:
    """Named in a page's policy, so that nothing but our own style and script is obeyed, whatever a label says."""
    return b64encode(sha256(text.encode()).digest()).decode()
