"""Calls of every function and primitive of ops, for tests/python/facts.py to answer with a Python that has MindSpore.

    python tools/calls.py > calls; <Python with MindSpore 2.7.1> tests/python/facts.py tests/python/facts_calls.json.gz
    < calls

From the calls of tools/calls.txt, and those whose facts are known already, it makes others until each name has at least
MOST: the tensors in other dtypes and shapes, something else in their place, other numbers, flags and strings. Prints
those whose facts aren't known, marked with `?`."""

import ast
import collections
import gzip
import itertools
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
FACTS = HERE.parent / "tests" / "python"
MOST = 13

FLOATS = {"A", "B", "V", "X3", "X4", "X5", "M", "M2", "P", "Q", "S", "BOX", "SPD"}
OTHERS = {"I", "J", "U", "L", "D", "H", "K"}


def name_of(expression):
    """The function or primitive that a call is of, or None."""
    found = re.match(r"(?:sh\()?ops\.(\w+)\(", expression)
    return found and found[1]


def scalar(text):
    """Whether a leaf's text is a tensor without dimensions."""
    return (
        text == "S"
        or bool(re.fullmatch(r"T\((np\.\w+\()?-?[\d.e-]+\)?(, ms\.\w+)?\)", text))
        or text.startswith(("T(np.array(0,", "T(np.array(False)", "T(np.array(4,", "T(True)"))
    )


def leaf(node):
    """ "float" or "other" for a tensor among the arguments, else None."""
    if isinstance(node, ast.Name):
        return "float" if node.id in FLOATS else "other" if node.id in OTHERS else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "T":
        text = ast.unparse(node)
        return "float" if "float32" in text or re.fullmatch(r"T\(-?\d*\.\d*(e-?\d+)?\)", text) else "other"
    return None


class _Replace(ast.NodeTransformer):
    """Replaces the leaves that `wanted` picks by their number and kind; what is inside of a leaf stays."""

    def __init__(self, change):
        self.change, self.count = change, itertools.count()

    def visit(self, node):
        kind = leaf(node)
        if kind:
            text = self.change(next(self.count), kind, ast.unparse(node))
            return node if text is None else ast.parse(text, mode="eval").body
        return super().visit(node)


class _Constants(ast.NodeTransformer):
    """Replaces constant number `which` outside of tensors by `change` of it."""

    def __init__(self, which, change):
        self.which, self.change, self.count = which, change, itertools.count()

    def visit(self, node):
        if leaf(node):
            return node
        if isinstance(node, ast.Constant) and next(self.count) == self.which:
            value = self.change(node.value)
            return node if value is None else ast.parse(repr(value), mode="eval").body
        return super().visit(node)


def changed(expression, transformer):
    return ast.unparse(transformer.visit(ast.parse(expression, mode="eval")))


def other_number(k):
    def change(v):
        if isinstance(v, bool):
            return [not v, None, None][k]
        if isinstance(v, int):
            return [v + 1, -1 if v != -1 else -2, v + 0.5][k]
        if isinstance(v, float):
            return [v * 2, -v, int(v)][k]
        if isinstance(v, str):
            return [{"mean": "sum", "sum": "none", "none": "mean"}.get(v, "bad"), None, 1][k]
        return None

    return change


def variants(e):
    """(urgency, another call) for changes of e."""
    floats = ("float16", "float64", "int32", "int64", "uint8", "bool_", "complex64")
    for k, t in enumerate(floats):
        yield 10 + k, changed(e, _Replace(lambda _, kind, x: f"{x}.astype(ms.{t})" if kind == "float" else None))
    yield 20, changed(e, _Replace(lambda n, kind, x: f"{x}.astype(ms.int32)" if kind == "float" and n == 0 else None))
    for k, t in enumerate(("int64", "int32", "float32", "uint8", "int16")):
        yield 11 + 3 * k, changed(e, _Replace(lambda _, kind, x: f"{x}.astype(ms.{t})" if kind == "other" else None))
    for k, form in enumerate(("{}[None]", "{}[:0]", "{}.reshape(-1)", "1.5", "None")):
        yield (
            12 + 3 * k,
            changed(
                e, _Replace(lambda n, _, x: form.format(x) if n == 0 and not (scalar(x) and "[:" in form) else None)
            ),
        )
    for k, form in enumerate(("{}[:1]", "{}[0]", "2", "{}.reshape(-1)")):
        yield (
            13 + 3 * k,
            changed(
                e, _Replace(lambda n, _, x: form.format(x) if n == 1 and not (scalar(x) and "[" in form) else None)
            ),
        )
    for which in range(6):
        for k in range(3):
            yield 11 + 3 * k + which, changed(e, _Constants(which, other_number(k)))


def known():
    """Expressions of the stored facts."""
    found = []
    for file in ("facts_names.json", "facts_numeric.json", "facts_ops.json"):
        found += json.loads((FACTS / file).read_text())
    return found, dict.fromkeys(json.loads(gzip.decompress((FACTS / "facts_calls.json.gz").read_bytes())))


def main():
    sys.path.insert(0, str(HERE))
    from api_coverage import NAMES, notes
    import fnmatch

    left_out = [pattern for pattern, state, _ in notes() if state == "left out"]
    names = {
        n
        for n in json.loads(NAMES.read_text())["modules"]["mindspore.ops"]
        if not any(fnmatch.fnmatchcase("mindspore.ops." + n, p) for p in left_out)
    }
    seeds, asked = known()
    own = [line.strip() for line in (HERE / "calls.txt").read_text().splitlines() if line.strip() and line[0] != "#"]
    bases, have = collections.defaultdict(dict), collections.Counter()
    for e in own + seeds + asked:
        if e in asked and ".astype(ms." in e:
            continue  # made from another
        if name_of(e) in names and "Parameter(A,name" not in e and len(e) < 220 and " for " not in e:
            bases[name_of(e)][ast.unparse(ast.parse(e, mode="eval"))] = e
    done = {ast.unparse(ast.parse(e, mode="eval")) for e in asked}
    for e in asked:
        have[name_of(e)] += 1
    for name in sorted(bases):
        picked = [e for e in bases[name] if e not in done]
        more = sorted(
            {
                (urgency, k, v)
                for k, e in enumerate(list(bases[name])[:6])
                for urgency, v in variants(e)
                if v not in done and v not in bases[name]
            }
        )
        seen = set(picked)
        for _, _, v in more:
            if have[name] + len(picked) >= MOST:
                break
            if v not in seen:
                seen.add(v)
                picked.append(v)
        for e in picked:
            print("?" + e)
    print("without a call:", *sorted(names - set(bases)), file=sys.stderr)


if __name__ == "__main__":
    main()
