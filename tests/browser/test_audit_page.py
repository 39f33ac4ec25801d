"""The audit page as people use it: by mouse, by keyboard, by link, and with names that mean harm."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from playwright.sync_api import expect

import hocket as hk
from hocket.privacy import exposure, leakage, repair
from hocket.report.tables import Table
from tests.browser.audit_cases import RING, agent, card, colluders, page_of

EVIL = [
    "<img src=x onerror='window.harmed=1'>",
    "</script><script>window.harmed=1</script>",
    "\"'&\u2028{{ 7 * 7 }}",
]


def test_a_click_makes_an_agent_collude_and_says_who_is_exposed_and_why(opened):
    page = opened(page_of())
    expect(page.locator("#headline")).to_have_text("Nobody colludes yet.")
    agent(page, 1).click()
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 hold")
    expect(card(page, "rss-nb")).to_contain_text("no theorem")
    agent(page, 4).click()
    expect(page.locator("#headline")).to_have_text(
        "Agents 1 and 4 collude. Under function sharing agent 0 is exposed exactly; "
        "the sum over agents 2 and 3 is exposed."
    )
    sharing = card(page, "function-sharing")
    expect(sharing).to_contain_text("P1 and P2 fail")
    expect(sharing).to_contain_text("Agent 0 is surrounded: its neighbours 1 and 4 all collude")
    expect(sharing).to_contain_text("Group A, agents 2 and 3: all noise that leaves it is shared")
    expect(card(page, "rss-nb")).to_contain_text("Agent 0 has no honest neighbour")
    expect(card(page, "rss-lb")).to_contain_text("All neighbours of agent 0 collude")
    expect(card(page, "dgd")).to_contain_text("difference attack applies")
    expect(agent(page, 0)).to_have_accessible_name("agent 0, honest, exposed exactly, neighbours 1 and 4")
    agent(page, 1).click()
    assert colluders(page) == [4]


def test_the_keyboard_is_enough(opened):
    page = opened(page_of())
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('agent')"):
            break
    expect(agent(page, 0)).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement.querySelector('.focus')).stroke") != "none"
    for key in ("ArrowRight", "Space", "ArrowLeft", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    assert colluders(page) == [1, 4]
    expect(agent(page, 4)).to_be_focused()
    page.keyboard.press("Home")
    expect(agent(page, 0)).to_be_focused()
    page.keyboard.press("Tab")  # one stop for the whole graph, then on
    expect(page.get_by_role("radio", name="function sharing")).to_be_focused()


def test_what_changed_is_announced(opened):
    page = opened(page_of(coalition=(1,)))
    expect(page.locator("#headline")).to_have_attribute("aria-live", "polite")
    expect(agent(page, 1)).to_have_role("button")
    expect(agent(page, 1)).to_have_attribute("aria-pressed", "true")
    expect(agent(page, 2)).to_have_accessible_name(
        "agent 2, honest, hidden among all honest agents, neighbours 1 and 3"
    )


def test_coalitions_can_be_typed_chosen_and_taken_back(opened):
    page = opened(page_of())
    page.get_by_label("Colluders").fill("4, 1")
    page.keyboard.press("Enter")
    assert colluders(page) == [1, 4]
    page.get_by_label("Colluders").fill("1, 9")
    page.get_by_role("button", name="Set").click()
    expect(page.locator("#message")).to_have_text("“9” names no agent; they are numbered 0 to 4.")
    assert colluders(page) == [1, 4]
    page.get_by_role("button", name="Worst coalition").click()
    assert colluders(page) == [0, 2]
    page.get_by_role("button", name="Smallest cut").click()
    assert colluders(page) == [1, 4]
    page.get_by_role("button", name="Nobody").click()
    assert colluders(page) == []
    for expected in ([1, 4], [0, 2], [1, 4], []):
        page.get_by_role("button", name="Undo").click()
        assert colluders(page) == expected
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_a_failing_guarantee_shows_who_breaks_it(opened):
    page = opened(page_of())
    rows = page.locator("table", has_text="Guarantees by number of colluders").locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("✓ holds")
    expect(rows.nth(1)).to_contain_text("✗ fails")
    assert rows.nth(0).get_by_role("button").count() == 0
    rows.nth(1).get_by_role("button", name="show me").click()
    assert colluders(page) == [1, 4]
    expect(page.locator("#headline")).to_be_in_viewport()


def test_the_repair_is_drawn_and_judged(opened):
    page = opened(page_of(repair=repair(RING, 2), coalition=(1, 4)))
    dashed = page.locator("#graph .added")
    expect(dashed.first).to_be_hidden()
    page.get_by_label("With the repair: 3 more links").check()
    assert dashed.count() == 3
    expect(dashed.first).to_be_visible()
    assert dashed.first.evaluate("line => getComputedStyle(line).strokeDasharray") != "none"
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 hold")
    assert page.evaluate("location.hash") == "#1,4+repair"


def test_a_link_keeps_the_coalition(opened):
    page = opened(page_of(coalition=(3,), repair=repair(RING, 2)), link="#1,4+repair")
    assert colluders(page) == [1, 4]
    expect(page.locator("#repaired")).to_be_checked()
    agent(page, 4).click()
    assert page.evaluate("location.hash") == "#1+repair"
    page.evaluate("location.hash = '#0,2'")
    expect(page.locator("#headline")).to_contain_text("Agents 0 and 2 collude.")
    page.get_by_role("button", name="Nobody").click()
    assert page.evaluate("location.hash") == ""


@pytest.mark.parametrize("link", ["#9", "#one", "#1,4<script>", "#%F0"])
def test_a_broken_link_is_told_and_changes_nothing(opened, link):
    page = opened(page_of(coalition=(3,)), link=link)
    expect(page.locator("#message")).to_contain_text("names no agent")
    assert colluders(page) == [3]


@pytest.mark.parametrize(
    ("coalition", "told"),
    [
        ((0, 1, 2, 3), "Everybody but agent 4 colludes. It has nothing left to hide behind"),
        ((0, 1, 2, 3, 4), "Everybody colludes: nobody is left"),
    ],
)
def test_coalitions_of_nearly_everybody_are_explained(opened, coalition, told):
    page = opened(page_of(coalition=coalition))
    expect(page.locator("#headline")).to_contain_text(told)
    assert "hold" not in page.locator("#cards").inner_text()
    expect(page.locator("#estimate")).to_be_hidden()


def test_the_script_finds_the_same_sets_as_python(opened):
    rng = np.random.default_rng(0)
    cases, expected = [], []
    while len(cases) < 300:
        n = int(rng.integers(3, 14))
        graph = nx.gnp_random_graph(n, rng.uniform(0.15, 0.7), seed=int(rng.integers(1 << 30)))
        if not nx.is_connected(graph):
            continue
        network = hk.Network(graph)
        coalition = sorted(rng.choice(n, size=int(rng.integers(1, n - 1)), replace=False).tolist())
        found = exposure(network, coalition)
        closed = nx.to_numpy_array(graph, nodelist=range(n)) + np.eye(n) > 0
        received = closed[coalition].any(axis=0)
        mixed_in_earshot = ~(closed & ~received).any(axis=1)
        honest = ~np.isin(np.arange(n), coalition)
        cases.append([n, network.links.tolist(), coalition])
        expected.append(
            found.to_json()
            | {
                "heard": np.flatnonzero(received & honest).tolist(),
                "differenced": np.flatnonzero(mixed_in_earshot & honest).tolist(),
            }
        )
    said = opened(page_of()).evaluate(
        "cases => cases.map(([n, links, coalition]) => singledOut(neighbourLists(n, links), coalition))",
        cases,
    )
    for one, right in zip(said, expected, strict=True):
        assert {name: one[name] for name in right} == right
    # The cases are of all kinds, or the comparison would say little.
    assert {(one["p1"], one["p2"]) for one in expected} == {(True, True), (True, False), (False, False)}
    assert {bool(one["differenced"]) for one in expected} == {True, False}


def test_marks_on_the_graph_follow_the_algorithm_and_need_no_colour(opened):
    page = opened(page_of(hk.Network.path(6), coalition=(2,)))
    expect(agent(page, 2).locator(".square")).to_be_visible()
    expect(agent(page, 2).locator(".round")).to_be_hidden()
    signs = {
        "function-sharing": ["A", "A", "", "B", "B", "B"],
        "rss-nb": ["", "", "", "", "", ""],
        "dgd": ["", "r", "", "r", "", ""],
    }
    for algorithm, expected in signs.items():
        page.locator(f"[name=algorithm][value={algorithm}]").check()
        assert page.locator("#graph .sign").all_text_contents() == expected
    page.locator("[name=algorithm][value=rss-lb]").check()
    assert agent(page, 0).locator(".round").evaluate("one => getComputedStyle(one).strokeDasharray") != "none"
    expect(page.locator("#legend")).to_contain_text("no theorem")
    expect(page.locator("#legend .under-dgd")).to_be_hidden()


def test_what_was_estimated_is_shown_and_the_rest_can_be_asked_for(opened):
    estimates = [
        leakage(RING, "rss-nb", rounds=20, coalition=(1, 4)),
        leakage(RING, "rss-lb", rounds=50, coalition=(1,)),
    ]
    page = opened(page_of(leakage=estimates), link="#1,4")
    expect(card(page, "rss-nb")).to_contain_text(
        "Estimated, rss-nb against coalition {1, 4}, 20 rounds, gradients"
    )
    expect(card(page, "rss-nb")).to_contain_text("known exactly: the gradients of agent 0")
    assert "Estimated" not in card(page, "rss-lb").inner_text()
    expect(page.locator("#estimate-command")).to_have_text("hocket audit --topology cycle:5 --coalition 1,4")
    rows = page.locator("table.sortable tbody tr")
    assert rows.count() == 3 + 4  # a row for every honest agent of either
    expect(rows.first).to_contain_text("known exactly")
    agent(page, 4).click()
    expect(card(page, "rss-lb")).to_contain_text(
        "Estimated, rss-lb against coalition {1}, 50 rounds, gradients"
    )
    expect(page.locator("#estimate-command")).to_have_text("hocket audit --topology cycle:5 --coalition 1")


def test_commands_are_copied(opened):
    page = opened(page_of(), permissions=["clipboard-read", "clipboard-write"])
    page.locator("[data-copy=command]").click()
    expect(page.locator("[data-copy=command]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page_of().command


def test_tables_sort_by_any_column(opened):
    table = Table(
        ("who", "sd"),
        (("agent 10", "0.5"), ("agent 9", "2e-3"), ("agent 1", "not known")),
        "Numbers",
        frozenset({1}),
    )
    page = opened(page_of(tables=[table]))

    def column(number: int) -> list[str]:
        return page.locator(f"table.sortable tbody tr > :nth-child({number})").all_text_contents()

    page.get_by_text("Numbers, 3 rows").click()  # raw tables are folded
    page.get_by_role("button", name="who").click()
    assert column(1) == ["agent 1", "agent 9", "agent 10"]
    page.get_by_role("button", name="sd").click()
    assert column(2) == ["2e-3", "0.5", "not known"]
    page.get_by_role("button", name="sd").click()
    assert column(2) == ["not known", "0.5", "2e-3"]
    expect(page.get_by_role("columnheader", name="sd")).to_have_attribute("aria-sort", "descending")


def test_names_that_mean_harm_are_only_names(opened):
    graph = nx.cycle_graph([*EVIL, "d", "e"])
    network = hk.Network(graph, name=EVIL[1])
    page = opened(
        page_of(
            network,
            title=EVIL[0],
            verdict=EVIL,
            statement=EVIL,
            command=EVIL[1],
            asking=EVIL[0],
            tables=[Table(("a",), ((EVIL[0],),), EVIL[1])],
            coalition=(0, 2),
        )
    )
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    expect(page.locator("#headline")).to_contain_text(f"Agents 0 ({EVIL[0]}) and 2 (")
    expect(page.locator("h1")).to_have_text(EVIL[0])
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
    assert "unsafe" not in policy  # nothing runs but the script whose digest it names
