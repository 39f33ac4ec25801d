"""Compiled programs on disk: kept where nobody else can write, within bounds, and never against the user's will."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hocket.engines import compile_cache


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """JAX's settings, as in a fresh process that may keep what it compiles."""
    fake = SimpleNamespace(jax_compilation_cache_dir=None, jax_persistent_cache_min_compile_time_secs=1.0)
    fake.update = lambda name, value: setattr(fake, name, value)
    monkeypatch.setattr(compile_cache, "jax", SimpleNamespace(config=fake))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(compile_cache.VARIABLE, raising=False)
    return fake


keep = compile_cache.keep_compiled.__wrapped__


def test_programs_are_kept_in_a_folder_for_this_user_and_kind_of_machine(config, tmp_path):
    keep()
    place = Path(config.jax_compilation_cache_dir)
    assert place.parent == tmp_path.resolve() / "hocket" / "compiled"
    assert place.stat().st_mode & 0o777 == 0o700
    assert config.jax_persistent_cache_min_compile_time_secs == compile_cache.WORTH_KEEPING


def test_what_the_user_decided_stays(config, monkeypatch, tmp_path):
    monkeypatch.setenv(compile_cache.VARIABLE, "off")
    keep()
    assert config.jax_compilation_cache_dir is None
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "mine"))
    config.jax_persistent_cache_min_compile_time_secs = 3.0
    keep()
    assert config.jax_compilation_cache_dir == str((tmp_path / "mine").resolve())
    assert config.jax_persistent_cache_min_compile_time_secs == 3.0
    config.jax_compilation_cache_dir = "/elsewhere"
    keep()
    assert config.jax_compilation_cache_dir == "/elsewhere"


@pytest.mark.parametrize("open_to", ["the folder", "a folder above", "a link"])
def test_a_folder_that_others_can_write_to_is_not_used(config, monkeypatch, tmp_path, open_to):
    above = tmp_path / "above"
    place = above / "place"
    place.mkdir(mode=0o700, parents=True)
    (place if open_to == "the folder" else above).chmod(0o777)
    if open_to == "a link":
        (tmp_path / "link").symlink_to(place)
    named = tmp_path / "link" if open_to == "a link" else place
    monkeypatch.setenv(compile_cache.VARIABLE, str(named))
    keep()
    assert config.jax_compilation_cache_dir is None


def test_where_there_is_no_room_programs_are_compiled_as_before(config, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "file" / "within"))
    keep()
    assert config.jax_compilation_cache_dir is None


def test_a_program_is_there_as_a_whole_or_not_at_all(config, monkeypatch, tmp_path):
    """JAX wrote it in place: who was killed at it left half of it for ever, and who read meanwhile got half."""
    from jax._src.lru_cache import LRUCache

    keep()
    kept = LRUCache(str(tmp_path / "programs"), max_size=-1)
    kept.put("one", b"a program")
    assert kept.get("one") == b"a program"
    kept.put("one", b"another")
    assert kept.get("one") == b"a program"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    def killed_at_half(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed_at_half)
    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        kept.put("two", b"a program")
    assert kept.get("two") is None


def test_the_oldest_programs_go_first(config, monkeypatch, tmp_path):
    place = tmp_path / "mine"
    place.mkdir(mode=0o700)
    for age in range(8):
        path = place / f"jit_{age}-cache"
        path.write_bytes(bytes(10))
        os.utime(path, (1000 - age, 1000 - age))
    monkeypatch.setattr(compile_cache, "MOST_BYTES", 60)
    monkeypatch.setenv(compile_cache.VARIABLE, str(place))
    keep()
    assert sorted(path.name for path in place.iterdir()) == ["jit_0-cache", "jit_1-cache", "jit_2-cache"]
