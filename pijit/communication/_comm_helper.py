"""What is known of the processes: their number, this one's rank, the groups, and which launcher started them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import _check

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"
WORLD_GROUPS = {"hccl": HCCL_WORLD_COMM_GROUP, "nccl": NCCL_WORLD_COMM_GROUP, "mccl": MCCL_WORLD_COMM_GROUP}
_WORLD_NAMES = tuple(WORLD_GROUPS.values())
# where launchers say how many processes there are; those of MPI first
_OF_MPI = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_COUNTS = (*_OF_MPI, "RANK_SIZE", "MS_WORKER_NUM", "WORLD_SIZE")


class GlobalComm:
    """The world group: its name, the backend's, and whether init was called."""

    BACKEND = "hccl"
    WORLD_COMM_GROUP = HCCL_WORLD_COMM_GROUP
    INITED = False
    CHECK_ENVS = True


class Group:
    """Processes by their ranks in the world. inner: what collectives call it. own: this process's rank in it, -1 where
    it is no member."""

    inner: str
    ranks: tuple[int, ...]
    size: int
    own: int

    def __init__(self, inner: str, ranks: Sequence[int], rank: int) -> None:
        self.inner, self.ranks, self.size = inner, tuple(ranks), len(ranks)
        self.own = self.ranks.index(rank) if rank in self.ranks else -1


class World:
    """All processes."""

    rank: int = 0
    local_rank: int = 0
    local_size: int = 1
    all: Group = Group("world", (0,), 0)


groups: dict[str, Group] = {}  # name → group, of create_group


def set_world(rank: int, size: int, local_rank: int, local_size: int) -> None:
    """Says which process this is."""
    World.rank, World.local_rank, World.local_size = rank, local_rank, local_size
    World.all = Group("world", range(size), rank)


def _count(name):
    text = os.environ.get(name, "1").strip()
    return None if text in ("", "0", "1") else (name, text)


def launched() -> tuple[str, str] | None:
    """(variable, how many processes it says there are): the first that says more than one, or None."""
    for name in _COUNTS:
        if (found := _count(name)) is not None:
            return found
    # srun's own tasks: without PMI it starts as many programs that know nothing of each other
    return _count("SLURM_STEP_NUM_TASKS") if "SLURM_PROCID" in os.environ else None


def launched_by_mpi() -> bool:
    """Whether MPI's library will find the other processes."""
    of_slurm = _count("SLURM_STEP_NUM_TASKS") is not None and ("PMIX_RANK" in os.environ or "PMI_RANK" in os.environ)
    return of_slurm or any(_count(name) is not None for name in _OF_MPI)


def check_group(op: Any, group: str) -> None:
    """TypeError for a group that is no str, ValueError for one that doesn't exist."""
    _check.need(op, "group", group, _check.STR)
    if group not in groups and group not in _WORLD_NAMES:
        raise failed(op, f"the group {group!r} does not exist: there are {[*_WORLD_NAMES, *groups]}. Call "
                         f"create_group first", ValueError)


def group_of(op: Any, group: str | None, member: bool = True) -> Group:
    """The group of a name; None: the world. TypeError and ValueError as check_group; RuntimeError where this process is
    no member but has to be."""
    if group is None:
        return World.all
    check_group(op, group)
    if group not in groups:
        return World.all
    found = groups[group]
    if member and found.own < 0:
        raise failed(op, f"this process, rank {World.rank}, is not in the group {group!r} of the ranks "
                         f"{list(found.ranks)}")
    return found


def member_of(op: Any, what: Any, rank: Any, group: Group) -> int:
    """The rank in a group of the process that has `rank` in the world."""
    _check.need(op, what, rank, _check.INT)
    if rank not in group.ranks:
        if World.all.size == 1:
            raise more_than_one(op, f"'{what}' is {rank}")
        raise _check.refused(op, what, _check.one_of(*group.ranks), rank)
    return group.ranks.index(rank)


def need_processes(op: Any) -> None:
    """RuntimeError where MPI has started several processes that do not know each other yet: what is made now would
    take this one to be alone for ever."""
    if not GlobalComm.INITED and launched_by_mpi():
        raise failed(op, "communication is not initialized, though MPI has started several processes: call init() "
                         "first")


def failed(op: Any, what: Any, kind: type[Exception] = RuntimeError) -> Exception:
    """The error of something that cannot be done with these processes."""
    return kind(f"For '{op}', {what}.")


def more_than_one(op: Any, what: Any) -> Any:
    """The error of something that needs more than one process."""
    return RuntimeError(
        f"For '{op}', {what}, but there is one process (rank 0 of 1). Several are started by "
        f"'mpirun -n 4 python train.py' or 'python -m pijit.msrun --worker_num 4 train.py'.")
