"""The objects that run programs in MindSpore, as far as programs ask them for something."""

import contextlib

from pijit import _C
from pijit.compat import left_out

ms_compile_cache = set()  # MindSpore's numbers of compiled functions


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

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        raise left_out.NotImplementedHere(left_out.text(f"common.api.{type(self).__name__}.{name}"))


class _PyNativeExecutor(_Left):
    """Runs operators one by one."""

    def sync(self):
        """Waits until all results are there."""
        from pijit import runtime

        runtime.synchronize()

    _paused = None  # the recordings that were stopped

    def enable_grad(self):
        """Whether gradients are recorded where they are asked for."""
        return self._paused is None

    def set_enable_grad(self, flag):
        """Stops what records gradients, or lets it go on."""
        if flag and self._paused is not None:
            _go_on(self._paused)
            self._paused = None
        elif not flag and self._paused is None:
            self._paused = _pause()

    set_grad_flag = set_enable_grad

    def grad_flag(self):
        """Whether a gradient is being recorded, or stopped."""
        return bool(self._paused or _C.active_tapes())

    def requires_grad(self):
        """Whether gradients are being recorded."""
        return bool(_C.active_tapes())

    def high_order(self):
        """Whether gradients of gradients are being recorded."""
        return len(_C.active_tapes()) > 1

    def set_jit_compile_phase(self, phase):
        """Kept for its name: what is compiled has no phase."""

    set_lazy_build = set_async_for_graph = set_is_run_recompute = set_jit_compile_phase

    def clear_res(self):
        """Kept for its name: nothing is held between steps."""

    def parameter_broadcast(self, obj, phase=None, auto_parallel_mode=None):
        """Kept for its name: there is one process."""


class _CellGraphExecutor(_Left):
    """Compiles Cells. They are compiled when they run."""

    def compile(self, obj, *args, phase="predict", **kwargs):
        """Compiles a Cell as Cell.compile does. Returns (its number, True)."""
        obj.compile(*args, **kwargs)
        return f"{phase}.{id(obj)}", True

    def __call__(self, obj, *args, phase="predict"):
        return obj(*args)

    run = __call__

    def has_compiled(self, phase="predict"):
        """False: Cells are compiled for the inputs that they get."""
        return False

    def del_net_res(self, obj, net_id):
        """Kept for its name."""

    def set_queue_name(self, queue_name):
        """Kept for its name: there is no queue of a device."""

    def set_real_args(self, args, kwargs):
        """Kept for its name."""


_PynativeExecutor = _PyNativeExecutor
_pynative_executor = _pynative_exec = _PyNativeExecutor()
_cell_graph_executor = _executor = _CellGraphExecutor()


class _no_grad(contextlib.ContextDecorator):
    """Within it no gradient is recorded."""

    def __init__(self):
        self._paused = []  # of each entry, as a decorated function may call itself

    def __enter__(self):
        self._paused.append(_pause())
        return self

    def __exit__(self, *error):
        _go_on(self._paused.pop())
        return False


def _convert_python_data(data):
    """The value itself: results are Tensors at once."""
    return data
