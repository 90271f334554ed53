"""Pages of explanations, profiles and notebooks in a real Chromium: content, no errors, pictures for docs/ (make
test-browser)."""

import importlib.util
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops

ROOT = pathlib.Path(__file__).parents[2]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
ERRORS = re.compile(r"CONSOLE|Uncaught|net::ERR|Failed to load", re.I)


def chromium(page, *options):
    """What Chromium says of a page; fails where it reports an error of the page's."""
    r = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                        "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
                        "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri()], capture_output=True,
                        text=True, timeout=300)
    errors = [line for line in r.stderr.splitlines() if ERRORS.search(line) and "dbus" not in line]
    assert r.returncode == 0 and not errors, errors or r.stderr
    return r.stdout


def shot(page, width, height, mode, picture=None):
    """A picture of a page, which is neither empty nor of the wrong brightness; a file of docs/ where it has a name
    there."""
    to = page.with_suffix(f".{width}.{mode}.png")
    chromium(page, f"--window-size={width},{height}",
             f"--blink-settings=preferredColorScheme={0 if mode == 'dark' else 1}", f"--screenshot={to}")
    from PIL import Image
    with Image.open(to) as image:
        pixels = np.asarray(image.convert("L"))
        assert pixels.shape == (height, width) and (pixels.mean() < 100) == (mode == "dark") and pixels.std() > 5
        if picture:
            image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(ROOT / "docs" / f"{picture}.png",
                optimize=True)


def check(page, *content, picture=None, height=900):
    dom = chromium(page, "--dump-dom")
    for text in content:
        assert text in dom, text
    assert "http://" not in dom.replace("http://www.w3.org", "") and "https://" not in dom
    for width, mode, name in ((1100, "light", picture), (1100, "dark", picture and picture + "-dark"),
                              (420, "light", None)):
        shot(page, width, height, mode, name)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(64, 128), nn.Dense(128, 10)

    def construct(self, x):
        return self.fc2(ops.relu(self.fc1(x)))


@pytest.fixture(scope="module")
def profile():
    ms.set_seed(0)
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    gradients = ms.value_and_grad(lambda x, y: nn.CrossEntropyLoss()(net(x), y), None, optimizer.parameters)

    def train_step(x, y):
        loss, grads = gradients(x, y)
        optimizer(grads)
        if float(loss) > 100:
            raise ArithmeticError("it grows")
        return loss
    rng = np.random.RandomState(0)
    return ms.profile(train_step, ms.Tensor(rng.rand(32, 64).astype(np.float32)),
                      ms.Tensor(rng.randint(0, 10, 32).astype(np.int32)), seconds=1)


def test_profile(profile, tmp_path):
    profile.to_html(tmp_path / "profile.html")
    check(tmp_path / "profile.html", "train_step", "as fast captured", "matmul", "GFLOP/s", "float(loss)",
          picture="profile", height=1000)


def test_explanation(profile, tmp_path):
    def scaled(x, width):
        z = (x - x.mean(0)) / x.std(0)
        if z.max() > 2:
            z = ops.tanh(z)
        else:
            z = z * width
        biggest = z.asnumpy().max()
        return ops.softmax(z * float(biggest))
    f = ms.jit(scaled)
    for n in (8, 8, 9):
        f(ms.Tensor(np.random.RandomState(0).rand(n, 5).astype(np.float32)), 2.0)
    page = tmp_path / "explanation.html"
    text = ms.explain(f).to_html()
    page.write_text(text.replace("<details><summary>entry 0", "<details open><summary>entry 0"), encoding="utf-8")
    check(page, "Why graphs break", "asnumpy", "captured for", "<svg", "where true", picture="explanation", height=1500)
    profile.explanation.to_html(tmp_path / "step.html")
    check(tmp_path / "step.html", "Graphs and guards", "<svg", "kernel")


# What JupyterLab's style sheet must leave as it is: source is set flush left, on lines of its own, and cells of numbers
# flush right.
LOOKS = """
<script>
const wrong = [];
const look = (where, property, wanted) => document.querySelectorAll(where).forEach(e => {
  const got = getComputedStyle(e)[property];
  if (!wanted.includes(got)) wrong.push(`${where}: ${property} ${got}`);
});
look(".pijit .pj-src td:nth-child(2)", "textAlign", ["left", "start"]);
look(".pijit .pj-src pre", "whiteSpace", ["pre"]);
look(".pijit td.pj-num", "textAlign", ["right"]);
look(".pijit table", "display", ["table"]);
document.querySelectorAll(".pijit .pj-at").forEach(e => {
  if (e.getClientRects().length > 1) wrong.push("a place on two lines: " + e.textContent); });
document.querySelectorAll(".pijit .pj-src tr:not(.pj-why) td:nth-child(2)").forEach(
  e => { if (e.getBoundingClientRect().height > 40) wrong.push("source on two lines: " + e.textContent); });
document.body.dataset.looks = [...new Set(wrong)].slice(0, 5).join("; ") || "good";
</script>
"""


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    """Notebooks of the examples, run now."""
    spec = importlib.util.spec_from_file_location("build_notebooks", ROOT / "examples" / "notebooks" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    folder = tmp_path_factory.mktemp("notebooks")
    return {name: build.build(name, folder) for name in CONTENT}


CONTENT = {"train_a_network": ("speed-up", "captures and compiles", "step", "parameters"),
           "why_is_it_slow": ("Why graphs break", "asnumpy", "same bits", "the lines above")}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", CONTENT)
def test_notebook(name, theme, notebooks, tmp_path):
    """As JupyterLab shows it, by its own style sheet."""
    nbconvert = pytest.importorskip("nbconvert")
    text, _ = nbconvert.HTMLExporter(template_name="lab", theme=theme).from_filename(str(notebooks[name]))
    text = re.sub(r"<script\b.*?</script>", "", text, flags=re.S)  # of formulas, from a network
    page = tmp_path / f"{name}.html"
    page.write_text(text.replace("</body>", LOOKS + "</body>"), encoding="utf-8")
    for width in (1100, 420):
        dom = chromium(page, f"--window-size={width},900", "--dump-dom")
        assert re.search(r'data-looks="([^"]*)"', dom)[1] == "good"
    assert all(text in dom for text in CONTENT[name])
    picture = {"light": "notebook", "dark": "notebook-dark"}[theme] if name == "train_a_network" else None
    shot(page, 1100, 2200, theme, picture)
    shot(page, 420, 2200, theme)
