"""Both pages in a real browser: wide, phone, dark and print; no request, no error, nothing that shuts people out."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

HOW = "install Debian's chromium and PyPI's playwright and axe-playwright-python to run the browser tests"
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=HOW)

VIEWS = {
    "wide": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
    "wide and dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone and dark": {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
}


def views(*usual):
    """Each page in each view; without the thorough ones each page and each view of `usual`, in pairs."""
    for name in ("public", "private"):
        for view in VIEWS:
            marks = () if (name, view) in usual else pytest.mark.thorough
            yield pytest.param(name, view, marks=marks, id=f"{name}, {view}")


PAIRS = (("public", "wide"), ("public", "phone and dark"), ("private", "wide and dark"), ("private", "phone"))
WIDTHS = tuple((name, view) for name in ("public", "private") for view in ("wide", "phone"))
"""For what depends on the width and not on colors."""


@pytest.fixture(scope="module")
def places(tmp_path_factory, public_page, private_page):
    folder = tmp_path_factory.mktemp("pages")
    for name, page in (("public", public_page), ("private", private_page)):
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def visit(browser, places):
    """Opens a page from disk and, at the end, demands that it asked for nothing and complained of nothing."""
    contexts, heard = [], []

    def visit(name, view):
        context = browser.new_context(**VIEWS[view])
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        address = Path(places, f"{name}.html").as_uri()
        page.on(
            "request", lambda request: heard.append(request.url) if request.url not in (address, "data:,") else None
        )
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize(("name", "view"), list(views(*PAIRS)))
def test_nobody_is_shut_out(visit, name, view):
    page = visit(name, view)
    problems = axe.Axe().run(page).response["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in problems] == []


@pytest.mark.parametrize(("name", "view"), list(views(*WIDTHS)))
def test_a_page_fits_its_screen(visit, name, view):
    page = visit(name, view)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    # No table has to be scrolled sideways either, and exactly one width of each drawing is seen.
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)")
    seen = "narrow" if "phone" in view else "wide"
    for kind in ("wide", "narrow"):
        for drawing in page.locator(f"svg.{kind}").all():
            assert drawing.is_visible() == (kind == seen)


@pytest.mark.parametrize("view", ["wide", "phone"])
def test_text_in_drawings_is_readable_and_inside(visit, view):
    page = visit("public", view)
    sizes = page.evaluate(
        """[...document.querySelectorAll('svg')].filter(s => s.checkVisibility()).flatMap(s => {
            const box = s.getBoundingClientRect();
            return [...s.querySelectorAll('text')].map(t => {
                const b = t.getBoundingClientRect();
                return [b.height, b.left >= box.left - 1 && b.right <= box.right + 1];
            });
        })"""
    )
    assert len(sizes) > 3  # two names, the axis, and at least one tick
    assert all(height >= 10 and inside for height, inside in sizes)


def test_the_watermark_is_on_every_screenful(visit):
    page = visit("private", "wide")
    height = page.evaluate("document.documentElement.scrollHeight")
    for top in range(0, height, 800):
        page.evaluate(f"window.scrollTo(0, {top})")
        for place in (".banner", ".watermark"):
            box = page.locator(place).bounding_box()
            assert 0 <= box["y"] < 900
            assert page.locator(place).is_visible()


@pytest.mark.parametrize("name", ["public", "private"])
def test_a_page_prints_black_on_white_even_from_the_dark(visit, name, tmp_path):
    page = visit(name, "wide and dark")
    page.emulate_media(media="print", color_scheme="dark")
    colours = page.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert 1 <= printed.count(b"/Type /Page\n") <= 7


def test_the_page_can_be_read_without_a_mouse(visit):
    page = visit("public", "phone")
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.className")
        )
    assert "Privacy budget" in reached
