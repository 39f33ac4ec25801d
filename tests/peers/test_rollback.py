"""A member that is put back to an earlier state says no second word for a round: it goes on alike, or it stops."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest

from hocket.algorithms import RssLb
from hocket.errors import HocketError
from hocket.federation.workloads.needs import needs
from hocket.links.handshake import FromSystem
from hocket.links.wire import Kind

from .hostile import ALGORITHMS, Deviation, Script, in_turn
from .hostile_oracles import said_twice
from .hostile_scripts import opened
from .hostile_stage import Stage, federation_of, play
from .rollback_case import LOST, OLDER, VICTIM, Restored, RolledBack, scene, whole_disk

HARMLESS = Deviation("nothing", "a neighbour that does nothing wrong", Script)
TOLD = ("backup", "is gone", "was signed here")
"""What an operator is told who has put old files back, or has lost them."""


def scenes(
    folder: Path,
    algorithm: str,
    cases: Iterable[tuple[Restored, int]],
    *,
    rounds: int = 11,
    last: int = 8,
    hides: bool = False,
    disk: bool = True,
    harmless: bool = False,
) -> list[RolledBack]:
    """All cases, with and without a restart of an honest neighbour; files are copied back, or the disk goes back."""
    federation = federation_of(folder / "plan", "K4", algorithm, colluders=1, rounds=rounds)
    stages = [
        RolledBack(
            federation,
            HARMLESS if harmless else scene(last, hides=hides, together=algorithm == "joint-average"),
            folder / f"{place}-{too}",
            secrets=FromSystem(),
            restored=restored,
            last=last,
            depth=depth,
            neighbour_too=too,
            disk=disk,
        )
        for place, (restored, depth) in enumerate(cases)
        for too in (False, True)
        if disk or not too  # a copy of the neighbour's home would be found out as well
    ]
    with whole_disk() if disk else nullcontext():
        return [stage for stage in play(stages) if isinstance(stage, RolledBack)]


def check(stages: Iterable[RolledBack]) -> None:
    found = [
        f"{stage.restored.name if stage.restored else ''}, {stage.depth} rounds old, "
        f"{'neighbour restarted' if stage.neighbour_too else 'neighbour stays'}: {words}"
        for stage in stages
        for words in harm(stage)
    ]
    assert not found, f"{len(found)} times:\n" + "\n".join(found)


def harm(stage: RolledBack) -> Iterable[str]:
    """Two words for a round, or an end that does not tell the operator what happened."""
    for name, one in stage.honest.items():
        algorithm = one.member.role().algorithm
        by_receiver = (
            isinstance(algorithm, RssLb) or needs(algorithm).sums
        )  # numbers go to some, and to others none
        yield from (f"{name}: {words}" for words in said_twice(one, by_receiver=by_receiver))
        if one.error is not None and not isinstance(one.error, HocketError):
            yield f"{name} crashed with {type(one.error).__name__}: {one.error}"
    victim, loses = stage.honest[VICTIM], stage.restored is not None and stage.restored.loses
    if not victim.restarts:
        yield f"it never came to round {stage.last}: {victim.ended}"
    if victim.error is not None and not any(word in str(victim.error) for word in TOLD + stage.coalition):
        yield f"names neither backups nor {stage.coalition[0]}, who deviates: {victim.error}"
    if stage.disk and (not loses or stage.depth == 0):
        if victim.error is not None and stage.coalition[0] not in str(victim.error):
            yield f"stopped although nothing was lost: {victim.error}"
        if stage.deviation is HARMLESS and victim.finished is None:
            yield f"did not finish although nothing was lost: {victim.ended}"
    if victim.error is None and victim.finished is None and not victim.status.get("waiting_for"):
        yield "waits, and does not say for whom"


@pytest.mark.parametrize("algorithm", in_turn(ALGORITHMS))
def test_a_member_put_back_a_round_says_nothing_twice(tmp_path, algorithm):
    check(scenes(tmp_path, algorithm, [(OLDER[0], 1)]))


@pytest.mark.slow
@pytest.mark.parametrize("disk", [True, False], ids=["disk", "copies"])
def test_a_member_put_back_some_rounds_says_nothing_twice(tmp_path, disk):
    cases = [(OLDER[0], 3), *((restored, 1) for restored in OLDER)]
    check(scenes(tmp_path, "persistent", cases, disk=disk))


@pytest.mark.slow
@pytest.mark.parametrize("harmless", [True, False], ids=["harmless", "hostile"])
def test_a_member_killed_without_any_loss_goes_on(tmp_path, harmless):
    """Beside a hostile neighbour it may also stop, and name it."""
    check(
        scenes(
            tmp_path, "persistent", [(restored, 0) for restored in (OLDER[0], OLDER[2])], harmless=harmless
        )
    )
    kept = [(restored, 7) for restored in LOST if not restored.loses]
    check(scenes(tmp_path / "kept", "persistent", kept, harmless=harmless))


@pytest.mark.parametrize("algorithm", in_turn(["persistent", "rss-lb"]))
def test_whatever_is_lost_nothing_is_said_twice(tmp_path, algorithm):
    check(scenes(tmp_path, algorithm, [(restored, 7) for restored in LOST if restored.loses]))


def test_a_neighbour_that_tells_no_record_gains_nothing(tmp_path):
    check(scenes(tmp_path, "rss-nb", [(OLDER[0], 1), (OLDER[0], 2)], hides=True))


def test_a_word_that_was_lost_is_said_again_after_a_restart(tmp_path):
    """Birch goes on to round 9, its word of round 8 never arrives at ash, and then birch is started again."""
    federation = federation_of(tmp_path / "plan", "K4", "rss-nb", colluders=1, rounds=11)
    stage = Stage(federation, HARMLESS._replace(restart=("birch", 8)), tmp_path / "stage")
    board = stage.board
    assert board is not None
    usual, lost = board.carry, []

    def carry(sender: str, receiver: str, message: bytes) -> None:
        frame = opened(message)
        is_it = (sender, receiver, frame.kind, frame.round) == ("birch", "ash", Kind.MESSAGE, 8)
        if is_it and not lost:
            lost.append(message)
        else:
            usual(sender, receiver, message)

    with mock.patch.object(board, "carry", carry):
        play([stage])
    assert lost
    assert {name: one.ended for name, one in stage.honest.items()} == dict.fromkeys(stage.honest, "finished")


@pytest.mark.endurance
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("hides", "disk"), [(False, True), (True, True), (False, False)], ids=str)
def test_however_old_the_copy_is(tmp_path, algorithm, hides, disk):
    cases = [(restored, depth) for depth in range(21) for restored in OLDER]
    check(scenes(tmp_path, algorithm, cases, rounds=26, last=22, hides=hides, disk=disk))
