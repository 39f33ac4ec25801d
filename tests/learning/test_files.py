"""Data files: found where the user says, checked before they are read, named when they are wrong."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import pickle
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hocket.errors import BadProblem, NoData
from hocket.learning import mnist
from hocket.learning.data.files import PublishedFile, read
from hocket.learning.data.mnist import read_idx
from reproductions.learning.newswires import reuters
from reproductions.learning.number_lists import read_lists

CONTENT = bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])
PACKED = gzip.compress(CONTENT, mtime=0)


def source(url: str = "https://example.invalid/three.gz") -> PublishedFile:
    return PublishedFile(
        "tiny", "three", hashlib.sha256(CONTENT).hexdigest(), url, hashlib.sha256(PACKED).hexdigest()
    )


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a folder of the person who runs the tests nor the cache of their downloads."""
    monkeypatch.delenv("HOCKET_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("place", ["three", "three.gz", "tiny/three", "tiny/three.gz"])
def test_a_file_is_found_packed_or_not_with_or_without_its_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / place).write_bytes(PACKED if place.endswith(".gz") else CONTENT)
    assert read(source(), tmp_path) == CONTENT


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "three").write_bytes(CONTENT)
    monkeypatch.setenv("HOCKET_DATA", str(tmp_path))
    assert read(source()) == CONTENT
    monkeypatch.setenv("HOCKET_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(BadProblem, match=r"HOCKET_DATA names .*nowhere, which is no folder"):
        read(source())


def test_a_missing_wrong_or_truncated_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadProblem, match="holds no three"):
        read(source(), tmp_path)
    (tmp_path / "three").write_bytes(CONTENT + b"!")
    with pytest.raises(BadProblem, match=r"three is not the published three: its SHA-256 is"):
        read(source(), tmp_path)
    (tmp_path / "three").unlink()
    (tmp_path / "three.gz").write_bytes(PACKED[:-4])
    with pytest.raises(BadProblem, match=r"three\.gz cannot be unpacked after \d+ bytes"):
        read(source(), tmp_path)


def test_without_a_folder_nothing_is_downloaded_unasked() -> None:
    with pytest.raises(NoData, match="name the folder that holds it, set HOCKET_DATA, or allow a download"):
        read(source())


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(PACKED)))
            self.end_headers()
            self.wfile.write(PACKED)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()


def test_a_download_is_checked_and_kept(server: str, tmp_path: Path) -> None:
    assert read(source(server + "three.gz"), fetch=True) == CONTENT
    assert read(source("http://127.0.0.1:9/three.gz")) == CONTENT  # from the cache, nobody is asked
    other = PublishedFile("tiny", "four", "0" * 64, server + "four.gz", "0" * 64)
    with pytest.raises(BadProblem, match=r"four\.gz could not be downloaded .*hash"):
        read(other, fetch=True)
    assert not list((tmp_path / "cache").rglob("four*"))


def test_a_download_that_fails_says_what_to_do() -> None:
    with pytest.raises(BadProblem, match=r"could not be downloaded .* fetch it yourself"):
        read(source("http://127.0.0.1:9/three.gz"), fetch=True)


def test_idx_files_that_do_not_add_up_are_refused() -> None:
    assert read_idx(CONTENT, "three").tolist() == [7, 8, 9]
    for broken, why in [
        (CONTENT[:-1], "holds 2 bytes where its header promises 3"),
        (CONTENT[:6], "inside its header"),
        (b"PNG" + CONTENT, "no IDX file"),
        (b"", "no IDX file"),
    ]:
        with pytest.raises(BadProblem, match=f"three.*{why}"):
            read_idx(broken, "three")


def keras_file(lists: bytes, count: int) -> bytes:
    """An .npy file as Keras has it, around the instructions that build its lists."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": (count,)})
    before = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87Rq\x03(K\x01K"
        + bytes([count])
        + b"\x85cnumpy\ndtype\nq\x04U\x02O8K\x00K\x01\x87Rq\x05(K\x03U\x01|NNN"
        + 2 * b"J\xff\xff\xff\xff"
        + b"K?tb\x89"
    )
    return file.getvalue() + before + lists + b"tb."


def instructions(value: object) -> bytes:
    """What pickle writes for a value, without beginning and end."""
    return pickle.dumps(value, protocol=2)[2:-1]


LISTS = [[1, 300, 70_000], [], [5], list(range(2500))]


def test_lists_of_numbers_are_read_without_unpickling() -> None:
    found = read_lists(keras_file(instructions(LISTS), 4), "x")
    assert [found.of(i).tolist() for i in range(found.count)] == LISTS


class Malice:
    """A pickle that would run a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("executed",)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (keras_file(instructions([[1], Malice()]), 2), "GLOBAL '.* print' where only lists"),
        (keras_file(instructions([[1.5]]), 1), "BINFLOAT 1.5"),
        (keras_file(instructions([["word"]]), 1), "BINUNICODE 'word'"),
        (keras_file(instructions([[[1]]]), 1), "entry 0 of x is no list of whole numbers"),
        (keras_file(instructions([1, 2]), 2), "entry 0 of x is no list of whole numbers"),
        (keras_file(instructions([[1]]), 2), "promises 2 lists and holds 1"),
        (keras_file(instructions(LISTS), 4)[:-900], "breaks off"),
        (keras_file(b"e", 0), "APPENDS where only lists"),
        (b"nonsense", "no NumPy array"),
    ],
)
def test_anything_but_lists_of_numbers_is_refused(
    content: bytes, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadProblem, match=why):
        read_lists(content, "x")
    assert "executed" not in capsys.readouterr().out


def test_other_preambles_are_refused() -> None:
    good = keras_file(instructions(LISTS), 4)
    with pytest.raises(BadProblem, match="GLOBAL 'os system'"):
        read_lists(good.replace(b"cnumpy\ndtype\n", b"cos\nsystem\n"), "x")
    file = io.BytesIO()
    np.save(file, np.arange(3))
    with pytest.raises(BadProblem, match=r"int64 of shape \(3,\)"):
        read_lists(file.getvalue(), "x")


def test_a_named_folder_without_the_data_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(BadProblem, match="holds no train-images-idx3-ubyte"):
        mnist(tmp_path)
    with pytest.raises(BadProblem, match=r"holds no reuters\.npz"):
        reuters(tmp_path)


def test_a_damaged_archive_never_gets_past_its_hash(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "reuters.npz", "w") as archive:
        archive.writestr("x.npy", keras_file(instructions([Malice()]), 1))
    with pytest.raises(BadProblem, match="is not the published"):
        reuters(tmp_path)
