"""Training a model per agent in PyTorch: one agent after the other, and all agents stacked.

Both are given images already padded and scaled, and draw no noise; hocket pads and scales in every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hocket.learning import Shards
from hocket.learning.models import images

SIZES = (32 * 32, 128, 64, 10)


@dataclass(frozen=True)
class Training:
    """How long, in which steps."""

    exchanges: int
    local_steps: int
    batch: int
    step: float


def one_by_one(shards: Shards, training: Training, *, threads: int) -> Callable[[], None]:
    """What most would write: a model and an optimiser for each agent, and an average with both neighbours."""
    data, models = tensors(shards), [model() for _ in shards.parts]
    optimisers = [torch.optim.SGD(model.parameters(), lr=training.step) for model in models]
    loss = torch.nn.CrossEntropyLoss()

    def exchange() -> None:
        with torch.no_grad():
            said = [torch.nn.utils.parameters_to_vector(model.parameters()) for model in models]
            for j, model in enumerate(models):
                mixed = (said[j - 1] + said[j] + said[(j + 1) % len(models)]) / 3
                torch.nn.utils.vector_to_parameters(mixed, model.parameters())

    def turn() -> None:
        torch.set_num_threads(threads)
        for _ in range(training.exchanges):
            exchange()
            for model, optimiser, (inputs, labels) in zip(models, optimisers, data, strict=True):
                for rows in batches(labels, training):
                    optimiser.zero_grad()
                    loss(model(inputs[rows]), labels[rows]).backward()
                    optimiser.step()

    return turn


def stacked(shards: Shards, training: Training, *, threads: int) -> Callable[[], None]:
    """What a specialist would write: every layer of all agents as one batched product, one backward pass for all."""
    data, agents = tensors(shards), len(shards)
    inputs, labels = (torch.stack(parts) for parts in zip(*data, strict=True))
    who = torch.arange(agents)[:, None]
    layers = [
        torch.stack([leaf.detach() for leaf in leaves]).requires_grad_()
        for leaves in zip(*(model().parameters() for _ in range(agents)), strict=True)
    ]
    optimiser = torch.optim.SGD(layers, lr=training.step)

    def exchange() -> None:
        with torch.no_grad():
            for leaf in layers:
                leaf.copy_((leaf.roll(1, 0) + leaf + leaf.roll(-1, 0)) / 3)

    def losses(rows: Any) -> Any:
        values = inputs[who, rows]
        for at in range(0, len(layers), 2):
            weight, bias = layers[at], layers[at + 1]
            values = torch.baddbmm(bias[:, None], values, weight.mT)
            values = functional.relu(values) if at + 2 < len(layers) else values
        return agents * functional.cross_entropy(values.flatten(0, 1), labels[who, rows].flatten())

    def turn() -> None:
        torch.set_num_threads(threads)
        for _ in range(training.exchanges):
            exchange()
            orders = torch.stack([batches(one, training) for one in labels], dim=1)
            for rows in orders:
                optimiser.zero_grad()
                losses(rows).backward()
                optimiser.step()

    return turn


def batches(labels: Any, training: Training) -> Any:
    """The samples of the next local steps: a row per step."""
    shape = (training.local_steps, training.batch)
    return torch.randperm(len(labels))[: shape[0] * shape[1]].view(shape)


def model() -> torch.nn.Sequential:
    """The MLP 1024-128-64-10."""
    first, second, third = (torch.nn.Linear(*ends) for ends in pairwise(SIZES))
    return torch.nn.Sequential(first, torch.nn.ReLU(), second, torch.nn.ReLU(), third)


def tensors(shards: Shards) -> list[tuple[Any, Any]]:
    """Every agent's images and labels, ready to train on; all agents' are equally many."""
    least = min(shards.counts)
    return [
        (
            torch.from_numpy(np.array(images(part.inputs[:least]))).flatten(1),
            torch.from_numpy(np.array(part.labels[:least])).long(),
        )
        for part in shards.parts
    ]
