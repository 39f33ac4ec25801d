"""From a member out to a relay: TCP, a company's proxy if need be, TLS, WebSocket, and the member's call."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import re
import socket
import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hocket.errors import BadPlan, LinkError
from hocket.links.keys.identity import Identity
from hocket.links.relay.call import AGAIN, CHALLENGE_BYTES, JOINED, NO, WAIT, Call, words_of
from hocket.links.relay.connection import Connection
from hocket.links.relay.crowd import Crowd
from hocket.links.relay.pipe import Pipe, dial_web
from hocket.links.relay.proxy import proxy_for
from hocket.links.text import shown

NAME = re.compile(r"(ws://)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
LAST_PORT = (1 << 16) - 1
PATIENCE = 15.0
"""Seconds from the first packet to the relay's answer."""


@dataclass(frozen=True)
class RelayName:
    """A relay as a card names it: host:port, which is WebSocket over TLS; ws:// without TLS, on this machine alone."""

    text: str

    def __post_init__(self) -> None:
        found = NAME.fullmatch(self.text)
        if found is None or not 1 <= int(found[3]) <= LAST_PORT:
            raise BadPlan(f"{self.text!r} is no relay; write host:port such as relay.example:443")
        if not self.secure and not _is_here(self.host):
            raise BadPlan(
                f"the relay {self.text!r} would be spoken to without TLS; ws:// is for this machine alone, such as "
                f"ws://127.0.0.1:8080: write {self.place}"
            )

    @property
    def secure(self) -> bool:
        """Whether it is spoken to by TLS."""
        return not self.text.startswith("ws://")

    @property
    def place(self) -> str:
        """host:port, as a web address has it."""
        return self.text.removeprefix("ws://")

    @property
    def host(self) -> str:
        return self.place.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.place.rpartition(":")[2])


def _is_here(host: str) -> bool:
    """Whether a host is this machine by its name alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def called(
    call: Call, identity: Identity, *, kept_proxy: Path | None = None, crowd: Crowd | None = None
) -> Pipe:
    """A connection to the relay that this call names, which has taken it: now wait for `joined`."""
    name = RelayName(call.relay)
    try:
        async with asyncio.timeout(PATIENCE):
            pipe = await _reach(name, kept_proxy, crowd)
            try:
                challenge = await pipe.receive_message()
                if len(challenge) != CHALLENGE_BYTES:
                    raise LinkError("what answers there is no relay")
                await pipe.send(call.signed_by(identity, challenge))
                answer = await pipe.receive_message()
                if answer != WAIT:
                    raise LinkError(f"it refuses {call.sender}: {words_of(answer)}")
            except BaseException:
                pipe.close()
                raise
            return pipe
    except TimeoutError:
        why = f"no answer within {PATIENCE:g} s"
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:  # a host's name may be none
        why = in_words(error)
    except LinkError as error:
        raise LinkError(f"the relay {call.relay}: {error}") from None
    raise LinkError(f"the relay {call.relay} cannot be reached: {why}")


async def joined(pipe: Pipe) -> bool:
    """Wait for the other end; False where the relay wants to be called again. Unless it is joined, it is closed."""
    try:
        answer = await pipe.receive_message()
        if answer == JOINED:
            return True
        if answer == AGAIN:
            pipe.close()
            return False
        why = f"it refuses: {words_of(answer)}" if answer[:1] == NO else "what answers there is no relay"
    except (OSError, asyncio.IncompleteReadError) as error:
        why = in_words(error)
    except BaseException:
        pipe.close()
        raise
    pipe.close()
    raise LinkError(f"the relay was lost: {why}")


async def _reach(name: RelayName, kept_proxy: Path | None, crowd: Crowd | None = None) -> Pipe:
    proxy = proxy_for(name.host, kept_proxy)
    where = (name.host, name.port) if proxy is None else (proxy.host, proxy.port)
    try:
        stream = Connection(await connected(*where), crowd)
    except OSError as error:
        if proxy is None:
            raise
        raise LinkError(f"the proxy {proxy} cannot be reached: {in_words(error)}") from None
    try:
        if proxy is not None:
            await proxy.pass_through(stream, name.place)
        if name.secure:
            await stream.secure(_context(), host=name.host)
        return await dial_web(stream, name.place, secure=name.secure)
    except BaseException:
        stream.abort()
        raise


async def connected(host: str, port: int) -> socket.socket:
    """A connection to the first of a host's addresses that takes one."""
    loop, failure = asyncio.get_running_loop(), OSError("it has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, address)
            return connection
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
    raise failure


@cache
def _context() -> ssl.SSLContext:
    """As web pages are trusted on this machine; SSL_CERT_FILE names other authorities, a company's for instance."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    with contextlib.suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context


def _authorities() -> str:
    """What to do where a certificate is not trusted, as the environment is."""
    named = os.environ.get("SSL_CERT_FILE")
    if not named:
        return "name its authority in SSL_CERT_FILE"
    if not os.path.isfile(named):
        return f"SSL_CERT_FILE names {shown(named)}, and there is no such file"
    return f"SSL_CERT_FILE names {shown(named)}, where its authority is not; put it there, and start again"


def in_words(error: Exception) -> str:
    """Why a connection failed, or ended."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted here ({error.verify_message}); {_authorities()}"
    if isinstance(error, asyncio.IncompleteReadError):
        return "it hung up"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there (connection refused)"
    if isinstance(error, ConnectionResetError) and error.errno is None:
        return str(error)  # ours
    return getattr(error, "strerror", None) or type(error).__name__
