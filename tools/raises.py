"""Writes the sections "Raises" of docstrings in pijit after the checks of arguments (pijit/_check.py) in the bodies of
their functions, and of the constructors of their classes: what is checked of an argument is said in the words of the
check, and what stands there besides stays. `python tools/raises.py --check` changes nothing and ends with an error
where something differs."""

from __future__ import annotations

import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).parents[1]
_TYPES = {"INT": "an int", "NUMBER": "a number", "FLOAT": "a float", "BOOL": "a bool", "STR": "a str", "DICT": "a dict",
          "LIST": "a list", "TUPLE": "a tuple", "SEQUENCE": "a tuple or a list", "FUNCTION": "callable",
          "TENSOR": "a Tensor", "DTYPE": "a dtype"}
_VAGUE = r"`{0}` is (out of range|not one of those named|below \d+|not an? \w+( or an? \w+)*)"


def _or(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _plain(node):
    """A constant as it is written, a name between backquotes; None for what is computed."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    named = re.fullmatch(r"'(\w+)'", value) if isinstance(value, str) else None
    return f"`{named[1]}`" if named else value if isinstance(value, str) else ast.unparse(node)


def _clause(argument, check, error):
    """The error of a check and when it is raised, or None where only the function can say."""
    kind, args = ast.unparse(check.func if isinstance(check, ast.Call) else check), getattr(check, "args", [])
    kind, x, plain = kind.removeprefix("_check."), f"`{argument}`", [_plain(a) for a in args]
    known = all(p is not None for p in plain)
    of = x if "dtype" in argument or "type" in argument else f"the dtype of {x}"
    if kind in _TYPES:
        return "TypeError", f"{x} is not {_TYPES[kind]}"
    if kind == "optional":
        inner = _clause(argument, args[0], error)
        return (inner[0], inner[1].replace(" is not ", " is neither None nor ")) if inner else None
    if kind == "a":
        names = [ast.unparse(a).rpartition(".")[2] for a in args]
        return "TypeError", f"{x} is not {_or([f'an {n}' if n[0] in 'aeiouAEIO' else f'a {n}' for n in names])}"
    if kind == "type_":
        return ("TypeError", f"{x} is not {plain[0]}") if known else None
    bounds = {"at_least": "is less than", "at_most": "is greater than", "above": "is not greater than",
              "below": "is not less than", "multiple": "is not a multiple of"}
    if kind in bounds:
        return "ValueError", f"{x} {bounds[kind]} {plain[0]}" if known else f"{x} is out of range"
    if kind == "within":
        ends = plain[2] if len(plain) > 2 else "[]"
        return "ValueError", (f"{x} is not in {ends[0]}{plain[0]}, {plain[1]}{ends[1]}" if known
                              else f"{x} is out of range")
    if kind == "one_of":
        choices = None if [a for a in args if isinstance(a, ast.Starred)] else [ast.unparse(a) for a in args]
        return "ValueError", f"{x} is not {_or(choices)}" if choices else f"{x} is not one of those named"
    if kind in ("NOT_ZERO", "NOT_EMPTY"):
        return "ValueError", f"{x} is {'0' if kind == 'NOT_ZERO' else 'empty'}"
    if kind in ("dims", "least_dims"):
        count = f"{'at least ' * (kind == 'least_dims')}{_or(plain)}" if known else ""
        return "ValueError", (f"{x} does not have {count} dimension{'s' * (count not in ('1', 'at least 1'))}" if known
                              else f"the shape of {x} does not fit")
    if kind == "dtypes":
        return ("TypeError", f"{of} is not {_or(plain)}") if known else None
    if kind == "FLOATING":
        return "TypeError", f"{of} is not floating"
    if kind == "shape":
        return "ValueError", f"the shape of {x} does not fit"
    if kind == "value" and known:
        verb, _, rest = plain[0].partition(" ")
        verb, rest = ("is", rest.removeprefix("be ")) if verb == "not" else ("is not", rest) if verb == "be" else (
            "does not " + verb, rest)
        return "ValueError", f"{x} {verb} {rest}"
    return None


def checks(function):
    """[(error, clause)] of the arguments that a function checks itself."""
    names = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    found = []
    for node in ast.walk(function):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) and len(node.args) > 1 else ""
        argument = getattr(node.args[1], "value", "") if called else ""
        if not isinstance(argument, str) or argument not in names:
            continue
        if called == "_need_tensor":
            found.append((node.lineno, ("TypeError", f"`{argument}` is not a Tensor")))
        elif called == "_check.empty":
            found.append((node.lineno, ("ValueError", f"`{argument}` is empty")))
        elif called == "_check.need":
            found += [(node.lineno, _clause(argument, c, None)) for c in node.args[3:]]
        elif called == "_check.refused":
            error = ast.unparse(node.args[4]) if len(node.args) > 4 else None
            said = _clause(argument, node.args[2], error)
            found.append((node.lineno, (error or said[0], said[1]) if said else None))
    said = dict.fromkeys(c for _, c in sorted((f for f in found if f[1]), key=lambda f: f[0]))
    return [(e, re.sub(r"'(\w+)'", lambda m: f"`{m[1]}`" if m[1] in names else m[0], c)) for e, c in said]


def _normal(clause):
    clause = re.sub(r"^(where|if) ", "", clause)
    clause = re.sub(r"^`(\w+)` is no (\w+)$",
                    lambda m: f"`{m[1]}` is not {'an' if m[2][0] in 'aeiouAEIO' else 'a'} {m[2]}", clause)
    clause = re.sub(r"^there is no such `(\w+)`$", r"`\1` is out of range", clause)
    return clause.replace("isn't", "is not").replace("doesn't", "does not").replace("out of its range", "out of range")


def section(lines, said):
    """The lines of a section, from those that there are and what is checked."""
    entries = {}
    for line in lines:
        begun = re.match(r"(\w+(?:Error|Exception)): ?(.*)", line)
        if begun:
            error, text = begun.groups()
            entries.setdefault(error, []).append(text)
        elif entries:
            entries[error][-1] += " " + line.strip()
        else:
            return None  # no list of errors
    result = {}
    for error, texts in entries.items():
        text = " ".join(texts)
        whole = not re.match(r"(where|if) ", text) or ";" in text or " and " in text and ", or " in text
        result[error] = ([re.sub("^where ", "if ", text)] if whole
                         else [_normal(c) for c in text.rstrip(".").split(", or ")])
    for error, clause in said:
        clauses, argument = result.setdefault(error, []), re.search(r"`(\w+)`", clause)[1]
        if clauses and re.search(r"[.;]$", clauses[0]):
            continue  # a sentence of its own
        vague = [c for c in clauses if re.fullmatch(_VAGUE.format(argument), c) and (error, c) not in said]
        for c in vague:
            at = clauses.index(c)
            clauses[at:at + 1] = [clause] * (clause not in clauses)
        if clause not in clauses:
            last = max([k for k, c in enumerate(clauses) if f"`{argument}`" in c], default=len(clauses) - 1)
            clauses.insert(last + 1, clause)
    order = [e for e in ("TypeError", "ValueError") if e in result] + [e for e in result
                                                                      if e not in ("TypeError", "ValueError")]
    return [(e, result[e][0] if re.search(r"[.;]$", result[e][0]) else f"if {', or '.join(dict.fromkeys(result[e]))}.")
            for e in order]


def rewritten(source):
    """The text of a module with the sections of its docstrings after its checks."""
    lines = source.split("\n")
    edits = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        first = node.body[0]
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)) or first.lineno == first.end_lineno:
            continue
        makes = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
        said = checks(node) if isinstance(node, ast.FunctionDef) else checks(makes[0]) if makes else []
        begin, end, pad = first.lineno - 1, first.end_lineno, " " * first.col_offset
        heads = [k for k in range(begin, end) if lines[k] == f"{pad}Raises:"]
        if not heads:
            continue
        start = heads[0] + 1
        stop = next((k for k in range(start, end) if not lines[k].startswith(pad + "    ")), end)
        closes = lines[stop - 1].endswith('"""')
        new = section([line[len(pad) + 4:].removesuffix('"""') for line in lines[start:stop]], said)
        if new is not None:
            text = [part for error, said_ in new for part in textwrap.wrap(
                f"{error}: {said_}", 120, initial_indent=pad + "    ", subsequent_indent=pad + "        ",
                break_long_words=False, break_on_hyphens=False)]
            text[-1] += '"""' * closes
            edits.append((start, stop, text))
    for start, stop, text in sorted(edits, reverse=True):
        lines[start:stop] = text
    return "\n".join(lines)


def main(check):
    differ = []
    for path in sorted((ROOT / "pijit").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "Raises:" in source and (new := rewritten(source)) != source:
            differ.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(new, encoding="utf-8")
    if differ:
        print(f"{'differ from' if check else 'written after'} the checks: {', '.join(differ)}")
    return int(check and bool(differ))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
