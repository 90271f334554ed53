"""The objects that run programs in MindSpore, as far as programs ask them for something."""

import contextlib

from pijit import _C
from pijit.compat import left_out

ms_compile_cache = set()  # MindSpore's numbers of compiled functions


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

    def grad_flag(self):
        """Whether gradients are being recorded."""
        return bool(_C.active_tapes())

    enable_grad = requires_grad = grad_flag

    def high_order(self):
        """Whether gradients of gradients are being recorded."""
        return len(_C.active_tapes()) > 1

    def set_grad_flag(self, flag):
        """Kept for its name: gradients are recorded where they are asked for."""

    set_lazy_build = set_async_for_graph = set_jit_compile_phase = set_is_run_recompute = set_grad_flag

    def clear_res(self):
        """Kept for its name: nothing is held between steps."""

    def parameter_broadcast(self, obj, phase=None, auto_parallel_mode=None):
        """Kept for its name: there is one process."""


class _CellGraphExecutor(_Left):
    """Compiles Cells. They are compiled when they run."""

    def compile(self, obj, *args, phase="predict", **kwargs):
        """Runs the Cell once, so that it is compiled. Returns (its number, True)."""
        obj(*args)
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

    def __enter__(self):
        self._paused = _C.active_tapes()
        for tape in self._paused:
            tape.stop()
        return self

    def __exit__(self, *error):
        for tape in self._paused:
            tape.start()
        return False


def _convert_python_data(data):
    """The value itself: results are Tensors at once."""
    return data
