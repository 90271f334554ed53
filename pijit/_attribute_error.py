"""Exceptions as the running Python takes them."""

import sys


def attribute_error(text, name, **of):
    """An AttributeError; it knows the name, and the object `obj`, from Python 3.10 on, which then suggests others."""
    return AttributeError(text, name=name, **of) if sys.version_info >= (3, 10) else AttributeError(text)
