"""Where a member keeps its own things: identity, journals of runs, and noise that outlives them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.errors import BadConfig, BadIdentity
from hocket.files import read_bytes, read_text
from hocket.links.text import normal_name
from hocket.machine import private_folder

if TYPE_CHECKING:
    from hocket.federation.plan.own_code import OwnCode
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.state.accounts import Accounts

VARIABLE = "HOCKET_HOME"
LONGEST_TOKEN = 1000
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")
"""As HTTP has it after "Bearer"."""
LASTING_NOISE = ".sqlite"
"""How the file of a dataset's noise ends."""


@dataclass(frozen=True)
class Home:
    """One member's folder, for its owner's eyes only."""

    folder: Path

    @classmethod
    def at(cls, folder: Path | None = None) -> Home:
        """The folder named, or the one in $HOCKET_HOME, or ~/.hocket; one that holds an identity is closed to other
        users of this machine."""
        found = cls(folder or Path(os.environ.get(VARIABLE) or Path.home() / ".hocket"))
        if found.identity.is_dir():
            try:
                private_folder(found.folder)
            except PermissionError as error:
                raise BadIdentity(
                    f"{found.folder} holds an identity, and {error.strerror}, who could replace it; name a folder of "
                    "your own with --home"
                ) from None
        return found

    @property
    def identity(self) -> Path:
        """The folder of the key and the certificate."""
        return self.folder / "identity"

    @property
    def old_identities(self) -> list[Path]:
        """The folders of keys that were renewed, the last of them first."""
        return sorted(self.folder.glob("identity.old*"), key=_number, reverse=True)

    @property
    def aside(self) -> Path:
        """Where an identity goes that is renewed: a new place, so that none is ever lost."""
        return self.folder / f"identity.old-{max(map(_number, self.old_identities), default=0) + 1}"

    @property
    def renewed(self) -> Path:
        """Where a new identity is until it takes the old one's place."""
        return self.folder / "identity.new"

    def settle_renewal(self) -> None:
        """End a renewal that was interrupted: the new identity takes an empty place, and no key is ever lost."""
        if self.renewed.exists():
            os.rename(self.renewed, self.aside if self.identity.exists() else self.identity)

    def identity_in(self, plan: FederationPlan) -> Path:
        """The folder of the key that a plan names: a run goes on under the old one until all have signed the new."""
        from hocket.links.keys.identity import CERTIFICATE, KEY

        named = {card.certificate_pem for card in plan.cards}
        for folder in (self.identity, *self.old_identities):
            file = folder / CERTIFICATE
            if file.is_file() and (folder / KEY).is_file() and file.read_bytes() in named:
                return folder
        return self.identity

    @property
    def known_keys(self) -> Path:
        """The file of other members' keys, as this member has accepted them."""
        return self.folder / "members.json"

    @property
    def owner(self) -> str:
        """The member whose home this is, by its certificate: nobody needs the key for that."""
        from hocket.links.keys.identity import (  # not at the door: commands begin with this module
            CERTIFICATE,
            LONGEST_FILE,
            name_in,
        )

        path = self.identity / CERTIFICATE
        try:
            return name_in(read_bytes(path, LONGEST_FILE))
        except OSError as error:
            raise BadIdentity(
                f"{path} cannot be read: {error.strerror}; make an identity with hocket peer init, or name its home"
            ) from None

    @property
    def policy(self) -> Path:
        """The file of what this member asks of every plan."""
        return self.folder / "policy.toml"

    @property
    def proxy(self) -> Path:
        """The file of the proxy through which this member reaches relays, with its password if it has one."""
        return self.folder / "proxy"

    @property
    def metrics_token(self) -> str:
        """What anybody who asks for metrics must bring; empty where this home has no file of it, and nobody need bring
        anything."""
        path = self.folder / "metrics-token"
        if not path.exists():
            return ""
        token = read_text(path, LONGEST_TOKEN).strip()
        if not TOKEN.fullmatch(token):
            raise BadConfig(
                f"{path} holds no token; write 16 letters and digits or more into it, such as by: openssl rand -hex 16"
            )
        return token

    @property
    def accounts(self) -> Accounts:
        """What this member's data have told, with the secret that salts digests of them."""
        from hocket.federation.state.accounts import Accounts  # not at the door: it needs NumPy

        return Accounts(self.folder)

    @property
    def own_code(self) -> OwnCode:
        """The sources of algorithms that are not hocket's, which this member has signed plans with."""
        from hocket.federation.plan.own_code import OwnCode

        return OwnCode(kept=self.folder / "algorithms")

    def run(self, plan: bytes) -> Path:
        """The folder of a plan's run, given the run's hash."""
        return self.folder / "runs" / plan.hex()[:16]

    def lasting_noise(self, dataset: str) -> Path:
        """The file of the noise that is kept for a dataset; under another spelling it would be drawn anew."""
        folder = self.folder / "datasets"
        for path in sorted(folder.glob(f"*{LASTING_NOISE}")):
            name = path.name.removesuffix(LASTING_NOISE)
            if name != dataset and normal_name(name) == dataset:
                raise BadConfig(
                    f"{path} is of the dataset {name}, which is written {dataset} now; rename the file to "
                    f"{dataset}{LASTING_NOISE}, so that its noise is kept"
                )
        return folder / f"{dataset}{LASTING_NOISE}"


def _number(folder: Path) -> int:
    """Of identities that were renewed, which this was."""
    digits = folder.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0
