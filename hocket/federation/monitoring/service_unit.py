"""A member that runs unattended: what a service manager is told, and what it is told where there is none.

It starts again after a crash or a restart of the machine, and goes on where its journal stands. It stays stopped where
it was stopped on purpose, where all is done, and where a person has to decide.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.errors import BadConfig

CREDENTIAL = "hocket-passphrase"
"""What the passphrase of an identity is called among a service's credentials."""
PAUSE = 30
"""Seconds before it is started again."""
PATIENCE = 300
"""Seconds that a clean stop may take: it waits for the gradient that is being computed."""
DONE, MISUSED, EXPOSED, STOPPED = 0, 2, 3, 130
"""Exit codes after which nobody starts it again: finished, a wrong command, a remainder that is not safe, stopped."""
BACKSLASH = "\\"
PLAIN = re.compile(r"[A-Za-z0-9@/._:=,+-]+")


@dataclass(frozen=True)
class Service:
    """One member's run, for a service manager. It holds paths and names, and nothing that is secret."""

    member: str
    task: str
    run: str
    """The run's hash, in hexadecimal."""
    command: Sequence[str]
    folder: Path
    """Where the command is started from."""
    user: str | None = None
    """Whose system service it is; None for a service of the user who asks, by their own manager."""
    passphrase: Path | None = None
    """The file of the encrypted passphrase, where the identity is under one."""

    @property
    def name(self) -> str:
        """What the service is called."""
        return f"hocket-{self.member}-{self.run[:8]}.service"

    def unit(self) -> str:
        """The unit for systemd."""
        system = self.user is not None
        network = ["Wants=network-online.target", "After=network-online.target"] if system else []
        place = None if self.passphrase is None else _plain(str(self.passphrase))
        secret = [] if place is None else [f"LoadCredentialEncrypted={CREDENTIAL}:{place}"]
        return "\n".join(
            [
                "[Unit]",
                f"Description=hocket: {_plain(f'{self.member} in {self.task}'.rstrip(BACKSLASH))}",
                *network,
                "# However often it fails: a neighbour may be away for days.",
                "StartLimitIntervalSec=0",
                "",
                "[Service]",
                "Type=exec",
                *([f"User={self.user}"] if system else []),
                f"WorkingDirectory={_plain(str(self.folder))}",
                f"ExecStart={' '.join(map(_word, self.command))}",
                *secret,
                "Restart=on-failure",
                f"RestartSec={PAUSE}",
                f"# {STOPPED} is a clean stop; {MISUSED} and {EXPOSED} are for a person to look at.",
                f"SuccessExitStatus={STOPPED}",
                f"RestartPreventExitStatus={MISUSED} {EXPOSED}",
                "KillSignal=SIGTERM",
                "KillMode=mixed",
                f"TimeoutStopSec={PATIENCE}",
                "UMask=0077",
                "NoNewPrivileges=yes",
                "",
                "[Install]",
                f"WantedBy={'multi-user.target' if system else 'default.target'}",
                "",
            ]
        )

    def install(self, unit: Path) -> list[str]:
        """What to type to have systemd run it from now on, given where the unit lies."""
        file = shlex.quote(str(unit))
        if self.user is not None:
            steps = [
                f"sudo install -m 644 {file} /etc/systemd/system/{self.name}",
                "sudo systemctl daemon-reload",
                f"sudo systemctl enable --now {self.name}",
            ]
        else:
            steps = [
                f"install -D -m 644 {file} ~/.config/systemd/user/{self.name}",
                "systemctl --user daemon-reload",
                f"systemctl --user enable --now {self.name}",
                "loginctl enable-linger",
            ]
        return [*self._encrypt(), *steps]

    def _encrypt(self) -> list[str]:
        """What to type so that the passphrase can be read by this service, on this machine, and by nobody else."""
        if self.passphrase is None:
            return []
        who, place = ("sudo ", "") if self.user is not None else ("", "--user ")
        file = shlex.quote(str(self.passphrase))
        return [f"systemd-ask-password -n | {who}systemd-creds {place}encrypt --name={CREDENTIAL} - {file}"]

    def loop(self) -> str:
        """The same by a shell alone, where there is no systemd: for cron's @reboot, or a terminal that stays."""
        codes = "|".join(map(str, (DONE, MISUSED, EXPOSED, STOPPED)))
        return (
            f"cd {_for_cron(str(self.folder))} && while :; do {' '.join(map(_for_cron, self.command))}; "
            f"case $? in {codes}) break;; esac; sleep {PAUSE}; done"
        )


def _for_cron(text: str) -> str:
    """A word of a command as a shell reads it back, also where cron has read it before: that ends a command at %."""
    return "\\%".join(shlex.quote(part) if part else "" for part in text.split("%")) or "''"


def _word(text: str) -> str:
    """A word of a command as systemd reads it back."""
    text = _plain(text).replace("$", "$$")
    if PLAIN.fullmatch(text.replace("%%", "").replace("$$", "") or "x"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(text: str) -> str:
    """Text in which nothing is filled in."""
    if not text.isprintable():
        raise BadConfig(f"{text!r} holds what cannot be seen, and no unit could name it; rename it")
    if text.endswith(BACKSLASH):  # at the end of a line it takes the next one in
        raise BadConfig(f"{text!r} ends in a backslash, and no unit could name it; rename it")
    return text.replace("%", "%%")
