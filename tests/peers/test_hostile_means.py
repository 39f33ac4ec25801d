"""What the tests of hostile means look for is found where it is: forged words, masks left out, words told twice."""

from __future__ import annotations

import pytest

from hocket.federation.runtime import convergence as joint_means
from hocket.federation.runtime.convergence import JointMeans, told_after
from hocket.links.journals.journal import Journal

from .hostile import SUMMED, in_turn
from .hostile_cases import dealt, everywhere, played
from .hostile_mean_oracles import told_by
from .hostile_means import MEANS
from .hostile_oracles import broken, check
from .hostile_stage import TOPOLOGIES

NAMED = {one.name: one for one in MEANS}


@pytest.mark.parametrize("algorithm", in_turn(SUMMED))
def test_no_mean_does_harm(tmp_path, algorithm):
    check(played(tmp_path, dealt(MEANS, algorithm), algorithm))


@pytest.mark.endurance
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("algorithm", SUMMED)
def test_no_mean_does_harm_anywhere(tmp_path, topology, algorithm):
    check(everywhere(tmp_path, MEANS, topology, algorithm))


@pytest.mark.parametrize("algorithm", in_turn(SUMMED))
def test_who_tells_its_states_as_agreed_harms_nobody_and_all_come_to_one_mean(tmp_path, algorithm):
    [stage] = played(tmp_path, [("C5", NAMED["means as agreed"])], algorithm)
    assert not broken(stage)
    due = told_after(stage.federation.plan)
    assert len(due) == 5
    for one in stage.honest.values():
        assert one.finished is not None
        assert {k: len(words) for k, words in told_by(one).items()} == dict.fromkeys(due, 1)
        assert one.status["measured"]["joint_round"] == due[-1]
    assert len({one.status["measured"]["joint_movement"] for one in stage.honest.values()}) == 1


def test_words_that_nobody_signed_are_noticed_where_they_are_believed(tmp_path, monkeypatch):
    """A member that takes them for its own even says them; and one that keeps another's is found by its journal."""
    with monkeypatch.context() as patched:
        patched.setattr(JointMeans, "_is_signed", lambda *_: True)
        [stage] = played(tmp_path / "said", [("K4", NAMED["means in others' names"])], "persistent")
    assert any("under all its masks" in words for words in broken(stage))
    [stage] = played(tmp_path / "kept", [("K4", NAMED["means as agreed"])], "persistent")
    assert not broken(stage)
    ash = stage.honest["ash"].member
    with (
        Journal.open(ash.folder.journal, ash.plan.run_hash) as journal,
        journal.state_sums.database.writing() as write,
    ):
        write.execute("UPDATE state_sums SET masked = ? WHERE member = 'birch' AND round = 4", (bytes(96),))
    assert broken(stage) == ["ash: it keeps a word for the mean after round 4 that birch never said"]


def test_a_mask_left_out_of_a_mean_is_noticed(tmp_path, monkeypatch):
    """Both ends of one link between honest members leave it out, so that the sum is what it was."""

    def without(role, streams, count, k, exchange, point):
        masks = usual(role, streams, count, k, exchange, point)
        spared = {0: 1, 1: 0}.get(role.index)
        return [mask for other, mask in zip(role.present, masks, strict=True) if other != spared]

    usual = joint_means.link_masks
    with monkeypatch.context() as patched:
        patched.setattr(joint_means, "link_masks", without)
        [stage] = played(tmp_path, [("K4", NAMED["means as agreed"])], "persistent")
    assert all(one.finished is not None for one in stage.honest.values())
    assert any("under all its masks" in words for words in broken(stage))


def test_two_words_under_one_mask_are_noticed(tmp_path, monkeypatch):
    """Software that does not look at its disk before it tells its states again, after a crash."""
    usual = JointMeans.say
    turns = {"told": 0}

    async def again(self, k, before, after, role, streams):
        turns["told"] += 1
        await usual(self, k, before + 0.001 * turns["told"], after, role, streams)

    with monkeypatch.context() as patched:
        patched.setattr(JointMeans, "say", again)
        [stage] = played(tmp_path, [("K4", NAMED["means as agreed"])], "persistent")
    assert any("under all its masks" in words for words in broken(stage))
    one = stage.honest["ash"]
    k, [word] = next(iter(told_by(one).items()))
    lie = next(said for said in one.means if word in said.message)
    one.means.append(lie._replace(message=lie.message.replace(word, word[::-1])))
    assert any(f"2 different words for the mean after round {k}" in words for words in broken(stage))
