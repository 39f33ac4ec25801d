"""Options that several commands share, each declared here once, and how numbers are read that are typed in one word.

An option of one command alone is an argument of its function, with its help in the docstring.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from inspect import getdoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from hocket.errors import BadConfig
from hocket.links.text import is_list

if TYPE_CHECKING:
    from hocket.networks.network import Network
    from hocket.steps import Step
    from hocket.studies.data.table import Table

PARAMETER = Parameter(negative=(), show_default=lambda value: None if value in (False, (), "") else value)
"""How options are unless they are declared otherwise."""
OUT = ("--out", "-o")
Out = Annotated[
    Path | None, Parameter(name=OUT, help="Folder to write to; by default the next free runs/NAME-1, …")
]
OutFile = Annotated[Path, Parameter(name=OUT)]
HomeFolder = Annotated[
    Path | None, Parameter(help="This member's folder; by default $HOCKET_HOME or ~/.hocket.")
]
SetParameters = Annotated[
    list[str] | None,
    Parameter(name="--set", help="A parameter of the algorithm, such as gain=0.3; give one --set for each."),
]
Topology = Annotated[str | None, Parameter(help="A named topology: cycle:7, grid:3x4, harary:k=3,n=7.")]
Edges = Annotated[Path | None, Parameter(help="A file of links, two agent numbers a line.")]
Colluders = Annotated[
    int | None, Parameter(help="How many semi-honest members pool what they see: any coalition of this size.")
]
Coalition = Annotated[str | None, Parameter(help="The members that pool what they see: 1,4.")]
NoiseBound = Annotated[
    float | None, Parameter(help="Δ: the bound on the noise of rss-nb, rss-lb and function-sharing.")
]
Persistent = Annotated[
    float | None,
    Parameter(help="The share of rss-nb's or certified-rss-nb's noise that is drawn once and reused."),
]
Task = Annotated[
    str | None, Parameter(help="FILE.py:NAME, a task or a function without arguments that makes one.")
]
Data = Annotated[Path | None, Parameter(help="In a study: this member's table, CSV or Parquet.")]
OwnAlgorithm = Annotated[
    str | None,
    Parameter(help="FILE.py:CLASS, your copy of the algorithm, where a plan runs one that is not hocket's."),
]
SignedPlan = Annotated[Path, Parameter(help="The plan that everybody has signed.")]
AcceptKey = Annotated[
    tuple[str, ...],
    Parameter(
        help="NAME of a member whose key changed though its old key has not signed the new one, once you have compared "
        "its new fingerprint by voice."
    ),
]
STEP = "1,20,0.75"


@Parameter(name="*")
@dataclass(frozen=True)
class TableOptions:
    """What a CSV file does not say of itself."""

    delimiter: str | None = None
    """What separates columns of a CSV file, if the file itself does not tell."""
    encoding: str | None = None
    """A CSV file's encoding, such as latin-1; UTF-8 by default."""
    decimal: str | None = None
    """A point or a comma, if the file itself does not tell which is decimal."""

    def read(self, path: Path) -> Table:
        """The table in a file."""
        from hocket.studies.data.table import read_table

        return read_table(path, delimiter=self.delimiter, encoding=self.encoding, decimal=self.decimal)

    def flags(self) -> Iterator[str]:
        """The same options as they are typed."""
        yield from flags({one.name: getattr(self, one.name) for one in fields(TableOptions)})


AS_IT_IS = TableOptions()
"""Nothing is said: the file tells."""


def add(group: App, command: Callable[..., Any], example: str, *, name: str | None = None) -> None:
    """Add a command, with an example, and with each paragraph of its help in one line, which a terminal breaks."""
    paragraphs = (getdoc(command) or "").partition("\nArgs:\n")[0].strip().split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    group.command(command, name=name, help=text, help_epilogue=f"Example: hocket {example}")


def typed(command: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Of a command's arguments those that are not as by default."""
    usual = {name: one.default for name, one in signature(command).parameters.items()}
    return {name: value for name, value in given.items() if value != usual[name]}


def flags(values: Mapping[str, Any]) -> Iterator[str]:
    """Arguments as they are typed; those that are None are left out."""
    for name, value in values.items():
        flag = "--set" if name == "parameters" else f"--{name.replace('_', '-')}"
        for one in value if is_list(value) else [value]:
            if one is not None:
                yield from (flag, str(one))


def command_line(*words: object) -> str:
    """Words of a command as a shell takes them."""
    return shlex.join(map(str, words))


def numbers(
    option: str,
    text: str,
    *,
    what: str = "list of numbers",
    write: str = "1,2.5",
    separator: str = ",",
    kind: type[float] = float,
    least: float | None = None,
    counts: tuple[int, ...] = (),
) -> list[Any]:
    """Numbers that were typed in one word; an error says what the option is for and how to write it."""
    try:
        found = [kind(word) for word in text.split(separator)]
    except ValueError:
        found = []
    if not found or (counts and len(found) not in counts) or (least is not None and min(found) < least):
        raise BadConfig(f"{option} {text!r} is no {what}; write {write}")
    return found


def agents_in(text: str) -> set[int]:
    """A coalition as it is typed, 1,4."""
    return {
        *numbers("--coalition", text, what="list of agents", write="their numbers, 1,4", kind=int, least=0)
    }


def step_in(text: str) -> dict[str, float]:
    """A step size as it is typed, 1,20,0.75 or 0.1, by the names that a configuration has for its numbers."""
    write = f"a,b,p for a/(k+b)^p, {STEP}, or one constant"
    found = numbers("--step", text, what="step size", write=write, counts=(1, 3))
    return dict(zip(("constant",) if len(found) == 1 else ("a", "b", "p"), found, strict=True))


def read_step(text: str) -> Step:
    """The step size that `step_in` reads."""
    from hocket.steps import Constant, Power

    found = [*step_in(text).values()]
    return Power(*found) if len(found) == 3 else Constant(*found)


def algorithm_parameters(
    algorithm: str | None,
    noise_bound: float | None,
    persistent: float | None,
    parameters: list[str] | None,
) -> dict[str, Any]:
    """What was typed of an algorithm's parameters, by the names that it has for them."""
    from hocket.algorithms import CertifiedRssNb
    from hocket.config.own_algorithm import parameters_in

    if noise_bound is not None and algorithm == CertifiedRssNb.name:
        raise BadConfig(
            f"--noise-bound is a bound, and nothing bounds the normal noise of {algorithm}; give its standard "
            "deviation, --set sd=2, and that of each agent's own noise, --set own=1"
        )
    bound = "bound" if algorithm == "function-sharing" else "delta"
    given = {bound: noise_bound, "persistent": persistent}
    return {name: value for name, value in given.items() if value is not None} | parameters_in(parameters)


def named_network(topology: str | None, edges: Path | None, what: str, weights: Any = "paper") -> Network:
    """A network by its name, or from a file of links; `what` needs one of them."""
    if (topology is None) == (edges is None):
        raise BadConfig(
            f"{what} needs one of --topology and --edges, and has {'both' if topology else 'none'}"
        )
    if topology is not None:
        from hocket.networks.topologies import parse

        return parse(topology, weights=weights)
    assert edges is not None
    from hocket.config.sections import read_links
    from hocket.networks.network import Network

    if not edges.is_file():
        raise BadConfig(f"{edges} does not exist; name a file with two agent numbers a line")
    return Network(read_links(edges), weights=weights, name=edges.stem)


def refuse_existing(path: Path, what: str, option: str = "--out") -> None:
    """Nothing that is there is written over; nor does a link lead elsewhere, be it to nothing yet."""
    if path.exists() or path.is_symlink():
        raise BadConfig(f"{path} exists; name another file for the {what} with {option}")
