"""What `make docs` makes besides the pages that are written: it needs no MkDocs to be looked at."""

import pathlib
import re

import pytest

import pijit
from pijit import doctor
from tools import drawings, site

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = site.generated()
# Variables that builds, tests and benchmarks read.
KNOWN_ELSEWHERE = {"PIJIT_GOLDEN", "PIJIT_TEST_AS", "PIJIT_BENCH_PYTHONS", "PIJIT_ONEDNN", "PIJIT_NVRTC_TOO",
                   "PIJIT_CUDNN_TOO", "PIJIT_NCCL_TOO"}


def test_drawings_are_those_of_their_script():
    there = {p.name: p.read_text(encoding="utf-8") for p in (DOCS / "assets").glob("*.svg")}
    assert there == drawings.files(), "python tools/drawings.py"


def test_every_option_has_its_words():
    rows = re.findall(r'^OPTION\(\w+, .*?"(PIJIT_\w+)"', (ROOT / "csrc/base/config.def").read_text(), re.M)
    assert rows == re.findall(r"^## (PIJIT_\w+)$", GENERATED["options.md"], re.M)


def test_functions_and_layers_have_places_in_the_api():
    names = [name for page, text in GENERATED.items() if page.startswith("api/") for name in
             re.findall(r"^::: (\S+)$", text, re.M)]
    assert len(names) > 1100 and len(names) == len(set(names))
    assert GENERATED["api/ops/operators.md"].count("\n## ") > 60


def test_methods_of_tensors_are_told():
    """Those that the class has, most of them with a sentence."""
    told = dict(re.findall(r"^- `(\w+)\(.*?`(.*)$", GENERATED["api/tensor.md"], re.M))
    methods = {n for n in dir(pijit.Tensor) if not n.startswith("_") and callable(getattr(pijit.Tensor, n, None))}
    assert methods <= set(told) and sum(": " in text for text in told.values()) > 0.85 * len(told)


def test_recipes_of_contributing_have_pages():
    assert len(re.findall("^## Add ", (DOCS / "internals/extend.md").read_text(encoding="utf-8"), re.M)) >= 6


@pytest.mark.parametrize("page", sorted({str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")} |
                                        {p for p in GENERATED if p.endswith(".md") and not p.startswith("api/")}))
def test_links_lead_to_pages(page):
    """MkDocs looks at anchors as well."""
    path = DOCS / page
    text = site.with_links(page, path.read_text(encoding="utf-8") if path.exists() else GENERATED[page])
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s#]+)", text):
        if not re.match(r"[a-z]+:", link):
            to = (path.parent / link).resolve()
            assert to.is_file() or str(to.relative_to(DOCS)) in GENERATED, link


def test_commands_of_pages_exist():
    """Targets of make, options of the compiler, options of python -m pijit."""
    rules = re.findall(r"^([a-z][^:=#\n]*):(?!=)", (ROOT / "Makefile").read_text(), re.M)
    targets = [re.compile(re.escape(word).replace("%", r"[\w.]+")) for rule in rules for word in rule.split()]
    options = set(re.findall(r"PIJIT_\w+", (ROOT / "csrc/base/config.def").read_text())) | doctor.VARIABLES
    usage = (ROOT / "pijit/_launch.py").read_text()
    unknown = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        code = re.findall(r"`([^`\n]+)`|^```bash\n(.*?)^```", text, re.M | re.S)
        for command in (c for pair in code for c in pair):
            unknown += [(page.name, f"make {t}") for t in re.findall(r"(?:^|\n|\d )make ([a-z][\w.-]*)", command)
                        if not any(target.fullmatch(t) for target in targets)]
            unknown += [(page.name, o) for o in re.findall(r"\bPIJIT_[A-Z_]+\b", command)
                        if o not in options and o not in KNOWN_ELSEWHERE]
            unknown += [(page.name, o) for line in re.findall(r"python -m pijit (.*)", command)
                        for o in re.findall(r"(?<![\w-])--[a-z]+", line) if o not in usage]
    assert not unknown


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
                                  "packaging/cuda13/README.md"])
def test_links_of_the_repository_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s#]+)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text):
        assert re.match(r"[a-z]+:", link) or (ROOT / page).parent.joinpath(link).exists(), link


@pytest.mark.parametrize("page", sorted((DOCS / "tutorials").glob("*.md")) + [
    DOCS / f"{name}.md" for name in ("concepts", "distributed", "faq", "from-frameworks", "glossary", "index",
                                     "install", "quickstart")], ids=lambda p: p.stem)
def test_lines_can_be_read(page):
    text = re.sub(r"^```text.*?^```$|^\|.*\|$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    long = [line for line in text.split("\n") if len(line) > 100]
    assert not long


def test_what_a_page_loads_from_elsewhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="https://a.b/"><script async src=//c.d/x.js></script>'
                                     '<link rel="stylesheet" href="https://e.f/y.css"><img src="z.png">')
    (tmp_path / "b.css").write_text("@import 'https://g.h/i.css'; p { background: url(https://j.k/l.png) }")
    assert len(site.from_network(tmp_path)) == 4
