"""The objects that run programs in MindSpore, as far as programs ask them for something."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pijit import _C
from pijit.compat import left_out

if TYPE_CHECKING:
    from typing import Any, Self

ms_compile_cache: set[Any] = set()  # MindSpore's numbers of compiled functions


def _pause():
    """Stops what records gradients. Returns it."""
    tapes = _C.active_tapes()
    for tape in tapes:
        tape.stop()
    return tapes


def _go_on(tapes):
    for tape in tapes:
        tape.start()


class _Left:
    """What else is asked for raises."""

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        raise left_out.NotImplementedHere(left_out.text(f"common.api.{type(self).__name__}.{name}"))


class _PyNativeExecutor(_Left):
    """Runs operators one by one."""

    def sync(self) -> None:
        """Waits until all results are there."""
        from pijit import runtime

        runtime.synchronize()

    _paused = None  # the recordings that were stopped

    def enable_grad(self) -> bool:
        """Whether gradients are recorded where they are asked for."""
        return self._paused is None

    def set_enable_grad(self, flag: Any) -> None:
        """Stops what records gradients, or lets it go on."""
        if flag and self._paused is not None:
            _go_on(self._paused)
            self._paused = None
        elif not flag and self._paused is None:
            self._paused = _pause()

    set_grad_flag = set_enable_grad

    def grad_flag(self) -> bool:
        """Whether a gradient is being recorded, or stopped."""
        return bool(self._paused or _C.active_tapes())

    def requires_grad(self) -> bool:
        """Whether gradients are being recorded."""
        return bool(_C.active_tapes())

    def high_order(self) -> bool:
        """Whether gradients of gradients are being recorded."""
        return len(_C.active_tapes()) > 1

    def set_jit_compile_phase(self, phase: Any) -> None:
        """Kept for its name: what is compiled has no phase."""

    set_lazy_build = set_async_for_graph = set_is_run_recompute = set_jit_compile_phase

    def clear_res(self) -> None:
        """Kept for its name: nothing is held between steps."""

    def parameter_broadcast(self, obj: Any, phase: Any = None, auto_parallel_mode: Any = None) -> None:
        """Kept for its name: there is one process."""


class _CellGraphExecutor(_Left):
    """Compiles Cells. They are compiled when they run."""

    def compile(self, obj: Any, *args: Any, phase: str = "predict", **kwargs: Any) -> tuple[str, bool]:
        """Compiles a Cell as Cell.compile does. Returns (its number, True)."""
        obj.compile(*args, **kwargs)
        return f"{phase}.{id(obj)}", True

    def __call__(self, obj: Any, *args: Any, phase: str = "predict") -> Any:
        return obj(*args)

    run = __call__

    def has_compiled(self, phase: str = "predict") -> bool:
        """False: Cells are compiled for the inputs that they get."""
        return False

    def del_net_res(self, obj: Any, net_id: Any) -> None:
        """Kept for its name."""

    def set_queue_name(self, queue_name: Any) -> None:
        """Kept for its name: there is no queue of a device."""

    def set_real_args(self, args: Any, kwargs: Any) -> None:
        """Kept for its name."""


_PynativeExecutor = _PyNativeExecutor
_pynative_executor = _pynative_exec = _PyNativeExecutor()
_cell_graph_executor = _executor = _CellGraphExecutor()


class _no_grad(contextlib.ContextDecorator):
    """Within it no gradient is recorded."""

    def __init__(self) -> None:
        self._paused = []  # of each entry, as a decorated function may call itself

    def __enter__(self) -> Self:
        self._paused.append(_pause())
        return self

    def __exit__(self, *error: Any) -> bool:
        _go_on(self._paused.pop())
        return False


def _convert_python_data(data):
    """The value itself: results are Tensors at once."""
    return data
