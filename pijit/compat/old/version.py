"""`mindspore.version`."""

from pijit.compat import VERSION as __version__  # noqa: F401
