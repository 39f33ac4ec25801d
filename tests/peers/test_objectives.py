"""The class of objectives in a plan: hashed, signed, shown, and held against every member's task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hocket.errors import BadConfig, BadInput
from hocket.federation.audit.plan_audit import audit_plan, plan_claim
from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.plan.plan import difference
from hocket.federation.plan.plan_file import parse_plan, plan_text
from hocket.federation.workloads.adapters.jax_loss import JaxTask
from hocket.federation.workloads.task import GradientTask
from hocket.federation.workloads.task_checks import check_objectives, task_class
from tests.peers.plans import SHARING, drawn
from tests.peers.test_peer_commands import hocket_peer, in_a_folder_of_its_own, init

LINEAR = {"algorithm": SHARING, "objectives": "polynomial:1"}
__all__ = ["in_a_folder_of_its_own"]


def test_it_is_what_is_signed():
    plain, promised = drawn(), drawn(objectives="quadratic")
    assert plain.hash != promised.hash
    assert plain.run_hash != promised.run_hash
    assert difference(plain, promised) == '[task] objectives is "any" here and "quadratic" there'
    assert parse_plan(plan_text(promised)).hash == promised.hash


def test_a_plan_without_it_says_any():
    text = plan_text(drawn())
    assert parse_plan(text.replace('objectives = "any"\n', "")).hash == drawn().hash
    with pytest.raises(BadConfig, match=r"convex.*is no class of objectives; write polynomial:2"):
        parse_plan(text.replace('objectives = "any"', 'objectives = "convex"'))


def test_a_theorem_needs_it():
    """`peer plan` said that P1 and P2 hold for any task: degree-1 noise, a neural network, 40 local steps."""
    assert plan_claim(drawn(**LINEAR))
    assert any("(Theorem 2)" in line for line in audit_plan(drawn(**LINEAR)).words)
    for other in ({"objectives": "any"}, {"objectives": "polynomial:2"}, {"local_steps": 40}):
        found = audit_plan(drawn(**LINEAR | other))
        assert not any("(Theorem 2)" in line for line in found.words)
        assert any("FS: no theorem: " in line for line in found.words)
        assert found.to_json()["audit"]["claim"]["theorem"] is None


def test_survivors_are_told_the_same():
    left = {"clinic-e": 10}
    few = {"topology": "complete", "colluders": 1}
    assert "(Theorem 2)" in " ".join(judge_survivors(drawn(**LINEAR, **few), left).words)
    words = " ".join(judge_survivors(drawn(algorithm=SHARING, **few), left).words)
    assert "No theorem: nobody has said that objectives are" in words
    assert "Theorem 2)" not in words
    ring = judge_survivors(drawn(algorithm=SHARING, topology="cycle", colluders=1, unsafe=True), left)
    assert not ring.safe  # a cut exposes sums, theorem or not
    assert "P1 and P2 fail" in " ".join(ring.words)


def task(objectives="any"):
    return GradientTask(4, lambda x, k, h, rng: 2 * x, objectives=objectives)


@pytest.mark.parametrize(
    ("promised", "said"),
    [("any", "any"), ("any", "quadratic"), ("quadratic", "polynomial:2"), ("polynomial:3", "polynomial:2")],
)
def test_a_task_of_the_class_is_welcome(promised, said):
    check_objectives(task(said), drawn(objectives=promised))


@pytest.mark.parametrize(
    ("promised", "said"),
    [("quadratic", "any"), ("polynomial:2", "quadratic"), ("polynomial:2", "polynomial:4")],
)
def test_a_task_of_another_is_refused(promised, said):
    with pytest.raises(
        BadInput, match=f'the plan promises .*, and this task says {said}; .*objectives="{promised}"'
    ):
        check_objectives(task(said), drawn(objectives=promised))


def test_a_task_that_says_nothing_may_be_any():
    class Bare:
        dimension = 4

    assert str(task_class(Bare())) == "any"


def test_batches_are_no_one_objective():
    """A task may say what it likes; two gradients at one point show that it is no function."""
    drawing = GradientTask(4, lambda x, k, h, rng: x + rng.normal(size=4), objectives="quadratic")
    with pytest.raises(BadInput, match="other gradients at the same point in rounds 1 and 2"):
        check_objectives(drawing, drawn(objectives="quadratic"))
    check_objectives(replace(drawing, objectives="any"), drawn())
    with pytest.raises(BadInput, match="a task over batches of 2 says that its objective is quadratic"):
        JaxTask(lambda x, data: x @ x, np.ones((5, 1)), 1, batch=2, objectives="quadratic")


def test_commands_say_it_in_words():
    names = ["clinic-a", "clinic-b", "clinic-c", "clinic-d"]
    for name in names:
        init(name)
    how = [
        "--topology",
        "complete",
        "--colluders",
        "1",
        "--algorithm",
        "function-sharing",
        "--set",
        "degree=2",
    ]
    how += ["--noise-bound", "1", "--rounds", "10", "--task", "digits", "--dimension", "4"]
    cards = [f"cards/{name}.toml" for name in names]
    declared = hocket_peer("plan", *cards, *how, "--objectives", "polynomial:2", "-o", "declared.toml")
    said = "Objectives: separable polynomials of degree 2 or less; each signer declares that its own is one"
    assert any(line.startswith(said) for line in declared.words)
    assert declared.data["objectives"] == "polynomial:2"
    signed = hocket_peer("sign", "declared.toml", "--yes", "--home", names[0])
    assert any(line.startswith(said) for line in signed.words)
    assert any("P1 and P2 hold (Theorem 2)" in line for line in signed.words)
    bare = hocket_peer("plan", *cards, *how, "-o", "bare.toml")
    assert any(line.startswith("Objectives: any; the plan declares nothing") for line in bare.words)
    assert not any("(Theorem 2)" in line for line in bare.words)
