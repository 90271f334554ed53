"""Communication of processes, of which there is one: rank 0 of 1."""

from pijit.communication import management
from pijit.communication._comm_helper import GlobalComm
from pijit.communication.management import *  # noqa: F403

__all__ = ["GlobalComm", *management.__all__]
