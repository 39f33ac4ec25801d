"""A file is the old one or the new one at every moment, no matter who writes and whatever fails."""

from __future__ import annotations

import os
import stat
import threading

import numpy as np
import pytest

from hocket.federation.state.run_folder import write_json
from hocket.machine import replace_text, replaced
from hocket.runs.storage import write_arrays

WRITERS = {
    "numbers": lambda path: write_arrays(path, {"x": np.ones(3)}),
    "status": lambda path: write_json(path, {"round": 3}),
}


def test_who_writes_at_once_meets_nobody(tmp_path):
    path = tmp_path / "status.json"
    first, second = replaced(path), replaced(path)
    with first as one:
        one.write(b"the first, which takes long")
        with second as other:
            other.write(b"the second")
        assert path.read_bytes() == b"the second"
    assert path.read_bytes() == b"the first, which takes long"
    assert os.listdir(tmp_path) == ["status.json"]


def test_a_reader_never_sees_half(tmp_path):
    path, texts = tmp_path / "plan.toml", [letter * 100_000 for letter in "abcd"]
    replace_text(path, texts[0])
    seen = set()

    def write(text: str) -> None:
        for _ in range(10):
            replace_text(path, text)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen.add(path.read_text())
    assert seen <= set(texts)
    assert os.listdir(tmp_path) == ["plan.toml"]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_another_who_is_writing_is_in_nobodys_way(tmp_path, write):
    """A name that all writers shared would be torn from one by the other: here it is taken for good."""
    path = tmp_path / "file.json"
    (tmp_path / "file.json.part").mkdir()
    write(path)
    assert path.is_file()


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()], ids=["disk", "stop"])
def test_what_fails_leaves_the_old_file_alone(tmp_path, error):
    path = tmp_path / "run.json"
    replace_text(path, "old")

    def write() -> None:
        with replaced(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["run.json"]


def test_it_is_on_the_disk_before_it_takes_the_place(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths)))
    replace_text(tmp_path / "run.json", "new")
    assert done == ["fsync", "replace", "fsync"]  # its content, then its name in the folder


def test_a_secret_is_its_owners_alone_from_the_first_byte_on(tmp_path):
    with replaced(tmp_path / "key.pem", mode=0o600) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
