"""A script that is started in every process finds the files beside it, wherever it is started from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_script_imports_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("WORD = 'heard'\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text("from neighbour import WORD\nprint(WORD)\n", encoding="utf-8")
    command = [sys.executable, "-m", "hocket.engines.cluster", str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "heard\n", done.stderr
