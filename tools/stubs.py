"""Writes what editors can't read from the sources: `python tools/stubs.py`.

The methods of Tensor go into pijit/_C.pyi, between its two marks, from their signatures; the functions that
pijit/ops/table.py names into a stub of pijit/ops/function/elementwise.py; what packages load when it is asked for
(`compat.names`) into a block of their own that only type checkers read."""

import ast

import builtins
import inspect
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
STUB = ROOT / "pijit" / "_C.pyi"
FUNCTIONS = ROOT / "pijit" / "ops" / "function" / "elementwise.pyi"
BEGIN, END = "    # -- methods written in Python (tools/stubs.py) --\n", "    # -- operators --\n"

# What parameters of these names are, and what methods give that don't give a Tensor.
KINDS = {"keepdim": "builtins.bool", "keepdims": "builtins.bool", "keep_dims": "builtins.bool", "dtype": "Any",
         "descending": "builtins.bool"}
RESULTS = {
    "builtins.bool": "allclose init_finished is_complex is_contiguous is_floating_point is_init is_nonzero is_pinned "
                     "is_signed "
            "requires_grad",
    "builtins.int": "data_ptr dim element_size ndimension nelement numel storage_offset",
    "tuple[Tensor, ...]": "aminmax chunk cummax cummin dsplit eig geqrf hsplit kthvalue nanmedian qr slogdet split "
                          "tensor_split topk unbind unique_with_pad vsplit median sort log_matrix_determinant top_k",
    "np.ndarray": "asnumpy numpy", "list[Any]": "tolist", "bytes": "get_bytes",
    "Any": "item type max min svd where unique unique_consecutive stride hooks register_hook to_coo to_csr device svd "
           "nonzero "
           "to_dlpack convert_bytes_to_tensor argmax_with_value argmin_with_value choose init_data data_sync "
           "set_const_arg value",
}
RESULT_OF = {name: kind for kind, names in RESULTS.items() for name in names.split()}


def wrapped(line, most=120):
    """A declaration in lines of at most `most` columns, broken behind commas."""
    if len(line) <= most:
        return [line]
    start = line.index("(") + 1
    parts = textwrap.wrap(line[start:].replace(" ", "\xa0").replace(",\xa0", ", "), most - start,
                          break_long_words=False, break_on_hyphens=False)
    return [(" " * start if k else line[:start]) + part.replace("\xa0", " ") for k, part in enumerate(parts)]


def annotated(annotation):
    """An annotation as the body of class Tensor has it, whose methods hide some builtins; None where there is none."""
    if isinstance(annotation, tuple):  # of pijit/overloads.py: classes
        kinds = {"NoneType": "None", "integer": None, "bool_": None}
        names = [kinds.get(c.__name__, c.__name__) for c in annotation]
        if {"tuple", "list"} <= set(names):
            names = ["Axis", *(n for n in names if n not in ("int", "tuple", "list"))]
        annotation = " | ".join(n for n in names if n)
    if not isinstance(annotation, str):
        return None
    from pijit import Tensor

    def name(match):
        hidden = hasattr(builtins, match[0]) and hasattr(Tensor, match[0])
        return f"builtins.{match[0]}" if hidden else match[0]
    return re.sub(r"(?<![\w.])[a-z]\w*", name, annotation)


def imported(text, *known):
    """The imports of what a text names."""
    places = {"collections.abc": "Callable Iterator Sequence", "typing": "Any overload", "pijit._C": "DType Tensor",
              "pijit._types": "ArrayLike Axis DTypeLike Number Shape Size TensorLike", "pijit.random": "Generator"}
    lines = []
    for module, names in places.items():
        used = [n for n in names.split() if re.search(rf"(?<![\w.]){n}\b", text) and n not in known]
        if used:
            lines.append(f"from {module} import {', '.join(used)}")
    return lines


def declared(fn, own):
    """A signature as a stub has it: `self` first."""
    parts, seen_star = [], False
    signature = inspect.signature(fn)
    for k, p in enumerate(signature.parameters.values()):
        if k == 0:
            parts.append("self")
            continue
        kind = annotated(p.annotation) or KINDS.get(p.name, "Any")
        if p.kind is p.VAR_POSITIONAL:
            seen_star = True
            parts.append(f"*{p.name}: {annotated(p.annotation) or 'Any'}")
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not seen_star:
                seen_star = True
                parts.append("*")
            parts.append(f"{p.name}: {kind}" + (" = ..." if p.default is not p.empty else ""))
    result = annotated(signature.return_annotation)
    if result in (None, "Any"):
        result = RESULT_OF.get(own, result or "Tensor")
    return f"({', '.join(parts)}) -> {result}: ..."


def methods():
    """Lines of the stub for the methods that the extension itself doesn't declare."""
    sys.path.insert(0, str(ROOT))
    from pijit import Tensor
    lines = []
    for name in sorted(n for n in dir(Tensor) if n[0] != "_"):
        fn = inspect.getattr_static(Tensor, name)
        fn = getattr(fn, "of_all", fn)  # a program has set an attribute of this name (pijit/own_attributes.py)
        static = isinstance(fn, staticmethod)
        fn = fn.__func__ if static else fn
        if not inspect.isfunction(fn):
            continue  # properties and what the extension declares
        forms = getattr(fn, "forms", None)
        for form in forms or (None,):
            if forms and len(forms) > 1:
                lines.append("    @overload")
            if static:
                lines += ["    @staticmethod", f"    def {name}(*args: Any, **kwargs: Any) -> Tensor: ..."]
            else:
                lines += wrapped(f"    def {name}{declared(form.fn if form else fn, name)}")
    return "\n".join(lines) + "\n"


def written():
    """The stub as it should be."""
    text = STUB.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + methods() + text[end:]


def functions():
    """The stub of the functions that are one op each."""
    sys.path.insert(0, str(ROOT))
    from pijit.ops.function import elementwise
    lines = []
    for name, fn in vars(elementwise).items():
        if name.startswith("__") or inspect.ismodule(fn) or not callable(fn) or isinstance(fn, type):
            continue
        signature = inspect.signature(fn)
        own = "TensorLike" if len(signature.parameters) > 1 else "Tensor"  # a number is an op's input beside a Tensor
        parts, star = [], False
        for p in signature.parameters.values():
            if p.kind is p.KEYWORD_ONLY and not star:
                star = True
                parts.append("*")
            kind = p.annotation if isinstance(p.annotation, str) else "Tensor" if p.name == "condition" else own
            parts.append(f"{'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}: {kind}"
                         + (" = ..." if p.default is not p.empty else ""))
        result = signature.return_annotation if isinstance(signature.return_annotation, str) else "Tensor"
        lines += wrapped(f"def {name}({', '.join(parts)}) -> {result}: ...")
    text = "\n".join(lines) + "\n"
    return "\n".join(["# Written by tools/stubs.py.", *imported(text), "", text])


LAZY = [ROOT / "pijit" / name / "__init__.py" for name in ("", "mint", "nn", "train", "dataset")]
CHECKED = ("if _typing.TYPE_CHECKING:  # what is loaded when it is asked for (tools/stubs.py)\n", "# -- to here --\n")


def bound(tree):
    """The names that the top level of a module has, and those in its table for `compat.names`, by their modules."""
    names, later = set(), {}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
            call = node.value
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "names" and len(call.args) > 1:
                later = {module: text.split() for module, text in ast.literal_eval(call.args[1]).items()}
    return names, later


def lazy(path):
    """The text of a package's __init__.py with the block that type checkers read."""
    text = path.read_text()
    begin, end = text.index(CHECKED[0]) + len(CHECKED[0]), text.index(CHECKED[1])
    package = ".".join(path.parent.relative_to(ROOT).parts)
    names, later = bound(ast.parse(text))
    lines = []
    for module, taken in later.items():
        taken = [n for n in taken if n not in names]
        names.update(taken)
        if taken:
            line = f"    from pijit.{module} import ({', '.join(f'{n} as {n}' for n in taken)})"
            lines += wrapped(line) if len(line) > 120 else [line.replace("(", "").replace(")", "")]
    below = sorted({p.stem for p in path.parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()})
    below = [n for n in below if n[0] != "_" and n not in names]
    line = f"    from {package} import ({', '.join(f'{n} as {n}' for n in below)})"
    lines += wrapped(line) if len(line) > 120 else [line.replace("(", "").replace(")", "")]
    return text[:begin] + "\n".join(lines) + "\n" + text[end:]


if __name__ == "__main__":
    STUB.write_text(written())
    FUNCTIONS.write_text(functions())
    for package in LAZY:
        package.write_text(lazy(package))
