"""A task from a PyTorch module, its data and a loss. Needs the extra `torch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hocket.federation.state.digest import digest_of
from hocket.federation.workloads.task import Vector


def _torch() -> Any:
    """Untyped, as it may not be installed where types are checked."""
    return import_module("torch")


@dataclass(frozen=True, eq=False)
class TorchTask:
    """Gradients of a module's loss over batches of a data loader's dataset.
    The choice for models written in PyTorch; what is exported is the module's own state dictionary.

    Of the loader the dataset, the batch size and the way samples are put together are used; which samples a batch
    holds is drawn by hocket, so that a step can be repeated. Buffers, such as running means, stay with the member.
    """

    module: Any
    loader: Any
    loss: Callable[[Any, Any], Any]
    """(outputs, targets) -> a scalar tensor."""

    @property
    def dimension(self) -> int:
        return sum(parameter.numel() for parameter in self.module.parameters())

    def start(self, seed: int) -> Vector:
        """Freshly initialised parameters, by the layers' own rules, under the public seed."""
        torch = _torch()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for layer in self.module.modules():
                if hasattr(layer, "reset_parameters"):
                    layer.reset_parameters()
        found = torch.cat([parameter.reshape(-1) for parameter in self.module.parameters()])
        return found.detach().numpy().astype(np.float64)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        torch = _torch()
        self._fill(x)
        size = len(self.loader.dataset)
        rows = rng.choice(size, min(self.loader.batch_size or size, size), replace=False)
        inputs, targets = self.loader.collate_fn([self.loader.dataset[int(row)] for row in rows])
        with torch.random.fork_rng(devices=[]):  # dropout draws from PyTorch's own generator
            torch.manual_seed(int(rng.integers(1 << 62)))
            found = torch.autograd.grad(
                self.loss(self.module(inputs), targets), list(self.module.parameters())
            )
        return torch.cat([part.reshape(-1) for part in found]).numpy().astype(x.dtype)

    def data_digest(self) -> bytes | None:
        """Of a dataset that is kept as tensors; others are read from who knows where, and may be shaken up."""
        rows = self.data_rows()
        return digest_of(rows) if rows else None

    def data_rows(self) -> list[np.ndarray]:
        """The rows of a dataset that is kept as tensors, for digests that stay at home."""
        return [tensor.numpy(force=True) for tensor in getattr(self.loader.dataset, "tensors", None) or ()]

    def export(self, x: Vector, path: Path) -> None:
        torch = _torch()
        self._fill(x)
        torch.save(self.module.state_dict(), path.with_suffix(".pt"))

    def _fill(self, x: Vector) -> None:
        torch = _torch()
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(
                torch.from_numpy(np.array(x, dtype=np.float32)), self.module.parameters()
            )
