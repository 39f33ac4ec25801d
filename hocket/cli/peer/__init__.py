"""`hocket peer`: a federation over real links, member by member.

Each command is one step of one member: keys and cards, a plan, its audit and signature, the run, and what comes after.
"""

from cyclopts import App

from hocket.cli.options import PARAMETER, add
from hocket.cli.peer.cards import init, renew, replace
from hocket.cli.peer.check import check
from hocket.cli.peer.demo import demo
from hocket.cli.peer.drop import drop
from hocket.cli.peer.invite import accept, invite
from hocket.cli.peer.plan import again, plan
from hocket.cli.peer.run import run
from hocket.cli.peer.service import service
from hocket.cli.peer.sign import sign
from hocket.cli.peer.status import status, stop, watch
from hocket.cli.peer.verify import disclose, verify

peer = App(
    name="peer",
    help="Solve or learn together over real links: direct, encrypted, without a server.",
    help_epilogue="Example: hocket peer init --name clinic-a --address clinic-a.example:7000",
    default_parameter=PARAMETER,
)
for command, example in (
    (init, "init --name clinic-a --address clinic-a.example:7000"),
    (
        plan,
        "plan cards/*.toml --topology harary:k=3 --colluders 2 --algorithm rss-nb --noise-bound 0.1 --persistent 0.5 "
        "--task mine.py:task -o plan.toml",
    ),
    (again, "again plan.toml clinic-e.toml -o plan-2.toml"),
    (invite, "invite plan.toml -o invitation.toml"),
    (accept, "accept invitation.toml --name clinic-b --address clinic-b.example:7000"),
    (sign, "sign plan.toml"),
    (check, "check plan.toml --task mine.py:task"),
    (run, "run plan.toml --task mine.py:task"),
    (status, "status plan.toml"),
    (watch, "watch plan.toml"),
    (service, "service plan.toml --task mine.py:task -o clinic-a.service"),
    (stop, "stop plan.toml"),
    (drop, "drop plan.toml clinic-c"),
    (verify, "verify plan.toml --with clinic-a clinic-b clinic-c"),
    (disclose, "disclose plan.toml --out clinic-a"),
    (renew, "renew --address clinic-a.example:7000"),
    (replace, "replace plan.toml clinic-a-renewed.toml -o plan-2.toml"),
    (demo, "demo"),
):
    add(peer, command, f"peer {example}")
