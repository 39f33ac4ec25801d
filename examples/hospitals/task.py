"""What each hospital trains: a small PyTorch network, on the digits that this hospital alone has.

A real hospital would read its own files here. In this example the environment says which fifth of the digits is ours.
"""

import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hocket.federation.adapters.torch_module import TorchTask
from hocket.learning import digits
from hocket.learning.shards import equal_shards

HOSPITALS = 5
PIXELS, HIDDEN, CLASSES = 64, 32, 10

SPLIT = digits()
SHARDS = equal_shards(SPLIT.train, HOSPITALS).parts
EACH = min(map(len, SHARDS))
"""Digits per hospital, so few that one batch holds all of them."""


def model() -> nn.Module:
    """The network that all hospitals train together."""
    return nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES))


def tensors(data) -> tuple[torch.Tensor, torch.Tensor]:
    """Images as rows of numbers between 0 and 1, and their labels."""
    pixels = data.inputs.reshape(len(data), PIXELS).astype(np.float32) / 255
    return torch.from_numpy(pixels), torch.from_numpy(data.labels.astype(np.int64))


def task() -> TorchTask:
    """The task of this hospital: a module, its own data, a loss."""
    torch.set_num_threads(1)
    return task_of(int(os.environ["HOSPITAL"]))


def task_of(hospital: int) -> TorchTask:
    """The task of the hospital with this number."""
    images, labels = tensors(SHARDS[hospital])
    mine = TensorDataset(images[:EACH], labels[:EACH])
    return TorchTask(model(), DataLoader(mine, batch_size=EACH), nn.CrossEntropyLoss())


def accuracy(finished: nn.Module) -> float:
    """The share of the held-out digits that a model reads rightly."""
    images, labels = tensors(SPLIT.test)
    with torch.no_grad():
        return float((finished(images).argmax(1) == labels).float().mean())
