"""Hints to MindSpore's graph compiler, which pijit does not need: accepted, without an effect on results."""


def _checked(name, fn):
    if not callable(fn):
        raise TypeError(f"For '{name}', expected a function, but got {type(fn).__name__}.")
    return fn


def lazy_inline(fn=None, attrs=None, policy=None):  # noqa: ARG001
    """Decorates the __init__ of a Cell whose graph MindSpore is to share among uses."""
    return (lambda f: _checked("lazy_inline", f)) if fn is None else _checked("lazy_inline", fn)


def no_inline(fn=None):
    """Decorates a function whose graph MindSpore is to keep apart."""
    return (lambda f: _checked("no_inline", f)) if fn is None else _checked("no_inline", fn)


def recompute(block, *args, **kwargs):
    """block(*args, **kwargs), a Cell's result; MindSpore computes its insides anew for the gradient, to save memory."""
    from pijit.nn import Cell
    if not isinstance(block, Cell):
        raise TypeError(f"For 'recompute', 'block' must be a Cell, but got {type(block).__name__}.")
    return block(*args, **kwargs)
