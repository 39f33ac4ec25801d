"""What the ends of a link say about themselves: versions that must agree, and text that is not to be trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hocket import __version__
from hocket.links.events import Joined, Lost
from hocket.links.line import Introduction, Stamp

from .ends import BIRCH, end, first_of, listener, play, to_ash
from .federation_case import free_ports

STAMP = Stamp(1, "0123456789abcdef")
ASH = Introduction("ash", "00", STAMP, "1.2.3")
FAIR = {
    "hocket-from": "birch",
    "hocket-to": "ash",
    "hocket-plan": "00",
    "hocket-version": "1.2.9",
    "hocket-epoch": "7",
    "hocket-instance": "f" * 16,
}


def test_what_fits_is_not_complained_of():
    assert ASH.complaint("birch", FAIR) is None
    assert Stamp.read(FAIR) == (7, "f" * 16)
    assert ASH.complaint("ash", dict(ASH.to("ash"))) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"hocket-version": "1.3.0"}, "birch has hocket 1.3.0, and ash has 1.2.3; install the same version on both"),
        ({"hocket-version": "2.2.3"}, "birch has hocket 2.2.3"),
        ({"hocket-version": ""}, "birch has hocket , and"),
        ({"hocket-version": "9\x1b[2J" * 99}, r"birch has hocket 9\x1b[2J9\x1b[2J"),
        ({"hocket-from": "b\u202erch\n"}, r"with the name b\u202erch\x0a;"),
        ({"hocket-to": "fir\x07"}, r"wanted to speak with fir\x07, and this is ash"),
        ({"hocket-plan": "\x9b31m"}, r"run different plans (\x9b31m… and 00…); stop"),
        ({"hocket-plan": "ab" * 32}, "birch and ash run different plans (povor-povor-povor… and 00…); stop"),
        ({"hocket-epoch": "-1"}, "does not say which of its processes"),
        ({"hocket-epoch": "9" * 5000}, "does not say which of its processes"),
        ({"hocket-instance": "f" * 15}, "does not say which of its processes"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_words_that_steer_nothing(wrong, said):
    complaint = ASH.complaint("birch", FAIR | wrong)
    assert complaint is not None
    assert said in complaint
    assert len(complaint) <= 200
    assert complaint.isprintable()


@pytest.mark.parametrize(
    ("version", "kind"),
    [("99.0.1", Lost), (__version__.rpartition(".")[0] + ".99", Joined)],
    ids=["another minor version", "another patch level"],
)
def test_versions_that_differ_are_refused_or_reported(version, kind):
    address = f"127.0.0.1:{free_ports(1)[0]}"

    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        birch.introduction = replace(birch.introduction, version=version)  # its dialling has not begun yet
        event = await first_of(ash, kind)
        if kind is Lost:
            said = f"birch has hocket {version}, and ash has {__version__}; install the same version on both"
            assert event.reason == (await first_of(birch, Lost)).reason == said
            assert not any(isinstance(ash.events.get_nowait(), Joined) for _ in range(ash.events.qsize()))
        else:
            assert event.version == version
        await birch.close()
        await ash.close()

    play(scene)
