"""A context manager for tests of exceptions."""


class Swallows:
    """Swallows what it is told to, and remembers."""

    def __init__(self, *kinds):
        self.kinds, self.seen = kinds or (Exception,), []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.seen.append((kind.__name__, str(value)) if kind else None)
        return bool(kind) and issubclass(kind, self.kinds)
