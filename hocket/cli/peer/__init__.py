"""`hocket peer`: a federation over real links, member by member."""

from cyclopts import App

from hocket.cli.peer.again import again
from hocket.cli.peer.cards import init, renew, replace
from hocket.cli.peer.check import check
from hocket.cli.peer.demo import demo
from hocket.cli.peer.drop import drop
from hocket.cli.peer.invite import accept, invite
from hocket.cli.peer.plan import plan
from hocket.cli.peer.run import run
from hocket.cli.peer.service import service
from hocket.cli.peer.sign import sign
from hocket.cli.peer.status import status, stop
from hocket.cli.peer.verify import disclose, verify
from hocket.cli.peer.watch import watch

peer = App(
    name="peer",
    help="Solve or learn together over real links: direct, encrypted, without a server.",
    help_epilogue="Example: hocket peer init --name clinic-a --address clinic-a.example:7000",
)
peer.command(init, help_epilogue="Example: hocket peer init --name clinic-a --address clinic-a.example:7000")
peer.command(
    plan,
    help_epilogue="Example: hocket peer plan cards/*.toml --topology harary:k=3 --colluders 2 --algorithm rss-nb "
    "--delta 0.1 --anchor 0.5 --task mine.py:task -o plan.toml",
)
peer.command(again, help_epilogue="Example: hocket peer again plan.toml clinic-e.toml -o plan-2.toml")
peer.command(invite, help_epilogue="Example: hocket peer invite plan.toml -o invitation.toml")
peer.command(
    accept,
    help_epilogue="Example: hocket peer accept invitation.toml --name clinic-b --address clinic-b.example:7000",
)
peer.command(sign, help_epilogue="Example: hocket peer sign plan.toml")
peer.command(check, help_epilogue="Example: hocket peer check plan.toml --task mine.py:task")
peer.command(run, help_epilogue="Example: hocket peer run plan.toml --task mine.py:task")
peer.command(status, help_epilogue="Example: hocket peer status plan.toml")
peer.command(watch, help_epilogue="Example: hocket peer watch plan.toml")
peer.command(
    service, help_epilogue="Example: hocket peer service plan.toml --task mine.py:task -o clinic-a.service"
)
peer.command(stop, help_epilogue="Example: hocket peer stop plan.toml")
peer.command(drop, help_epilogue="Example: hocket peer drop plan.toml clinic-c")
peer.command(verify, help_epilogue="Example: hocket peer verify plan.toml --with clinic-a clinic-b clinic-c")
peer.command(disclose, help_epilogue="Example: hocket peer disclose plan.toml --out clinic-a")
peer.command(renew, help_epilogue="Example: hocket peer renew --address clinic-a.example:7000")
peer.command(
    replace, help_epilogue="Example: hocket peer replace plan.toml clinic-a-renewed.toml -o plan-2.toml"
)
peer.command(demo, help_epilogue="Example: hocket peer demo")
