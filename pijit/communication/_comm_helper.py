"""What is known of the processes: there is one, rank 0 of 1, whichever way groups are named."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import _check

if TYPE_CHECKING:
    from typing import Any

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"
WORLD_GROUPS = {"hccl": HCCL_WORLD_COMM_GROUP, "nccl": NCCL_WORLD_COMM_GROUP, "mccl": MCCL_WORLD_COMM_GROUP}
# where launchers say how many processes there are
_COUNTS = ("RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MS_WORKER_NUM", "WORLD_SIZE")


class GlobalComm:
    """The world group: its name, the backend's, and whether init was called."""

    BACKEND = "hccl"
    WORLD_COMM_GROUP = HCCL_WORLD_COMM_GROUP
    INITED = False
    CHECK_ENVS = True


groups = {}  # name → ranks, of create_group


def launched() -> Any:
    """(variable, how many processes it says there are): the first that says more than one, or None."""
    for name in _COUNTS:
        if os.environ.get(name, "1").strip() not in ("", "0", "1"):
            return name, os.environ[name]
    return None


def check_group(op: Any, group: str) -> None:
    """TypeError for a group that is no str, ValueError for one that doesn't exist."""
    _check.need(op, "group", group, _check.STR)
    if group not in groups and group not in WORLD_GROUPS.values():
        raise ValueError(
            f"For '{op}', the group {group!r} does not exist: there are {[*WORLD_GROUPS.values(), *groups]}. Call "
            f"create_group first.")


def more_than_one(op: Any, what: Any) -> Any:
    """The error of something that needs more than one process."""
    return RuntimeError(
        f"For '{op}', {what}, but there is one process (rank 0 of 1): training on several processes or devices is not "
        f"supported.")
