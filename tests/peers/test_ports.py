"""A port that was promised is there for anybody who was told of it, and for nobody else."""

from __future__ import annotations

import socket

import pytest

from hocket.machine import LOOPBACK, held_ports

from .federation_case import free_ports


def check_is_kept(port: int) -> None:
    """The system does not give it away, and one server can listen on it."""
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind((LOOPBACK, port))
    with socket.create_server((LOOPBACK, port)) as server:
        with pytest.raises(OSError, match="in use"):
            socket.create_server((LOOPBACK, port))
        with socket.create_connection((LOOPBACK, port), timeout=5):
            server.accept()[0].close()


def test_ports_are_kept_until_they_are_let_go():
    with held_ports(3) as ports:
        assert len(set(ports)) == 3
        for port in ports:
            check_is_kept(port)
            check_is_kept(port)  # also after a server came and went, as one that is started again
    with socket.socket() as anybody:
        anybody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        anybody.bind((LOOPBACK, ports[0]))


def test_the_ports_of_a_federation_in_tests_are_kept():
    for port in free_ports(2):
        check_is_kept(port)
