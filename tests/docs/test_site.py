"""The docs site: every page is in it, nothing is loaded from elsewhere, and nobody is shut out."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = ("reference.md", "commands.md")
HOW = "install Debian's chromium and PyPI's playwright and axe-playwright-python to run the browser tests"
SEEN = ("index.html", "how-to/board.html", "COMPARISONS.html")


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("docs_tool", ROOT / "tools" / "docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory, tool):
    pytest.importorskip("zensical", reason="the docs site needs PyPI's zensical")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    tool.main(folder / "docs")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    return folder / "site"


def test_llms_txt_is_as_the_tool_would_write_it(tool):
    text = (ROOT / "docs/llms.txt").read_text(encoding="utf-8")
    assert text == tool.llms(ROOT / "docs"), "run: python tools/docs.py"


def test_every_document_is_in_the_list_of_pages(tool):
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    listed = {page for _, page in tool._pages(nav) if page is not None} - set(MADE)
    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} - set(MADE)
    assert listed == there


def test_the_reference_has_every_public_name(tool):
    text = tool.reference()
    assert all(f"## `{name}`\n" in text for name in tool.dpselect.__all__)
    assert all(f"## `dpselect {name}`\n" in tool.commands() for name in tool.COMMANDS)


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?([^\" >]+)", page.read_text(encoding="utf-8")
        )
        assert [each for each in loaded if each.startswith(("http:", "https:", "//"))] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//", styles)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_nobody_is_shut_out_of_the_site(site, width, browser):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=HOW)
    problems, asked = [], []
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url) if request.url.startswith("http") else None)
    for name in SEEN:
        page.goto((site / name).as_uri())
        found = axe.Axe().run(page).response["violations"]
        problems += [(name, each["id"], each["nodes"][0]["html"][:120]) for each in found]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    context.close()
    assert problems == []
    assert asked == []
