"""Other doors to the numbers of `hk.certify`, whose cells are played: with any option changed, or any two, the command
and a plan of noise are refused, or print what `hk.certify` says of the very same question."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import hocket as hk
from hocket.claims import NOISE_ON
from hocket.cli.certify import certify as certify_command
from hocket.errors import HocketError
from hocket.privacy import plan_certificate
from tests.claims.options import parameters

Ways = list[tuple[Any, Any]]
RING = hk.Network.cycle(5)
COMMAND: dict[str, tuple[str | None, Ways]] = {
    "topology": (None, [("complete:4", hk.Network.complete(4)), ("star:5", hk.Network.star(5))]),
    "edges": (None, []),
    "algorithm": (
        None,
        [(one, one) for one in ("certified-rss-nb", "rss-nb", "dgd", "joint-average", "private-dgd")],
    ),
    "colluders": ("colluders", [(0, 0), (2, 2)]),
    "coalition": ("coalition", [("0", [0]), ("0,3", [0, 3])]),
    "sigma": ("sigma", [("0.3", 0.3), ("1,2,1.5,1,0.5", [1, 2, 1.5, 1, 0.5])]),
    "independent": ("independent", [(0.0, 0.0), (2.0, 2.0)]),
    "persistent": ("persistent", [(1.0, 1.0)]),
    "move": ("move", [("1,2,.3", (1, 2, [0.3])), ("1,2,.3;.1", (1, 2, [0.3, 0.1]))]),
    "shift": ("shift", [("1:-.3,2:.3", {1: [-0.3], 2: [0.3]})]),
    "transfer": ("transfer", [(0.5, 0.5)]),
    "sensitivity": ("sensitivity", [(0.1, 0.1)]),
    "records": ("records", [(2, 2)]),
    "rounds": ("rounds", [(None, None), (9, 9)]),
    "step": ("step", [("0.1", hk.Constant(0.1)), ("1,4,1", hk.Power(1.0, 4.0, 1.0))]),
    "rate": ("rate", [(0.3, 0.3)]),
    "runs": ("runs", [(2, 2)]),
    "kept": ("kept", [(True, True)]),
    "leavers": ("leavers", [("3", [3])]),
    "delta": (None, [(1e-9, None)]),
}
"""By option: what `hk.certify` calls it, and values as they are typed and as Python has them."""
PLAN: dict[str, list[Any]] = {
    "networks": [hk.Network.complete(4), [hk.Network.star(5), RING]],
    "algorithm": ["certified-rss-nb", "rss-nb", "dgd"],
    "epsilon": [0.2, 8.0],
    "delta": [1e-9],
    "colluders": [0, 2],
    "transfer": [0.5],
    "sensitivity": [None, 0.1],
    "clip": [0.7],
    "rounds": [None, 9],
    "runs": [2],
    "rate": [0.3],
    "slack": [0.5],
    "per_link": [True, "auto"],
}
RELATIONS = {"move", "shift", "transfer", "sensitivity"}


def changes(table: dict[str, list[Any]], *, two: bool = True) -> Iterator[dict[str, Any]]:
    """Nothing, every option with every value, and every two of them."""
    each = [(name, value) for name, values in table.items() for value in values]
    yield {}
    yield from ({name: value} for name, value in each)
    if two:
        yield from (dict(pair) for pair in itertools.combinations(each, 2) if pair[0][0] != pair[1][0])


def test_every_option_of_both_has_values():
    assert {*inspect.signature(certify_command).parameters} == {*COMMAND}
    assert {*parameters(plan_certificate)} == {*PLAN}


@pytest.mark.parametrize("key", [*NOISE_ON])
def test_the_command_prints_what_certify_says(key):
    assert printed(key, two=False) > 8


@pytest.mark.endurance
@pytest.mark.parametrize("key", [*NOISE_ON])
def test_the_command_prints_what_certify_says_under_any_two_options(key):
    assert printed(key, two=True) > 100


def printed(key: str, *, two: bool) -> int:
    """How many certificates the command printed; each is that of `hk.certify`."""
    count = 0
    for changed in changes({name: ways for name, (_, ways) in COMMAND.items()}, two=two):
        typed = {"topology": "cycle:5", "algorithm": key, "colluders": 1, "independent": 0.5, "rounds": 4}
        typed |= {name: way[0] for name, way in changed.items()}
        asked = {"colluders": 1, "independent": 0.5, "rounds": 4, "sigma": 1.0}
        asked |= {COMMAND[name][0]: way[1] for name, way in changed.items() if COMMAND[name][0] is not None}
        if not RELATIONS & {*changed}:
            typed["sensitivity"] = asked["sensitivity"] = 1.0
        if "coalition" in changed and "colluders" not in changed:
            typed["colluders"] = None
            del asked["colluders"]
        network = changed["topology"][1] if "topology" in changed else RING
        subject = changed["algorithm"][1] if "algorithm" in changed else key
        try:
            found = hk.certify(network, subject, **asked)
        except HocketError:
            with pytest.raises(HocketError):
                certify_command(**typed)
            continue
        answer = certify_command(**typed)
        assert answer.data["mu"] == (found.mu if found.holds else None), changed
        if not found.holds:
            assert len(answer.words) == 1, changed
            continue
        count += 1
        delta = typed.get("delta", 1e-5)
        assert f"μ = {found.mu:.6g}, ε = {found.epsilon(delta):.6g} at δ = {delta:g}" in str(answer.words[2])
    return count


@pytest.mark.parametrize("key", [*NOISE_ON])
def test_a_plan_of_noise_keeps_its_goal(key):
    assert kept_goals(key, changes(PLAN, two=False)) > 8


@pytest.mark.endurance
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("key", [*NOISE_ON])
def test_a_plan_of_noise_keeps_its_goal_under_any_two_options(key):
    assert kept_goals(key, changes(PLAN)) > 60


def kept_goals(key: str, some: Iterable[dict[str, Any]]) -> int:
    """How many plans there were; each gives no more than the ε that was asked for."""
    planned = 0
    for changed in some:
        asked = {"networks": RING, "algorithm": key, "epsilon": 1.0, "delta": 1e-6, "colluders": 1}
        moves = {"transfer", "clip"} & {*changed}
        asked |= {"sensitivity": None if moves else 1.0, "rounds": 4} | changed
        try:
            plan = plan_certificate(**asked)
        except HocketError:
            continue
        planned += 1
        size = 2 * asked["clip"] if "clip" in asked else asked["sensitivity"]
        hidden = {"transfer": asked["transfer"]} if "transfer" in asked else {"sensitivity": size}
        found = hk.certify(
            plan.network,
            asked["algorithm"],
            sigma=plan.by_link,
            independent=plan.independent,
            **hidden,
            **{name: asked[name] for name in ("colluders", "rounds", "runs", "rate") if name in asked},
        )
        assert found.holds, changed
        assert plan.certificate.mu == pytest.approx(found.mu), changed
        assert found.epsilon(asked["delta"]) <= asked["epsilon"] * (1 + 1e-6), changed
    return planned
