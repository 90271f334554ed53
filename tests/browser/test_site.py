"""The built site (`make docs`) in Chromium: every page at the width of a phone and of a desk, light and dark."""

import functools
import http.server
import importlib.util
import os
import pathlib
import threading

import pytest

from tests.browser.devtools import BROWSER, Browser

SITE = pathlib.Path(os.environ.get("PIJIT_SITE") or pathlib.Path(__file__).parents[2] / "build/site")
PAGES = sorted(str(p.relative_to(SITE)) for p in SITE.rglob("*.html"))
pytestmark = pytest.mark.skipif(BROWSER is None or not PAGES, reason="no Chromium here, or no site: make docs")
PHONE, DESK = 390, 1280
# Pages of one kind are alike: axe-core looks at some of each.
ALIKE = {"breaks": 2, "examples": 2, "api/ops": 2, "api/nn": 2, "api/mint": 1, "api/train": 1, "api/dataset": 1}


def looked_at():
    taken, chosen = {}, []
    for page in PAGES:
        kind = next((k for k in ALIKE if page.startswith(k + "/")), None)
        taken[kind] = taken.get(kind, 0) + 1
        if kind is None or taken[kind] <= ALIKE[kind]:
            chosen.append(page)
    return chosen


@pytest.fixture(scope="module")
def address():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    b = Browser()
    yield b
    b.close()


def good(browser, address):
    """Nothing is wider than the window, nothing was said on the console, nothing was asked of others."""
    assert not browser.errors
    assert all(a.startswith((address, "data:", "blob:")) for a in browser.asked), browser.asked
    wide = browser.run("""(() => { const page = document.documentElement, w = page.clientWidth;
        return page.scrollWidth <= w ? [] : [...document.querySelectorAll("body *")].filter(
          e => e.getBoundingClientRect().right > w + 1).slice(0, 4).map(e => e.outerHTML.slice(0, 120)); })()""")
    assert wide == []


@pytest.mark.parametrize("page", PAGES)
def test_page(page, browser, address):
    for width, scheme in ((PHONE, "dark"), (DESK, "light")):
        browser.open(address + page, width, scheme)
        good(browser, address)
        assert browser.soon("document.body.getAttribute('data-md-color-scheme') === '" +
                            {"dark": "slate", "light": "default"}[scheme] + "'")
        assert browser.run("[...document.images].every(i => i.alt && (!i.offsetParent || i.naturalWidth > 0))")


def axe():
    spec = importlib.util.find_spec("axe_playwright_python")
    return spec and pathlib.Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.skipif(not axe(), reason="axe-core is not here")
@pytest.mark.parametrize("page", looked_at())
def test_accessible(page, browser, address):
    for width, scheme in ((PHONE, "light"), (DESK, "dark")):
        browser.open(address + page, width, scheme)
        browser.run("new Promise(r => setTimeout(r, 100))")  # the theme adds buttons
        browser.run(axe() + "; 0")
        found = browser.run("axe.run({resultTypes: ['violations']}).then(r => r.violations.map("
                            "v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), v.nodes[0].failureSummary]))")
        assert found == []


def test_keyboard_reaches_all_parts(browser, address):
    browser.open(address + "quickstart.html", DESK, "light")
    parts, places = set(), []
    for _ in range(120):
        browser.press("Tab", 9)
        part, seen = browser.run("""(() => { const e = document.activeElement, r = e.getBoundingClientRect();
            return [["header", "article", "footer", "nav"].find(t => e.closest(t)) || "body",
                    r.width > 0 && r.height > 0]; })()""")
        parts.add(part)
        places.append(seen)
    assert {"header", "nav", "article", "footer"} <= parts and sum(places) > 90


def test_search_finds(browser, address):
    browser.open(address + "index.html", DESK, "light")
    browser.run("document.querySelector('[data-md-component=search-query]').focus()")
    for letter in "softmax":
        browser.press(letter, ord(letter.upper()), letter)
    assert browser.soon("document.querySelector('.md-search-result__list').textContent.includes('softmax')")


def test_colours_can_be_chosen(browser, address):
    browser.open(address + "index.html", DESK, "light")
    browser.run("document.querySelector('.md-header__option label:not([hidden])').click()")
    assert browser.soon("document.body.getAttribute('data-md-color-scheme') === 'slate'")
