"""Writes what editors can't read from the sources: `python tools/stubs.py`.

The methods of Tensor go into pijit/_C.pyi, between its two marks, from their signatures; the functions that
pijit/ops/table.py names into a stub of pijit/ops/function/elementwise.py."""

import inspect
import pathlib
import sys
import textwrap
from typing import Any

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


def declared(fn, own):
    """A signature as a stub has it: `self` first."""
    parts, seen_star = [], False
    for k, p in enumerate(inspect.signature(fn).parameters.values()):
        if k == 0:
            parts.append("self")
            continue
        kind = KINDS.get(p.name, "Any")
        if p.kind is p.VAR_POSITIONAL:
            seen_star = True
            parts.append(f"*{p.name}: Any")
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not seen_star:
                seen_star = True
                parts.append("*")
            parts.append(f"{p.name}: {kind}" + (" = ..." if p.default is not p.empty else ""))
    return f"({', '.join(parts)}) -> {RESULT_OF.get(own, 'Tensor')}: ..."


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
    lines = ["# Written by tools/stubs.py.", "from typing import Any", "", "from pijit._C import Tensor", ""]
    for name, fn in vars(elementwise).items():
        if name.startswith("__") or inspect.ismodule(fn) or not callable(fn) or isinstance(fn, type):
            continue
        parts = [p.replace(annotation=Any, default=... if p.default is not p.empty else p.empty)
                 for p in inspect.signature(fn).parameters.values()]
        text = str(inspect.Signature(parts)).replace("typing.Any", "Any").replace("Ellipsis", "...")
        lines += wrapped(f"def {name}{text} -> Tensor: ...")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(written())
    FUNCTIONS.write_text(functions())
