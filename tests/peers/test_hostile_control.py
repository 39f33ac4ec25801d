"""Whatever a neighbour says beside the exchanges: handshakes, votes, numbers and records."""

from __future__ import annotations

import pytest

from .hostile import ALGORITHMS, PAIRED, in_turn
from .hostile_cases import EVERYWHERE, dealt, everywhere, played
from .hostile_control import CONTROL
from .hostile_handshake import AGREEING
from .hostile_oracles import check
from .hostile_records import RECORDS


@pytest.mark.parametrize("algorithm", in_turn(ALGORITHMS))
def test_no_vote_does_harm(tmp_path, algorithm):
    check(played(tmp_path, dealt(CONTROL, algorithm), algorithm))


@pytest.mark.parametrize("algorithm", in_turn(ALGORITHMS))
def test_no_record_does_harm(tmp_path, algorithm):
    check(played(tmp_path, dealt(RECORDS, algorithm), algorithm))


@pytest.mark.parametrize("algorithm", in_turn(PAIRED))
def test_no_handshake_does_harm(tmp_path, algorithm):
    check(played(tmp_path, dealt(AGREEING, algorithm), algorithm))


@pytest.mark.endurance
@pytest.mark.parametrize(("topology", "algorithm"), EVERYWHERE)
def test_nothing_beside_the_words_does_harm_anywhere(tmp_path, topology, algorithm):
    check(everywhere(tmp_path, (*CONTROL, *RECORDS, *AGREEING), topology, algorithm))
