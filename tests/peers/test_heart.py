"""Four real hospitals, a process each, mutual TLS between them: the pooled fit, signed by all, from ten commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import statsmodels.api
import statsmodels.formula.api

from hocket.machine import held_ports

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HOCKET_DATA", "none")) / "heart"
NAMES = ("cleveland", "hungarian", "switzerland", "va")
COLUMNS = ["age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "num"]
FORMULA = "disease ~ age + sex + C(cp) + trestbps + chol + fbs + C(restecg) + thalach + exang + oldpeak"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}


def begin(folder: Path, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hocket", *map(str, words), "--json"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, **pipes)


def answers(*processes: subprocess.Popen[str]) -> list[dict[str, Any]]:
    said = [process.communicate(timeout=180) for process in processes]
    for process, (_, errors) in zip(processes, said, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(answer) for answer, _ in said]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the hospitals' tables are not here: set HOCKET_DATA")
def test_four_hospitals_come_to_the_pooled_fit(tmp_path):
    with held_ports(len(NAMES)) as ports:
        answers(
            *(
                begin(
                    tmp_path, "peer", "init", "--name", name, "--address", f"127.0.0.1:{port}", "--home", name
                )
                for name, port in zip(NAMES, ports, strict=True)
            )
        )
    cards = [f"{name}.toml" for name in NAMES]
    study = ROOT / "examples/heart.toml"
    answers(begin(tmp_path, "peer", "plan", *cards, "--study", study, "--colluders", 1))
    for name in NAMES:
        own = ("--data", DATA / f"{name}.csv", "--home", name)
        [signed] = answers(begin(tmp_path, "peer", "sign", "plan.toml", "--yes", *own))
    assert signed["unsigned"] == []
    found = answers(
        *(
            begin(tmp_path, "peer", "run", "plan.toml", "--data", DATA / f"{name}.csv", "--home", name)
            for name in NAMES
        )
    )
    assert len({json.dumps(one["coefficients"]) for one in found}) == 1

    rows = pandas.concat(pandas.read_csv(DATA / f"{name}.csv") for name in NAMES)
    rows = rows.apply(pandas.to_numeric, errors="coerce").dropna(subset=COLUMNS)
    rows["disease"] = (rows["num"] > 0).astype(int)
    family = statsmodels.api.families.Binomial()
    pooled = statsmodels.formula.api.glm(FORMULA, rows, family=family).fit(tol=1e-14)
    ours = found[0]["coefficients"]
    assert found[0]["rows"] == len(rows) == 740
    assert found[0]["totals"] <= 10
    names = [_ours(name) for name in pooled.params.index]
    np.testing.assert_allclose([ours[name]["estimate"] for name in names], pooled.params, rtol=1e-8)
    np.testing.assert_allclose([ours[name]["se"] for name in names], pooled.bse, rtol=1e-8)
    np.testing.assert_allclose(
        [found[0]["deviance"], found[0]["aic"]], [pooled.deviance, pooled.aic], rtol=1e-10
    )

    folders = [next((tmp_path / name / "runs").iterdir()) for name in NAMES]
    page = (folders[0] / "results.html").read_text()
    assert "Signed by 4 of 4 members" in page
    [checked] = answers(begin(tmp_path, "peer", "verify", "plan.toml", "--with", *folders))
    assert [sorted(signed) for signed in checked["results_signed_by"].values()] == [sorted(NAMES)] * 4
    changed = folders[1] / "results.json"
    changed.write_text(changed.read_text().replace('"rows": 740', '"rows": 741'))
    refused = begin(tmp_path, "peer", "verify", "plan.toml", "--with", *folders)
    assert "was changed after" in refused.communicate(timeout=60)[1]
    assert refused.returncode != 0


def _ours(name: str) -> str:
    """statsmodels' C(cp)[T.2.0] as studies have it."""
    return name.replace("[T.", "[").replace(".0]", "]")
