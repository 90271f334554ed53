"""Programs of random views and stores, plainly and captured: the same results, arguments and views that leave.

PIJIT_FUZZ of them."""

import os
import random

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops

COUNT = int(os.environ.get("PIJIT_FUZZ", 60))
PARTS = ["{v}[1:3]", "{v}[0]", "{v}[-1]", "{v}[:, 1:]", "{v}[::2]", "{v}[..., 0]", "{v}.T", "{v}.reshape(-1)",
         "{v}[None]", "{v}.swapaxes(0, -1)", "{v}.view(-1)", "{v}.squeeze()", "{v}.diagonal()", "{v}[n:]", "{v}[:n]"]
CHANGES = ["{v} *= 2", "{v} += {w}.sum()", "{v}[0] = {w}.mean()", "{v}[...] = {v} + 1", "{v}[:1] = 3", "{v}[-1] -= 1",
           "{v}[n:] = {w}.max()", "{v}.add_({w}.sum())"]
READS = ["r.append({v} * 1)", "s = s + {v}.sum() * {k}", "s = s + ({v}[0] * {k}).sum()"]


class Program:
    """The lines of a function f(a, b, n): a and b are Tensors of 4 x 4."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names, self.lines = ["a", "b"], []
        for _ in range(self.random.randint(4, 14)):
            self.statement("    ", 2)
        kept = self.random.sample(self.names, min(3, len(self.names)))
        self.lines.append(f"    return s, r, {', '.join(kept)}")

    def statement(self, indent, depth):
        take = self.random.random()
        pick = self.random.choice
        if take < 0.3:
            name = f"v{len(self.lines)}"
            self.lines.append(f"{indent}{name} = {pick(PARTS).format(v=pick(self.names))}")
            if depth == 2:
                self.names.append(name)
        elif take < 0.6:
            self.lines.append(indent + pick(CHANGES).format(v=pick(self.names), w=pick(self.names)))
        elif take < 0.85 or not depth:
            self.lines.append(indent + pick(READS).format(v=pick(self.names), k=self.random.randint(1, 3)))
        else:
            head = pick(["for i in range(3):", "for i in range(n):", "if n > 1:",
                         f"if {pick(self.names)}.sum() > {pick([-9, 0, 2])}:", f"while {pick(self.names)}.max() < 40:"])
            self.lines.append(indent + head)
            for _ in range(self.random.randint(1, 3)):
                self.statement(indent + "    ", 0)
            if head.startswith("while"):
                self.lines.append(f"{indent}    {head[6:].split('.')[0]} += 25")
                self.lines.append(f"{indent}    if n > 90: break\n{indent}    n += 30")

    def function(self):
        text = "\n".join(["def f(a, b, n):", "    s, r = a.sum() * 0, []", *self.lines])
        scope = {"ops": ops}
        exec(text, scope)
        return scope["f"], text


def outcome(call, n, overlap):
    whole = Tensor(np.arange(40, dtype=np.float32).reshape(10, 4) / 4 - 3)
    a, b = (whole[:4], whole[2:6]) if overlap else (whole[:4] * 1, whole[4:8] * 1)
    try:
        s, r, *kept = call(a, b, n)
        for k, v in enumerate(kept):  # who shares with whom
            v *= k + 2
        out = [s, *r, *kept]
    except Exception as e:  # noqa: BLE001
        out, kept = [], [type(e).__name__]
        return [kept[0], a.asnumpy().tolist(), b.asnumpy().tolist()]
    return [v.asnumpy().tolist() for v in (*out, a, b, whole)]


def compare(seed):
    f, text = Program(seed).function()
    jitted = ms.jit(f)
    for n, overlap in ((2, False), (2, False), (1, False), (3, False), (2, True), (2, False)):
        want = outcome(f, n, overlap)
        got = outcome(jitted, n, overlap)
        assert got == want or str(got) == str(want), f"{seed} {n} {overlap}\n{text}"


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.filterwarnings("ignore")
def test_programs(seed):
    compare(seed)
