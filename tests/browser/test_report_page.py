"""The report of a run in a browser: read by eye, by keyboard and by ear, in the dark, on a telephone, on paper."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import hocket as hk
from hocket.demo.clinics import chapter, clinics
from hocket.report.convergence import convergence
from hocket.report.exposure import audit_of, compared
from hocket.report.folder import write_report
from hocket.report.page import Page as Report
from hocket.report.tables import Table
from tests.browser.contrasts import too_faint

EVIL = "<img src=x onerror='window.harmed=1'></script><script>window.harmed=1</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of a run, and in it the page of three algorithms beside one another."""
    folder = tmp_path_factory.mktemp("run")
    ring = hk.Network.cycle(5)
    run = hk.solve(hk.paper_polynomials(), ring, hk.RssNb(1.0), rounds=30, start=0.5)
    write_report(
        run,
        folder,
        configuration='[network]\ntopology = "cycle:5"\n\n[run]\nrounds = 30\n',
        commands=["hocket solve here"],
        found=audit_of(run),
        audit_command="hocket audit --topology cycle:5 --colluders 1 --html audit.html",
    )
    card, exposure = compared(
        [hk.audit(ring, coalition={0}, algorithm=one, rounds=9) for one in (hk.Dgd(), hk.RssNb(1.0))]
    )
    names = ("one", "two", "three", "four", "five", "six")
    table = Table(
        ("who", "gap", "rounds"),
        (("b", "2e-3", "10,000"), ("a", "0.5", "900"), (EVIL, "not known", "1")),
        "Results",
        frozenset({1, 2}),
    )
    Report(
        title=EVIL,
        summary=[EVIL, "More."],
        cards=[card],
        tables=[table],
        notes=[EVIL],
        figure=convergence(dict.fromkeys(names, run.history)),
        caption=EVIL,
        exposure=exposure,
        configuration=EVIL,
        commands=[EVIL, "second"],
    ).save(folder / "many.html")
    found = clinics()
    assert found is not None
    Report(
        title="Five agents",
        facts=["5 agents"],
        summary=["All four find it."],
        cards=[card],
        tables=[table],
        configuration="rounds = 30",
        commands=["hocket demo"],
        opening=chapter(found),
    ).save(folder / "clinics.html")
    return folder


def test_the_answers_come_first(opened, folder):
    page = opened(folder / "report.html")
    expect(page).to_have_title("RSS-NB on cycle:5")
    expect(page.locator("h1")).to_have_text("RSS-NB on cycle:5")
    cards = page.locator(".answers .card")
    expect(cards.nth(0)).to_contain_text("Did it converge?")
    expect(cards.nth(1)).to_contain_text("Which theorem applies?")
    expect(cards.nth(1)).to_contain_text("Theorem 1")
    expect(cards.nth(2)).to_contain_text("What is exposed, and to whom?")
    expect(cards.nth(2)).to_contain_text("to 1 colluder; no theorem")
    first = page.locator("figure").first.bounding_box()
    last = cards.nth(2).bounding_box()
    assert first is not None
    assert last is not None
    assert last["y"] + last["height"] < first["y"]


@pytest.mark.parametrize("name", ["report.html", "clinics.html"])
def test_headings_go_down_by_single_steps_and_links_lead_somewhere(opened, folder, name):
    page = opened(folder / name)
    levels = [
        int(one[1]) for one in page.locator("h1, h2, h3").evaluate_all("all => all.map(one => one.tagName)")
    ]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("html").get_attribute("lang") == "en"
    for link in page.locator("a").all():
        assert page.locator(link.get_attribute("href") or "").count() == 1


def test_the_clinics_come_before_the_five_agents(opened, folder):
    page = opened(folder / "clinics.html")
    expect(page).to_have_title("Four clinics, one regression, and no row leaves its clinic")
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator(".answers .card").nth(1)).to_contain_text("uniformly random numbers")
    tops = [
        page.locator(one).bounding_box()["y"]
        for one in ("#the-same-fit", "#what-one-semi-honest-clinic-saw", "#then")
    ]
    assert tops == sorted(tops)
    assert all(
        len(one.get_attribute("aria-label") or "") > 40 for one in page.get_by_role("img").all()
    )  # the forest plot, and bits and digits


def test_figures_are_described_to_those_who_cannot_see_them(opened, folder):
    page = opened(folder / "report.html")
    for figure in page.get_by_role("img").all():
        assert len(figure.get_attribute("aria-label") or "") > 40
    assert page.get_by_role("img").count() == 3  # convergence, the graph, what stays unknown
    bare = page.locator("figure svg:not([aria-hidden=true])")
    assert bare.count() == 0


def test_the_keyboard_reaches_all_and_begins_with_a_way_past_the_top(opened, folder):
    page = opened(folder / "many.html")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the results")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the results")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="who")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="who")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Space")
    expect(page.get_by_role("columnheader", name="who")).to_have_attribute("aria-sort", "descending")


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#results ~ .scroll tbody tr > :nth-child({number})").all_text_contents()


def test_tables_sort_by_click(opened, folder):
    page = opened(folder / "many.html")
    page.get_by_role("button", name="gap").click()
    assert column(page, 2) == ["2e-3", "0.5", "not known"]
    page.get_by_role("button", name="gap").click()
    assert column(page, 2) == ["not known", "0.5", "2e-3"]
    page.get_by_role("button", name="rounds").click()
    assert column(page, 3) == ["1", "900", "10,000"]
    expect(page.locator("[aria-sort]")).to_have_count(1)


def test_details_open_and_commands_are_copied(opened, folder):
    page = opened(folder / "report.html", permissions=["clipboard-read", "clipboard-write"])
    expect(page.get_by_text("the sum of the objectives is convex")).to_be_hidden()
    page.locator("summary", has_text="What a theorem would need").click()
    expect(page.get_by_text("the sum of the objectives is convex")).to_be_visible()
    page.locator("[data-copy=command-1]").click()
    expect(page.locator("[data-copy=command-1]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "hocket solve here"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["report.html", "many.html", "clinics.html"])
def test_every_word_stands_out_from_its_ground(opened, folder, name, scheme):
    page = opened(folder / name, color_scheme=scheme)
    page.locator("summary").evaluate_all("all => all.forEach(one => { one.parentNode.open = true; })")
    assert too_faint(page) == []


def test_figures_take_the_colours_of_the_dark(opened, folder):
    paints = "() => [...document.querySelectorAll('.plot path')].map(one => getComputedStyle(one).stroke)"
    light = set(opened(folder / "many.html").evaluate(paints))
    dark = set(opened(folder / "many.html", color_scheme="dark").evaluate(paints))
    assert "rgb(231, 230, 226)" in dark  # the dark page's ink
    assert "rgb(0, 114, 178)" in light
    assert "rgb(86, 180, 233)" in dark
    assert "rgb(27, 30, 35)" not in dark


@pytest.mark.parametrize("name", ["report.html", "many.html", "clinics.html"])
def test_a_telephone_shows_it_without_scrolling_sideways(opened, folder, name):
    page = opened(folder / name, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_paper_it_is_light_complete_and_without_controls(opened, folder):
    page = opened(folder / "report.html", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for control in ("nav", ".skip", "[data-copy=command-1]"):
        expect(page.locator(control)).to_be_hidden()
    expect(
        page.get_by_text("the sum of the objectives is convex")
    ).to_be_visible()  # details are open on paper
    assert page.pdf().startswith(b"%PDF")


def test_without_a_script_everything_is_there(opened, folder):
    page = opened(folder / "report.html", java_script_enabled=False)
    expect(page.get_by_text("Did it converge?")).to_be_visible()
    expect(page.locator("#command-1")).to_be_visible()
    expect(page.locator("[data-copy=command-1]")).to_be_hidden()


def test_words_that_mean_harm_are_only_words(opened, folder):
    page = opened(folder / "many.html")
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    expect(page.locator("h1")).to_have_text(EVIL)
