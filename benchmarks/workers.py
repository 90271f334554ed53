"""Processes that time one way of doing something each: all benchmarks of networks have them take turns."""

import json
import subprocess


def told(command, **options):
    """The last line of JSON that a process prints, or {"error": the last line of its errors, or that it took too
    long}."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except subprocess.TimeoutExpired as e:
        return {"error": f"took more than {e.timeout:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1][:200]}
    return json.loads(lines[-1])


def names_of(networks):
    """The names of inference_networks.networks, whose layers nobody needs for that."""
    class Names:
        Module = object

    return list(networks(Names))


def with_threads(count, environment):
    """The environment of a process that has so many threads in each library."""
    return {**environment, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(count))}
