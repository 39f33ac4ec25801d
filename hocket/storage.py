"""Runs and checkpoints on disk: numbers as NumPy archives without pickle, words as JSON, both written atomically."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.errors import BadInput
from hocket.network import Network

if TYPE_CHECKING:
    from hocket.run import Run

FORMAT = 1


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays so that a crash leaves the old file or the new one, never half of one."""
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read arrays back; nothing stored can run code."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{path} cannot be read ({error}); delete it to start afresh") from error


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
    if run.path is not None:
        arrays["path"] = run.path
    if run.transcript is not None:
        arrays |= {f"words/{i}": table for i, table in enumerate(run.transcript.words)}
        arrays |= {f"noise/{kind}": table for kind, table in run.transcript.noise.items()}
    write_arrays(folder / "run.npz", arrays)
    words = {
        "format": FORMAT,
        "network": {"name": network.name},
        "gap": _number(run.gap),
        "disagreement": _number(run.disagreement),
        "infeasibility": _number(run.infeasibility),
        "noise": {name: _number(value) for name, value in asdict(run.noise).items()},
        "outcome": {
            "ending": run.outcome.ending.value,
            "round": run.outcome.round,
            "detail": run.outcome.detail,
        },
        "claim": asdict(run.claim),
        "remarks": list(run.remarks),
        "settings": run.settings,
    }
    (folder / "run.json").write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n")
    return folder


def load_run(folder: Path) -> Run:
    """Read a run back from its folder."""
    from hocket.run import Ending, Noise, Outcome, Run, Transcript
    from hocket.theorems import Assumption, Claim

    if not (folder / "run.json").is_file():
        raise BadInput(
            f"{folder} holds no run: run.json is missing; name a folder that `run.save` or `hocket solve` wrote"
        )
    words = json.loads((folder / "run.json").read_text())
    if words.get("format") != FORMAT:
        raise BadInput(
            f"{folder} was written in format {words.get('format')}; this version reads format {FORMAT}"
        )
    arrays = read_arrays(folder / "run.npz")
    network = Network.restored(
        arrays["links"], arrays["own"], arrays["weight"], name=words["network"]["name"]
    )
    spoken = {name: table for name, table in arrays.items() if name.startswith("words/")}
    noise = {
        name.removeprefix("noise/"): table for name, table in arrays.items() if name.startswith("noise/")
    }
    outcome, claim = words["outcome"], words["claim"]
    return Run(
        x=arrays["x"],
        gap=_read_number(words["gap"]),
        disagreement=_read_number(words["disagreement"]),
        time_average=arrays.get("time_average"),
        infeasibility=_read_number(words["infeasibility"]),
        noise=Noise(**{name: _read_number(value) for name, value in words["noise"].items()}),
        outcome=Outcome(Ending(outcome["ending"]), outcome["round"], outcome["detail"]),
        claim=Claim(
            claim["theorem"], claim["statement"], tuple(Assumption(**a) for a in claim["assumptions"])
        ),
        history={
            name.removeprefix("history/"): v for name, v in arrays.items() if name.startswith("history/")
        },
        network=network,
        settings=words["settings"],
        remarks=tuple(words["remarks"]),
        path=arrays.get("path"),
        transcript=Transcript(tuple(spoken[f"words/{i}"] for i in range(len(spoken))), noise)
        if spoken
        else None,
    )


def _number(value: float) -> float | str:
    """JSON has no infinities or NaN: they are stored as words."""
    return float(value) if np.isfinite(value) else str(float(value))


def _read_number(value: Any) -> float:
    return float(value)
