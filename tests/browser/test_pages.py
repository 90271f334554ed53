"""Pages of explanations, profiles and notebooks in a real Chromium: content, no errors, pictures for docs/ (make test-browser)."""

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
    r = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
                        "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri()], capture_output=True, text=True, timeout=300)
    errors = [line for line in r.stderr.splitlines() if ERRORS.search(line) and "dbus" not in line]
    assert r.returncode == 0 and not errors, errors or r.stderr
    return r.stdout


def check(page, *content, picture=None, height=900):
    dom = chromium(page, "--dump-dom")
    for text in content:
        assert text in dom, text
    assert "http://" not in dom.replace("http://www.w3.org", "") and "https://" not in dom
    for width, mode, name in ((1100, "light", picture), (1100, "dark", picture and picture + "-dark"), (420, "light", None)):
        shot = page.with_suffix(f".{width}.{mode}.png")
        chromium(page, f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={0 if mode == 'dark' else 1}", f"--screenshot={shot}")
        from PIL import Image
        with Image.open(shot) as image:
            pixels = np.asarray(image.convert("L"))
            assert pixels.shape == (height, width) and (pixels.mean() < 100) == (mode == "dark") and pixels.std() > 5
            if name:
                image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(ROOT / "docs" / f"{name}.png", optimize=True)


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
    return ms.profile(train_step, ms.Tensor(rng.rand(32, 64).astype(np.float32)), ms.Tensor(rng.randint(0, 10, 32).astype(np.int32)), seconds=1)


def test_profile(profile, tmp_path):
    profile.to_html(tmp_path / "profile.html")
    check(tmp_path / "profile.html", "train_step", "as fast captured", "matmul", "GFLOP/s", "float(loss)", picture="profile", height=1000)


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


@pytest.mark.parametrize("name", ["train_a_network", "why_is_it_slow"])
def test_notebook(name, tmp_path):
    nbconvert = pytest.importorskip("nbconvert")
    exporter = nbconvert.HTMLExporter(template_name="basic")
    body, _ = exporter.from_filename(str(ROOT / "examples" / "notebooks" / f"{name}.ipynb"))
    page = tmp_path / f"{name}.html"
    style = "body{font:15px/1.5 system-ui,sans-serif;max-width:1060px;margin:20px auto;padding:0 16px;background:#fff;color:#222} pre{white-space:pre-wrap} " \
            "@media (prefers-color-scheme:dark){body{background:#191917;color:#eee}} .jp-InputPrompt,.jp-OutputPrompt,.anchor-link{display:none}"
    page.write_text(f"<!DOCTYPE html><html><head><meta charset='utf-8'><style>{style}</style></head><body>{body}</body></html>", encoding="utf-8")
    check(page, *{"train_a_network": ("speed-up", "captures and compiles", "step", "parameters"), "why_is_it_slow": ("Why graphs break", "asnumpy", "same bits")}[name],
          picture="notebook" if name == "train_a_network" else None, height=2200)
