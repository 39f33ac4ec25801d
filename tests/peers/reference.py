"""The noise of a link once more, by the book and without any library: what vectors.json was made with.

X25519 is RFC 7748, HKDF is RFC 5869, ChaCha20 is RFC 8439. To make the vectors again:

    python -m tests.peers.reference > tests/peers/vectors.json
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from fractions import Fraction

PRIME = 2**255 - 19
WORD = 0xFFFFFFFF


def x25519(private: bytes, public: bytes) -> bytes:
    scalar = int.from_bytes(private, "little")
    scalar = scalar & ~7 & ~(1 << 255) | 1 << 254
    u = int.from_bytes(public, "little") & ~(1 << 255)
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in reversed(range(255)):
        if scalar >> bit & 1:
            x2, z2, x3, z3 = _step(u, x3, z3, x2, z2)
            x2, z2, x3, z3 = x3, z3, x2, z2
        else:
            x2, z2, x3, z3 = _step(u, x2, z2, x3, z3)
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little")


def _step(u, x2, z2, x3, z3):
    """Double the first point, add both: their difference is always u."""
    plus, minus = (x2 + z2) ** 2, (x2 - z2) ** 2
    across, along = (x3 - z3) * (x2 + z2), (x3 + z3) * (x2 - z2)
    double = plus * minus, (plus - minus) * (plus + 121665 * (plus - minus))
    total = (across + along) ** 2, u * (across - along) ** 2
    return (*(value % PRIME for value in double), *(value % PRIME for value in total))


def hmac(key: bytes, message: bytes) -> bytes:
    inner, outer = (bytes(byte ^ pad for byte in key.ljust(64, b"\0")) for pad in (0x36, 0x5C))
    return hashlib.sha256(outer + hashlib.sha256(inner + message).digest()).digest()


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    return hmac(hmac(salt, secret), info + b"\x01")


def chacha20(key: bytes, nonce: bytes, length: int) -> bytes:
    out = b""
    while len(out) < length:
        counter = struct.pack("<I", len(out) // 64)
        first = list(struct.unpack("<16I", b"expand 32-byte k" + key + counter + nonce))
        state = list(first)
        for _ in range(10):
            for place in range(4):
                _quarter(state, place, 4 + place, 8 + place, 12 + place)
            for place in range(4):
                _quarter(state, place, 4 + (place + 1) % 4, 8 + (place + 2) % 4, 12 + (place + 3) % 4)
        out += struct.pack("<16I", *(a + b & WORD for a, b in zip(state, first, strict=True)))
    return out[:length]


def _quarter(state, a, b, c, d):
    for at, by, turned, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[at] = state[at] + state[by] & WORD
        mixed = state[turned] ^ state[at]
        state[turned] = (mixed << turn | mixed >> 32 - turn) & WORD


def numbers(key: bytes, label: int, count: int, bits: int) -> list[float]:
    """Signed words of 64 or 32 bits as fractions of 2^63 or 2^31, rounded to the nearest float of that size."""
    size = bits // 8
    data = chacha20(key, struct.pack("<I", label) + bytes(8), count * size)
    words = [int.from_bytes(data[at : at + size], "little", signed=True) for at in range(0, len(data), size)]
    return [_rounded(Fraction(word, 1 << bits - 1), bits) for word in words]


def _rounded(value: Fraction, bits: int) -> float:
    if bits == 64:
        return value.numerator / value.denominator  # Python rounds a quotient of integers correctly
    if value == 0:
        return 0.0
    # A float32 has 24 significant bits; a word of 32 never comes near its smallest exponent.
    scale = Fraction(2) ** (24 - abs(value.numerator).bit_length() + value.denominator.bit_length() - 1)
    return float(round(value * scale) / scale)


def link(case: dict) -> dict:
    """All that two ends agree on, from their secrets."""
    private_i, private_j = bytes.fromhex(case["private_i"]), bytes.fromhex(case["private_j"])
    basepoint = (9).to_bytes(32, "little")
    shared = x25519(private_i, x25519(private_j, basepoint))
    assert shared == x25519(private_j, x25519(private_i, basepoint))
    salt = bytes.fromhex(case["nonce_i"] + case["nonce_j"])
    context = bytes.fromhex(case["plan"]) + struct.pack("<II", case["i"], case["j"])
    chain, once, ready = (
        hkdf(shared, salt, b"hocket/noise/1 " + what + context) for what in (b"chain", b"once", b"ready")
    )
    found = {"shared": shared, "chain_1": chain, "once": once, "ready": ready}
    for k in (1, 2, 3):
        found[f"key_{k}"] = hmac(chain, b"hocket/noise/1 round")
        chain = hmac(chain, b"hocket/noise/1 next")
        found[f"chain_{k + 1}"] = chain
    return {name: value.hex() for name, value in found.items()}


def draws(key: str, label: int) -> dict:
    """The first numbers under a key, as hexadecimal floats, which lose nothing."""
    data = bytes.fromhex(key)
    return {
        "key": key,
        "label": label,
        "float64": [number.hex() for number in numbers(data, label, 12, 64)],
        "float32": [number.hex() for number in numbers(data, label, 20, 32)],
    }


def vectors() -> dict:
    """Everything in vectors.json."""

    def secret(name: str) -> str:
        return hashlib.sha256(b"hocket test vector " + name.encode()).hexdigest()

    cases = []
    for number, (i, j) in enumerate([(0, 1), (2, 7), (3, 1_000_000)]):
        case = {"i": i, "j": j} | {
            name: secret(f"{name} {number}")
            for name in ("private_i", "private_j", "nonce_i", "nonce_j", "plan")
        }
        agreed = link(case)
        cases.append(
            case
            | agreed
            | {"draws": [draws(agreed["key_2"], label) for label in (1, 2)] + [draws(agreed["once"], 5)]}
        )
    return {"noise": 1, "links": cases}


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    sys.stdout.write("\n")
