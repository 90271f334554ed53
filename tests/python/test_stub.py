"""The extension's stub names what the extension has: no more, no less."""

import ast
import pathlib

from pijit import _C


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
            member_name = member.name if isinstance(member, ast.FunctionDef) else member.target.id if isinstance(member, ast.AnnAssign) else None
            assert member_name in (None, "__getattr__", "__wrapped__") or hasattr(cls, member_name), f"{name}.{member_name} is only in the stub"
        declared = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for m in node.body if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}
        own = {n for n in vars(cls) if not n.startswith("_")}
        if name != "Tensor":  # its methods in Python are attached by pijit.tensor
            assert own <= declared, f"{name}: missing in the stub: {sorted(own - declared)}"
