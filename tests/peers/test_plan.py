"""Plans: one hash for one agreement, and signatures that hold for nothing else."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import networkx as nx
import numpy as np
import pytest

from hocket.algorithms import RssNb
from hocket.errors import BadConfig, BadIdentity, BadInput, BadNetwork, BadPlan
from hocket.federation.plan.cards import Card, read_card
from hocket.federation.plan.draft import sized, study_topology
from hocket.federation.plan.plan import DEEPEST, difference
from hocket.federation.plan.plan_file import parse_plan, plan_text, read_plan, write_plan
from hocket.federation.runtime.secure_sum import tree_of
from hocket.links.keys.identity import Identity
from hocket.networks.network import Network
from hocket.networks.topologies import parse
from hocket.privacy.graph.guarantees import guarantees
from tests.peers.plans import CARDS, IDENTITIES, drawn


def signed(plan=None, by=IDENTITIES):
    plan = plan or drawn()
    for identity in by:
        plan = plan.signed_by(identity)
    return plan


def test_a_plan_says_it_all():
    plan = drawn()
    assert plan.names == ("clinic-a", "clinic-b", "clinic-c", "clinic-d", "clinic-e")
    assert plan.agent("clinic-c") == 2
    assert plan.neighbours("clinic-a") == ("clinic-b", "clinic-c", "clinic-e")
    assert plan.algorithm == RssNb(1.0)
    expected = Network.harary(3, 5)
    np.testing.assert_array_equal(plan.network.links, expected.links)
    np.testing.assert_array_equal(plan.network.B, expected.B)
    assert plan.feasible.contains(np.ones(4))
    for name in plan.names:
        assert sorted(plan.dials(name) + plan.awaits(name)) == sorted(plan.neighbours(name))
    with pytest.raises(BadPlan, match="clinic-x is not in this plan; its members are clinic-a"):
        plan.agent("clinic-x")


def test_the_order_of_cards_does_not_matter():
    assert drawn(CARDS[::-1]).hash == drawn().hash


def test_text_and_back(tmp_path):
    plan = signed()
    write_plan(plan, tmp_path / "plan.toml")
    again = read_plan(tmp_path / "plan.toml")
    assert again == plan
    assert again.hash == plan.hash
    assert again.signatures == plan.signatures
    assert plan_text(again) == plan_text(plan)
    again.check_signatures()
    again.check_certificates()
    assert plan.fingerprint in plan_text(plan)


def test_layout_does_not_change_the_hash():
    text = plan_text(drawn())
    assert parse_plan(text.replace("\n\n", "\n\n# a remark\n")).hash == drawn().hash
    assert parse_plan(text.replace("delta = 1.0", "delta = 1")).hash == drawn().hash


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("delta = 1.0", "delta = 1.1", r"\[algorithm\] delta is 1.0 here and 1.1 there"),
        ("rounds = 50", "rounds = 51", r"\[run\] rounds is 50 here and 51 there"),
        ("p = 0.75", "p = 0.76", r"\[step\] p is"),
        ("dimension = 4", "dimension = 5", r"\[task\] dimension is"),
        ('dtype = "float64"', 'dtype = "float32"', r"\[task\] dtype is"),
        ('name = "digits"', 'name = "digitz"', r"\[task\] name is"),
        ("high = 1.0", "high = 2.0", r"\[feasible\] high is"),
        ("colluders = 2", "colluders = 1", r"\[audit\] colluders is"),
        ("clinic-a.example:7000", "clinic-a.example:7009", r"\[cards.clinic-a\] address is"),
        ('["clinic-a", "clinic-b"]', '["clinic-b", "clinic-a"]', r"\[network\] links is"),
    ],
)
def test_one_byte_makes_another_plan_and_is_named(old, new, place):
    plan = signed()
    text = plan_text(plan)
    assert old in text
    other = parse_plan(text.replace(old, new, 1))
    assert other.hash != plan.hash
    with pytest.raises(BadPlan, match=f"copy of another plan: {place}"):
        plan.with_signatures_of(other)
    with pytest.raises(BadPlan, match="the signature of clinic-a is not for this plan"):
        other.check_signatures()


def test_the_same_plan_differs_nowhere():
    assert difference(drawn(), parse_plan(plan_text(drawn()))) is None


def test_signatures_are_collected_and_checked():
    plan = drawn()
    with pytest.raises(
        BadPlan, match="lacks the signature of clinic-a, clinic-b, clinic-c, clinic-d, clinic-e"
    ):
        plan.check_signatures()
    first, second = signed(plan, IDENTITIES[:2]), signed(plan, IDENTITIES[2:])
    assert first.unsigned == ("clinic-c", "clinic-d", "clinic-e")
    first.with_signatures_of(second).check_signatures()
    swapped = dict(first.signatures, **{"clinic-a": first.signatures["clinic-b"]})
    for forged in (swapped, {"clinic-a": "no base 64"}):
        copy = dataclasses.replace(plan, signatures=forged)
        with pytest.raises(BadPlan, match="the signature of clinic-a is not for this plan"):
            copy.check_signatures()
        with pytest.raises(BadPlan, match="the signature of clinic-a is not for this plan"):
            plan.with_signatures_of(copy)


def test_only_the_named_certificate_may_sign():
    with pytest.raises(BadPlan, match="the plan names another certificate for clinic-a than yours"):
        drawn().signed_by(Identity.create("clinic-a"))
    with pytest.raises(BadPlan, match="clinic-x is not in this plan"):
        drawn().signed_by(Identity.create("clinic-x"))


def test_expiry_and_renewal():
    plan, later = signed(), datetime.now(UTC) + timedelta(days=366)
    with pytest.raises(BadIdentity, match=r"clinic-a expired on .*all others sign the plan that this writes"):
        plan.check_certificates(later)
    renewed = Card.of(Identity.create("clinic-a"), "elsewhere.example:7000")
    newer = drawn([renewed, *CARDS[1:]])
    assert newer.hash != plan.hash
    assert newer.run_hash == plan.run_hash  # it goes on with the same run
    assert len({one.run_hash for one in (plan, drawn(rounds=60), drawn(CARDS[:4], "cycle"))}) == 3
    assert plan.run_hash != plan.hash


def test_who_cannot_be_reached_dials():
    hidden = dataclasses.replace(CARDS[1], address=None)
    plan = drawn([CARDS[0], hidden, *CARDS[2:]])
    assert plan.awaits("clinic-b") == ()
    assert set(plan.dials("clinic-b")) == {"clinic-a", "clinic-c", "clinic-d"}
    assert parse_plan(plan_text(plan)) == plan
    both = [CARDS[0], hidden, dataclasses.replace(CARDS[2], address=None), *CARDS[3:]]
    with pytest.raises(BadPlan, match="clinic-b and clinic-c are to be linked and neither has an address"):
        drawn(both)
    with pytest.raises(BadPlan, match="is to dial clinic-b, which has no address"):
        parse_plan(plan_text(drawn()).replace('address = "clinic-b.example:7001"\n', ""))


@pytest.mark.parametrize(
    ("topology", "members", "expected"),
    [
        ("cycle", 5, "cycle:n=5"),
        ("cycle:7", 5, "cycle:7"),
        ("harary:k=3", 7, "harary:k=3,n=7"),
        ("harary:3,7", 7, "harary:3,7"),
        ("random-regular:d=4,seed=1", 8, "random-regular:d=4,seed=1,n=8"),
        ("hypercube:3", 8, "hypercube:3"),
        ("nonsense", 5, "nonsense"),
    ],
)
def test_a_topology_is_sized_by_its_cards(topology, members, expected):
    assert sized(topology, members) == expected


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"topology": "cycle:7"}, BadPlan, "cycle:7 has 7 agents, and 5 cards were given"),
        ({"topology": "rnig"}, BadConfig, "unknown topology 'rnig'"),
        ({"cards": CARDS[:1]}, BadPlan, "at least two members"),
        ({"cards": [*CARDS[:4], CARDS[0]]}, BadPlan, "two cards are made out to clinic-a"),
        ({"algorithm": {"name": "rss-nb"}}, BadConfig, "lacks the key 'delta'"),
        ({"algorithm": {"name": "centralised"}}, BadPlan, "has nobody to talk to"),
        (
            {"topology": "star", "algorithm": {"name": "rss-lb", "delta": 1.0}},
            BadInput,
            "it has one neighbour",
        ),
        ({"rounds": 0}, BadConfig, r"\[run\] rounds = 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # cards are new in every process, and no names
)
def test_what_cannot_be_planned(change, error, words):
    with pytest.raises(error, match=words):
        drawn(**change)


def test_sums_go_no_farther_than_messages_can_count(monkeypatch):
    monkeypatch.setattr("hocket.federation.plan.plan.DEEPEST", 1)
    drawn(topology="star", algorithm={"name": "joint-average"})
    drawn(topology="path")  # two links from its middle, and nothing is summed
    with pytest.raises(
        BadPlan, match="some other is 2 links away or more, and sums over all members go over 1"
    ):
        drawn(topology="path", algorithm={"name": "joint-average"})


@pytest.mark.parametrize("network", [Network.path(255), Network.cycle(254)])
def test_the_deepest_tree_has_exchanges_for_one_byte(network):
    assert 2 * tree_of(network).height == 2 * DEEPEST < 256
    assert not nx.radius(network.graph) > DEEPEST


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[task]", "[tusk]", r"the section \[task\] is missing"),
        ("[signatures]", "[signature]", r"there is no section \[signature\]"),
        ("rounds = 50", 'rounds = "50"', r"\[run\] rounds = '50' \(text\); expected a whole number"),
        ("rounds = 50", "ronuds = 50", "did you mean 'rounds'"),
        (
            "protocol = 4",
            "protocol = 5",
            "is for protocol 5 and noise 1, this version of hocket has protocol 4",
        ),
        ("noise = 1", "noise = 9", "install the version the others have"),
        ('["clinic-a", "clinic-b"], ', '["clinic-a", "clinic-x"], ', "a link is two members"),
        ('["clinic-a", "clinic-b"], ', "", "these two agents are not linked"),
        ('members = ["clinic-a", ', "members = [", "disagree about clinic-a"),
        (
            '[cards.clinic-a]\nname = "clinic-a"',
            '[cards.clinic-a]\nname = "clinic-b"',
            "holds the certificate of",
        ),
        ('certificate = "M', 'certificate = "N', "the certificate on the card of clinic-a is damaged"),
        (
            'address = "clinic-a.example:7000"',
            'address = "clinic-a.example"',
            "cannot be dialled; write host:port",
        ),
        ('address = "clinic-a.example:7000"', 'address = "clinic-a.example:0"', "cannot be dialled"),
        ('address = "clinic-a.example:7000"', 'address = "clinic-a.example:７０００"', "cannot be dialled"),
        ('dataset = "trial-7"', 'dataset = "../trial"', "dataset = '../trial'"),
        ("[run]", "[run", "not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, old, new, words):
    text = plan_text(drawn())
    assert old in text
    (tmp_path / "plan.toml").write_text(text.replace(old, new, 1))
    with pytest.raises((BadPlan, BadNetwork), match=words) as caught:
        read_plan(tmp_path / "plan.toml")
    assert str(tmp_path / "plan.toml") in str(caught.value)


def test_missing_plans_and_cards(tmp_path):
    with pytest.raises(BadConfig, match="make a plan with hocket peer plan"):
        read_plan(tmp_path / "plan.toml")
    with pytest.raises(BadConfig, match="cannot be read"):
        read_card(tmp_path / "card.toml")


def test_cards(tmp_path):
    path = tmp_path / "card.toml"
    path.write_text(CARDS[0].text())
    assert read_card(path) == CARDS[0]
    assert CARDS[0].certificate_pem == IDENTITIES[0].certificate_pem
    assert CARDS[0].fingerprint == IDENTITIES[0].fingerprint
    for text, words in (
        ("no TOML", "is no card"),
        (CARDS[0].text() + "\n[more]\n", "needs the section .card. and nothing else"),
        (CARDS[0].text().replace("clinic-a", "Clinic A"), "is no member's name"),
        (
            CARDS[0].text().replace('name = "clinic-a"', 'name = "clinic-b"'),
            "holds the certificate of 'clinic-a'",
        ),
    ):
        path.write_text(text)
        with pytest.raises(BadConfig, match=words):
            read_card(path)


@pytest.mark.parametrize(("members", "colluders"), [(5, 1), (13, 1), (50, 1), (51, 2)])
def test_a_study_links_its_members_safely_and_by_short_ways(members, colluders):
    network = parse(sized(study_topology(members, colluders), members))
    assert guarantees(network, colluders).p2
    assert nx.diameter(network.graph) <= 7
    assert len(network.links) <= max(members * (colluders + 3) / 2, 66)
