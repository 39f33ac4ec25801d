"""The folder of a run: its configuration and all that it refers to, so that the folder reproduces itself."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from itertools import count
from pathlib import Path

from hocket.config.files import found, sha256
from hocket.config.problems import FromData, FromPython
from hocket.config.reader import Config, read_config
from hocket.errors import BadConfig

CONFIG = "config.toml"
INPUTS = "inputs"
COPIED = 100_000_000
"""Bytes up to which data are copied into the folder; larger files are named by place and fingerprint."""


def new_folder(name: str, out: Path | None = None) -> Path:
    """An empty folder: `out`, which must hold nothing yet, or the first free runs/<name>-<number>."""
    if out is None:
        numbered = (Path("runs") / f"{name}-{number}" for number in count(1))
        return next(folder for folder in numbered if _made(folder))
    if out.exists() and not out.is_dir():
        raise BadConfig(f"{out} is a file; name a new folder")
    if out.is_dir() and any(out.iterdir()):
        cure = f"go on with it ({command(out)}), or " if (out / CONFIG).is_file() else ""
        raise BadConfig(f"{out} is not empty; {cure}name a new folder")
    out.mkdir(parents=True, exist_ok=True)
    return out


def open_folder(config: Config, name: str, out: Path | None = None) -> tuple[Path, Config]:
    """A new folder for a run of this configuration, and the configuration as it is kept there."""
    folder = new_folder(name, out)
    config = _keep_inputs(config, folder)
    # The configuration comes last: a folder that has one is complete.
    (folder / CONFIG).write_text(
        f"# To run this again: {command(folder)}\n\n{config.text()}", encoding="utf-8"
    )
    return folder, config


def command(path: Path) -> str:
    """What to type to run a configuration file or a folder."""
    return f"hocket solve {shlex.quote(str(path))}"


def reopen_folder(folder: Path) -> Config:
    """The configuration of a run's folder."""
    if not (folder / CONFIG).is_file():
        raise BadConfig(
            f"{folder} is not the folder of a run: it has no {CONFIG}; name a configuration file instead"
        )
    return read_config(folder / CONFIG)


def _keep_inputs(config: Config, folder: Path) -> Config:
    """The configuration with its data copied into the folder, and with its code referred to where it lies.

    Code is not copied, since it may import or read what lies beside it; its fingerprint tells if it changes.
    """
    problem, network = config.problem, config.network
    if isinstance(problem, FromData):
        path = found(config.base, problem.data, "[problem] data")
        if path.stat().st_size <= COPIED:
            problem = problem.model_copy(update={"data": _copy(path, folder)})
        else:
            problem = problem.model_copy(update={"data": str(path.resolve()), "sha256": sha256(path)})
    elif isinstance(problem, FromPython):
        path, name = problem.named(config.base)
        problem = problem.model_copy(update={"python": f"{path.resolve()}:{name}", "sha256": sha256(path)})
    if network.edges_file is not None:
        path = found(config.base, network.edges_file, "[network] edges_file")
        network = network.model_copy(update={"edges_file": _copy(path, folder)})
    return dataclasses.replace(config, problem=problem, network=network, base=folder)


def _copy(path: Path, folder: Path) -> str:
    (folder / INPUTS).mkdir(exist_ok=True)
    shutil.copyfile(path, folder / INPUTS / path.name)
    return f"{INPUTS}/{path.name}"


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
