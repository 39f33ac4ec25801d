"""The folder of a run: its configuration with everything that refers to, so that the folder reproduces itself."""

from __future__ import annotations

import dataclasses
import shutil
from itertools import count
from pathlib import Path

from hocket.config.files import found, sha256
from hocket.config.problems import FromData, FromPython
from hocket.config.reading import Config, read_config
from hocket.errors import BadConfig

CONFIG = "config.toml"
INPUTS = "inputs"
COPIED = 100_000_000
"""Bytes up to which a data file is copied into the folder; a larger one is referred to by place and fingerprint."""


def open_folder(config: Config, name: str, out: Path | None = None) -> tuple[Path, Config]:
    """A new folder for a run of this configuration, and the configuration as it is kept there.

    Without `out` it is the first free runs/<name>-<number>. A folder that holds anything is refused.
    """
    if out is None:
        folder = _next_free(name)
    else:
        folder = out
        if folder.exists() and not folder.is_dir():
            raise BadConfig(f"{folder} is a file; name a new folder")
        if folder.is_dir() and any(folder.iterdir()):
            cure = f"go on with it, hocket solve {folder}, or " if (folder / CONFIG).is_file() else ""
            raise BadConfig(f"{folder} is not empty; {cure}name a new folder")
        folder.mkdir(parents=True, exist_ok=True)
    config = _keep_inputs(config, folder)
    # The configuration comes last: a folder that has one is complete.
    (folder / CONFIG).write_text(f"# To run this again: hocket solve {folder}\n\n{config.text()}", encoding="utf-8")
    return folder, config


def reopen_folder(folder: Path) -> Config:
    """The configuration of a run's folder."""
    if not (folder / CONFIG).is_file():
        raise BadConfig(f"{folder} is not the folder of a run: it has no {CONFIG}; name a configuration file instead")
    return read_config(folder / CONFIG)


def _next_free(name: str) -> Path:
    for number in count(1):
        folder = Path("runs") / f"{name}-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("count() never ends")


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
