"""What primitives are: objects that are called with tensors."""

import inspect


class Primitive:
    """Base of primitives: an instance is called with tensors."""

    def __init__(self, name=None):
        self.name = name or type(self).__name__

    def __repr__(self):
        return f"Prim[{type(self).__name__}]"


class PrimitiveWithInfer(Primitive):
    """Kept for its name."""


def primitive(fn=None, *, check=None):
    """A primitive class from a function whose positional-only parameters are the inputs, and whose others are the attributes:

        @primitive
        def Sort(x, /, axis=-1, descending=False): ...

    is used as `Sort(axis=0)(x)`. `check` is called with the primitive's name and attributes when one is made."""
    if fn is None:
        return lambda f: primitive(f, check=check)
    parameters = list(inspect.signature(fn).parameters.values())
    inputs = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    attributes = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = {f"_{p.name}": p.default for p in parameters if p.default is not p.empty}

    def declared(ps):
        return "".join(f", {'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}{f'=_{p.name}' if p.default is not p.empty else ''}" for p in ps)
    given = ", ".join([("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in inputs] + [f"{p.name}=self.{p.name}" for p in attributes])
    # written out, as one would by hand: captured code reads these functions
    text = f"def __init__(self{declared(attributes)}):\n    Primitive.__init__(self)\n"
    text += f"    _check({', '.join([repr(fn.__name__)] + [p.name for p in attributes])})\n" if check else ""
    text += "".join(f"    self.{p.name} = {p.name}\n" for p in attributes)
    text += f"def __call__(self{declared(inputs)}):\n    return _fn({given})\n"
    space = {"Primitive": Primitive, "_fn": fn, "_check": check, "__name__": fn.__module__, **defaults}
    exec(compile(text, f"<primitive {fn.__name__}>", "exec"), space)
    return type(fn.__name__, (Primitive,), {"__init__": space["__init__"], "__call__": space["__call__"], "__doc__": fn.__doc__, "__module__": fn.__module__})
