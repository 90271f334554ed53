"""Calls of ops with something else in the place of one operand or attribute, plainly and jitted.

    python tests/python/wrong_operands.py [first] [step]

prints each call before it runs, so that the last line names the one that crashes, and those that differ."""

import ast
import contextlib
import io
import pathlib
import re
import sys
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import pijit as ms
from tests.python.facts import load, variables

HERE = pathlib.Path(__file__).parent
WRONG = {"None": None, "NONE": None, "OTHER": object(), "TEXT": "text", "NAN": float("nan"), "KIND": int,
         "TENSORS": [ms.Tensor([1.0]), None]}
# what stands in no table of calls
MORE = ["ops.cat([A, B])", "ops.stack([A, B])", "ops.assign(ms.Parameter(A), B)", "ms.Parameter(A).set_data(B)",
        "A + B", "A @ A.T", "A[J]", "A[0]", "A == B",
        "ops.where(A > 0, A, B)", "ops.matmul(A, B.T)", "A.add(B)", "A.copy_(B)", "A.clip(0, 1)", "ops.addn([A, B])",
        "ops.relu(A)", "ops.sum(A, 0)",
        "ops.conv2d(X4, ops.ones((2, 4, 3, 3)))", "ops.max_pool2d(X4, 2)", "ops.layer_norm(A, (4,), V[:4], V[:4])",
        "A.reshape((4, 3))", "A.sum(0)",
        "ops.select(A > 0, A, B)", "ops.gather(A, J, 0)", "ops.clamp(A, B, B)", "A.masked_fill(A > 0, 1.0)",
        "ops.einsum('ij,kj->ik', A, B)",
        "ops.scatter_nd_update(ms.Parameter(A), J.reshape(3, 1), B)", "ops.pad(A, (1, 1), value=0)",
        "ops.concat((A, B), 1)", "T(A)", "A.astype(ms.int32)",
        "ops.tensor_scatter_update(A, J.reshape(3, 1), B)", "A.index_add(0, J, B)", "ops.dense(A, B, V[:3])",
        "ops.meshgrid(V, V)", "ops.hstack([A, B])"]


class _Replace(ast.NodeTransformer):
    """Replaces the argument of number `place` among all of the call's by the name WRONG."""

    def __init__(self, place, word):
        self.place, self.word, self.count = place, word, -1

    def _other(self, node):
        self.count += 1
        if self.count == self.place:
            return ast.copy_location(ast.parse(self.word, mode="eval").body, node)
        return self.visit(node)

    def visit_Call(self, node):
        node.func = self.visit(node.func)
        node.args = [self._other(a) for a in node.args]
        for k in node.keywords:
            k.value = self._other(k.value)
        return node

    def visit_List(self, node):
        node.elts = [self._other(e) for e in node.elts]
        return node

    visit_Tuple = visit_List

    def visit_BinOp(self, node):
        node.right = self._other(node.right)
        return node

    def visit_Subscript(self, node):
        node.value = self.visit(node.value)
        node.slice = self._other(node.slice)
        return node

    def visit_Compare(self, node):
        node.comparators = [self._other(c) for c in node.comparators]
        return node


def calls():
    """One call of each function and primitive that MindSpore answers, and MORE."""
    seen = {}
    for expression, fact in load(HERE / "facts_calls.json.gz").items():
        name = re.match(r"(?:sh\()?ops\.(\w+)", expression)[1]
        if "raises" not in fact and name not in seen:
            seen[name] = expression
    return list(seen.values()) + MORE


def variants(expression):
    """(expression with a name of WRONG in one place, that name)."""
    place = 0
    while True:
        for word in WRONG:
            tree = ast.parse(expression, mode="eval")
            change = _Replace(place, word)
            tree = ast.fix_missing_locations(change.visit(tree))
            if change.count < place:
                return
            yield ast.unparse(tree)
        place += 1


def outcome(f):
    """("raises", type, text), or ("value", its type)."""
    ms.set_seed(1)
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        try:
            r = f()
        except Exception as e:
            text = re.sub(r"0x[0-9a-f]+|at line \\d+", "", Exception.__str__(e))
            return "raises", type(e).__name__, text
    return "value", type(r).__name__


def main(first=0, step=1):
    warnings.simplefilter("ignore")
    differ, count = 0, 0
    for expression in calls()[first::step]:
        for changed in variants(expression):
            print(changed, flush=True)
            made = []
            for _ in range(2):  # fresh variables: some calls change them
                s = {**variables(ms), **{k: v for k, v in WRONG.items() if k != "None"}}
                made.append(eval("lambda: " + changed, s))
            plain, jitted = outcome(made[0]), outcome(ms.jit(made[1]))
            count += 1
            if plain != jitted:
                differ += 1
                print(f"DIFFERS {changed}\n    plain  {plain}\n    jitted {jitted}", flush=True)
    print(f"{count} calls, {differ} differ")
    return differ


if __name__ == "__main__":
    sys.exit(min(main(*map(int, sys.argv[1:])), 1))
