"""The example of five hospitals: a PyTorch network over five processes is as good as in the simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_five_processes_with_pytorch_reach_the_simulators_accuracy(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'hocket[torch]'")
    example = ROOT / "examples" / "hospitals" / "run.py"
    played = subprocess.run(
        [sys.executable, str(example), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert played.returncode == 0, played.stderr[-2000:] + played.stdout  # it compares by itself
    said = [line.rpartition(":")[2].split("%")[0] for line in played.stdout.splitlines() if "%" in line]
    federation, simulator = map(float, said)
    assert min(federation, simulator) > 95
    assert len(list(tmp_path.glob("*/runs/*/published.pt"))) == 5


def test_the_core_never_imports_pytorch():
    """Nothing optional is imported unless a task asks for it, the adapter's own module included."""
    federation = ["runtime.participation", "workloads.adapters.torch_module"]
    modules = ", ".join(["hocket", "hocket.cli.app", *(f"hocket.federation.{name}" for name in federation)])
    code = f"import sys, {modules}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
