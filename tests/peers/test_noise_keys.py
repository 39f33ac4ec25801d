"""Noise keys: both ends draw the same, nobody else does, and nothing can be drawn twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.errors import BadHandshake, BadInput
from hocket.links.handshake import FromSystem, Handshake, Offer, SeedEscrow
from hocket.links.keys.identity import Identity
from hocket.links.keys.noise_keys import derive, key_of, next_chain, stream
from tests.peers import reference

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())
PLAN = bytes(range(32))
ANNA, BEN = Identity.create("anna"), Identity.create("ben")


def ends(me=2, other=5, plan=PLAN, secrets=None, **kept):
    """Both ends of a link: Anna is agent `me`, Ben agent `other`."""
    secrets = secrets or SeedEscrow(1)
    anna = Handshake(ANNA, BEN.certificate_pem, plan, me, other, secrets.offer(me, other), kept.get("anna"))
    ben = Handshake(BEN, ANNA.certificate_pem, plan, other, me, secrets.offer(other, me), kept.get("ben"))
    return anna, ben


def agreed(anna, ben):
    return anna.agree(ben.nonce, ben.key(anna.nonce)), ben.agree(anna.nonce, anna.key(ben.nonce))


def test_vectors_are_what_the_reference_computes():
    assert reference.vectors() == VECTORS


@pytest.mark.parametrize("case", VECTORS["links"], ids=lambda case: f"{case['i']}-{case['j']}")
def test_published_vectors(case):
    value = {name: bytes.fromhex(text) for name, text in case.items() if isinstance(text, str)}
    keys = derive(
        value["shared"], (value["nonce_i"], value["nonce_j"]), value["plan"], (case["i"], case["j"])
    )
    assert keys == (value["chain_1"], value["once"], value["ready"])
    chain = keys.chain
    for k in (1, 2, 3):
        key, chain = key_of(chain), next_chain(chain)
        assert (chain, key) == (value[f"chain_{k + 1}"], value[f"key_{k}"])
    for draw in case["draws"]:
        for dtype in ("float64", "float32"):
            expected = [float.fromhex(number) for number in draw[dtype]]
            found = stream(bytes.fromhex(draw["key"]), draw["label"], len(expected), np.dtype(dtype))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("case", VECTORS["links"], ids=lambda case: f"{case['i']}-{case['j']}")
def test_a_handshake_arrives_at_the_vectors(case):
    value = {name: bytes.fromhex(text) for name, text in case.items() if isinstance(text, str)}
    lower, higher = (Offer(value[f"private_{end}"], value[f"nonce_{end}"]) for end in "ij")
    anna = Handshake(ANNA, BEN.certificate_pem, value["plan"], case["i"], case["j"], lower)
    ben = Handshake(BEN, ANNA.certificate_pem, value["plan"], case["j"], case["i"], higher)
    for keys in agreed(anna, ben):
        assert keys == (value["chain_1"], value["once"], value["ready"])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 100), st.integers(101, 10_000))
def test_both_ends_agree_and_the_escrow_can_replay(seed, lower, higher):
    secrets = SeedEscrow(seed)
    anna, ben = ends(higher, lower, secrets=secrets)
    mine, theirs = agreed(anna, ben)
    assert mine == theirs == secrets.keys(PLAN, lower, higher)
    anna.check_ready(mine, ben.ready(theirs))
    ben.check_ready(theirs, anna.ready(mine))


def test_every_run_has_other_noise():
    first, second = (agreed(*ends(secrets=FromSystem()))[0] for _ in range(2))
    assert not {*first} & {*second}


@pytest.mark.parametrize("change", [{"me": 3}, {"other": 6}, {"plan": bytes(32)}, {"secrets": SeedEscrow(2)}])
def test_keys_belong_to_one_plan_pair_and_run(change):
    usual, other = agreed(*ends())[0], agreed(*ends(**change))[0]
    assert not {*usual} & {*other}


def test_the_two_ends_prove_different_things():
    anna, ben = ends()
    keys, _ = agreed(anna, ben)
    with pytest.raises(BadHandshake, match="ben has other noise keys"):
        anna.check_ready(keys, anna.ready(keys))


@pytest.mark.parametrize("part", ["public", "kept", "signature"])
def test_a_changed_bit_is_not_signed(part):
    anna, ben = ends()
    key = ben.key(anna.nonce)
    data = bytearray(getattr(key, part))
    data[-1] ^= 1
    with pytest.raises(BadHandshake, match="the noise key of ben is not signed by its certificate"):
        anna.agree(ben.nonce, key._replace(**{part: bytes(data)}))


def test_a_key_for_another_run_link_or_plan_is_refused():
    anna, ben = ends()
    for stranger in (
        ends(secrets=SeedEscrow(9))[1].key(ends(secrets=SeedEscrow(9))[0].nonce),
        ends(other=6)[1].key(anna.nonce),
        ends(plan=bytes(32))[1].key(anna.nonce),
        anna.key(ben.nonce),  # Anna's own, sent back to her
    ):
        with pytest.raises(BadHandshake, match="not signed by its certificate for this plan, run and link"):
            anna.agree(ben.nonce, stranger)


def test_lengths_and_degenerate_keys_are_refused():
    anna, ben = ends()
    key = ben.key(anna.nonce)
    with pytest.raises(BadHandshake, match="wrong length"):
        anna.agree(b"", key)
    with pytest.raises(BadHandshake, match="wrong length"):
        anna.agree(ben.nonce, key._replace(public=key.public[:-1]))
    # The point at zero makes every shared secret zero: correctly signed, and refused all the same.
    zero = bytes(32)
    signature = BEN.sign(ben._signed(ben.me, anna.nonce, zero, zero), b"hocket/noise/1 key")
    with pytest.raises(BadHandshake, match="no key of X25519"):
        anna.agree(ben.nonce, key._replace(public=zero, kept=zero, signature=signature))


def test_kept_noise_stays_the_same_or_is_missed():
    kept = bytes(range(1, 33))
    anna, ben = ends(anna=kept, ben=kept)
    for keys in agreed(anna, ben):
        assert keys.once == kept
    fresh = agreed(*ends())[0]
    assert fresh.chain == agreed(anna, ben)[0].chain
    for kept_by, words in (
        ({"anna": kept}, "ben no longer has the noise"),
        ({"ben": kept}, "ben has kept, and this member has not, the noise"),
        ({"anna": kept, "ben": bytes(32)}, "ben has another key"),
    ):
        anna, ben = ends(**kept_by)
        with pytest.raises(BadHandshake, match=words):
            anna.agree(ben.nonce, ben.key(anna.nonce))


@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 53), (np.float32, 24)])
def test_noise_is_uniform_and_as_fine_as_its_type(dtype, bits):
    numbers = stream(bytes(32), 1, 100_000, dtype)
    assert numbers.dtype == dtype
    assert np.abs(numbers).max() <= 1
    # Five standard errors of the mean and of the second moment of a uniform draw.
    assert abs(numbers.mean()) < 5 / np.sqrt(3e5)
    assert abs((numbers.astype(float) ** 2).mean() - 1 / 3) < 5 * np.sqrt(4 / 45 / 1e5)
    fraction, _ = np.frexp(numbers[np.abs(numbers) >= 0.5])
    last_bits = (fraction * 2.0**bits).astype(np.int64) & 3
    assert np.bincount(last_bits).min() > 0.2 * len(last_bits)


def test_kinds_of_noise_are_independent_and_longer_draws_begin_alike():
    first, second = (stream(bytes(32), label, 1000, np.float64) for label in (1, 2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.15
    np.testing.assert_array_equal(stream(bytes(32), 1, 10, np.float64), first[:10])


def test_other_types_are_refused():
    with pytest.raises(BadInput, match="float16 cannot be drawn; use float64 or float32"):
        stream(bytes(32), 1, 1, np.float16)
