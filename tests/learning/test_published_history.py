"""What a private training shows on the way is made of messages, and of nothing that stays at home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket import learning
from hocket.engines.progress import Bar

AGENTS, EACH = 5, 20
MODEL = learning.logistic_regression(8, 3)
RING = hk.Network.cycle(AGENTS)
CERTIFIED = hk.CertifiedRssNb(sd=3.0, own=0.3)
HELD_OUT = np.random.default_rng(9)
TEST = learning.Dataset(
    "held out",
    HELD_OUT.normal(size=(50, 8)).astype(np.float32),
    HELD_OUT.integers(3, size=50).astype(np.int32),
    classes=3,
)
CLIP = learning.Clip(1.0)
PRIVATE: dict[str, tuple[hk.Algorithm, dict[str, Any]]] = {
    "clipped and certified": (CERTIFIED, {"clip": CLIP}),
    "certified": (CERTIFIED, {}),
    "clipped": (hk.RssNb(1.0), {"clip": CLIP}),
    "joint average": (hk.JointAverage(own=0.3), {"clip": learning.Clip(1.0, per="member")}),
    "DP-SGD": (hk.Dgd(), {"private": learning.DpSgd(2.0)}),
}


def learn(algorithm: hk.Algorithm, *, replaced: bool = False, **options: Any) -> hk.Run:
    rng = np.random.default_rng(0)
    inputs, labels = rng.normal(size=(AGENTS, EACH, 8)), rng.integers(3, size=(AGENTS, EACH))
    if replaced:
        inputs[1, 0], labels[1, 0] = -inputs[1, 0], (labels[1, 0] + 1) % 3
    shards = [
        learning.Dataset("clouds", part.astype(np.float32), label.astype(np.int32), classes=3)
        for part, label in zip(inputs, labels, strict=True)
    ]
    given = {"test": TEST, "epochs": 3, "local_steps": 1, "batch": EACH, "step": 0.05, "progress": False}
    return hk.train(MODEL, shards, RING, algorithm, **given | options)


@pytest.mark.parametrize("name", PRIVATE)
def test_history_follows_from_messages_alone(name: str) -> None:
    """Worked out from the transcript: what everybody mixes from the words of the round after each mark."""
    algorithm, options = PRIVATE[name]
    run = learn(algorithm, keep="transcript", **options)
    assert run.transcript is not None
    said = np.concatenate([run.transcript.words[0], run.released.words[0][None]])
    total = isinstance(algorithm, hk.JointAverage)  # everybody is shown the same sum
    for place, k in enumerate(run.history["round"].tolist()):
        published = said[k] / AGENTS if total else RING.B @ said[k]
        accuracy = learning.evaluate(MODEL, published.astype(np.float32), TEST)
        np.testing.assert_allclose(run.history["accuracy"][place], accuracy, atol=1e-6)
        apart = np.linalg.norm(published - published.mean(axis=0), axis=1).max()
        np.testing.assert_allclose(run.history["disagreement"][place], apart, rtol=1e-4, atol=1e-6)
    assert run.disagreement == run.history["disagreement"][-1]
    assert not {"noise_rms", "noise_max"} & set(run.history)
    np.testing.assert_allclose(
        run.history["accuracy"][-1], learning.evaluate(MODEL, run.published, TEST), atol=1e-6
    )


def test_history_no_longer_tells_a_record_that_a_certificate_hides() -> None:
    """At ε = 0.05 one round's loss used to be the same for all seeds, and another with one record replaced."""
    loud = hk.CertifiedRssNb(sd=30.0, own=3.0)
    ask: dict[str, Any] = {"clip": CLIP, "epochs": 1}
    for key in ("loss", "accuracy", "disagreement"):
        worlds = [
            np.array(
                [
                    np.ravel(learn(loud, replaced=which, seed=10 * which + s, **ask).history[key][1])
                    for s in range(6)
                ]
            )
            for which in (False, True)
        ]
        spread = max(world.std(axis=0).max() for world in worlds)
        between = np.abs(worlds[0].mean(axis=0) - worlds[1].mean(axis=0)).max()
        assert spread > 1e-3
        assert between < 3 * spread


def test_a_run_and_its_folder_say_what_stays_at_home(tmp_path: Path) -> None:
    run = learn(CERTIFIED, clip=CLIP)
    assert (
        "run.history, and what was shown on the way, is of states as run.published has them; run.x"
        in run.remarks[1]
    )
    assert not any(
        "per coordinate and local step" in remark for remark in run.remarks
    )  # drawn noise, measured
    again = hk.Run.load(run.save(tmp_path))
    assert again.settings["stays_at_home"] == ["x", "mean", "path", "transcript", "noise", "infeasibility"]
    assert again.settings["learning"]["history"] == "published states"
    open_run = learn(hk.RssNb(1.0))
    assert "stays_at_home" not in open_run.settings
    assert open_run.settings["learning"]["history"] == "own states"
    assert "noise_rms" in open_run.history


def test_progress_shows_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, float]] = []
    monkeypatch.setattr(Bar, "update", lambda bar, done, **measured: shown.append(measured))
    run = learn(CERTIFIED, clip=CLIP, progress=True)
    assert [one["disagreement"] for one in shown] == [
        value
        for value in run.history["disagreement"].tolist()
        if value in [one["disagreement"] for one in shown]
    ]
    assert shown[-1]["disagreement"] == run.history["disagreement"][-1]
    assert shown[-1]["accuracy"] == pytest.approx(run.history["accuracy"][-1].mean(), abs=1e-6)
