"""Several machines in one: network namespaces, each with one interface, joined by a bridge or by a bad switch.

A kernel with netem gives a bridge the weather; where it has none, a switch of our own passes every frame on late, or
not at all. Either way it is packets that are lost, and the members' TCP that has to cope.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
LONGEST_FRAME = 1 << 16
BROADCAST = 0x01
"""In the first byte of an address: the frame is for more than one."""


def ip(*words: object) -> None:
    """One `ip` command, which must succeed."""
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


def why_not() -> str:
    """Why namespaces cannot be made here; empty if they can."""
    if os.name != "posix" or os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "there is no ip command (package iproute2)"
    name = f"hk{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        ip("netns", "delete", name)
    except subprocess.CalledProcessError as error:
        return f"ip netns fails: {error.stderr.strip()}"
    return ""


@dataclass(frozen=True)
class Channel:
    """What every frame goes through, one way."""

    delay: float
    loss: float


@dataclass
class Machines:
    """Namespaces with addresses in one network. Use it inside `with machines(...)`."""

    names: list[str]
    channel: Channel | None = None
    switch: Switch | None = None
    netem: str = ""
    """What tc answered when asked for netem; empty if it was not asked, or agreed."""
    _undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def addresses(self) -> list[str]:
        return [f"10.77.0.{place}" for place, _ in enumerate(self.names, 1)]

    def start(self, place: int, command: list[str], **options: Any) -> subprocess.Popen[str]:
        """A process on one machine."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self._space(place), *command],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def cut_off(self, place: int) -> None:
        """Take a machine's link down."""
        if self.switch is not None:
            self.switch.down.add(place)
        else:
            ip("-n", self._hub, "link", "set", f"port{place}", "down")

    def heal(self, place: int) -> None:
        """Take it up again."""
        if self.switch is not None:
            self.switch.down.discard(place)
        else:
            ip("-n", self._hub, "link", "set", f"port{place}", "up")

    def keep_apart(self, place: int) -> None:
        """Let a machine reach only those that are not kept apart themselves; over a bridge alone."""
        command = [
            "ip",
            "netns",
            "exec",
            self._hub,
            "bridge",
            "link",
            "set",
            "dev",
            f"port{place}",
            "isolated",
            "on",
        ]
        subprocess.run(command, check=True, capture_output=True, text=True)

    def hide(self, place: int, other: int) -> None:
        """Let one machine not find the other at all."""
        ip("-n", self._space(place), "route", "add", "blackhole", f"{self.addresses[other]}/32")

    def build(self) -> None:
        """Make everything: a bridge, and netem on it if there is weather; without netem the bad switch instead."""
        for place, _ in enumerate(self.names):
            self._add_space(self._space(place))
        self._add_space(self._hub)
        if self.channel is not None:
            self.netem = self._try_netem(self.channel)
        if self.channel is not None and self.netem:
            self._build_switch(self.channel)
        else:
            self._build_bridge(self.channel)
        for place, address in enumerate(self.addresses):
            ip("-n", self._space(place), "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", self._space(place), "link", "set", "eth0", "up")
            ip("-n", self._space(place), "link", "set", "lo", "up")

    def tear_down(self) -> None:
        self._undo.close()

    @property
    def _hub(self) -> str:
        return f"hk{os.getpid()}-hub"

    def _space(self, place: int) -> str:
        return f"hk{os.getpid()}-{place}"

    def _add_space(self, name: str) -> None:
        ip("netns", "add", name)
        self._undo.callback(ip, "netns", "delete", name)

    def _try_netem(self, channel: Channel) -> str:
        asked = self._tc("lo", channel)  # nothing else is on the hub's own loopback
        return "" if asked.returncode == 0 else asked.stderr.strip() or f"tc left with {asked.returncode}"

    def _tc(self, device: str, channel: Channel) -> subprocess.CompletedProcess[str]:
        netem = ["netem", "delay", f"{1000 * channel.delay:g}ms", "loss", f"{100 * channel.loss:g}%"]
        command = ["ip", "netns", "exec", self._hub, "tc", "qdisc", "add", "dev", device, "root", *netem]
        return subprocess.run(command, capture_output=True, text=True)

    def _build_bridge(self, channel: Channel | None) -> None:
        ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._hub, "link", "set", "bridge", "up")
        for place, _ in enumerate(self.names):
            port, there = f"port{place}", self._space(place)
            ip("-n", self._hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", there)
            ip("-n", self._hub, "link", "set", port, "master", "bridge", "up")
            if channel is not None:
                self._tc(port, channel).check_returncode()

    def _build_switch(self, channel: Channel) -> None:
        ports = []
        for place, _ in enumerate(self.names):
            port = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            self._undo.callback(os.close, port)
            name = f"hk{os.getpid() % 10**6}t{place}"
            fcntl.ioctl(port, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
            ip("link", "set", name, "netns", self._space(place), "name", "eth0")
            ports.append(port)
        self.switch = Switch(ports, channel)
        self.switch.start()
        self._undo.callback(self.switch.stop)


class Switch(threading.Thread):
    """Passes frames on between ports, late, and loses some of them."""

    def __init__(self, ports: list[int], channel: Channel):
        super().__init__(daemon=True)
        self.ports = ports
        self.channel = channel
        self.down: set[int] = set()
        self.passed = self.lost = 0
        self._places: dict[bytes, int] = {}
        """Which address was seen at which port."""
        self._late: list[tuple[float, int, int, bytes]] = []
        self._order = itertools.count()
        self._chance = random.Random(0)
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            wait = min(0.1, max(0.0, self._late[0][0] - time.monotonic())) if self._late else 0.1
            ready, _, _ = select.select(self.ports, [], [], wait)
            for port in ready:
                self._take(self.ports.index(port), os.read(port, LONGEST_FRAME))
            while self._late and self._late[0][0] <= time.monotonic():
                _, _, place, frame = heapq.heappop(self._late)
                with contextlib.suppress(OSError):  # the interface is going down
                    os.write(self.ports[place], frame)

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def _take(self, source: int, frame: bytes) -> None:
        receiver, sender = frame[:6], frame[6:12]
        self._places[sender] = source
        known = None if receiver[0] & BROADCAST else self._places.get(receiver)
        others = range(len(self.ports)) if known is None else [known]
        for place in others:
            if place == source or {place, source} & self.down:
                continue
            if self._chance.random() < self.channel.loss:
                self.lost += 1
                continue
            self.passed += 1
            due = time.monotonic() + self.channel.delay
            heapq.heappush(self._late, (due, next(self._order), place, frame))


@contextlib.contextmanager
def machines(names: list[str], channel: Channel | None = None) -> Iterator[Machines]:
    """Machines with these names, gone afterwards."""
    made = Machines(names, channel)
    try:
        made.build()
        yield made
    finally:
        made.tear_down()
