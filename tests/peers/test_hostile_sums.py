"""Whatever a neighbour says in a sum: nobody gives its numbers away, crashes, hangs or grows."""

from __future__ import annotations

import pytest

from hocket.federation.runtime import secure_sum as masked_sum

from .hostile import Deviation, Script
from .hostile_cases import dealt, everywhere, played
from .hostile_oracles import broken, check
from .hostile_stage import TOPOLOGIES
from .hostile_sums import SUMS, SUMS_ONLY

[ALGORITHM] = SUMS_ONLY


@pytest.mark.slow
def test_no_sum_does_harm(tmp_path):
    check(played(tmp_path, dealt(SUMS, ALGORITHM), ALGORITHM))


@pytest.mark.endurance
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_no_sum_does_harm_anywhere(tmp_path, topology):
    check(everywhere(tmp_path, SUMS, topology, ALGORITHM))


HONEST = Deviation("honest", "takes part as agreed", Script, algorithms=SUMS_ONLY)


def test_who_takes_part_as_agreed_harms_nobody(tmp_path):
    [stage] = played(tmp_path, [("C5", HONEST)], ALGORITHM)
    assert not broken(stage)
    assert all(one.finished is not None for one in stage.honest.values())


def test_a_mask_less_than_planned_is_noticed(tmp_path, monkeypatch):
    """What the other tests look for: software that leaves out the mask of one link between honest members."""

    def without(role, streams, count, k, exchange, point):
        masks = usual(role, streams, count, k, exchange, point)
        spared = {0: 1, 1: 0}.get(role.index)
        return [mask for other, mask in zip(role.present, masks, strict=True) if other != spared]

    usual = masked_sum.link_masks
    stages = []
    with monkeypatch.context() as patched:
        patched.setattr(masked_sum, "link_masks", without)
        stages = played(tmp_path, [("K4", HONEST)], ALGORITHM)
    [stage] = stages
    assert all(one.finished is not None for one in stage.honest.values())  # both ends leave it out
    assert any("not its own under all its masks" in words for words in broken(stage))
