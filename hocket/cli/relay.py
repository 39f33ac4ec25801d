"""`hocket relay`: joins members that can open no port, and passes their bytes."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.answer import Answer, aside
from hocket.errors import BadConfig

if TYPE_CHECKING:
    import ssl

    from hocket.links.relay.server import Relay


def relay(
    *,
    listen: str = "0.0.0.0:443",
    admit: tuple[Path, ...],
    name: tuple[str, ...] = (),
    cert: Path | None = None,
    key: Path | None = None,
    behind_web_server: bool = False,
    bandwidth: float | None = None,
    wait: float = 600.0,
    strangers: int = 256,
) -> Answer:
    """Join members that can open no port, two by two, and pass their bytes on, until it is stopped.

    It sees sizes and times, and who talks with whom; what passes is encrypted between the members. It keeps nothing:
    stop it and start it again as you like. Members whose cards name it as host:port come with TLS: give --cert and
    --key, or --behind-web-server.

    Args:
        listen: host:port to listen at; 0.0.0.0 is every interface.
        admit: A plan, or a folder of cards, whose members may use it; may be given several times.
        name: What cards call this relay, such as relay.example:443; by default as those admitted do.
        cert: Its TLS certificate in PEM, with those that vouch for it.
        key: The key to it, in PEM.
        behind_web_server: A web server before it ends TLS, and passes WebSocket on without.
        bandwidth: MB in a second that one member may send; by default no limit.
        wait: Seconds after which a member that waits must call again.
        strangers: Connections at most that have not shown yet whose they are.
    """
    from hocket.federation.plan.admission import admitted, relay_names
    from hocket.links.relay.connection import keep_memory
    from hocket.links.relay.outbound import RelayName
    from hocket.links.relay.pipe import need_websockets
    from hocket.links.relay.server import Relay, RelayLimits

    if wait <= 0 or strangers < 1 or (bandwidth is not None and bandwidth <= 0):
        raise BadConfig(
            "--wait, --strangers and --bandwidth are above zero; leave --bandwidth away for no limit"
        )
    admission, cards, plans = admitted(admit)
    names = relay_names(name, cards)
    need_websockets()
    named = {relay for card in cards for relay in card.relays}
    for one in sorted(names - named):
        aside().print(
            f"No card that is admitted names this relay {one}: who comes by that name is refused. The cards name "
            f"{', '.join(sorted(named)) or 'no relay'}"
        )
    secure = sorted(one for one in names if RelayName(one).secure)
    if secure and cert is None and key is None and not behind_web_server:
        raise BadConfig(
            f"members whose cards call this relay {', '.join(secure)} come with TLS, and it has no certificate; give "
            "--cert and --key, or --behind-web-server if a web server before it ends TLS"
        )
    limits = RelayLimits(
        strangers=strangers, wait=wait, bandwidth=None if bandwidth is None else bandwidth * 1e6
    )
    made = Relay(names, admission, listen=_place(listen), tls=_tls(cert, key), limits=limits)
    members = sorted({card.name for card in cards})
    given = f"{len(plans)} plans" if len(plans) != 1 else "one plan"
    keep_memory()
    asyncio.run(_serve(made, f"for {len(members)} members ({given}) as {', '.join(sorted(names))}"))
    counts = asdict(made.counts)
    words = [
        f"Stopped. {counts['admitted']:,} connections of members, {counts['joined']:,} joined, "
        f"{counts['bytes'] / 1e6:,.1f} MB passed on; {counts['refused']:,} refused, {counts['strangers']:,} strangers."
    ]
    return Answer({"names": sorted(names), "members": members, **counts}, words)


async def _serve(made: Relay, about: str) -> None:
    """Until somebody presses Ctrl-C, or SIGTERM comes."""
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    async with made:
        assert made.accepting is not None
        aside().print(f"Relay at {made.listen[0]}:{made.port}, {about}. Ctrl-C stops it.")
        stopped = asyncio.create_task(over.wait())
        await asyncio.wait([stopped, made.accepting], return_when=asyncio.FIRST_COMPLETED)
        if made.accepting.done():
            made.accepting.result()


def _place(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise BadConfig(f"--listen {listen} is no place to listen at; write host:port, such as 0.0.0.0:443")
    return host.strip("[]"), int(port)


def _tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    import ssl

    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise BadConfig(
            "--cert and --key belong together; give both, or --behind-web-server alone if a web server before it ends "
            "TLS"
        )
    for option, file in (("--cert", cert), ("--key", key)):
        if not file.is_file():
            raise BadConfig(f"{option} {file}: there is no such file; name one in PEM")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or getattr(error, "reason", None) or "they do not belong together"
        raise BadConfig(
            f"{cert} and {key} cannot be used: {why}; give a certificate and its key in PEM"
        ) from None
    return context
