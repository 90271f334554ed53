"""Processes and their groups. There is one process: rank 0 of 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import context
from pijit.communication._comm_helper import (HCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP,
                                              WORLD_GROUPS, GlobalComm, check_group,
                                              groups, launched, more_than_one)

if TYPE_CHECKING:
    from typing import Any


def init(backend_name: Any = None) -> None:
    """Sets communication up. Any backend's name will do, as there is nobody to talk to.

    backend_name: "hccl", "nccl", "mccl" or None. TypeError if it is no str; RuntimeError for another name, or where a
        launcher says (RANK_SIZE, OMPI_COMM_WORLD_SIZE, MS_WORKER_NUM, …) that there is more than one process."""
    _check.need("init", "backend_name", backend_name, _check.optional(_check.STR))
    if backend_name is None:
        backend_name = {"Ascend": "hccl", "GPU": "nccl"}.get(context.get_context("device_target"), "mccl")
    if backend_name not in WORLD_GROUPS:
        raise _check.refused("init", "backend_name", _check.one_of(*WORLD_GROUPS), backend_name, RuntimeError)
    found = launched()
    if found is not None:
        raise more_than_one("init", f"{found[0]}={found[1]} asks for {found[1]} processes")
    GlobalComm.BACKEND, GlobalComm.WORLD_COMM_GROUP, GlobalComm.INITED = backend_name, WORLD_GROUPS[backend_name], True


def release() -> None:
    """Ends communication; groups are forgotten."""
    GlobalComm.INITED = False
    groups.clear()


def _need_init(op):
    if not GlobalComm.INITED:
        raise RuntimeError(f"For '{op}', communication is not initialized: call init() first.")


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process: 0."""
    check_group("get_rank", group)
    return 0


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process on its machine: 0."""
    check_group("get_local_rank", group)
    return 0


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of processes: 1."""
    check_group("get_group_size", group)
    return 1


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of processes on this machine: 1."""
    check_group("get_local_rank_size", group)
    return 1


def _check_rank(op, name, rank):
    _check.need(op, name, rank, _check.INT)
    if rank != 0:
        raise more_than_one(op, f"'{name}' is {rank}")
    return 0


def get_world_rank_from_group_rank(group: str, group_rank_id: Any) -> int:
    """The number in the world of the process that has a number in a group: 0 for 0."""
    _need_init("get_world_rank_from_group_rank")
    check_group("get_world_rank_from_group_rank", group)
    return _check_rank("get_world_rank_from_group_rank", "group_rank_id", group_rank_id)


def get_group_rank_from_world_rank(world_rank_id: Any, group: str) -> int:
    """The number in a group of the process that has a number in the world: 0 for 0."""
    _need_init("get_group_rank_from_world_rank")
    check_group("get_group_rank_from_world_rank", group)
    return _check_rank("get_group_rank_from_world_rank", "world_rank_id", world_rank_id)


def get_comm_name(group: str = GlobalComm.WORLD_COMM_GROUP) -> str:
    """The inner name of a group: its own."""
    _need_init("get_comm_name")
    check_group("get_comm_name", group)
    return group


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """The processes of a group: [0]."""
    _need_init("get_process_group_ranks")
    check_group("get_process_group_ranks", group)
    return list(groups.get(group, [0]))


def create_group(group: str, rank_ids: Any, options: Any = None) -> None:  # noqa: ARG001
    """Makes a group. rank_ids: [0]. RuntimeError before init, and for other processes; options are accepted."""
    _need_init("create_group")
    _check.need("create_group", "group", group, _check.STR)
    _check.need("create_group", "rank_ids", rank_ids, _check.LIST)
    if not rank_ids or len(set(rank_ids)) != len(rank_ids):
        raise _check.refused("create_group", "rank_ids", _check.value("hold each process once and not be empty"),
                             rank_ids)
    for rank in rank_ids:
        _check_rank("create_group", "rank_ids", rank)
    groups[group] = list(rank_ids)


def destroy_group(group: str) -> None:
    """Forgets a group. ValueError for one that doesn't exist, or for the world's."""
    _need_init("destroy_group")
    check_group("destroy_group", group)
    if group in WORLD_GROUPS.values():
        raise ValueError(f"For 'destroy_group', the world group {group!r} can't be destroyed.")
    del groups[group]


__all__ = ["init", "release", "get_rank", "get_local_rank", "get_group_size", "get_local_rank_size",
           "get_world_rank_from_group_rank", "get_comm_name",
           "get_group_rank_from_world_rank", "create_group", "destroy_group", "get_process_group_ranks",
           "HCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP",
           "MCCL_WORLD_COMM_GROUP"]
