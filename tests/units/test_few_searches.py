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


def test_files_of_users_are_flushed_when_a_command_ends(tmp_path):
    """Their buffer goes to the disk when what holds them is found to be rubbish, which a frozen thing never is."""
    script = """
import sys
import hocket.cli

class Notes:
    def __init__(self):
        self.file, self.write = open(sys.argv[1], "w"), self.note

    def note(self, text):
        self.file.write(text)

notes = Notes()
notes.write("kept")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "notes")], check=True)
    assert (tmp_path / "notes").read_text() == "kept"
