"""Streams, events and memory. There is one stream, in which a device computes in the order of the program; the CPU's is
always done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C

if TYPE_CHECKING:
    from typing import Any, Self


class Event:
    """A point in the stream of the device_target. enable_timing: whether elapsed_time may be asked. blocking:
    accepted."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        for name, value in (("enable_timing", enable_timing), ("blocking", blocking)):
            _check.need("Event", name, value, _check.BOOL)
        self._timing, self._blocking, self._at = enable_timing, blocking, None

    def record(self, stream: Any = None) -> None:
        """Marks this point of a stream."""
        _check_stream("Event.record", stream)
        self._at = _C.record_event(self._timing)

    def wait(self, stream: Any = None) -> None:
        """Lets a stream wait for the event: it comes before what follows in it, as there is one."""
        _check_stream("Event.wait", stream)

    def synchronize(self) -> None:
        """Waits for the event, if it was recorded."""
        if self._at is not None:
            _C.wait_for_event(self._at)

    def query(self) -> bool:
        """Whether what was before the event is done; True of one that was not recorded."""
        return self._at is None or _C.event_done(self._at)

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this event to another. RuntimeError unless both were made with enable_timing and
        recorded."""
        _check.need("Event.elapsed_time", "end_event", end_event, _check.a(Event))
        if not self._timing or not end_event._timing or self._at is None or end_event._at is None:
            raise RuntimeError(
                "For 'Event.elapsed_time', both events must be made with enable_timing=True and be recorded.")
        end_event.synchronize()
        return _C.event_milliseconds(self._at, end_event._at)

    def __repr__(self) -> str:
        return (
            f"Event(enable_timing={int(self._timing)}, blocking:{int(self._blocking)}, "
            f"is_created:{int(self._at is not None)})")


class Stream:
    """A sequence of operations. All streams are the one of the program. priority: accepted."""

    device_id: int

    def __init__(self, priority: int = 0, **kwargs: Any) -> None:
        _check.need("Stream", "priority", priority, _check.INT)
        self.id: Any = kwargs.get("stream_id", 0)
        self.device_id = 0

    @property
    def device_name(self) -> str:
        """The device_target."""
        from pijit import context  # which comes later than this module
        return context.get_context("device_target")

    def record_event(self, event: Any = None) -> Any:
        """Marks this point; gives the event."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Waits for an event, which comes before what follows."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Waits for a stream: it is this one."""
        _check_stream("Stream.wait_stream", stream)

    def synchronize(self) -> None:
        """Waits until all is done."""
        _C.synchronize()

    def query(self) -> bool:
        """Whether all is done."""
        return _C.event_done(_C.record_event(False))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Stream(device_name={self.device_name}, device_id:{self.device_id}, stream id:{self.id})"


def _check_stream(name, stream):
    _check.need(name, "the stream", stream, _check.optional(_check.a(Stream)))


_default = Stream()


class StreamCtx:
    """A block of code on a stream, or on the current one for None."""

    def __init__(self, ctx_stream: Any) -> None:
        _check_stream("StreamCtx", ctx_stream)
        self.stream = ctx_stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None


def current_stream() -> Stream:
    """The stream of the program."""
    return _default


def default_stream() -> Stream:
    """The stream of the program."""
    return _default


def communication_stream() -> Stream:
    """The stream of the program."""
    return _default


def set_cur_stream(stream: Any) -> None:
    """Chooses the stream: all are the program's."""
    _check_stream("set_cur_stream", stream)


def synchronize() -> None:
    """Waits until all is computed; errors of a GPU's kernels are raised here. On the CPU all is."""
    _C.synchronize()


def launch_blocking() -> None:
    """Lets operators be waited for: on the CPU they are."""


def dispatch_threads_num(threads_num: Any) -> None:
    """How many threads hand out operators: accepted, they are computed at once."""
    _check.need("dispatch_threads_num", "threads_num", threads_num, _check.INT, _check.at_least(1))


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """How operators are handed out in groups: accepted, they are computed at once."""
    for name, value in (("thread_num", thread_num), ("kernel_group_num", kernel_group_num)):
        _check.need("set_kernel_launch_group", name, value, _check.INT, _check.at_least(1))


def set_kernel_launch_capture(enable_capture_graph: Any, op_capture_skip: Any = None) -> None:  # noqa: ARG001
    """Whether devices repeat launches that they have recorded: accepted, the CPU has none."""
    _check.need("set_kernel_launch_capture", "enable_capture_graph", enable_capture_graph, _check.BOOL)


def set_cpu_affinity(enable_affinity: bool, affinity_cpu_list: Any = None,
                     module_to_cpu_dict: Any = None) -> None:  # noqa: ARG001
    """Binds the process to the cores of affinity_cpu_list, such as ["0-3", "6-6"], or lets it go again.

    enable_affinity: a bool. TypeError and ValueError for what is no list of ranges."""
    _check.need("set_cpu_affinity", "enable_affinity", enable_affinity, _check.BOOL)
    if (affinity_cpu_list is not None
        and (not isinstance(affinity_cpu_list, list) or not all(isinstance(r, str) for r in affinity_cpu_list))):
        raise _check.refused("set_cpu_affinity", "affinity_cpu_list", _check.value("be a list of ranges such as '0-3'"),
                             affinity_cpu_list, TypeError)
    if not hasattr(os, "sched_setaffinity"):
        return
    everything = set(range(os.cpu_count() or 1))
    cores = set()
    for text in affinity_cpu_list or ():
        first, _, last = text.partition("-")
        if not first.isdigit() or not last.isdigit() or int(last) < int(first) or int(last) not in everything:
            raise _check.refused("set_cpu_affinity", "affinity_cpu_list",
                                 _check.value(f"hold ranges of the cores 0-{max(everything)}"), text)
        cores |= set(range(int(first), int(last) + 1))
    if enable_affinity and cores:
        os.sched_setaffinity(0, cores)
    elif not enable_affinity:
        os.sched_setaffinity(0, everything)


_memory_set = False


def set_memory(init_size: str = "2GB", increase_size: str = "2GB", max_size: str = "1024GB", optimize_level: str = "O0",
               huge_page_reserve_size: str = "0GB") -> None:
    """Sizes of a device's memory pool, which the CPU doesn't have: accepted once. RuntimeError for a second call;
    ValueError for a size that is no "2GB"."""
    global _memory_set
    for name, value in (("init_size", init_size), ("increase_size", increase_size), ("max_size", max_size),
                        ("huge_page_reserve_size", huge_page_reserve_size)):
        _check.need("set_memory", name, value, _check.STR)
        number = value[:-2].strip()
        if not value.endswith("GB") or not number.replace(".", "", 1).isdigit():
            raise _check.refused("set_memory", name, _check.value("be a size such as '2GB'"), value)
    _check.need("set_memory", "optimize_level", optimize_level, _check.one_of("O0", "O1"))
    if _memory_set:
        raise RuntimeError("For 'set_memory', the memory was set already.")
    _memory_set = True


# -- memory: the bytes of Tensors' storages. The greatest values are of those that these functions have seen --
_greatest = _most_reserved = 0


def memory_allocated() -> int:
    """The bytes that Tensors hold on the device_target."""
    global _greatest
    now = _C.allocated_bytes()
    _greatest = max(_greatest, now)
    return now


def max_memory_allocated() -> int:
    """The most bytes that the functions of this module have seen Tensors hold."""
    memory_allocated()
    return _greatest


def memory_reserved() -> int:
    """The bytes that are taken from the system: those that Tensors hold, and on a GPU those that are kept for later."""
    global _most_reserved
    now = _C.reserved_bytes()
    _most_reserved = max(_most_reserved, now)
    return now


def max_memory_reserved() -> int:
    """The most bytes that the functions of this module have seen taken."""
    memory_reserved()
    return max(_most_reserved, _greatest)


def empty_cache() -> None:
    """Gives memory back that isn't used: a GPU's is kept for later, the CPU's given back at once.

    Weights that are kept in the layouts of kernels are forgotten; later calls bring them there again."""
    _C.empty_cache()


def reset_peak_memory_stats() -> None:
    """Lets the greatest values begin with those of now."""
    global _greatest, _most_reserved
    _greatest, _most_reserved = _C.allocated_bytes(), _C.reserved_bytes()


def reset_max_memory_allocated() -> None:
    """Lets the greatest value begin with that of now."""
    reset_peak_memory_stats()


def reset_max_memory_reserved() -> None:
    """Lets the greatest value begin with that of now."""
    reset_peak_memory_stats()


def memory_stats() -> dict[str, Any]:
    """The figures as a dict."""
    now, reserved = memory_allocated(), memory_reserved()
    pool = {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}}
    return {"total_reserved_memory": reserved, "total_allocated_memory": now,
            "total_idle_memory": max(0, reserved - now), "total_eager_free_memory": 0,
            "max_reserved_memory": max_memory_reserved(),
            "max_allocated_memory": _greatest, "commom_mem_pool_stats": dict(pool),
            "persistent_mem_pool_stats": dict(pool)}


def memory_summary() -> str:
    """The figures as a table."""
    stats = memory_stats()
    rows = [("Metric", "Data"), *[(name, _size(stats[key])) for name, key in (
        ("Reserved memory", "total_reserved_memory"), ("Allocated memory", "total_allocated_memory"),
        ("Idle memory", "total_idle_memory"),
        ("Eager free memory", "total_eager_free_memory"), ("Max reserved memory", "max_reserved_memory"),
        ("Max allocated memory", "max_allocated_memory"))]]
    lines = ["|=============================================|", "|               Memory summary                |",
             "|=============================================|"]
    for i, (name, value) in enumerate(rows):
        lines.append(f"| {name:<20} | {value if i == 0 else value.rjust(10):<20} |")
        lines.append("|---------------------------------------------|")
    lines[-1] = "|=============================================|"
    return "\n".join(lines) + "\n"


def _size(count):
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GB"

