"""Digests as words that two people can read to each other over the telephone."""

from __future__ import annotations

CONSONANTS = "bdfghjklmnprstvz"
VOWELS = "aiou"
SPOKEN_BYTES = 16
"""Bytes that are spoken: 128 bits, more than anybody can search for a certificate that sounds the same."""


def spoken(digest: bytes) -> str:
    """The first 16 bytes of a digest as eight words of five letters, each word two bytes.
    Compare it by voice or in person; whoever forwards cards and plans could also forward a false fingerprint.

    >>> spoken(bytes(range(16)))
    'babad-bamag-bibaj-bimal-boban-bomar-bubat-bumaz'
    """
    pairs = zip(digest[0:SPOKEN_BYTES:2], digest[1:SPOKEN_BYTES:2], strict=True)
    return "-".join(_word(high << 8 | low) for high, low in pairs)


def _word(number: int) -> str:
    """16 bits as consonant, vowel, consonant, vowel, consonant: 4, 2, 4, 2 and 4 bits."""
    return "".join(
        letters[number >> shift & len(letters) - 1]
        for letters, shift in (
            (CONSONANTS, 12),
            (VOWELS, 10),
            (CONSONANTS, 6),
            (VOWELS, 4),
            (CONSONANTS, 0),
        )
    )
