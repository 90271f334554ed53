"""`import pijit.auto`, as the first line of a script, turns capture on: see `pijit.enable`."""

from pijit.automatic import enable

enable()
