"""Running scripts written for MindSpore: its import paths, answered by pijit.

`install("mindspore")` makes `import mindspore` and its submodules resolve to this package; nothing is
installed on disk, and a real MindSpore that was imported before is left alone."""

import importlib
import sys
import types

# MindSpore's module path → ours (or a list of names taken from ours)
_PATHS = {
    "mindspore": "pijit",
    "mindspore.context": "pijit.context",
    "mindspore.nn": "pijit.nn",
    "mindspore.nn.cell": "pijit.nn.cell",
    "mindspore.nn.layer": "pijit.nn.layer",
    "mindspore.nn.loss": "pijit.nn.loss",
    "mindspore.nn.optim": "pijit.nn.optim",
    "mindspore.nn.wrap": "pijit.nn.wrap",
    "mindspore.nn.learning_rate_schedule": "pijit.nn.schedule",
    "mindspore.ops": "pijit.ops",
    "mindspore.ops.operations": "pijit.ops.primitives",
    "mindspore.ops.functional": "pijit.ops.function",
    "mindspore.ops.composite": "pijit.ops",
    "mindspore.ops.function": "pijit.ops.function",
    "mindspore.ops._grad": "pijit.ops",
    "mindspore.ops._grad.grad_base": "pijit.ops.grad_base",
    "mindspore.ops._grad_experimental": "pijit.ops",
    "mindspore.ops._grad_experimental.grad_base": "pijit.ops.grad_base",
    "mindspore.numpy": "pijit.numpy",
    "mindspore.amp": "pijit.amp",
    "mindspore.train.amp": "pijit.amp",
    "mindspore.log": "pijit.log",
    "mindspore.common": "pijit.common",
    "mindspore.common.tensor": "pijit",
    "mindspore.common.parameter": "pijit.parameter",
    "mindspore.common.dtype": "pijit.dtype",
    "mindspore.common.initializer": "pijit.initializer",
    "mindspore.common.api": "pijit",
    "mindspore.train": "pijit",
    "mindspore.train.serialization": "pijit.serialization",
    "mindspore.dtype": "pijit.dtype",
}


class _Alias(types.ModuleType):
    """A module whose attributes are another's, so that submodules can hang on it without touching ours."""

    def __init__(self, name, target):
        super().__init__(name, target.__doc__)
        self.__dict__["_target"] = target
        self.__path__ = []

    def __getattr__(self, name):
        try:
            return getattr(self._target, name)
        except AttributeError:
            raise AttributeError(f"module {self.__name__!r} (pijit) has no attribute {name!r}") from None

    def __dir__(self):
        return dir(self._target)


def install(name="mindspore"):
    """Lets `import mindspore` mean pijit. Raises ValueError for another name, RuntimeError when the real one is loaded."""
    if name != "mindspore":
        raise ValueError(f"pijit can stand in for 'mindspore' only, not for {name!r}.")
    present = sys.modules.get("mindspore")
    if present is not None and not isinstance(present, _Alias):
        raise RuntimeError("the real mindspore is imported already; call pijit.compat.install first.")
    for path, target in _PATHS.items():
        if path not in sys.modules:
            sys.modules[path] = _Alias(path, importlib.import_module(target))
    for path in _PATHS:
        parent, _, leaf = path.rpartition(".")
        if parent:
            sys.modules[parent].__dict__[leaf] = sys.modules[path]


def uninstall():
    """Takes the import paths back."""
    for path in _PATHS:
        if isinstance(sys.modules.get(path), _Alias):
            del sys.modules[path]
