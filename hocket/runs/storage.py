"""Runs and checkpoints on disk: numbers as NumPy archives without pickle, text as JSON, both written atomically.

Fractions of an exact run are stored as text: two whole numbers in base 16, in which no number is too long to print.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hocket.claims import withholds_x
from hocket.errors import BadInput
from hocket.files import UNREADABLE, arrays, json_value, read_bytes
from hocket.machine import replace_text, replaced
from hocket.networks.network import Network
from hocket.runs.run import Ending, LastExchange, Messages, Noise, Outcome, Run, Transcript
from hocket.runs.theorems import Assumption, Claim

MOST_MESSAGES = 10_000_000
"""Bytes of a run.json: a folder may be somebody else's."""
FORMAT = 1
EXACT = "exact:"
"""Begins the stored name of an array of fractions."""


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays; fractions are told apart from floats by their name."""
    stored = dict(_as_text(name, array) for name, array in arrays.items())
    with replaced(path) as file:
        np.savez(file, allow_pickle=False, **stored)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read arrays back; nothing stored can run code."""
    try:
        return dict(_from_text(name, array) for name, array in arrays(path).items())
    except (*UNREADABLE, ZeroDivisionError) as error:
        raise BadInput(f"{path} cannot be read ({error}); delete it to start afresh") from error


def _as_text(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if array.dtype != object:
        return name, array
    numbers = [Fraction(number) for number in array.flat]
    text = [f"{number.numerator:x}/{number.denominator:x}" for number in numbers]
    return EXACT + name, np.array(text).reshape(array.shape)


def _from_text(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if not name.startswith(EXACT):
        return name, array
    pairs = [text.split("/") for text in array.flat]
    numbers = np.empty(len(pairs), dtype=object)
    numbers[:] = [Fraction(int(top, 16), int(bottom, 16)) for top, bottom in pairs]
    return name.removeprefix(EXACT), numbers.reshape(array.shape)


def save_run(run: Run, folder: Path) -> Path:
    """Write a run into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    network = run.network
    arrays = {
        "x": run.x,
        "links": network.links,
        "own": network.own,
        "weight": network.weight,
        **{f"history/{name}": values for name, values in run.history.items()},
    }
    if run.time_average is not None:
        arrays["time_average"] = run.time_average
    if run.last_exchange is not None and (
        "released" in vars(run) or (run.algorithm is not None and withholds_x(run.algorithm))
    ):
        arrays |= {"published": run.published}
        arrays |= {f"last messages/{i}": row for i, row in enumerate(run.released.words)}
        arrays |= {f"last noise/{kind}": row for kind, row in run.released.noise.items()}
    if run.path is not None:
        arrays["path"] = run.path
    if run.transcript is not None:
        arrays |= {f"words/{i}": table for i, table in enumerate(run.transcript.words)}
        arrays |= {f"noise/{kind}": table for kind, table in run.transcript.noise.items()}
    write_arrays(folder / "run.npz", arrays)
    # JSON has texts and numbers only: a node with any other name is known by what that prints as.
    labels = network.labels and [one if isinstance(one, str | int) else str(one) for one in network.labels]
    words = {
        "format": FORMAT,
        "network": {"name": network.name, "labels": labels},
        "gap": _number(run.gap),
        "disagreement": _number(run.disagreement),
        "infeasibility": _number(run.infeasibility),
        "noise": {name: _number(value) for name, value in asdict(run.noise).items()},
        "outcome": asdict(run.outcome) | {"ending": run.outcome.ending.value},
        "claim": asdict(run.claim),
        "remarks": list(run.remarks),
        "messages": None if run.count_messages is None else run.messages._asdict(),
        "exchanges": None if run.transcript is None else len(run.transcript.words),
        "settings": run.settings,
    }
    text = json.dumps(words, indent=2, ensure_ascii=False) + "\n"
    replace_text(folder / "run.json", text)
    return folder


def load_run(folder: Path) -> Run:
    """Read a run back from its folder."""
    if not (folder / "run.json").is_file():
        raise BadInput(
            f"{folder} holds no run: run.json is missing; name a folder that `run.save` or `hocket solve` wrote"
        )
    try:
        words: dict[str, Any] = json_value(read_bytes(folder / "run.json", MOST_MESSAGES))
        found = words.get("format")
    except (ValueError, RecursionError, AttributeError) as error:
        raise BadInput(f"{folder / 'run.json'} cannot be read ({error}); run it again") from error
    if found != FORMAT:
        raise BadInput(f"{folder} was written in format {found}; this version reads format {FORMAT}")
    arrays = read_arrays(folder / "run.npz")
    try:
        return _restored(words, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadInput(f"{folder} is damaged: {type(error).__name__}, {error}; run it again") from error


def _restored(words: dict[str, Any], arrays: dict[str, np.ndarray]) -> Run:
    """The run that these are of."""
    about = words["network"]
    network = Network.restored(
        arrays["links"],
        arrays["own"],
        arrays["weight"],
        about["name"],
        tuple(about["labels"]) if about.get("labels") else None,
    )
    exchanges, outcome, claim = words["exchanges"], words["outcome"], words["claim"]
    return Run(
        x=arrays["x"],
        gap=float(words["gap"]),
        disagreement=float(words["disagreement"]),
        time_average=arrays.get("time_average"),
        infeasibility=float(words["infeasibility"]),
        noise=Noise(**{name: float(value) for name, value in words["noise"].items()}),
        outcome=Outcome(Ending(outcome["ending"]), outcome["round"], outcome["detail"]),
        claim=Claim(
            claim["theorem"], claim["statement"], tuple(Assumption(**a) for a in claim["assumptions"])
        ),
        history=_under("history/", arrays),
        network=network,
        settings=words["settings"],
        remarks=tuple(words["remarks"]),
        path=arrays.get("path"),
        transcript=None
        if exchanges is None
        else Transcript(tuple(arrays[f"words/{i}"] for i in range(exchanges)), _under("noise/", arrays)),
        last_exchange=_last_exchange(arrays),
        count_messages=_messages(words.get("messages")),
    )


def _messages(stored: dict[str, int] | None) -> Callable[[], Messages] | None:
    """What was counted, where it was."""
    if stored is None:
        return None
    counted = Messages(**stored)
    return lambda: counted


def _last_exchange(arrays: dict[str, np.ndarray]) -> Callable[[], LastExchange] | None:
    """The exchange after the last round, if it was kept."""
    if "published" not in arrays:
        return None
    said = _under("last messages/", arrays)
    words = tuple(said[str(i)] for i in range(len(said)))
    kept = LastExchange(arrays["published"], words, _under("last noise/", arrays))
    return lambda: kept


def _under(place: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose stored names begin like that, by the rest of their names."""
    return {name.removeprefix(place): array for name, array in arrays.items() if name.startswith(place)}


def _number(value: float) -> float | str:
    """JSON has no infinities or NaN: they are stored as text."""
    return float(value) if np.isfinite(value) else str(float(value))
