"""Calls of ops with absurd numbers in the places of sizes, axes, strides and other attributes: errors in words of ours,
and nothing crashes or goes on for ever.

    python tests/python/absurd_attributes.py [first] [step]

prints each call before it runs, so that the last line names the one that crashes; and those whose errors speak of the
library's insides."""

import ast
import contextlib
import io
import os
import resource
import signal
import sys
import time
import warnings

import numpy as np
from wrong_operands import calls, variables

import pijit as ms

ABSURD = ["2**62", "-2**62", "2**31", "-2**31 - 1", "-1", "0", "2**63", "()", "(1,)", "(2**62, 2**62)", "(-1, -1)",
          "(1,) * 9", "(0, 0)", "(2**40, 3)", "1e300", "-1e300"]
INSIDE = ("std::", "vector::", "basic_string", "map::at", "_M_", "check failed", "Unable to cast", "C++ type",
          "length_error", "stoi", "bad_variant")


class _Replace(ast.NodeTransformer):
    """Replaces the number, or tuple of numbers, of number `place`."""

    def __init__(self, place, text):
        self.place, self.text, self.count = place, text, -1

    def _is(self, node):
        self.count += 1
        return ast.parse(self.text, mode="eval").body if self.count == self.place else None

    def visit_Call(self, node):
        if (isinstance(node.func, ast.Name) and node.func.id == "T"
            or ast.unparse(node.func).startswith(("np.", "ms.Tensor"))):
            return node  # data, not an attribute
        return self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return self._is(node) or node
        return node

    def visit_Tuple(self, node):
        if all(isinstance(e, ast.Constant) and isinstance(e.value, int) for e in node.elts):
            found = self._is(node)
            if found:
                return found
        return self.generic_visit(node)

    visit_List = visit_Tuple


MORE = ["ops.max_pool2d(X4, 2, 1, 0, 1)", "ops.avg_pool2d(X4, 2, 1, 0)",
        "ops.conv2d(X4, ops.ones((4, 4, 3, 3)), None, 1, 'pad', 1, 1, 1)", "ops.MaxPool(2, 1)(X4)",
        "ops.MaxPoolWithArgmaxV2(2, 1, 0, 1)(X4)", "ops.AvgPool(2, 1)(X4)", "ops.full((2, 3), 1.0)",
        "ops.zeros((2, 3))", "ops.arange(0, 5, 1)", "ops.eye(3, 3)",
        "ops.tile(A, (2, 2))", "ops.broadcast_to(A, (3, 4))", "A.reshape((4, 3))", "A.sum(0)", "A.max(1)",
        "A.transpose((1, 0))", "A.expand_dims(0)", "A.repeat(2, 0)",
        "A.split(1, 0)", "ops.split(A, 1, 0)", "ops.pad(A, (1, 1, 2, 2), value=0)", "ops.one_hot(J, 4, T(1.0), T(0.0))",
        "ops.topk(V, 2)", "ops.cumsum(A, 0)",
        "ops.rand(2, 3)", "ops.randn(2, 3)", "ops.randint(0, 5, (2, 3))", "ops.unfold(X4, (2, 2), 1, 0, 1)",
        "ops.interpolate(X4, (4, 4), mode='nearest')",
        "ops.conv1d(X3, ops.ones((3, 3, 2)), None, 1)", "ops.conv3d(X5, ops.ones((2, 2, 2, 2, 2)), None, 1)",
        "ops.conv2d_transpose(X4, ops.ones((4, 3, 2, 2)), 1)",
        "ops.softmax(A, 0)", "ops.flip(A, (0,))", "ops.roll(A, 1, 0)", "ops.slice(A, (0, 0), (2, 2))",
        "ops.strided_slice(A, (0, 0), (2, 2), (1, 1))", "ops.gather(A, J, 0)",
        "A.narrow(0, 1, 2)", "A[0:2:1]", "A[0]", "ops.linspace(0.0, 1.0, 5)", "ops.tril(A, 0)", "ops.diag(V, 0)",
        "ops.concat((A, B), 0)", "ops.stack((A, B), 0)",
        "ops.lp_pool2d(X4, 2, 2, 1)", "ops.adaptive_avg_pool2d(X4, (2, 2))", "ops.adaptive_max_pool2d(X4, (2, 2))",
        "ops.fold(ops.ones((1, 8, 9)), (4, 4), (2, 2))",
        "ops.group_norm(X4, 2)", "ops.pixel_shuffle(X4, 2)", "ops.channel_shuffle(X4, 2)", "ops.hamming_window(5)",
        "ops.fft(A, 4, 0)", "ops.as_strided(A, (2, 2), (1, 1), 0)",
        "ops.unsqueeze(A, 0)", "ops.squeeze(A[:1], 0)", "ops.swapaxes(A, 0, 1)", "ops.movedim(A, 0, 1)",
        "ops.repeat_interleave(A, 2, 0)", "ops.chunk(A, 2, 0)",
        "ops.tensor_split(A, 2, 0)", "ops.rot90(A, 1, (0, 1))", "ops.cdist(A, B, 2.0)", "ops.norm(A, 2, 0)",
        "ops.dropout(A, 0.5)", "ops.hardshrink(A, 0.5)"]


def variants(expression):
    place = 0
    while True:
        for text in ABSURD:
            change = _Replace(place, text)
            tree = ast.fix_missing_locations(change.visit(ast.parse(expression, mode="eval")))
            if change.count < place:
                return
            yield ast.unparse(tree)
        place += 1


class TooLong(BaseException):
    """Ends a loop of Python's."""


def stop(*_):
    raise TooLong


def main(first=0, step=1):
    signal.signal(signal.SIGALRM, stop)
    warnings.simplefilter("ignore")
    if "ASAN_OPTIONS" not in os.environ:  # the sanitizer maps far more
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    bad, count = 0, 0
    for expression in [*calls(), *MORE][first::step]:
        if expression.startswith("ops.scalar_pow"):  # Python's own, of whole numbers as long as memory lasts
            continue
        for changed in dict.fromkeys(variants(expression)):
            print(changed, flush=True)
            count += 1
            text, start = "", time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                signal.alarm(25)
                try:
                    eval(changed, variables(ms))
                except TooLong:
                    pass
                except MemoryError:
                    print(f"MEMORY {changed}", file=sys.stderr)
                except Exception as e:
                    text = Exception.__str__(e)
                signal.alarm(0)
            if any(word in text for word in INSIDE) and "std::bad_alloc" not in text:
                bad += 1
                print(f"SAYS {changed}\n    {text[:300]}", flush=True)
            if time.perf_counter() - start > 20:
                bad += 1
                print(f"LONG {changed}: {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{count} calls, {bad} bad")
    return bad


if __name__ == "__main__":
    sys.exit(min(main(*map(int, sys.argv[1:])), 1))
