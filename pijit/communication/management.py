"""Processes and their groups: those that a launcher of MPI started, or this one alone, rank 0 of 1."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
import warnings
from typing import TYPE_CHECKING

from pijit import _C, _check
from pijit import context
from pijit.communication._comm_helper import (HCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP,
                                              WORLD_GROUPS, GlobalComm, Group, World, check_group, failed, group_of,
                                              groups, launched, launched_by_mpi, member_of, more_than_one, set_world)

if TYPE_CHECKING:
    from typing import Any

_LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "libpijit_mpi.so")


def init(backend_name: Any = None) -> None:
    """Sets communication up: with the processes that mpirun, srun or `python -m pijit.msrun` started beside this one;
    alone without them. Any backend's name will do: tensors on the CPU travel by MPI. Those on the GPU travel by NCCL
    with "nccl", else by MPI, too.

    backend_name: "hccl", "nccl", "mccl" or None. TypeError if it is no str; RuntimeError for another name, or where a
        launcher says (RANK_SIZE, OMPI_COMM_WORLD_SIZE, MS_WORKER_NUM, …) that there are processes that MPI doesn't
        find."""
    _check.need("init", "backend_name", backend_name, _check.optional(_check.STR))
    if backend_name is None:
        backend_name = {"Ascend": "hccl", "GPU": "nccl"}.get(context.get_context("device_target"), "mccl")
    if backend_name not in WORLD_GROUPS:
        raise _check.refused("init", "backend_name", _check.one_of(*WORLD_GROUPS), backend_name, RuntimeError)
    if not _processes.started:
        _start()
    _C.use_device_collectives(backend_name == "nccl")
    if backend_name == "nccl" and World.all.size > 1 and context.get_context("device_target") == "GPU":
        lack = _C.lacks_device_collectives("GPU")
        if lack is not None:
            warnings.warn(f"For 'init', {lack}. Tensors on the GPU travel by MPI, with copies to the host and back.",
                          RuntimeWarning, stacklevel=2)
    GlobalComm.BACKEND, GlobalComm.WORLD_COMM_GROUP, GlobalComm.INITED = backend_name, WORLD_GROUPS[backend_name], True


def set_timeout(seconds: Any) -> None:
    """How many seconds other processes are waited for. ValueError unless it is a positive number."""
    try:
        value = float(seconds)
    except (TypeError, ValueError):
        value = 0.0
    if not 0 < value < float("inf"):
        raise _check.refused("init", "PIJIT_COMM_TIMEOUT", _check.value("be a positive number of seconds"), seconds)
    _C.set_process_timeout(value)


class _processes:  # noqa: N801
    started = False
    hook: Any = None
    pid = 0  # a forked child knows no other processes


def _start():
    found = launched()
    if found is None:
        return
    asks = f"{found[0]}={found[1]} asks for {found[1]} processes"
    if not launched_by_mpi():
        raise more_than_one("init", f"{asks}, which no launcher of MPI has started")
    if not os.path.exists(_LIBRARY):
        raise failed("init", f"{asks}, but this build of pijit has no plug-in for MPI ({_LIBRARY}). Install MPI "
                             "(Debian: libopenmpi-dev openmpi-bin) and build pijit anew; see docs/distributed.md")
    set_timeout(os.environ.get("PIJIT_COMM_TIMEOUT") or 600)
    world = _C.start_processes(_LIBRARY)
    _processes.pid = os.getpid()
    atexit.unregister(_end)
    atexit.register(_end)
    if world[1] == 1:  # MPI ends with the process, so that init can be called again
        _C.stop_processes()
        raise failed("init", f"{asks}, but MPI finds one: the launcher belongs to another library of MPI than the one "
                             "that pijit was built with")
    set_world(*world)
    _processes.started, _processes.hook = True, sys.excepthook
    sys.excepthook = _end_all


def _end_all(kind, error, trace):
    """An exception that nobody caught: the others would wait for this process for ever."""
    _processes.hook(kind, error, trace)
    if _processes.started and _processes.pid == os.getpid():
        sys.stdout.flush()
        text = " ".join("".join(traceback.format_exception_only(kind, error)).split())[:300]
        print(f"pijit: rank {World.rank} of {World.all.size} (process {os.getpid()} on {os.uname().nodename}) ended "
              f"with {text}: the other ranks are ended", file=sys.stderr, flush=True)
        _C.abort_processes(1)


def _stop():
    if _processes.started and _processes.pid == os.getpid():
        _processes.started = False
        if sys.excepthook is _end_all:
            sys.excepthook = _processes.hook
        _C.stop_processes()
        set_world(0, 1, 0, 1)


def _end():
    _stop()
    if _processes.pid == os.getpid():
        _C.end_processes()


def release() -> None:
    """Ends communication, when all processes do; groups are forgotten."""
    GlobalComm.INITED = False
    groups.clear()
    _stop()


def _need_init(op):
    if not GlobalComm.INITED:
        raise failed(op, "communication is not initialized: call init() first")


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process in a group; alone 0."""
    return group_of("get_rank", group).own


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process on its machine."""
    group_of("get_local_rank", group)
    return World.local_rank


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of processes in a group."""
    return group_of("get_group_size", group, member=False).size


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of processes on this machine."""
    group_of("get_local_rank_size", group)
    return World.local_size


def get_world_rank_from_group_rank(group: str, group_rank_id: Any) -> int:
    """The number in the world of the process that has a number in a group."""
    name = "get_world_rank_from_group_rank"
    _need_init(name)
    found = group_of(name, group, member=False)
    _check.need(name, "group_rank_id", group_rank_id, _check.INT)
    if World.all.size == 1 and group_rank_id != 0:
        raise more_than_one(name, f"'group_rank_id' is {group_rank_id}")
    if not 0 <= group_rank_id < found.size:
        raise _check.refused(name, "group_rank_id", _check.within(0, found.size - 1), group_rank_id)
    return found.ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: Any, group: str) -> int:
    """The number in a group of the process that has a number in the world."""
    name = "get_group_rank_from_world_rank"
    _need_init(name)
    return member_of(name, "world_rank_id", world_rank_id, group_of(name, group, member=False))


def get_comm_name(group: str = GlobalComm.WORLD_COMM_GROUP) -> str:
    """The inner name of a group: its own."""
    _need_init("get_comm_name")
    check_group("get_comm_name", group)
    return group


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """The numbers in the world of a group's processes."""
    _need_init("get_process_group_ranks")
    return list(group_of("get_process_group_ranks", group, member=False).ranks)


def create_group(group: str, rank_ids: Any, options: Any = None) -> None:  # noqa: ARG001
    """Makes a group of the processes that have these numbers in the world; all of them call this. options are accepted.

    RuntimeError before init, where a process doesn't come within PIJIT_COMM_TIMEOUT seconds, and alone for other
    processes than 0; TypeError and ValueError name the argument."""
    _need_init("create_group")
    _check.need("create_group", "group", group, _check.STR)
    _check.need("create_group", "rank_ids", rank_ids, _check.LIST)
    if not rank_ids or len(set(rank_ids)) != len(rank_ids):
        raise _check.refused("create_group", "rank_ids", _check.value("hold each process once and not be empty"),
                             rank_ids)
    for rank in rank_ids:
        member_of("create_group", "rank_ids", rank, World.all)
    if group in WORLD_GROUPS.values() or group == World.all.inner:
        raise failed("create_group", f"{group!r} is the group of all processes, which there is already", ValueError)
    if World.all.size > 1:
        if group in groups:
            raise failed("create_group", f"there is a group {group!r} already: destroy_group comes first", ValueError)
        _C.make_process_group(group, rank_ids)
    groups[group] = Group(group, rank_ids, World.rank)


def destroy_group(group: str) -> None:
    """Forgets a group. ValueError for one that doesn't exist, or for the world's."""
    _need_init("destroy_group")
    check_group("destroy_group", group)
    if group in WORLD_GROUPS.values():
        raise failed("destroy_group", f"the world group {group!r} can't be destroyed", ValueError)
    del groups[group]
    if World.all.size > 1:
        _C.drop_process_group(group)


__all__ = ["init", "release", "get_rank", "get_local_rank", "get_group_size", "get_local_rank_size",
           "get_world_rank_from_group_rank", "get_comm_name",
           "get_group_rank_from_world_rank", "create_group", "destroy_group", "get_process_group_ranks",
           "HCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP",
           "MCCL_WORLD_COMM_GROUP"]
