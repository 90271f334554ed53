"""The programs in examples/models: a training step gives the same bits of loss eagerly, under jit and in GRAPH_MODE, as
one graph."""

import importlib
import os
import sys

import numpy as np
import pytest

import pijit as ms
import pijit.compat
from pijit import nn

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "models")
STEPS = 3

PROGRAMS = sorted(f[:-3] for f in os.listdir(FOLDER) if f.endswith(".py") and f != "training.py")


@pytest.fixture(scope="module")
def load():
    """Imports a program as one written for MindSpore."""
    before = set(sys.modules)
    was = pijit.compat._installed
    pijit.compat.install("mindspore")
    sys.path.insert(0, FOLDER)
    yield importlib.import_module
    sys.path.remove(FOLDER)
    for name in set(sys.modules) - before:
        if name in PROGRAMS or name == "training":
            del sys.modules[name]
    if not was:
        pijit.compat.uninstall()


def prepare(load, name):
    """A fresh step of a program with the batches for it."""
    program = load(name)
    np.random.seed(1)
    ms.set_seed(1)
    network, loss, optimizer, batches = program.build()
    network.set_train()
    make_step = getattr(program, "make_step", load("training").make_step)
    return make_step(network, loss, optimizer), list(batches(STEPS)), network


def losses(step, batches, network):
    ms.set_seed(2)
    found = [step(*b).asnumpy() for b in batches]
    state = [p.asnumpy() for p in network.get_parameters()]
    return found, state


def same_bits(expected, found):
    for e, f in zip(expected[0], found[0]):
        assert e.dtype == f.dtype and e.tobytes() == f.tobytes(), f"losses {expected[0]} became {found[0]}"
    for n, (e, f) in enumerate(zip(expected[1], found[1])):
        assert e.tobytes() == f.tobytes(), f"parameter {n} differs"


@pytest.fixture(scope="module")
def eager(load):
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = losses(*prepare(load, name))
            assert all(np.isfinite(v).all() for v in kept[name][0])
            assert len({v.tobytes() for v in kept[name][0]}) == STEPS, "the loss should change from step to step"
        return kept[name]

    return get


@pytest.mark.parametrize("name", PROGRAMS)
def test_jitted(name, load, eager):
    step, batches, network = prepare(load, name)
    step = ms.jit(step)
    found = losses(step, batches, network)
    e = ms.explain(step)
    assert (len(e.graphs), len(e.breaks)) == (1, 0), f"{e}"
    same_bits(eager(name), found)
    before = e.compile_count
    for b in batches:
        step(*b)
    assert ms.explain(step).compile_count == before, f"captures grow\n{ms.explain(step)}"


class Step(nn.Cell):
    def __init__(self, step):
        super().__init__(auto_prefix=False)
        self.step = step

    def construct(self, *batch):
        return self.step(*batch)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_mode(name, load, eager):
    expected = eager(name)
    step, batches, network = prepare(load, name)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        same_bits(expected, losses(Step(step), batches, network))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_gpt_samples_the_same_text_with_its_caches(load):
    gpt = load("gpt")
    texts = []
    for jit in (False, True):
        ms.set_seed(1)
        network = gpt.build()[0]
        texts.append([gpt.sample(network, "a gr", 12, seed=s, jit=jit) for s in (0, 1)])
    assert texts[0] == texts[1]
    assert len(texts[0][0]) == 16 and texts[0][0] != texts[0][1]


def test_reinforce_learns_the_same_with_its_environment_in_python(load):
    rewards = []
    for jit in (False, True):
        ms.set_seed(1)
        rewards.append(load("reinforce").train(episodes=40, jit=jit))
    assert rewards[0] == rewards[1]
    assert np.mean(rewards[0][-10:]) > 0.8


def test_detector_finds_boxes_after_suppression(load):
    detector = load("detector")
    boxes = np.array([[0.5, 0.5, 0.2, 0.2], [0.52, 0.5, 0.2, 0.2], [0.2, 0.2, 0.1, 0.1]])
    assert detector.non_maximum_suppression(boxes, np.array([0.8, 0.9, 0.3])) == [1, 2]
    network = detector.build()[0]
    found = detector.detect(network, next(iter(detector.batches(1)))[0], threshold=0.0)
    assert len(found) == 2 and all(len(f) > 0 and f[0][1] >= f[-1][1] for f in found)


def test_gaussian_process_finds_its_lengths_and_predicts(load):
    program = load("gaussian_process")
    ms.set_seed(1)
    network, loss, optimizer, batches = program.build()
    step = ms.jit(load("training").make_step(network, loss, optimizer))
    losses = [step(*b).item() for b in batches(60)]
    x, y = next(iter(batches(1)))
    mean, variance = ms.jit(network.predict)(x, y, x)
    lengths = network.log_length.asnumpy()
    assert losses[-1] < losses[0] - 0.5 and lengths[1] > lengths[0]  # the second input says nothing
    assert ((mean - y) ** 2).mean().item() < 0.02 and 0 < variance.asnumpy().min() and variance.asnumpy().max() < 0.2
