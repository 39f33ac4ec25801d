"""Python looks for rubbish less often where a part says so, and as before afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from hocket.machine import few_searches


def test_the_usual_threshold_comes_back():
    usual = gc.get_threshold()
    with few_searches():
        assert gc.get_threshold() == (70 * usual[0], *usual[1:])
    assert gc.get_threshold() == usual
    with pytest.raises(ZeroDivisionError), few_searches():
        raise ZeroDivisionError
    assert gc.get_threshold() == usual


def test_a_command_that_ends_does_not_look_through_what_is_left():
    """What is registered first is called last: after all that was left is frozen."""
    script = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 1000))
import hocket.cli
"""
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "True\n"
