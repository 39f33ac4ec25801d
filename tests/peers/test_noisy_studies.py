"""A study with an ε over links: each member's noise comes from its own chain, and is the same after a crash."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import SecureSum
from hocket.algorithms.totals import Totals
from hocket.errors import BadPlan, UnsafePlan
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.plan.policy import NONE
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.peer import Peer
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import BEGINNING, NOISE_LABEL, MaskedSum, tree_of
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.verification.study_signatures import SIGNATURES, check_signatures
from hocket.federation.workloads.analysis import Analysis
from hocket.federation.workloads.study import StudyTask
from hocket.files import toml_tables
from hocket.links.conversation import Conversation
from hocket.links.handshake import SeedEscrow
from hocket.links.journals.journal import Journal
from hocket.links.keys.identity import Identity
from hocket.links.keys.noise_keys import key_of, secret_bytes
from hocket.machine import held_ports
from hocket.noise.discrete_gaussian import Bits
from hocket.studies.disclosure.promise import Among
from hocket.studies.simulate import simulate
from hocket.studies.spec.study import parse_study

from .federation_case import play
from .study_case import NAMES, planned, tables
from .test_totals import NETWORKS, Fragile, roles, streams

NOISY = """
[study]
title = "Breast cancer in four clinics"
formula = "radius ~ texture"
[describe]
columns = ["texture"]
[columns.radius]
from = "mean radius"
range = [5, 30]
[columns.texture]
from = "mean texture"
range = [5, 45]
[privacy]
epsilon = 8.0
delta = 1e-6
"""
ESCROW = SeedEscrow(7)


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


def members(folder, plan, identities, study):
    for one in identities:
        plan = plan.signed_by(one)
    found, made = judge_plan(plan), []
    for one in identities:
        home = Home(folder / one.name)
        keep_consent(plan, RunFolder(home.run(plan.run_hash)), found)
        task = StudyTask(study, tables()[one.name], one.name, Among(len(NAMES), plan.audit.colluders))
        made.append(Member(plan, one, task, home, linger=30.0, secrets=ESCROW))
    return made


def test_members_come_to_the_rehearsal_of_their_own_noise(tmp_path, identities):
    study = parse_study(toml_tables(NOISY))

    def chain(name: str) -> Bits:
        return Bits(secret_bytes(key_of(ESCROW.own_chain(NAMES.index(name))), NOISE_LABEL))

    expected = simulate(study, tables(), colluders=1, bits=chain)
    assert simulate(study, tables(), colluders=1).transcript != expected.transcript
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports, study=NOISY), identities, study)
        play(some)
    for member in some:
        found = json.loads((member.folder.path / "results.json").read_text())
        signatures = json.loads((member.folder.path / SIGNATURES).read_text())
        assert not check_signatures(member.plan, signatures)[1]
        assert found["coefficients"] == json.loads(json.dumps(expected.data["coefficients"]))
        assert found["privacy"]["epsilon"] == 8.0


def test_a_member_says_the_same_noise_again_and_other_noise_in_another_sum():
    network = NETWORKS["complete"]
    role = roles(network)[0]
    keys = streams(role, 0)
    own = ChainStreams(1, keys.chains, {}, b"a secret of this member alone...", role.dtype)

    def said(exchange: int, noise: int | None) -> np.ndarray:
        asked = SecureSum(np.array([1.0, 2.0]), noise=noise)
        return MaskedSum.of(role, tree_of(network), own, asked, 1, exchange, BEGINNING, list("abcd")).partial

    assert (said(0, 1 << 60) == said(0, 1 << 60)).all()
    assert (said(0, 1 << 60) != said(0, None)).any()
    first, second = (said(exchange, 1 << 60) - said(exchange, None) for exchange in (0, 1))
    assert (first != second).any()


def test_what_is_signed_says_what_is_promised_and_against_whom(identities):
    ports = range(7000, 7004)
    found = judge_plan(planned(identities, ports, study=NOISY))
    assert found.promise.epsilon == 8.0
    assert any("ε = 8, δ = 1e-06" in line and "1 colluder of 4" in line for line in found.words)
    assert found.to_json()["privacy"]["colluders"] == 1
    more = judge_plan(planned(identities, ports, study=NOISY), colluders=2)
    assert more.promise.epsilon > 8.5
    assert more.promise.among == Among(4, 2)
    with pytest.raises(UnsafePlan):
        judge_plan(planned(identities, ports, study=NOISY), colluders=3)


class Noisy(Fragile):
    """Two sums with noise, one after the other."""

    def peer(self, j: int, role: MemberRole, conversation: Conversation, journal: Journal) -> Peer:
        peer = super().peer(j, role, conversation, journal)

        def questions() -> Any:
            for _ in range(2):
                yield SecureSum(np.array([1.0 + j, 2.0]), noise=1 << 60)

        peer.descend, peer.start = Analysis(questions), np.empty(0)
        return peer


def test_a_crash_at_any_write_leaves_the_noise_as_it_was(tmp_path):
    """Other noise on the same numbers would be a second release, and the mean of both has less of it."""
    problem = hk.polynomials(np.ones((4, 3)), box=(-5, 5))
    network, algorithm = NETWORKS["complete"], Totals(study="noise")
    base = Noisy(problem, network, algorithm, tmp_path, rounds=9)

    def company(name: str) -> Noisy:
        (tmp_path / name).mkdir()
        return Noisy(problem, network, algorithm, tmp_path / name, rounds=9, identities=list(base.identities))

    calm = company("calm")
    sums = calm.play()[0].published
    first, second = sums.reshape(2, 2) - [10.0, 8.0]
    assert (first != second).all()
    assert (np.abs([first, second]) > 0.1).any()  # 2^30 units of 2^-28 for each of four
    for at in range(0, calm.writes, 3):
        for after in (False, True):
            stormy = company(f"{at}-{after}")
            stormy.at, stormy.after = at, after
            assert all(np.array_equal(one.published, sums) for one in stormy.play())
            assert stormy.crashes == 1


def test_whoever_signs_without_a_table_reads_what_rows_here_have_served(tmp_path, identities):
    from hocket.cli.peer.sign import _not_seen

    StudyTask(parse_study(toml_tables(NOISY)), tables()["ash"], "ash", Among(4, 1)).begin(
        Home(tmp_path).accounts, NONE
    )
    plan = planned(identities, range(7000, 7004), study=NOISY)
    _, served = _not_seen(plan, Home(tmp_path))
    assert served.startswith(
        "Rows at this home have served before: 'Breast cancer in four clinics': radius, texture in"
    )


def test_a_promise_is_for_one_release_so_nobody_begins_anew(identities):
    with pytest.raises(BadPlan, match="--on-drop stop"):
        judge_plan(planned(identities, range(7000, 7004), study=NOISY, on_drop="restart", unsafe=True))
