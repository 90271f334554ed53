"""Several machines on one: network namespaces (`ip netns`) with names of their own, joined by a switch in one more.
mpirun reaches its daemons by a launch agent in the place of ssh, and MPI moves tensors by TCP."""

import os
import pathlib
import signal
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
NETWORK = "10.213.7"
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec {prefix}$host unshare --uts sh -c "hostname $host; $*"
"""


class Hosts:
    """h0, h1, …, each of which sees the others alone."""

    def __init__(self, folder, n):
        self.prefix, self.names = f"pijit{os.getpid()}", [f"h{k}" for k in range(n)]
        self.agent = folder / "agent"
        self.agent.write_text(AGENT.format(prefix=self.prefix))
        self.agent.chmod(0o755)

    def make(self):
        self.ip("netns", "add", self.prefix)
        self.inside("", "ip", "link", "add", "switch", "type", "bridge")
        self.inside("", "ip", "link", "set", "switch", "up")
        for k, name in enumerate(self.names):
            self.ip("netns", "add", self.prefix + name)
            self.ip("link", "add", "port", "netns", self.prefix + name, "type", "veth", "peer", "name", name, "netns",
                    self.prefix)
            self.inside("", "ip", "link", "set", name, "master", "switch", "up")
            self.inside(name, "ip", "addr", "add", f"{NETWORK}.{k + 1}/24", "dev", "port")
            self.inside(name, "ip", "link", "set", "lo", "up")
            self.inside(name, "ip", "link", "set", "port", "up")

    def drop(self):
        for name in ["", *self.names]:
            found = subprocess.run(["ip", "netns", "pids", self.prefix + name], capture_output=True, text=True)
            for pid in found.stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", self.prefix + name], capture_output=True)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)

    def inside(self, name, *command):
        self.ip("netns", "exec", self.prefix + name, *command)

    def start(self, *command, options=(), **variables):
        """A command, once on each host, by mpirun on h0."""
        tcp = f"{NETWORK}.0/24"
        environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PIJIT_STRICT": "1", **variables}
        whole = [self.agent, self.names[0], "cd", ROOT, "&&", "exec", "env",
                 *(f"{k}={v}" for k, v in environment.items()),
                 "mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", self.agent, "--mca", "oob_tcp_if_include",
                 tcp, "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", tcp, *options, "--host",
                 ",".join(f"{name}:1" for name in self.names), *(x for k in variables for x in ("-x", k)),
                 "-n", len(self.names), *command]
        return subprocess.Popen([str(x) for x in whole], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
