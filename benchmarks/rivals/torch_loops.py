"""The loop over rounds in PyTorch: agents stacked in one tensor, gradients written out, no graph recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import Case


def dgd(case: Case, rounds: int, *, threads: int) -> Callable[[], Any]:
    """DGD with a dense matrix of weights, on so many threads."""
    gradient, project = _logistic(case) if "signed" in case.data else _polynomials(case)
    B, start = torch.from_numpy(case.network.B), torch.from_numpy(case.start)
    alpha = case.alpha[:rounds].tolist()

    @torch.inference_mode()
    def turn() -> Any:
        torch.set_num_threads(threads)
        x = start
        for a in alpha:
            v = B @ x
            x = project(v - a * gradient(v))
        return x.numpy()

    return turn


def _polynomials(case: Case) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    square, fourth = (torch.from_numpy(case.data[name]) for name in ("square", "fourth"))
    return (lambda v: v * (square + fourth * (v * v))), (lambda v: v.clamp(-30.0, 30.0))


def _logistic(case: Case) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    signed = torch.from_numpy(case.data["signed"])

    def gradient(v: Any) -> Any:
        slope = torch.sigmoid(-torch.bmm(signed, v[:, :, None]))
        return -torch.bmm(slope.mT, signed)[:, 0] / signed.shape[1] + 0.1 * v

    def project(v: Any) -> Any:
        return v * (10.0 / v.norm(dim=1, keepdim=True).clamp_min(1e-300)).clamp_max(1.0)

    return gradient, project
