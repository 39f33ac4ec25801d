"""Tasks from other frameworks give the gradients that they promise."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from hocket.federation.workloads.adapters.jax_loss import JaxTask
from hocket.federation.workloads.adapters.partial_fit import PartialFitTask
from hocket.federation.workloads.task import GradientTask, LocalSteps, Task, is_repeatable, known_seeds
from hocket.problems.sets import Box, Everywhere

RNG = np.random.default_rng(0)
FEATURES, TARGETS = RNG.normal(size=(40, 3)), RNG.normal(size=40)


def squares(x, data):
    features, targets = data
    return jnp.mean((features @ x - targets) ** 2) / 2


def exact(x: np.ndarray) -> np.ndarray:
    return FEATURES.T @ (FEATURES @ x - TARGETS) / len(TARGETS)


def test_a_jax_loss_is_differentiated_in_double_precision():
    task = JaxTask(squares, (FEATURES, TARGETS), 3)
    x = np.array([1.0, -2.0, 0.5])
    assert isinstance(task, Task)
    np.testing.assert_allclose(
        task.gradient(x, 1, 0, np.random.default_rng(0)), exact(x), rtol=1e-13
    )  # float64, 40 samples
    assert task.measure(x)["loss"] == pytest.approx(np.mean((FEATURES @ x - TARGETS) ** 2) / 2)


def test_batches_are_drawn_by_the_generator_that_is_handed_over():
    task = JaxTask(squares, (FEATURES, TARGETS), 3, batch=5)
    x = np.ones(3)
    first, again, other = (task.gradient(x, 1, 0, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_partial_fit_is_read_as_a_gradient():
    from sklearn.linear_model import SGDRegressor

    model = SGDRegressor(alpha=0.0, learning_rate="constant", eta0=1e-6, shuffle=False)
    task = PartialFitTask(model, FEATURES, TARGETS, batch=40)
    x = np.array([1.0, -2.0, 0.5, 0.0])
    found = task.gradient(x, 1, 0, np.random.default_rng(0))
    np.testing.assert_allclose(
        found[:3], exact(x[:3]), rtol=1e-3
    )  # steps of 1e-6: the model hardly moves meanwhile
    assert task.dimension == 4


def test_partial_fit_learns_classes():
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, shuffle=False)
    labels = (FEATURES[:, 0] > 0).astype(int)
    task = PartialFitTask(model, FEATURES, labels, classes=np.array([0, 1]))
    assert is_repeatable(task, np.zeros(4))
    assert task.gradient(np.zeros(4), 1, 0, np.random.default_rng(0))[0] < 0  # towards a positive weight


def test_local_steps_share_the_step_of_the_exchange():
    task = GradientTask(1, lambda x, k, h, rng: np.array([float(h + 1)]))
    steps = LocalSteps(task, 4, known_seeds)
    moved = steps(np.zeros(1), 1, step=0.4, feasible=Everywhere(), plus=None)
    assert moved[0] == pytest.approx(-0.1 * (1 + 2 + 3 + 4))


def test_every_local_step_is_projected_and_feels_the_noise_function():
    task = GradientTask(1, lambda x, k, h, rng: np.array([-10.0]))
    steps = LocalSteps(task, 2, known_seeds)
    assert steps(np.zeros(1), 1, step=1.0, feasible=Box(-1.0, 1.0), plus=None)[0] == 1.0
    held = steps(np.zeros(1), 1, step=1.0, feasible=Box(-1.0, 1.0), plus=lambda x: np.array([10.0]))
    assert held[0] == 0.0


def test_a_task_that_is_not_repeatable_is_found_out():
    chance = np.random.default_rng()
    assert not is_repeatable(GradientTask(1, lambda x, k, h, rng: chance.normal(size=1)), np.zeros(1))
    assert is_repeatable(GradientTask(1, lambda x, k, h, rng: rng.normal(size=1)), np.zeros(1))


def test_what_is_exported_is_in_the_tasks_own_format(tmp_path):
    task = GradientTask(2, lambda x, k, h, rng: x)
    task.export(np.array([1.0, 2.0]), tmp_path / "published")
    np.testing.assert_array_equal(np.load(tmp_path / "published.npy"), [1.0, 2.0])


def test_a_module_of_pytorch_gives_its_gradients(tmp_path):
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    from hocket.federation.workloads.adapters.torch_module import TorchTask

    data = torch.utils.data.TensorDataset(
        torch.tensor(FEATURES, dtype=torch.float32), torch.tensor(TARGETS[:, None], dtype=torch.float32)
    )
    loader = torch.utils.data.DataLoader(data, batch_size=40)
    task = TorchTask(torch.nn.Linear(3, 1), loader, lambda out, to: ((out - to) ** 2).mean() / 2)
    x = task.start(0)
    np.testing.assert_array_equal(x, task.start(0))
    x[3] = 0.0
    found = task.gradient(x, 1, 0, np.random.default_rng(0))
    np.testing.assert_allclose(found[:3], exact(x[:3]), rtol=1e-4)  # float32
    task.export(x, tmp_path / "published")
    assert set(torch.load(tmp_path / "published.pt", weights_only=True)) == {"weight", "bias"}
