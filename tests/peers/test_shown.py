"""What another end says about itself, as it is shown here."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.links.text import shown

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=400)
BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.1.0", "0.1.0"),
        ("Łódź, 京都, naïve", "Łódź, 京都, naïve"),
        ("a\nb\tc\x00", r"a\x0ab\x09c\x00"),
        ("\x1b[2J\x9b31m\x7f", r"\x1b[2J\x9b31m\x7f"),
        ("\u200e\u200f\u202a\u202e\u2066\u2069", r"\u200e\u200f\u202a\u202e\u2066\u2069"),
        ("\u2028\ud800", r"\u2028\ud800"),
    ],
)
def test_what_steers_is_written_out(text, said):
    assert shown(text) == said


@given(ANYTHING, st.integers(1, 300))
def test_nothing_that_is_shown_steers_or_is_too_long(text, most):
    said = shown(text, most)
    assert len(said) <= most
    assert not any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in said)
    assert not any(unicodedata.bidirectional(letter) in BIDI_CONTROLS for letter in said)
    said.encode()


def test_what_is_short_is_not_shortened():
    assert shown("a" * 200) == "a" * 200
    assert shown("a" * 201) == "a" * 199 + "…"
