"""Files that are written anew. Imported before the package is (pijit._launch), it needs nothing of it."""

import os

_STREAMS = ("/dev", "/dev/fd", "/proc/self/fd")  # whose links the system made


def open_anew(path):
    """A text file to write. OSError where a link stands there: who put it may not be who runs the program."""
    path = os.fspath(path)
    follow = 0 if os.path.dirname(os.path.abspath(path)) in _STREAMS else os.O_NOFOLLOW
    return open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags | follow, 0o666))
