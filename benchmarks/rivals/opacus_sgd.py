"""DP-SGD with Opacus: a private optimiser per agent, one after the other, and the same average with neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from rivals.exchanges import mixed_on_ring
from rivals.torch_models import Training, model, tensors
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from hocket.learning import Dataset, Shards, own_shards


def trained(
    shards: Shards, test: Dataset, training: Training, *, clip: float, multiplier: float, threads: int
) -> Callable[[], float]:
    """A training from scratch; returns the agents' mean accuracy. σ of the noise on a sum is multiplier · clip."""
    data = tensors(shards)
    ((inputs, labels),) = tensors(own_shards([test]))

    def turn() -> float:
        torch.set_num_threads(threads)
        models, optimisers = _begun(len(data), training, clip, multiplier)
        loss = torch.nn.CrossEntropyLoss()
        for _ in range(training.exchanges):
            _exchange(models)
            for one, optimiser, (own, answers) in zip(models, optimisers, data, strict=True):
                for _ in range(training.local_steps):
                    # A subset drawn afresh, as the account of the noise assumes.
                    rows = torch.randperm(len(answers))[: training.batch]
                    optimiser.zero_grad()
                    loss(one(own[rows]), answers[rows]).backward()
                    optimiser.step()
        with torch.no_grad():
            return float(np.mean([(one(inputs).argmax(1) == labels).float().mean().item() for one in models]))

    return turn


def _begun(agents: int, training: Training, clip: float, multiplier: float) -> tuple[list[Any], list[Any]]:
    torch.manual_seed(0)
    same = model()
    models, optimisers = [], []
    for _ in range(agents):
        one = model()
        one.load_state_dict(same.state_dict())
        models.append(GradSampleModule(one))
        optimisers.append(
            DPOptimizer(
                torch.optim.SGD(models[-1].parameters(), lr=training.step),
                noise_multiplier=multiplier,
                max_grad_norm=clip,
                expected_batch_size=training.batch,
            )
        )
    # It warns that images need no gradient, which nobody asks for.
    warnings.filterwarnings("ignore", message="Full backward hook is firing")
    return models, optimisers


def _exchange(models: list[Any]) -> None:
    with torch.no_grad():
        said = [parameters_to_vector(one.parameters()).numpy() for one in models]
        for one, mixed in zip(models, mixed_on_ring(said), strict=True):
            vector_to_parameters(torch.from_numpy(mixed), one.parameters())
