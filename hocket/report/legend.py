"""What the words on a page mean: only those that stand on it, so that nobody has to look elsewhere."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple


class Term(NamedTuple):
    """A word, how it is found in a text, and what it means."""

    word: str
    pattern: str
    meaning: str


TERMS = (
    Term(
        "gradient",
        r"gradient",
        "Which way, and how strongly, a member's own data pull the model. It is made from the data: whoever knows it "
        "exactly can often infer records.",
    ),
    Term(
        "objective",
        r"objective",
        "What a member's data make of every model: how badly it fits them. Its gradient says how that changes.",
    ),
    Term(
        "coalition",
        r"coalition|collu",
        "Members who follow the rules but pool all that they see, in order to learn about the others.",
    ),
    Term(
        "±",
        "±",
        "How far off a guess typically is, per coordinate: the standard deviation of what is not known. Zero is "
        "exactly.",
    ),
    Term(
        "known to 11 %",
        r"known to|as good as unknown",
        "The ± is 11 % of a typical gradient's size. As good as unknown: it is that size or more, so the guess is no "
        "better than none.",
    ),
    Term(
        "estimate",
        r"estimat",
        "Worked out from the plan for noise with a bell curve, once for gradients that stay the same and once for each "
        "form of the objectives that is declared or, in a run, is theirs; the smaller number is shown. Not a promise: "
        "where no form is declared, whoever knows it may do better.",
    ),
    Term(
        "theorem",
        r"[Tt]heorem",
        "Proved, whatever the listener computes, for the objectives and threats that it names; and for nothing else.",
    ),
    Term(
        "hidden",
        r"\bhid(?:e|es|den)\b",
        "No attack that we ship and no declared form of the objectives gives it away.",
    ),
    Term(
        "only in sums with others",
        r"in sums?\b|only sums|sums with others",
        "The total over several members can be known, but not who contributed which part of it.",
    ),
    Term(
        "averaging",
        r"averag|ever better|in time",
        "Fresh noise in every round: the mean over many rounds shows what lies under it, the longer the better.",
    ),
    Term(
        "P1",
        r"\bP1\b",
        "No single honest member's objective can be told from what the coalition sees.",
    ),
    Term(
        "P2",
        r"\bP2\b",
        "Nor can the sum over some of the honest members; only the sum over all of them is known.",
    ),
    Term(
        "tap",
        r"\btap",
        "Somebody reads every message in the network, beside what the coalition sees by itself.",
    ),
    Term(
        "anchor",
        r"\banchor",
        "Noise that is drawn once and kept for all rounds and runs, so that averaging does not remove it.",
    ),
    Term(
        "the sum attack",
        r"sum attack",
        "Noise that cancels between members in every round leaves the sum of their gradients exact; from enough rounds "
        "follows everything but the slopes of each one's objective.",
    ),
    Term(
        "slope",
        r"\bslopes?\b",
        "The constant part of a gradient, the same wherever the model stands; the rest is curvature.",
    ),
)


def legend_of(text: str) -> tuple[Term, ...]:
    """The terms that stand in a text.

    >>> [term.word for term in legend_of("P1 holds by Theorem 2, even with a tap.")]
    ['theorem', 'P1', 'tap']
    """
    return tuple(term for term in TERMS if re.search(term.pattern, text))


def visible(html: str) -> str:
    """What people can read of a page: no style, no script, no tags."""
    html = re.sub(r"<(style|script|noscript)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))
