"""The page in a browser: it opens in silence, asks for nothing, and can be used with mouse, keys and ears."""

import json

import numpy as np
import pytest

from physupport.project import load_project, run_project, write_example

HOSTILE = "<script>alert(1)</script>"


def is_clean(page):
    return page.complaints() == [] and page.requests() == [page.address]


def panel_is_shown(page, number):
    button = f"document.querySelector('[data-field=field-{number}]')"
    panel = f"document.getElementById('field-{number}-panel')"
    return page.value(f"[{button}.getAttribute('aria-expanded'), {panel}.checkVisibility()]")


def test_it_opens_without_a_complaint_or_a_request_and_says_what_the_report_says(four_regions, opened):
    found, _ = four_regions
    page = opened(*four_regions)
    assert is_clean(page)
    assert page.texts(".field .label .word") == [field.plain or str(field.label) for field in found.fields]
    assert page.texts(".field .sentence") == [field.sentence for field in found.fields]
    data = page.value("JSON.parse(document.getElementById('data').textContent)")
    assert [field["label"] for field in data["fields"]] == page.texts(".field .label small")
    assert page.texts(".outcome") == [found.sentence]


def test_negative_control_a_complaint_and_a_request_are_noticed(four_regions, opened):
    page = opened(*four_regions)
    page.value("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'})), 0")
    page.value("console.error('heard'), 0")
    assert len(page.complaints()) >= 2  # the policy refused the image, and the console spoke


def test_a_click_and_the_enter_key_show_the_explanations_of_a_region(four_regions, opened):
    page = opened(*four_regions)
    assert panel_is_shown(page, 2) == ["false", False]
    page.click("[data-field=field-2]")
    assert panel_is_shown(page, 2) == ["true", True]
    text = page.texts("#field-2-panel")[0]
    for part in ("67", "66", "ADMISSIBLE", "A: A 0.1; B: B 0.465; C: C 0.7", "A best fit would say"):
        assert part in text
    page.value("document.querySelector('[data-field=field-0]').focus()")
    page.press("Enter", 13, "\r")
    assert panel_is_shown(page, 0) == ["true", True]
    assert "nearest excluded" in page.texts("#field-0-panel")[0]
    page.press("Enter", 13, "\r")
    assert panel_is_shown(page, 0) == ["false", False]
    assert is_clean(page)


def test_all_panels_open_and_close_together(four_regions, opened):
    page = opened(*four_regions)
    page.click("#all")
    assert [panel_is_shown(page, i)[1] for i in range(4)] == [True] * 4
    page.click("#all")
    assert [panel_is_shown(page, i)[1] for i in range(4)] == [False] * 4


def test_a_hostile_name_is_shown_as_text(kit, opened):
    columns = {HOSTILE: [f"{HOSTILE}1", f"{HOSTILE}2", None], "größer 模糊": ["ä" * 80, "β & γ", "β & γ"]}
    page = opened(*kit.make_map(columns, [0, 0, 1], title=HOSTILE))
    assert is_clean(page)
    assert page.texts("h1") == [HOSTILE]
    assert page.texts(".field h3 .name") == [f"Region {name}" for name in columns]
    page.click("[data-field=field-0]")
    assert f"{HOSTILE}1" in page.texts("#field-0-panel")[0]
    assert page.value("document.scripts.length") == 2


def test_light_dark_and_paper(four_regions, opened):
    page = opened(*four_regions)
    colour = "getComputedStyle(document.body).backgroundColor"
    page.emulate(prefers_color_scheme="light")
    light = page.value(colour)
    page.emulate(prefers_color_scheme="dark")
    dark = page.value(colour)
    assert light != dark
    page.click("#theme")
    assert page.value(colour) == light
    page.click("#theme")
    assert page.value(colour) == dark
    page.emulate(media="print", prefers_color_scheme="dark")
    assert page.value(colour) == "rgb(255, 255, 255)"
    assert [panel_is_shown(page, i)[1] for i in range(4)] == [True] * 4  # paper cannot be clicked
    assert is_clean(page)


def test_everything_that_can_be_used_or_seen_has_a_name(four_regions, opened):
    page = opened(*four_regions)
    page.click("#all")
    named = page.accessible()
    roles = [role for role, _ in named]
    for role in ("banner", "navigation", "main", "contentinfo", "heading", "table", "columnheader", "rowheader"):
        assert role in roles
    for role, least in (("button", 6), ("image", 8), ("link", 8), ("region", 5)):
        names = [name for each, name in named if each == role]
        assert len(names) >= least
        assert all(names), role


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme, four_regions, opened):
    """Contrast of at least 4.5 to 1 (WCAG AA) for every colour of text in pages and pictures."""
    page = opened(*four_regions)
    page.emulate(prefers_color_scheme=scheme)
    ground = page.value("getComputedStyle(document.body).backgroundColor")
    inks = page.value(
        "[...new Set([...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 "
        "&& n.data.trim()) && !e.closest('script, style, title, desc')).map(e => getComputedStyle(e)"
        "[e instanceof SVGElement ? 'fill' : 'color']))]"
    )
    assert len(inks) >= 5
    assert {ink: round(contrast(ink, ground), 2) for ink in inks if contrast(ink, ground) < 4.5} == {}


def contrast(one, other):
    """The contrast of two colours `rgb(r, g, b)`, by the formula of WCAG 2."""
    first, second = sorted((luminance(one), luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("width", [400, 1200])
def test_no_screen_is_too_narrow(width, four_regions, opened):
    page = opened(*four_regions)
    page.resize(width, 900)
    page.click("#all")
    assert page.value("document.documentElement.scrollWidth") <= width
    assert page.value("document.querySelector('.wide-only').checkVisibility()") is (width == 1200)
    assert page.value("document.querySelector('.compact-only').checkVisibility()") is (width == 400)


def test_questions_without_elements_runs_cut_short_and_empty_profiles(kit, opened):
    many = {f"R{j}": [f"R{j}.{(i * (j + 1)) % 4}" for i in range(12)] for j in range(60)}
    planes = {"a1": [0.0, 1.0, 5.0], "a2": [1.0, 3.0, 5.0], "b1": [2.0, 2.5, 5.0]}
    cases = {
        "REPORT": [
            kit.make_resolution(),
            kit.make_map(many, [0, 0, 0] + [1] * 9),
            kit.make_map({"A": ["a1", "a2"], "B": ["b1", None]}, [0, 0], places=planes, names=("x", "y", "z")),
        ],
        "ABSTAIN": [kit.make_map({"A": ["A1", "A2", None, "A1"]}, [2, 2, 1, 0], budget=2)],
        "EMPTY": [kit.make_map({"A": ["A1", "A2", None]}, [1, 1, 1])],
    }
    for status, pages in cases.items():
        for found, details in pages:
            assert found.status == status
            page = opened(found, details)
            assert is_clean(page)
            assert page.texts(".status .code") == [status]
            assert page.texts(".field .label .word") == [field.plain or str(field.label) for field in found.fields]
            assert json.loads(page.texts("#data")[0])["outcome"]["status"] == status
            assert page.texts(".outcome")[0] == found.sentence


def test_a_term_is_explained_on_hover_on_focus_and_on_tap_and_escape_hides_it(four_regions, opened):
    page = opened(*four_regions)
    gloss = "(e => e.hidden ? null : e.textContent)(document.getElementById('gloss'))"
    term = "document.querySelector('.outcome .term')"
    page.value(f"{term}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    assert page.value(gloss) is None
    page.value(f"{term}.focus()")  # as the tab key does
    meaning = page.value(f"document.getElementById({term}.getAttribute('aria-describedby')).textContent")
    assert meaning
    assert page.value(gloss) == meaning
    page.press("Escape", 27)
    assert page.value(gloss) is None
    page.value(f"{term}.blur()")
    x, y = page.value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({term}.getBoundingClientRect())")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert page.value(gloss) == meaning
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert page.value(gloss) is None
    page.click(".outcome .term")
    assert page.value(gloss) == meaning
    assert is_clean(page)


@pytest.mark.parametrize("width", [400, 1280])
def test_every_term_has_its_words_and_no_explanation_leaves_the_screen(width, four_regions, opened):
    page = opened(*four_regions)
    page.resize(width, 900)
    page.click("#all")
    told = page.value(
        "[...document.querySelectorAll('.term')].map(e => { e.scrollIntoView({block: 'center', behavior: 'instant'});"
        "e.focus({preventScroll: true}); const g = document.getElementById('gloss'), b = g.getBoundingClientRect();"
        "return [e.tabIndex, g.hidden, g.textContent.length, b.left, b.right, b.top, b.bottom]; })"
    )
    assert len(told) > 20
    for tab, is_hidden, length, left, right, top, bottom in told:
        assert (tab, is_hidden) == (0, False)
        assert length > 10
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= 900


def test_no_column_of_a_table_is_cut_on_a_phone(four_regions, opened):
    page = opened(*four_regions)
    page.resize(400, 900)
    page.click("#all")
    widths = page.value(
        "[...document.querySelectorAll('.field .scroll:has(.explanations)')].map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert len(widths) == 4
    assert all(inner <= outer for inner, outer in widths)


LOWEST = 45 + 60  # points: the margin of the sheet, and a heading with two lines below it


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    write_example(folder, "xrf")
    return run_project(load_project(folder / "project.toml"))


def test_the_demo_prints_on_six_sheets_at_most_and_no_heading_stands_alone(demo, browser):
    page = browser.open(demo.folder / "report.html")
    sheets, headings = page.printed()
    assert 1 < sheets <= 6
    assert len(headings) > 10
    assert min(y for _, y in headings) > LOWEST
    page.close()


def test_what_is_not_printed_again_is_printed_elsewhere(four_regions, opened):
    page = opened(*four_regions)
    assert page.printed()[0] <= 8
    page.emulate(media="print")
    hidden, shown = (
        page.value(
            "[...document.querySelectorAll('.again, .panel p.small')].filter(e => "
            f"e.checkVisibility() === {is_shown}).map(e => e.textContent)"
        )
        for is_shown in ("false", "true")
    )
    assert len(hidden) > 5
    assert {*hidden} <= {*shown}


def test_negative_control_a_heading_at_the_foot_of_a_sheet_is_noticed(demo, browser):
    page = browser.open(demo.folder / "report.html")
    page.value(
        "(m => { const [above, heading, below] = ['div', 'h2', 'div'].map(n => document.createElement(n));"
        "heading.textContent = 'Alone'; above.style.breakBefore = 'page'; above.style.height = '250mm';"
        "heading.style.breakAfter = 'auto'; below.style.breakBefore = 'page'; below.textContent = 'Its text';"
        "m.append(above, heading, below); })(document.querySelector('main'))"
    )
    assert min(y for _, y in page.printed()[1]) < LOWEST
    page.close()


@pytest.mark.parametrize("count", [3, 40, 531, 5000])
def test_pages_hold_from_few_to_thousands_of_elements(count, kit, opened, tmp_path):
    names = [f"e{i}" for i in range(count)]
    side = int(np.ceil(np.sqrt(count)))
    places = {name: [float(i % side), float(i // side), 0.5] for i, name in enumerate(names)}
    page = opened(*kit.make_map({"A": names}, [0] * 3 + [1] * (count - 3), places=places, names=("x", "y", "z")))
    assert is_clean(page)
    assert (tmp_path / "report.html").stat().st_size < 1_000_000
    assert page.value("document.querySelectorAll('#map .wide-only .picture').length") == 3  # planes
    assert page.value("document.querySelectorAll('*').length") < 6000
    for width in (400, 1280):
        page.resize(width, 900)
        assert page.value("document.documentElement.scrollWidth") <= width
    assert page.printed()[0] <= 6
