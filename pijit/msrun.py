"""`python -m pijit.msrun --worker_num 4 train.py`: starts processes that train together, by the mpirun of this machine.

The options are those of MindSpore's msrun; what needs several machines is given to mpirun by MPI's own files of hosts:
`mpirun --hostfile hosts -n 16 python train.py`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m pijit.msrun", description=__doc__.split("\n\n")[0])
    p.add_argument("--worker_num", type=int, default=2, help="how many processes (default: 2)")
    p.add_argument("--local_worker_num", type=int, help="how many of them on this machine: all")
    p.add_argument("--master_addr", default="127.0.0.1", help="this machine: others are named by MPI's hostfile")
    p.add_argument("--master_port", type=int, help="kept for its name: MPI finds a port of its own")
    p.add_argument("--node_rank", type=int, default=-1, help="this machine: others are named by MPI's hostfile")
    p.add_argument("--hostfile", help="MPI's file of machines, given on to mpirun")
    p.add_argument("--log_dir", help="folder for the output of each process: worker_0.log, ...")
    p.add_argument("--join", default="True", help="kept for its name: the command waits for the processes")
    p.add_argument("--cluster_time_out", type=int, default=600, help="seconds that processes wait for each other")
    p.add_argument("--bind_core", default="False", help="True: each process stays on cores of its own")
    p.add_argument("--mpirun", default="mpirun", help="the command that starts processes")
    p.add_argument("task_script", help="the program")
    p.add_argument("task_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return p


def command(args: argparse.Namespace) -> list[str]:
    """mpirun's command line."""
    line = [args.mpirun, "-n", str(args.worker_num), "--oversubscribe"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        line.append("--allow-run-as-root")
    if args.hostfile:
        line += ["--hostfile", args.hostfile]
    if args.bind_core.lower() == "true":
        line += ["--bind-to", "core"]
    if args.log_dir:
        os.makedirs(args.log_dir, exist_ok=True)
        line += [sys.executable, "-I", os.path.abspath(__file__), "--worker_num", "0", "--log_dir", args.log_dir]
    else:
        line += [sys.executable, "-I", os.path.abspath(__file__), "--worker_num", "0"]
    return [*line, args.task_script, *args.task_script_args]


def worker(args: argparse.Namespace) -> int:
    """One process of several, which finds its numbers where msrun puts them (RANK_ID, RANK_SIZE, DEVICE_ID). With
    log_dir, its output goes to a file: worker_<rank>.log."""
    rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or "0"
    os.environ["RANK_ID"] = rank
    os.environ["RANK_SIZE"] = os.environ.get("MS_WORKER_NUM", "1")
    os.environ["DEVICE_ID"] = os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK") or os.environ.get("MPI_LOCALRANKID") or rank
    if args.log_dir:
        file = os.open(os.path.join(args.log_dir, f"worker_{rank}.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(file, 1)
        os.dup2(file, 2)
    os.execv(sys.executable, [sys.executable, args.task_script, *args.task_script_args])
    return 1


def environment(args: argparse.Namespace) -> dict[str, str]:
    """The processes' environment: they share the cores, and wait for each other as long as asked for."""
    env = dict(os.environ)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    env.setdefault("OMP_NUM_THREADS", str(max(1, cores // (args.local_worker_num or args.worker_num))))
    env.setdefault("PIJIT_COMM_TIMEOUT", str(args.cluster_time_out))
    env["MS_WORKER_NUM"] = str(args.worker_num)
    return env


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status of mpirun."""
    p = parser()
    args = p.parse_args(arguments)
    if args.worker_num == 0 and "MS_WORKER_NUM" in os.environ:  # started by mpirun
        return worker(args)
    if args.worker_num < 1:
        p.error(f"--worker_num must be at least 1, got {args.worker_num}")
    if args.cluster_time_out < 1:
        p.error(f"--cluster_time_out must be at least 1, got {args.cluster_time_out}")
    local = args.local_worker_num
    if local not in (None, args.worker_num) and not args.hostfile:
        p.error(f"--local_worker_num is {local} of {args.worker_num}: --hostfile must name the other machines")
    if args.node_rank > 0 and not args.hostfile:
        p.error(f"--node_rank is {args.node_rank}: machines are named by --hostfile, a file of MPI's")
    if args.master_addr not in ("127.0.0.1", "localhost") and not args.hostfile:
        p.error(f"--master_addr is {args.master_addr}: machines are named by --hostfile, a file of MPI's")
    if shutil.which(args.mpirun) is None:
        p.error(f"there is no {args.mpirun}: install MPI (Debian: openmpi-bin)")
    try:
        return subprocess.call(command(args), env=environment(args))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
