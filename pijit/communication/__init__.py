"""Communication of processes: `init`, ranks, groups."""

from pijit.communication import management
from pijit.communication._comm_helper import GlobalComm
from pijit.communication.management import *  # noqa: F403

__all__ = ["GlobalComm", *management.__all__]
