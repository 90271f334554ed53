"""Profiling of programs on the CPU: `with pijit.profiler() as p: …` records kernels, captures and the Python between
them (pijit.profiling); below, MindSpore's classes: the time of steps, and of Python functions and operators by
cProfile.

A profile writes into its folder `trace_view.json`, which chrome://tracing and Perfetto show (one bar for each step),
and `functions.pstats`, for `python -m pstats`; print_summary() prints the functions that took longest."""

from __future__ import annotations

import cProfile
import enum
import json
import os
import pstats
import sys
import time
import types
from typing import TYPE_CHECKING

from pijit import _check
from pijit._files import open_anew

if TYPE_CHECKING:
    from typing import Any, Self
    from pijit.profiling.profile import Recorder


class ProfilerLevel(enum.Enum):
    """How much devices record."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(enum.Enum):
    """What is recorded. On this machine CPU is."""

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


class AicoreMetrics(enum.Enum):
    """Figures of Ascend devices."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "AiCoreNone"


class ExportType(enum.Enum):
    """How devices write their records."""

    Db = "db"
    Text = "text"


class HostSystem(enum.Enum):
    """Figures of the host's system that devices record."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class _ExperimentalConfig:
    """Options of devices for `profile`: kept, and without effect on the CPU."""

    def __init__(self, profiler_level: ProfilerLevel = ProfilerLevel.Level0,
                 aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone, l2_cache: bool = False, mstx: bool = False,
                 data_simplification: bool = True, export_type: Any = None, mstx_domain_include: Any = None,
                 mstx_domain_exclude: Any = None, sys_io: bool = False, sys_interconnection: bool = False,
                 host_sys: Any = None) -> None:
        _check.need("_ExperimentalConfig", "profiler_level", profiler_level, _check.a(ProfilerLevel))
        self.profiler_level, self.aic_metrics, self.l2_cache, self.mstx, self.data_simplification = (profiler_level,
            aic_metrics, l2_cache, mstx, data_simplification)
        self.export_type, self.mstx_domain_include, self.mstx_domain_exclude = (export_type or [ExportType.Text],
            mstx_domain_include or [], mstx_domain_exclude or [])
        self.sys_io, self.sys_interconnection, self.host_sys = sys_io, sys_interconnection, host_sys or []


class mstx:
    """Marks in the records that are being made: points and ranges with a text."""

    _ranges = {}

    @staticmethod
    def mark(message: Any, stream: Any = None, domain: str = "default") -> None:
        """A point."""
        mstx.range_end(mstx.range_start(message, stream, domain), domain)

    @staticmethod
    def range_start(message: Any, stream: Any = None, domain: str = "default") -> Any:
        """Begins a range; gives its number."""
        if not isinstance(message, str) or not message:
            raise _check.refused("mstx", "message", _check.value("be a str that is not empty"), message, TypeError)
        number = max(mstx._ranges, default=0) + 1
        mstx._ranges[number] = message, domain, time.perf_counter()
        return number

    @staticmethod
    def range_end(range_id: Any, domain: str = "default") -> None:
        """Ends a range."""
        if range_id not in mstx._ranges:
            return
        message, name, begun = mstx._ranges.pop(range_id)
        for recorder in _running:
            recorder._events.append({"name": message, "cat": name, "ph": "X", "ts": begun * 1e6,
                                     "dur": (time.perf_counter() - begun) * 1e6, "pid": os.getpid(), "tid": 1})


_running = []  # the records that are being made


class schedule:
    """Which steps are recorded.

    After skip_first steps, in turns of `wait` and `warmup` steps without and `active` steps with a record, `repeat`
    times (0: always)."""

    wait: Any
    active: Any
    warmup: int
    repeat: int
    skip_first: int

    def __init__(self, *, wait: Any, active: Any, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> None:
        for name, value, least in (("wait", wait, 0), ("active", active, 1), ("warmup", warmup, 0),
                                   ("repeat", repeat, 0), ("skip_first", skip_first, 0)):
            _check.need("schedule", name, value, _check.INT, _check.at_least(least))
        self.wait, self.active, self.warmup, self.repeat, self.skip_first = wait, active, warmup, repeat, skip_first

    def to_dict(self) -> dict[str, Any]:
        """The numbers as a dict."""
        return {"wait": self.wait, "active": self.active, "warmup": self.warmup, "repeat": self.repeat,
                "skip_first": self.skip_first}

    def __repr__(self) -> str:
        return "Schedule(" + ", ".join(f"{k}={v}" for k, v in self.to_dict().items()) + ")"

    def __call__(self, step: Any) -> tuple[bool, bool] | tuple[Any, Any]:
        """(whether the step is recorded, whether it is the last of its turn)."""
        turn = self.wait + self.warmup + self.active
        at = step - self.skip_first
        if at < 0 or self.repeat and at >= turn * self.repeat:
            return False, False
        at %= turn
        return at >= self.wait + self.warmup, at == turn - 1


def tensorboard_trace_handler(dir_name: Any = None, worker_name: Any = None, analyse_flag: bool = True,
                              async_mode: bool = False) -> Any:
    """For on_trace_ready: writes the record into a folder (./data by default)."""
    def handler(prof):
        prof._write(os.path.join(dir_name or "data", worker_name) if worker_name else dir_name or "data")
    return handler


class _Recorder:
    """Steps and functions between start() and stop()."""

    def __init__(self, output: Any, schedule_: Any, on_trace_ready: Any) -> None:
        if schedule_ is not None and not callable(schedule_):
            raise _check.refused("profile", "schedule", _check.type_("a schedule"), schedule_)
        _check.need("profile", "on_trace_ready", on_trace_ready, _check.optional(_check.FUNCTION))
        self._output, self._schedule, self._ready = output, schedule_, on_trace_ready
        self._metadata, self._events, self._functions = {}, [], None
        self._step, self._running, self._begun = 0, False, 0.0

    def start(self) -> None:
        """Begins."""
        if not self._running:
            _running.append(self)
        self._running, self._begun = True, time.perf_counter()
        if self._functions is None and (self._schedule is None or self._schedule(self._step)[0]):
            self._record()

    def _record(self):
        self._functions = cProfile.Profile()
        try:
            self._functions.enable()
        except ValueError:  # another profiler runs
            self._functions = None

    def _pause(self):
        if self._functions is not None:
            self._functions.disable()

    def step(self) -> None:
        """Ends one step and begins the next."""
        if not self._running:
            raise _check.call_first(f"{type(self).__name__}.step", "start()")
        now = time.perf_counter()
        recorded, last = self._schedule(self._step) if self._schedule is not None else (True, False)
        if recorded:
            self._events.append({"name": f"ProfilerStep#{self._step}", "ph": "X", "ts": self._begun * 1e6,
                                 "dur": (now - self._begun) * 1e6,
                                 "pid": os.getpid(), "tid": 0})
        self._step += 1
        if last:
            self._pause()
            self._finished()
        if self._schedule is not None:
            if self._schedule(self._step)[0]:
                if self._functions is None:
                    self._record()
            else:
                self._pause()
                self._functions = None
        self._begun = time.perf_counter()

    def _finished(self):
        if self._ready is not None:
            self._ready(self)
        self._events, self._functions = [], None

    def stop(self) -> None:
        """Ends; the record of an unfinished turn is handed on too."""
        if not self._running:
            raise _check.call_first(f"{type(self).__name__}.stop", "start()")
        self._pause()
        self._running = False
        _running.remove(self)
        if self._ready is not None and (self._events or self._functions is not None):
            self._finished()

    def add_metadata(self, key: Any, value: Any) -> None:
        """Keeps a str under a key of the record."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise _check.refused("add_metadata", "'key' and 'value'", _check.value("be strs"),
                                 _check.several(_check.type_name(key), _check.type_name(value)), TypeError)
        self._metadata[key] = value

    def add_metadata_json(self, key: Any, value: Any) -> None:
        """Keeps a JSON text under a key of the record."""
        try:
            self._metadata[key] = json.loads(value)
        except (TypeError, ValueError) as e:
            raise ValueError(
                f"For 'add_metadata_json', 'value' must be a JSON text, but got {value!r} ({e}).") from None

    def _write(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open_anew(os.path.join(folder, "trace_view.json")) as f:
            json.dump({"traceEvents": self._events, "metadata": self._metadata}, f)
        if self._functions is not None:
            self._functions.dump_stats(os.path.join(folder, "functions.pstats"))

    def print_summary(self, count: int = 20) -> None:
        """Prints the `count` functions that took longest."""
        if self._functions is not None:
            pstats.Stats(self._functions, stream=sys.stdout).sort_stats("tottime").print_stats(count)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()


class profile(_Recorder):
    """A record of a block of code.

    `with profile(on_trace_ready=tensorboard_trace_handler("out")) as prof: … prof.step()`.

    schedule: which steps. on_trace_ready: what gets the record. start_profile: whether `with` or start() begins it, or
        the constructor already. Options of devices are accepted."""

    def __init__(self, activities: Any = None, with_stack: bool = False, profile_memory: bool = False,
                 data_process: bool = False, parallel_strategy: bool = False, start_profile: bool = False,
                 hbm_ddr: bool = False, pcie: bool = False, sync_enable: bool = True, schedule: Any = None,
                 on_trace_ready: Any = None, experimental_config: Any = None) -> None:
        for a in activities or ():
            if not isinstance(a, ProfilerActivity):
                raise _check.refused("profile", "activities",
                                     _check.value("hold ProfilerActivity", shown=_check.type_name), a, TypeError)
        super().__init__("data", schedule, on_trace_ready)
        if start_profile:
            self.start()


class Profiler(_Recorder):
    """A record of a program: made, and stopped and written by analyse().

    output_path: the folder (./data by default). start_profile: whether it begins at once. schedule, on_trace_ready: as
        profile has them. Options of devices are accepted."""

    def __init__(self, **kwargs: Any) -> None:
        output = kwargs.get("output_path", "./data")
        _check.need("Profiler", "output_path", output, _check.STR)
        super().__init__(output, kwargs.get("schedule"), kwargs.get("on_trace_ready"))
        if kwargs.get("start_profile", True):
            self.start()

    def analyse(self, offline_path: Any = None, pretty: bool = False, step_list: Any = None,
                mode: str = "sync") -> None:
        """Stops, if need be, and writes the record."""
        if self._running:
            self.stop()
        self._write(self._output)


__all__ = ["tensorboard_trace_handler", "schedule", "Profiler", "ProfilerLevel", "ProfilerActivity", "AicoreMetrics",
           "ExportType", "HostSystem", "mstx",
           "_ExperimentalConfig", "profile"]


class _Module(types.ModuleType):
    def __call__(self, name: str = "profile") -> Recorder:
        """A context manager that records what runs inside of it: a pijit.profiling.Recorder."""
        from pijit.profiling import Recorder
        return Recorder(name)


sys.modules[__name__].__class__ = _Module
