"""What primitives are: objects that are called with tensors."""


class Primitive:
    """Base of primitives: an instance is called with tensors."""

    def __init__(self, name=None):
        self.name = name or type(self).__name__

    def __repr__(self):
        return f"Prim[{type(self).__name__}]"


class PrimitiveWithInfer(Primitive):
    """Kept for its name."""
