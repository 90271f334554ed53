"""The extension's stub names what the extension has: no more, no less."""

import ast
import importlib.util
import inspect
import pathlib

from pijit import _C
from pijit.own_attributes import _Attribute


def stub_names():
    tree = ast.parse((pathlib.Path(_C.__file__).parent / "_C.pyi").read_text())
    names = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = node
    return names


def test_module_names_agree():
    own = {n for n in dir(_C) if not n.startswith("_")}
    stub = {n for n in stub_names() if not n.startswith("_")}
    assert own == stub, f"missing in the stub: {sorted(own - stub)}; only in the stub: {sorted(stub - own)}"


def test_class_members_agree():
    for name, node in stub_names().items():
        if not isinstance(node, ast.ClassDef):
            continue
        cls = getattr(_C, name)
        for member in node.body:
            member_name = (member.name if isinstance(member, ast.FunctionDef) else member.target.id
                           if isinstance(member, ast.AnnAssign) else None)
            assert (member_name in (None, "__getattr__", "__wrapped__")
                    or hasattr(cls, member_name)), f"{name}.{member_name} is only in the stub"
        declared = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for m in node.body
                    if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}
        own = {n for n in vars(cls) if not n.startswith("_")}
        if name != "Tensor":  # its methods in Python are attached by pijit.tensor: the next test
            assert own <= declared, f"{name}: missing in the stub: {sorted(own - declared)}"


def stub_writer():
    spec = importlib.util.spec_from_file_location("stubs", pathlib.Path(__file__).parents[2] / "tools" / "stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    return stubs


def test_functions_of_the_table_are_declared():
    stubs = stub_writer()
    assert stubs.FUNCTIONS.read_text() == stubs.functions(), "run tools/stubs.py"
    for package in stubs.LAZY:
        assert package.read_text() == stubs.lazy(package), "run tools/stubs.py"


def test_methods_of_tensors_are_declared():
    """tools/stubs.py has written them: no attribute is Any."""
    stubs = stub_writer()
    assert stubs.STUB.read_text() == stubs.written(), "run tools/stubs.py"
    tree = ast.parse(stubs.STUB.read_text())
    tensor = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    declared = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for m in tensor.body
                if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}
    # but for names that programs have set attributes of
    own = {n for n in dir(_C.Tensor) if n[0] != "_" and not hasattr(inspect.getattr_static(_C.Tensor, n), "of_all")}
    assert "__getattr__" not in declared and own <= declared


def test_operators_of_tensors_are_declared():
    of_all_objects = {"__new__", "__doc__", "__module__", "__reduce__", "__repr__", "__str__", "__format__",
                      "__buffer__", "__release_buffer__"}  # from 3.12 on of what C code reads as a buffer
    declared = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for m in stub_names()["Tensor"].body
                if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}
    found = {n for n, v in vars(_C.Tensor).items() if n.startswith("__") and not isinstance(v, _Attribute)}
    assert found - of_all_objects <= declared  # programs may set others, see pijit/own_attributes.py


def test_methods_show_their_arguments():
    def unannotated(method):
        signature = inspect.signature(method)
        return inspect.Signature([p.replace(annotation=p.empty) for p in signature.parameters.values()])
    show = {n: str(unannotated(getattr(_C.Tensor, n))) for n in ("sum", "abs", "clamp_", "mul", "sort")}
    assert show == {"sum": "(self, dim=None, keepdim=False, *, dtype=None)", "abs": "(input)",
                    "clamp_": "(input, min=None, max=None)", "mul": "(input, other)",
                    "sort": "(self, dim=-1, descending=False, stable=False)"}
    assert "Tensor.sum(axis=None, dtype=None" in _C.Tensor.sum.__doc__
