"""`hocket --version`: what is installed, and what it runs on."""

from __future__ import annotations

import platform
from importlib import import_module
from typing import Any

from hocket import __version__
from hocket.cli.answer import Answer


def version() -> Answer:
    """The versions of hocket, Python and JAX, and the device that compiled runs use."""
    jax: Any = import_module("jax")  # whose stubs leave open what a device is
    device = jax.devices()[0]
    data = {
        "hocket": __version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "device": f"{device.platform}: {device.device_kind}",
    }
    line = "hocket {hocket}, Python {python}, JAX {jax} on {device}".format(**data)
    return Answer(data, [line])
