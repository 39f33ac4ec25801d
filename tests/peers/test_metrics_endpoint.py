"""The numbers for Prometheus: by this machine's own name, with the token where there is one, and beside any crowd."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hocket.errors import BadConfig
from hocket.federation.monitoring.metrics import Metrics
from hocket.federation.monitoring.metrics_endpoint import AT_ONCE, MetricsEndpoint
from hocket.federation.state.home import Home
from hocket.machine import LOOPBACK

TOKEN = "0123456789abcdef"


@asynccontextmanager
async def endpoint(tmp_path: Path, token: str = "") -> AsyncIterator[MetricsEndpoint]:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.record({"round": 7, "loss": 0.25}, {"birch": 0.5})
    made = await MetricsEndpoint.open(metrics.exposition, 0, token)
    try:
        yield made
    finally:
        made.close()
        metrics.close()


def get(port: int, *lines: str, path: str = "/metrics") -> tuple[int, str]:
    with socket.create_connection((LOOPBACK, port), 60) as connection:
        given = lines or (f"Host: {LOOPBACK}:{port}",)
        connection.sendall("\r\n".join([f"GET {path} HTTP/1.1", *given, "", ""]).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


def play(tmp_path: Path, scene: Callable[[MetricsEndpoint], Awaitable[None]], token: str = "") -> None:
    async def played() -> None:
        async with endpoint(tmp_path, token) as made:
            await scene(made)

    asyncio.run(played())


def test_prometheus_finds_the_metrics_on_loopback(tmp_path):
    async def scene(made: MetricsEndpoint) -> None:
        assert made._door.getsockname()[0] == "127.0.0.1"
        for name in (LOOPBACK, "localhost"):
            status, text = await asyncio.to_thread(get, made.port, f"host: {name}:{made.port}")
            assert status == 200
            assert "hocket_round 7.0" in text.splitlines()
            assert 'hocket_lag_seconds{neighbour="birch"} 0.5' in text.splitlines()
        assert (await asyncio.to_thread(get, made.port, path="/"))[0] == 404

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "lines",
    [["X: y"], ["Host: evil.example"], ["Host: 127.0.0.1"], ["Host: 127.0.0.1:{port}", "Host: evil.example"]],
    ids=" ".join,
)
def test_who_asks_by_another_name_is_told_nothing(tmp_path, lines):
    """A page of another site whose name points at this machine."""

    async def scene(made: MetricsEndpoint) -> None:
        given = [line.format(port=made.port) for line in lines]
        assert await asyncio.to_thread(get, made.port, *given) == (
            421,
            f"ask 127.0.0.1:{made.port}, by this name\n",
        )

    play(tmp_path, scene)


def test_where_there_is_a_token_it_is_asked_for(tmp_path):
    (tmp_path / "metrics-token").write_text(f"{TOKEN}\n")
    token = Home(tmp_path).metrics_token

    async def scene(made: MetricsEndpoint) -> None:
        host = f"Host: {LOOPBACK}:{made.port}"
        for given in ([], ["Authorization: Bearer x"], [f"Authorization: {TOKEN}"]):
            status, text = await asyncio.to_thread(get, made.port, host, *given)
            assert (status, "metrics-token" in text, "hocket_" in text) == (401, True, False)
        status, text = await asyncio.to_thread(get, made.port, host, f"Authorization: Bearer {TOKEN}")
        assert (status, "hocket_round 7.0" in text) == (200, True)

    play(tmp_path, scene, token)


def test_a_token_that_is_none_is_refused(tmp_path):
    assert Home(tmp_path).metrics_token == ""
    for text in ("", "short", "with blanks in between them"):
        (tmp_path / "metrics-token").write_text(text)
        with pytest.raises(BadConfig, match="holds no token; write 16 letters"):
            _ = Home(tmp_path).metrics_token


def test_a_crowd_takes_few_descriptors_and_keeps_nobody_out(tmp_path):
    """Hundreds of connections that say nothing, and Prometheus among them."""

    async def scene(made: MetricsEndpoint) -> None:
        before, crowd, most = descriptors(), [], 0
        try:
            for _ in range(300):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex((LOOPBACK, made.port))
                crowd.append(one)
                await asyncio.sleep(0)
                most = max(most, descriptors() - before - len(crowd))
            asked = asyncio.create_task(asyncio.to_thread(get, made.port))
            while not asked.done():
                await asyncio.sleep(0)
                most = max(most, descriptors() - before - len(crowd))
            assert (await asked)[0] == 200
            assert AT_ONCE <= most <= AT_ONCE + 4  # its own, and that of anybody who asks
        finally:
            for one in crowd:
                one.close()

    play(tmp_path, scene)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_request_without_an_end_is_refused(tmp_path):
    async def scene(made: MetricsEndpoint) -> None:
        def endless() -> bytes:
            with socket.create_connection((LOOPBACK, made.port), 60) as connection:
                connection.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10_000)
                return connection.recv(100)

        assert (await asyncio.to_thread(endless)).startswith(b"HTTP/1.1 431 ")

    play(tmp_path, scene)


def test_a_port_that_is_taken_is_named(tmp_path):
    async def scene(made: MetricsEndpoint) -> None:
        for port in (made.port, 70_000):
            with pytest.raises(BadConfig, match=f"port {port} .* --metrics-port"):
                await MetricsEndpoint.open(str, port)

    play(tmp_path, scene)
