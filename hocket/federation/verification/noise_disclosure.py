"""What a member keeps of a run that can be verified, and may hand over afterwards: its noise keys and its steps.

Only where the plan says `verifiable = true`, which all have signed: the keys of all rounds stay on the disk then, so a
machine that is seized later gives earlier noise away. Anybody who is given a disclosure, and heard the member's
messages, knows its gradients: it is for a pilot, or for an auditor whom all trust."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hocket.agent import Local
from hocket.config.section import Section, check
from hocket.errors import BadConfig, BadInput
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.state.run_folder import MOST_GIVEN, read_json, write_json
from hocket.links.text import shown
from hocket.machine import private_folder
from hocket.problems.sets import FeasibleSet

FOLDER, KEYS, STEPS, START = "disclosure", "keys.json", "steps.bin", "start.bin"


class KeysSection(Section):
    """The file of keys, all in hexadecimal."""

    chains: dict[str, str] = Field(description="the first chain of each link, by neighbour")
    once: dict[str, str] = Field(description="the key of what is drawn once, by neighbour")
    own: str = Field(description="the first chain of the noise that the member draws for itself")


@dataclass(frozen=True)
class Disclosure:
    """One member's, in a folder of its own beside its journal."""

    path: Path
    dtype: np.dtype
    dimension: int

    @property
    def begun(self) -> bool:
        """Whether keys were kept."""
        return (self.path / KEYS).is_file()

    def begin(self, streams: ChainStreams, start: np.ndarray, names: Sequence[str]) -> None:
        """Keep the first keys, before round 1 destroys them."""
        private_folder(self.path)
        (self.path / START).write_bytes(np.ascontiguousarray(start, self.dtype).tobytes())
        keys = KeysSection(
            chains={names[other]: chain.hex() for other, chain in streams.chains.items()},
            once={names[other]: key.hex() for other, key in streams.once.items()},
            own=streams.own_chain.hex(),
        )
        write_json(self.path / KEYS, keys.model_dump())

    def streams(self, names: Sequence[str], neighbours: Collection[str]) -> ChainStreams:
        """The member's noise from round 1 on; refused unless it is of these links and no others."""
        try:
            keys = check(KeysSection, KEYS, read_json(self.path / KEYS, MOST_GIVEN))
            for found in (keys.chains, keys.once):
                if found and {*found} != {*neighbours}:
                    raise ValueError(
                        f"keys for {shown(', '.join(sorted(found)))}, not for {', '.join(sorted(neighbours))}"
                    )
            chains, once = (
                {names.index(name): bytes.fromhex(key) for name, key in found.items()}
                for found in (keys.chains, keys.once)
            )
            return ChainStreams(1, chains, once, bytes.fromhex(keys.own), self.dtype)
        except (OSError, ValueError) as error:
            raise BadConfig(f"{self.path / KEYS} cannot be used: {error}; ask for it again") from None

    @property
    def start(self) -> np.ndarray:
        """The state before round 1."""
        return np.frombuffer(_read(self.path / START, self._size), self.dtype)

    def step(self, k: int) -> np.ndarray:
        """The state that the member came to in round k, before it was mixed again."""
        return np.frombuffer(_read(self.path / STEPS, self._size, (k - 1) * self._size), self.dtype)

    @property
    def _size(self) -> int:
        return self.dimension * self.dtype.itemsize

    def keep(self, k: int, x: np.ndarray) -> None:
        """Keep one round's step; a round that is played again after a crash writes the same over it."""
        file = os.open(self.path / STEPS, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(
                file, np.ascontiguousarray(x, self.dtype).tobytes(), (k - 1) * x.size * self.dtype.itemsize
            )
        finally:
            os.close(file)


@dataclass(frozen=True)
class RecordedSteps:
    """Local steps whose outcome is kept."""

    local: Local
    disclosure: Disclosure

    def __call__(
        self, v: Any, k: Any, *, step: Any, feasible: FeasibleSet, plus: Callable[[Any], Any] | None
    ) -> Any:
        x = self.local(v, k, step=step, feasible=feasible, plus=plus)
        self.disclosure.keep(k, x)
        return x


@dataclass(frozen=True)
class Disclosed:
    """Local steps as somebody says that they came out."""

    disclosure: Disclosure

    def __call__(self, v: Any, k: Any, **_: Any) -> Any:
        return self.disclosure.step(k)


def _read(path: Path, size: int, at: int = 0) -> bytes:
    """So many bytes of a file, and never more, whatever it claims to hold. Of a pipe nobody waits for the other end."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            data = os.pread(file, size, at)
        finally:
            os.close(file)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}; ask for it again") from None
    if len(data) != size:
        raise BadInput(f"{path} is too short: {size:,} bytes are missing at {at:,}; ask for it again, whole")
    return data
