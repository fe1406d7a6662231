"""Take the pictures of docs/how-to/studio.md anew: `python -m tests.use.studio.pictures` (needs Chromium and Pillow)."""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from .conftest import ARGUMENTS, CHROMIUM, Studio, write_people
from .test_browser import Visitor

PLACE = Path(__file__).parents[3] / "docs" / "studio"
WIDTH, COLORS = 900, 32


def shoot(page, name, height=None):
    """A picture in few colours, so that a page of pictures stays small."""
    page.wait_for_load_state()
    image = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    if height is not None:
        image = image.crop((0, 0, image.width, min(height, image.height)))
    image.quantize(COLORS, dither=Image.Dither.NONE).save(PLACE / f"{name}.png", optimize=True)


def state(visitor):
    page = visitor.page
    visitor.press("people.csv")
    shoot(page, "study")
    page.get_by_role("link", name="Choose the variables").click()
    visitor.variable("age", lower="18", upper="90", unit="years", reason="Adults; the register ends at 90.")
    visitor.variable("education", lower="25", upper="0")
    visitor.variable("hours", lower="0", upper="80")
    visitor.variable("region", use="predictor", categories="north\nsouth\nwest")
    visitor.variable("income", use="response", lower="0", upper="30000")
    visitor.press("Save as study.toml")
    shoot(page, "variables", 1350)
    visitor.variable("education", lower="0", upper="25")
    visitor.press("Save as study.toml")
    shoot(page, "persons")
    visitor.press("Save as study.toml")


def rehearse(visitor):
    page = visitor.page
    page.get_by_label("Rows").fill("3000")
    page.get_by_label("Epsilon").fill("1")
    visitor.press("Plan")
    page.locator(".answer").wait_for()
    shoot(page, "plan", 1150)
    visitor.go("Check")
    shoot(page, "check", 560)
    visitor.press("Run the check")
    page.wait_for_url("**/check-page")
    shoot(page, "check-page", 900)


def spend(visitor):
    page = visitor.page
    visitor.page.get_by_role("link", name="Back to the studio").click()
    visitor.go("Budget")
    visitor.press("Open the budget")
    visitor.go("Release")
    page.get_by_label("Headline").fill("What makes incomes differ?")
    shoot(page, "release")
    visitor.press("Show the privacy cost")
    page.get_by_label("Type the epsilon").fill("1")
    shoot(page, "confirm")
    visitor.press("Spend and release")
    page.get_by_role("link", name="Read the report").wait_for()
    shoot(page, "progress", 560)
    page.get_by_role("link", name="Read the report").click()
    shoot(page, "report")
    visitor.press("Verify this report")
    shoot(page, "verify", 900)
    visitor.go("Budget")
    shoot(page, "budget")


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_people(folder)
        studio = Studio(folder).enter()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        visitor = Visitor(browser, studio, {"width": WIDTH, "height": 500})
        state(visitor)
        rehearse(visitor)
        spend(visitor)
        browser.close()
        studio.stop()


if __name__ == "__main__":
    main()
