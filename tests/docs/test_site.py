"""The docs site: every page is in it, nothing is loaded from elsewhere, and nobody is shut out."""

import html
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = ("reference/python.md", "reference/commands.md")
HOW = "install Debian's chromium and PyPI's playwright and axe-playwright-python to run the browser tests"
SEEN = ("index.html", "tutorial.html", "how-to/ethics-board.html", "reference/python.html", "COMPARISONS.html")


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


def headings(page):
    """The headings of a source, blocks of code apart, as plain text."""
    bare = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [(len(marks), plain(title)) for marks, title in re.findall(r"^(#{1,3}) (.+)$", bare, re.MULTILINE)]


def plain(text):
    """Text without marks, links and tags."""
    bare = re.sub(r"<[^>]+>|&para;|¶", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text))
    return re.sub(r"\W+", "", html.unescape(bare)).lower()


@pytest.mark.thorough
def test_every_page_renders(site):
    """No fence is left in the page, and every heading of the source is one of it, at its level."""
    docs = site.parent / "docs"
    pages = sorted(docs.rglob("*.md"))
    assert len(pages) > 30
    for source in pages:
        page = (site / source.relative_to(docs)).with_suffix(".html").read_text(encoding="utf-8")
        shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert "```" not in shown, source
        there = [
            (int(level), plain(title)) for level, title in re.findall(r"<h([1-3])\b[^>]*>(.*?)</h\1>", shown, re.DOTALL)
        ]
        missing = [each for each in headings(source) if each not in there]
        assert missing == [], source


@pytest.mark.thorough
def test_no_two_files_differ_only_in_case(site):
    names = [str(path.relative_to(site.parent)) for path in (site.parent / "docs").rglob("*")]
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.thorough
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


@pytest.mark.thorough
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
