"""The charts as a reader meets them: pointed at, by keyboard, in the dark, on paper, narrow, and without a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from tests.browser.charted import SESSIONS, charted
from tests.browser.conftest import Look, Report
from tests.browser.test_accessible import RULES

FIGURES = ("generations", "cycle", "verify", "concurrency", "history", "machine")


@pytest.fixture(scope="package")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return charted(tmp_path_factory.mktemp("charted"))


def figure(page: Page, name: str) -> Locator:
    return page.locator(f"#chart-{name}")


def inks(page: Page, name: str, nth: int = 0) -> list[str]:
    """Return every colour of a picture's canvas that covers it opaquely somewhere, as "r,g,b"."""
    found: list[str] = page.evaluate(
        """([name, nth]) => {
          const drawn = document.querySelectorAll(`#chart-${name} .uplot canvas`)[nth];
          const copy = Object.assign(document.createElement('canvas'), {width: drawn.width, height: drawn.height});
          const context = copy.getContext('2d', {willReadFrequently: true});
          context.drawImage(drawn, 0, 0);
          const d = context.getImageData(0, 0, copy.width, copy.height).data;
          const seen = new Map();
          for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) {
            const key = `${d[i]},${d[i + 1]},${d[i + 2]}`;
            seen.set(key, (seen.get(key) || 0) + 1);
          }
          return [...seen].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([k]) => k);
        }""",
        [name, nth],
    )
    return found


def tip(page: Page, name: str, across: float, down: float) -> str:
    """Point into a picture, as shares of its width and height, and return what it says."""
    over = figure(page, name).locator(".u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * down)
    said = figure(page, name).locator(".tip").first
    return said.inner_text() if said.is_visible() else ""


def sweep(page: Page, name: str, down: float, *, nth: int = 0) -> list[str]:
    """Return all that a picture says while a pointer goes through it from left to right, a line each, once each."""
    found: list[str] = page.evaluate(
        """([name, down, nth]) => {
          const plot = document.querySelectorAll(`#chart-${name} .plot`)[nth];
          const over = plot.querySelector('.u-over');
          const box = over.getBoundingClientRect();
          const said = new Set();
          for (let x = 0; x <= 1; x += 1 / 150) {
            const at = {clientX: box.left + box.width * x, clientY: box.top + box.height * down};
            over.dispatchEvent(new PointerEvent('pointermove', at));
            const tip = plot.querySelector('.tip');
            if (!tip.hidden) said.add([...tip.children].map((c) => c.textContent).join(', '));
          }
          return [...said];
        }""",
        [name, down, nth],
    )
    return found


def test_every_chart_is_drawn_and_its_table_folded(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    assert [f.get_attribute("id") for f in page.locator("figure.chart").all()] == [
        f"chart-{f}" for f in FIGURES
    ]
    for name in FIGURES:
        assert figure(page, name).locator(".uplot canvas").count() >= 1
        assert len(inks(page, name)) > 1
        assert figure(page, name).locator("details.numbers").get_attribute("open") is None
        assert figure(page, name).locator(".legend li").count() >= 2


def test_pointing_at_a_value_tells_it_with_unit_generation_and_launch(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    name, value, number = tip(page, "generations", 0.1, 0.5).split("\n")
    assert name.endswith(")")
    assert value.endswith(" tok/s")
    assert number.startswith("generation ")


@pytest.mark.parametrize(
    ("place", "down", "words"),
    [
        (("cycle", 0), 0.6, ("verify", " ms", "calls: ")),
        (("verify", 0), 0.5, (" %", "a verify call: ", " ms")),
        (("concurrency", 0), 0.3, (" tok/s", "streams at once: ", "interval ")),
        (("concurrency", 1), 0.3, ("speed-up of eagle3-2step", "so it: ")),
        (("history", 0), 0.2, (" tok/s", "run: r0", "of: 2026-10-")),
        (("machine", 0), 0.1, ("GPU ", " MHz", "since the first look: ", " min")),
    ],
)
def test_every_chart_answers_to_the_pointer(
    look: Look, drawn: Path, place: tuple[str, int], down: float, words: tuple[str, ...]
) -> None:
    page = look(drawn).page
    name, nth = place
    told = sweep(page, name, down, nth=nth)
    assert any(all(word in t for word in words) for t in told), told


def test_a_window_and_a_card_that_was_held_back_are_told_where_they_are_pointed_at(
    look: Look, drawn: Path
) -> None:
    page = look(drawn).page
    told = "\n".join(sweep(page, "machine", 0.1))
    assert "01-baseline, c1" in told
    assert "GPU 1: sw_thermal_slowdown" in told


def test_the_keyboard_goes_from_value_to_value_and_is_heard(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    chart = figure(page, "generations")
    plot = chart.locator(".plot")
    assert "generations" in (chart.locator(".axis-name.below").inner_text())
    assert "Arrow keys" in (plot.get_attribute("aria-label") or "")
    plot.focus()
    page.keyboard.press("ArrowRight")
    first = chart.locator("[role=status]").inner_text()
    page.keyboard.press("ArrowRight")
    second = chart.locator("[role=status]").inner_text()
    page.keyboard.press("ArrowUp")
    other = chart.locator("[role=status]").inner_text()
    assert "generation 0" in first
    assert "generation 1" in second
    assert other.split(",")[0] != second.split(",")[0]
    assert chart.locator(".tip").is_visible()
    page.keyboard.press("Escape")
    assert chart.locator(".tip").is_hidden()


def test_a_choice_changes_what_is_drawn(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    chart = figure(page, "generations")
    before = inks(page, "generations"), chart.locator(".axis-name").first.inner_text()
    chart.get_by_label("metric").select_option(label="accept length (tokens)")
    assert chart.locator(".axis-name").first.inner_text() == "accept length, higher is better, tokens"
    assert "tokens" in " ".join(tip(page, "generations", across / 100, 0.5) for across in range(1, 100, 3))
    assert before[1] != chart.locator(".axis-name").first.inner_text()


def test_a_logarithmic_axis_can_be_had(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    box = figure(page, "verify").get_by_label("logarithmic")
    box.check()
    assert page.evaluate("document.querySelectorAll('#chart-verify .uplot canvas').length") == 1
    assert len(sweep(page, "verify", 0.5)) > 10


def test_a_series_can_be_left_out_by_its_button(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    button = figure(page, "cycle").get_by_role("button", name="draft_extend")
    button.focus()
    page.keyboard.press("Enter")
    again = figure(page, "cycle").get_by_role("button", name="draft_extend")
    assert again.get_attribute("aria-pressed") == "false"
    assert again.evaluate("e => document.activeElement === e")


def test_dragging_looks_closer_and_a_double_click_shows_all(look: Look, drawn: Path) -> None:
    page = look(drawn).page
    over = figure(page, "history").locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None

    def seen() -> int:
        return len({told for down in (0.1, 0.85) for told in sweep(page, "history", down)})

    whole = seen()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.3, y, steps=4)
    page.mouse.up()
    assert 1 <= seen() < whole
    page.mouse.dblclick(box["x"] + box["width"] / 2, y)
    assert seen() == whole
    assert whole > SESSIONS / 2


def test_the_dark_has_its_own_ink(look: Look, drawn: Path) -> None:
    light, dark = (look(drawn, dark=d).page for d in (False, True))
    for name in FIGURES:
        assert inks(light, name)[0] != inks(dark, name)[0]
    before = inks(light, "cycle")
    light.emulate_media(color_scheme="dark")
    light.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert inks(light, "cycle") != before  # drawn anew without loading again


def test_paper_is_light_whatever_the_screen_was(look: Look, drawn: Path) -> None:
    page = look(drawn, dark=True).page
    screen = inks(page, "cycle")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    paper = inks(page, "cycle")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert paper != screen
    assert paper[0] == inks(look(drawn).page, "cycle")[0]
    assert inks(page, "cycle") == screen


def test_a_telephone_shows_whole_charts(look: Look, drawn: Path) -> None:
    opened = look(drawn, width=400)
    assert opened.overflow() == 0
    for name in FIGURES:
        box = figure(opened.page, name).locator(".uplot").first.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
    told = list(sweep(opened.page, "cycle", 0.6))
    assert told
    assert all(" ms" in text for text in told)
    opened.page.set_viewport_size({"width": 1000, "height": 800})
    opened.page.wait_for_function("document.querySelector('#chart-generations .uplot').offsetWidth > 700")


def test_without_a_script_words_and_numbers_stand_open(look: Look, drawn: Path) -> None:
    page = look(drawn, scripts=False).page
    for name in FIGURES:
        assert figure(page, name).locator(".says").first.is_visible()
        assert figure(page, name).locator("details.numbers").get_attribute("open") is not None
    assert figure(page, "generations").locator("svg").first.is_visible()
    assert "5.310" in figure(page, "cycle").locator("table").inner_text()


def test_axe_finds_nothing_in_charts_with_their_tables_open(look: Look, drawn: Path) -> None:
    page = look(drawn, width=400, dark=True).page
    page.evaluate("document.querySelectorAll('#charts details').forEach((d) => { d.open = true })")
    tip(page, "generations", 0.1, 0.5)
    found = (
        Axe()
        .run(page, context="#charts", options={"runOnly": RULES, "resultTypes": ["violations"]})
        .response["violations"]
    )
    assert [(v["id"], [n["target"] for n in v["nodes"]][:4]) for v in found] == []
    assert page.locator("#charts table:not(:has(caption))").count() == 0


def test_charts_are_drawn_in_the_whole_report_beside_pytests_own_table(look: Look, report: Report) -> None:
    page = look(report("green")).page
    assert figure(page, "generations").locator(".uplot canvas").count() == 1
    assert " tok/s" in tip(page, "generations", 0.1, 0.5)


def test_hostile_names_are_shown_and_do_nothing(look: Look, ours: Report) -> None:
    page = look(ours("hostile")).page
    assert figure(page, "generations").locator(".uplot canvas").count() == 1
    assert page.title() != "owned"
