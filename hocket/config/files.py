"""Files that a configuration names, and TOML: finding them, knowing them again, and running the user's Python."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import sys
import traceback
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from hocket.errors import BadConfig, HocketError
from hocket.links.text import is_list


def found(base: Path, name: str, where: str) -> Path:
    """The file of that name beside the configuration."""
    path = base / Path(name).expanduser()
    if not path.is_file():
        raise BadConfig(
            f"{where} = {name!r}: there is no file {path}; names are relative to the configuration file"
        )
    return path


def sha256(path: Path) -> str:
    """The file's fingerprint."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_unchanged(path: Path, expected: str | None) -> None:
    """Refuse a file other than the one that was meant."""
    if expected is not None and sha256(path) != expected.lower():
        raise BadConfig(
            f"{path} has changed: its SHA-256 is not the one in the configuration; "
            "bring the old file back, or remove sha256 to use the new one"
        )


def load_name(path: Path, name: str, *, kind: str = "Problem") -> Any:
    """What a Python file calls `name`, a `kind` of thing; the file may import what lies beside it, if nothing that is
    installed is called the same, and if nobody else may write there."""
    return _named(_module(path), path, name, kind)


def load_source(source: bytes, path: Path, name: str, *, kind: str) -> Any:
    """What these very bytes of a Python file call `name`: nothing beside the file is imported, nor an older
    compilation of it, so that anybody who knows the bytes knows the code."""
    digest = hashlib.sha256(source).hexdigest()[:16]
    module = ModuleType(f"{path.stem}-{digest}")
    module.__file__ = str(path)
    places, beside = sys.path[:], {Path.cwd(), path.parent.resolve()}
    sys.path[:] = [
        place for place in places if Path(place).resolve() not in beside
    ]  # `python -m` puts "" there
    try:
        with _registered(module), blaming(path):
            exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    finally:
        sys.path[:] = places
    return _named(module, path, name, kind)


def _named(module: ModuleType, path: Path, name: str, kind: str) -> Any:
    if not hasattr(module, name):
        raise BadConfig(f"{path} defines no {name!r}; write the name of a {kind} after the colon")
    return getattr(module, name)


def _module(path: Path) -> ModuleType:
    """A Python file as a module."""
    # No import can spell a name with a hyphen, so a user's json.py or problem.py hides no other module.
    place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(f"{path.stem}-{place}", path)
    if spec is None or spec.loader is None:
        raise BadConfig(f"{path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    beside = path.parent.resolve()
    shared = bool(beside.stat().st_mode & stat.S_IWOTH)
    places = [] if shared or str(beside) in sys.path else [str(beside)]
    sys.path.extend(places)  # last: a random.py that somebody left there is not what anybody means by it
    try:
        with _registered(module), blaming(path):
            try:
                spec.loader.exec_module(module)
            except ModuleNotFoundError as error:
                if shared:
                    raise BadConfig(
                        f"{path} imports {error.name}, and nothing is imported from {beside}, as everybody on this "
                        f"machine may write there; put both into a folder of your own, or run: chmod o-w {beside}"
                    ) from None
                raise
    finally:
        for place in places:
            sys.path.remove(place)
    return module


@contextmanager
def _registered(module: ModuleType) -> Generator[None]:
    """A module that can be found again if all goes well: dataclasses look theirs up to read annotations."""
    sys.modules[module.__name__] = module
    try:
        yield
    except BaseException:
        del sys.modules[module.__name__]
        raise


@contextmanager
def blaming(path: Path) -> Generator[None]:
    """Say that it was the user's file that failed, what it said and where."""
    try:
        yield
    except HocketError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        raise BadConfig(f"{path} failed in {where}: {type(error).__name__}: {error}") from error


def dumps(tables: Mapping[str, Any]) -> str:
    """Tables as TOML that `tomllib` reads back to equal values.

    >>> print(dumps({"step": {"a": 1.0, "p": 0.75}, "run": {"rounds": 10}}), end="")
    [step]
    a = 1.0
    p = 0.75
    <BLANKLINE>
    [run]
    rounds = 10
    """
    return "\n".join(part for name, table in tables.items() for part in _sections(name, table))


def _sections(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    yield "".join([f"[{name}]\n", *(f"{key} = {_value(value)}\n" for key, value in plain.items())])
    for key, value in table.items():
        if key not in plain:
            yield from _sections(f"{name}.{key}", value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON text is a TOML text, save for one control character that JSON may leave as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if is_list(value):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
