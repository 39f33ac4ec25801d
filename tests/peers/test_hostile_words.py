"""Whatever a neighbour says in the exchanges: nobody tells more than planned, crashes, hangs or grows."""

from __future__ import annotations

import pytest

from .hostile import ALGORITHMS, in_turn
from .hostile_cases import EVERYWHERE, dealt, everywhere, played
from .hostile_oracles import check
from .hostile_words import WORDS


@pytest.mark.parametrize("algorithm", in_turn(ALGORITHMS))
def test_no_word_does_harm(tmp_path, algorithm):
    check(played(tmp_path, dealt(WORDS, algorithm), algorithm))


@pytest.mark.endurance
@pytest.mark.parametrize(("topology", "algorithm"), EVERYWHERE)
def test_no_word_does_harm_anywhere(tmp_path, topology, algorithm):
    check(everywhere(tmp_path, WORDS, topology, algorithm))
