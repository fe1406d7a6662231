"""From an empty folder with a CSV file to a verified report, in a real browser, with the mistakes that people make."""

import re
from pathlib import Path

import pytest

from dpselect.release.ledger.ledger import Ledger

from .conftest import HOW

pytestmark = pytest.mark.browser
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=HOW)

WIDE, PHONE = {"width": 1100, "height": 900}, {"width": 390, "height": 800}


class Visitor:
    """A person at a browser, whom nothing unwanted escapes: no console message, no foreign request, nobody shut out."""

    def __init__(self, browser, studio, viewport, color_scheme="light"):
        self.studio, self.heard, self.seen = studio, [], set()
        self.context = browser.new_context(viewport=viewport, color_scheme=color_scheme)
        self.page = self.tab()

    def tab(self):
        page = self.context.new_page()
        page.on("console", lambda message: self.heard.append(message.text))
        page.on("pageerror", lambda error: self.heard.append(str(error)))
        page.on("request", self._requested)
        page.goto(self.studio.address)
        page.wait_for_url("**/study")
        return page

    def _requested(self, request):
        if not request.url.startswith((f"http://{self.studio.host}/", "data:,")):
            self.heard.append(request.url)

    def look(self, page=None):
        """What every screen must be: accessible, no wider than the window, without its token in the address."""
        page = page or self.page
        problems = axe.Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in problems] == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url
        assert "token" not in page.url
        self.seen.add(page.url.rsplit("/", 1)[1])

    def press(self, text, page=None):
        self._follow(page or self.page, lambda page: page.get_by_role("button", name=text, exact=True))

    def go(self, name, page=None):
        self._follow(
            page or self.page, lambda page: page.get_by_role("navigation").get_by_role("link", name=name, exact=True)
        )

    @staticmethod
    def _follow(page, find):
        # The studio has no script: every button and link leads to a page, and a click alone does not wait for it.
        with page.expect_navigation():
            find(page).click()

    def variable(self, name, **values):
        card = self.page.locator("fieldset.variable").filter(has=self.page.locator(f'input[value="{name}"]'))
        for key, value in values.items():
            field = card.locator(f'[name^="{key}."]')
            if not field.is_visible():
                card.locator("summary").click()
            field.select_option(value) if key == "use" else field.fill(value)


@pytest.fixture
def visit(browser, start):
    visitors = []

    def visit(viewport=WIDE, studio=None, **options):
        visitors.append(Visitor(browser, studio or start(), viewport, **options))
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.context.close()
        assert visitor.heard == []


def records(visitor):
    path = visitor.studio.folder / "people.budget.db"
    return len(Ledger(path).entries()) if path.exists() else 0


def state(visitor):
    """Study, variables and persons, with the mistakes."""
    page = visitor.page
    visitor.look()
    page.get_by_label("Another file, a folder").fill("poeple.csv")
    visitor.press("Show the columns")
    assert "There is no file" in page.locator(".problem").inner_text()
    visitor.look()
    visitor.press("people.csv")  # from the list of the folder's files
    assert page.locator("ul.columns li").count() == 6
    visitor.look()
    page.get_by_role("link", name="Choose the variables").click()
    visitor.look()
    visitor.press("Save as study.toml")
    assert "Choose one variable as the response" in page.locator(".problem").inner_text()  # nothing else is missing
    assert not (visitor.studio.folder / "study.toml").exists()
    visitor.variable("age", lower="18", upper="90")
    visitor.variable("education", lower="25", upper="0")
    visitor.variable("hours", lower="0", upper="80")
    visitor.variable("region", use="predictor", categories="north\nsouth\nwest")
    visitor.variable("income", use="response", lower="0", upper="30000")
    visitor.press("Save as study.toml")
    beside = page.locator("fieldset.variable").filter(has=page.locator('input[value="education"]')).locator(".problem")
    assert "Put the smaller number first" in beside.inner_text()
    assert page.get_by_label("Upper limit").nth(1).input_value() == "90"  # nothing that was typed is lost
    visitor.look()
    visitor.variable("education", lower="0", upper="25")
    visitor.press("Save as study.toml")
    page.wait_for_url("**/persons")
    visitor.look()
    page.get_by_label("Rows per person").fill("many")
    visitor.press("Save as study.toml")
    assert "not a whole number" in page.locator(".problem").inner_text()
    page.get_by_label("Rows per person").fill("")
    visitor.press("Save as study.toml")
    page.wait_for_url("**/plan")


def rehearse(visitor):
    """Plan and check."""
    page = visitor.page
    visitor.look()
    page.get_by_label("Rows").fill("many")
    visitor.press("Plan")
    assert "whole number" in page.locator(".problem").inner_text()
    page.get_by_label("Rows").fill("3000")
    visitor.press("Plan")
    page.locator(".answer").wait_for()
    assert "No row was read" in page.locator("main").inner_text()
    assert page.locator("svg").count() >= 2
    visitor.look()
    visitor.go("Check")
    visitor.look()
    assert page.locator("table").count() == 0  # off until asked for
    visitor.press("Run the check")
    page.wait_for_url("**/check-page")
    assert page.locator(".banner").is_visible()
    assert page.locator("input, select, textarea, button").count() == 0
    visitor.look()
    page.get_by_role("link", name="Back to the studio").click()
    visitor.look()
    visitor.go("Variables")
    assert "You have seen a check" in page.locator(".caution").inner_text()
    visitor.look()
    visitor.variable("hours", upper="81")
    visitor.press("Save as study.toml")
    visitor.go("Plan")
    assert "The study has changed since this plan" in page.locator(".caution").inner_text()
    visitor.look()
    visitor.go("Check")
    assert "The study has changed since this check" in page.locator("main").inner_text()
    visitor.look()
    visitor.press("Run the check again")
    page.wait_for_url("**/check-page")
    assert "has changed" not in page.locator("main").inner_text()
    page.get_by_role("link", name="Back to the studio").click()
    visitor.press("Discard this check")
    page.goto(page.url + "-page")
    page.wait_for_url("**/check")


def open_budget(visitor):
    page = visitor.page
    visitor.go("Release")
    assert "Open the budget" in page.locator("main").inner_text()
    visitor.go("Budget")
    visitor.look()
    page.get_by_label("Total epsilon").fill("-1")
    visitor.press("Open the budget")
    assert "Give a number above 0" in page.locator(".problem").inner_text()
    page.get_by_label("Total epsilon").fill("3")
    visitor.press("Open the budget")
    page.get_by_role("heading", name="Privacy budget: epsilon 3").wait_for()
    visitor.look()


def test_from_a_file_to_a_verified_report(visit):
    visitor = visit()
    page = visitor.page
    state(visitor)
    rehearse(visitor)
    open_budget(visitor)
    visitor.go("Release")
    visitor.look()
    page.get_by_label("Headline").fill("What makes incomes differ?")
    page.get_by_label("Epsilon", exact=True).fill("9")
    visitor.press("Show the privacy cost")
    assert "Use epsilon 3 or less" in page.locator(".problem").inner_text()
    visitor.look()
    page.get_by_label("Epsilon", exact=True).fill("2")
    visitor.press("Show the privacy cost")
    page.wait_for_url("**/confirm")
    assert "to 45% at most" in page.locator(".answer").inner_text()
    visitor.look()
    page.get_by_label("Type the epsilon").fill("20")
    visitor.press("Spend and release")
    assert "not the amount" in page.locator(".problem").inner_text()
    assert records(visitor) == 0
    visitor.look()

    second = visitor.tab()
    second.goto(page.url)
    second.get_by_label("Type the epsilon").fill("2")
    page.get_by_label("Type the epsilon").fill("2")
    page.get_by_role("button", name="Spend and release").dblclick()
    page.get_by_role("link", name="Read the report").wait_for()
    assert page.locator("ol.steps li").count() == 3
    assert records(visitor) == 2
    visitor.look()
    visitor.press("Spend and release", second)
    second.get_by_role("link", name="Read the report").wait_for()  # of the one release; there is no second
    visitor.look(second)
    assert records(visitor) == 2
    page.reload()
    page.get_by_role("link", name="Read the report").wait_for()
    page.go_back()
    page.wait_for_load_state()
    assert page.get_by_role("button", name="Spend and release").count() == 0  # the confirmation is gone
    assert records(visitor) == 2

    read_and_verify(visitor)
    assert {
        "study",
        "variables",
        "persons",
        "plan",
        "check",
        "check-page",
        "budget",
        "release",
        "confirm",
        "progress",
    } <= visitor.seen
    assert {"report-1", "verify", "page-1"} <= visitor.seen


def read_and_verify(visitor):
    page = visitor.page
    page.goto(page.url.rsplit("/", 1)[0] + "/report-1")
    visitor.look()
    assert "dpselect analyze people.csv --study study.toml --epsilon 2" in page.locator("main").inner_text()
    assert page.locator("main table tbody tr").count() >= 2  # the effects, one row each
    with page.expect_download() as found:
        page.get_by_role("link", name="LaTeX").click()
    assert "tabular" in Path(found.value.path()).read_text()
    visitor.press("Verify this report")
    assert "Report 1: OK." in page.locator("main").inner_text()
    visitor.look()
    visitor.go("Verify")
    page.set_input_files("#report", str(visitor.studio.folder / "study.report-1.json"))
    visitor.press("Verify")
    assert "The report: OK." in page.locator("main").inner_text()
    text = (visitor.studio.folder / "study.report-1.json").read_text()
    forged = Path(visitor.studio.folder, "forged.json")
    forged.write_text(re.sub(r'"epsilon": "[\d.]+"', '"epsilon": "0.001"', text, count=1))
    page.set_input_files("#report", str(forged))
    visitor.press("Verify")
    assert "FAILED" in page.locator("main").inner_text()
    visitor.look()
    page.set_input_files("#report", str(visitor.studio.folder / "people.csv"))
    visitor.press("Verify")
    assert "neither the JSON nor the HTML" in page.locator(".alert").inner_text()
    visitor.go("Budget")
    # Two parts of 1; Gaussian noise, which more than a few columns have, is a little cheaper together with the choice.
    assert re.search(r"epsilon 1(\.\d+)? of 3 remaining", page.locator(".where").inner_text())
    assert page.locator("tbody tr").count() == 2
    visitor.look()
    page.goto(page.url.rsplit("/", 1)[0] + "/page-1")
    assert "What makes incomes differ?" in page.title()
    visitor.look()


@pytest.mark.thorough  # test_attacks.py has it without a browser
def test_an_exhausted_budget_is_refused_before_anything_is_read(visit):
    visitor = visit()
    visitor.studio.state(budget="1")
    visitor.studio.ask()
    visitor.page.goto(visitor.page.url.replace("study", "confirm"))
    visitor.page.get_by_label("Type the epsilon").fill("1")
    visitor.press("Spend and release")
    visitor.page.get_by_role("link", name="Read the report").wait_for()
    visitor.go("Release")
    visitor.press("Show the privacy cost")
    assert "nothing remains. Nothing was spent." in visitor.page.locator(".problem").inner_text()
    assert records(visitor) == 2


@pytest.mark.thorough
def test_reload_while_releasing_joins_the_same_release(visit, start):
    slow = (
        "import time\nfrom pathlib import Path\nfrom dpselect.use import spend\nhonest = spend.draw_selection\n"
        "def slowly(*a, **k):\n    while not Path('seen').exists(): time.sleep(0.01)\n    return honest(*a, **k)\n"
        "spend.draw_selection = slowly\n"
    )
    from .conftest import START

    visitor = visit(studio=start(start=slow + START))
    page = visitor.page
    visitor.studio.state().ask()
    page.goto(page.url.replace("study", "confirm"))
    page.get_by_label("Type the epsilon").fill("1")
    page.get_by_role("button", name="Spend and release").click(no_wait_after=True)
    page.get_by_text("Now the rows are read.").wait_for()  # the answer has grown, and is not whole yet
    assert page.get_by_role("link", name="Read the report").count() == 0
    page.goto(page.url, wait_until="commit")
    other = visitor.tab()
    assert "A release is under way" in other.locator(".where").last.inner_text()
    visitor.look(other)
    (visitor.studio.folder / "seen").touch()
    page.get_by_role("link", name="Read the report").wait_for()
    assert records(visitor) == 2
    assert [path.name for path in visitor.studio.folder.glob("*report*.html")] == ["study.report-1.html"]


def type_into(page, label, text, card=None):
    """Reach a field with the tabulator alone, then type."""
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """(e => [e.labels?.[0]?.innerText, e.closest('fieldset')?.querySelector('code')?.innerText])(document.activeElement)"""
        )
        if found[0] == label and card in (None, found[1]):
            if label != "Use":
                page.keyboard.press("Control+A")
            page.keyboard.type(text)
            return
    raise AssertionError(f"{label} cannot be reached")


def press_by_key(page, name):
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == name:
            page.keyboard.press("Enter")
            page.wait_for_load_state()
            return
    raise AssertionError(f"{name} cannot be reached")


@pytest.mark.thorough
def test_the_keyboard_is_enough(visit):
    visitor = visit()
    page = visitor.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the page"
    type_into(page, "Another file, a folder or a database", "people.csv")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Choose the variables").wait_for()
    press_by_key(page, "Choose the variables")
    page.wait_for_url("**/variables")
    for name, fields in {
        "age": {"Lower limit": "18", "Upper limit": "90"},
        "education": {"Lower limit": "0", "Upper limit": "25"},
        "hours": {"Lower limit": "0", "Upper limit": "80"},
        "region": {"Use": "Pred", "Categories": "north, south, west"},
        "income": {"Use": "Resp", "Lower limit": "0", "Upper limit": "30000"},
    }.items():
        for label, text in fields.items():
            type_into(page, label, text, card=name)
    press_by_key(page, "Save as study.toml")
    page.wait_for_url("**/persons")
    visitor.studio.post("budget", {"epsilon": "3", "delta": "1e-5"})
    press_by_key(page, "Release")
    page.wait_for_url("**/release")
    type_into(page, "Epsilon", "1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/confirm")
    type_into(page, "Type the epsilon to spend", "1")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Read the report").wait_for()
    press_by_key(page, "Read the report")
    page.wait_for_url("**/report-1")
    press_by_key(page, "Verify this report")
    assert "OK" in page.locator("main").inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_and_the_dark(visit, scheme):
    visitor = visit(PHONE, color_scheme=scheme)
    page = visitor.page
    state(visitor)
    rehearse(visitor)
    open_budget(visitor)
    visitor.studio.ask()
    page.goto(page.url.replace("budget", "confirm"))
    visitor.look()
    page.get_by_label("Type the epsilon").fill("1")
    visitor.press("Spend and release")
    page.get_by_role("link", name="Read the report").wait_for()
    for screen in ("progress", "report-1", "budget", "verify", "release", "nowhere"):
        if screen != "nowhere":
            page.goto(page.url.rsplit("/", 1)[0] + "/" + screen)
            visitor.look()
    small = page.evaluate(
        "[...document.querySelectorAll('nav a, button')].map(e => e.getBoundingClientRect().height).filter(h => h < 24)"
    )
    assert small == []  # large enough for a finger


def test_the_file_that_starts_a_browser_leads_in(visit, tmp_path):
    """A strict cookie is not sent after a redirect from elsewhere, and a file is elsewhere."""
    visitor = visit()
    from dpselect.use.commands.studio import PAGE

    place = tmp_path / "start.html"
    place.write_text(PAGE.format(visitor.studio.address))
    page = visitor.context.browser.new_context().new_page()
    page.goto(place.as_uri())
    page.wait_for_url("**/study")
    assert page.get_by_role("heading", name="Where are the data?").is_visible()
    page.context.close()
