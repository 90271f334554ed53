"""MindSpore's module paths, answered by pijit's modules.

`install("mindspore")` makes `import mindspore` and all below it mean pijit. The modules are pijit's own, not copies:
`mindspore.ops is pijit.ops`, so a name that a program replaces is replaced for all, and captured code reads them as it
reads `pijit`. Nothing is installed on disk, and a real MindSpore that was imported before is left alone.

A path below `mindspore` is the same path below `pijit`; `_ELSEWHERE` holds those that MindSpore divides in another way,
and serves `import pijit.…` as well. A name that a module doesn't have is looked up among submodules that aren't loaded
yet, then in the packages above (`mindspore.nn.layer.conv.Dense` is found in `pijit.nn.layer`), and stands in the
module's `__dict__` from then on.

Every other module and name of MindSpore (`reference`) exists as well: a module that pijit has no file for is made when
it is imported, and a name that pijit has elsewhere is found there; what pijit leaves out raises when it is used
(`left_out`)."""

from __future__ import annotations

import builtins
import difflib
import importlib
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING

from pijit._attribute_error import attribute_error
from pijit.compat import homes

if TYPE_CHECKING:
    from typing import Any

VERSION = "2.7.1"  # the MindSpore whose names these are

# ours: MindSpore's paths that it answers
_ELSEWHERE = {
    "tensor": "common.tensor",
    "parameter": "common.parameter",
    "dtype": "common.dtype numpy.dtypes",
    "initializer": "common.initializer",
    "numpy": "numpy.array_creations numpy.array_ops numpy.logic_ops numpy.math_ops",
    "random": "common.seed common.generator",
    "jit": "common.api common.jit_config",
    "hints": "common.lazy_inline common.no_inline common.recompute",
    "common": "common.mutable common.hook_handle common.symbol",
    "sparse_tensor": "common.sparse_tensor",
    "serialization": "train.serialization",
    "amp": "train.amp train.loss_scale_manager",
    "train.metrics": "nn.metrics",
    "experimental.optim.optimizers": "experimental.optim.adadelta experimental.optim.adagrad experimental.optim.adam "
                                     "experimental.optim.adamax "
                                     "experimental.optim.adamw experimental.optim.asgd experimental.optim.nadam "
                                     "experimental.optim.radam "
                                     "experimental.optim.rmsprop experimental.optim.rprop experimental.optim.sgd",
    "nn.container": "nn.layer.container",
    "nn.layer.rnn": "nn.layer.rnns nn.layer.rnn_cells",
    "nn.layer": "nn.layer.channel_shuffle nn.layer.dense nn.layer.embedding nn.layer.math nn.layer.padding "
                "nn.layer.thor_layer "
                "nn.layer.timedistributed",
    "nn.loss": "nn.loss.loss",
    "nn.schedule": "nn.learning_rate_schedule nn.dynamic_lr",
    "nn.optim": "nn.optim.ada_grad nn.optim.adadelta nn.optim.adafactor nn.optim.adam nn.optim.adamax nn.optim.adasum "
                "nn.optim.asgd nn.optim.ftrl "
                "nn.optim.lamb nn.optim.lars nn.optim.lazyadam nn.optim.momentum nn.optim.optimizer "
                "nn.optim.proximal_ada_grad nn.optim.rmsprop "
                "nn.optim.rprop nn.optim.sgd nn.optim.thor",
    "ops.primitives": "ops.operations ops.operations.array_ops ops.operations.comm_ops ops.operations.control_ops "
                      "ops.operations.custom_ops "
                      "ops.operations.debug_ops ops.operations.image_ops ops.operations.inner_ops "
                      "ops.operations.linalg_ops "
                      "ops.operations.manually_defined ops.operations.math_ops ops.operations.nn_ops "
                      "ops.operations.other_ops "
                      "ops.operations.random_ops ops.operations.sparse_ops ops.operations.spectral_ops "
                      "ops.operations._inner_ops "
                      "ops.operations._grad_ops",
    "ops.function": "ops.function.array_func ops.function.clip_func ops.function.debug_func "
                    "ops.function.fft_func ops.function.grad ops.function.grad.grad_func ops.function.image_func "
                    "ops.function.linalg_func "
                    "ops.function.math_func ops.function.nn_func ops.function.other_func ops.function.parameter_func "
                    "ops.function.random_func "
                    "ops.function.sparse_func ops.function.sparse_unary_func ops.function.spectral_func "
                    "ops.function.vmap_func",
    "ops.composite": "ops.composite.base ops.composite.env_ops ops.composite.math_ops ops.composite.multitype_ops",
    "ops": "ops.auto_generate ops.auto_generate.gen_ops_def ops.auto_generate.gen_ops_prim ops._grad "
           "ops._grad_experimental",
    "dataset": "dataset.core dataset.engine dataset.engine.datasets_standard_format dataset.engine.datasets_text "
               "dataset.engine.datasets_user_defined "
               "dataset.engine.datasets_vision",
    "dataset.datasets": "dataset.engine.datasets",
    "dataset.samplers": "dataset.engine.samplers",
    "mindrecord": "mindrecord.config",
    "mindrecord.tools": "mindrecord.tools.cifar10_to_mr mindrecord.tools.cifar100_to_mr mindrecord.tools.csv_to_mr "
                        "mindrecord.tools.imagenet_to_mr mindrecord.tools.mnist_to_mr mindrecord.tools.tfrecord_to_mr",
    "dataset.pipeline": "dataset.engine.iterators",
    "dataset.config": "dataset.core.config",
    "dataset.callback": "dataset.callback.ds_callback",
    "device_context.ascend": "device_context.ascend.device device_context.ascend.op_debug "
                             "device_context.ascend.op_precision "
                             "device_context.ascend.op_tuning",
    "device_context.gpu": "device_context.gpu.device device_context.gpu.op_precision device_context.gpu.op_tuning",
    "ops.grad_base": "ops._grad.grad_base ops._grad_experimental.grad_base",
    # of earlier versions, and inner ones that programs ask for
    "compat.old.checkparam": "_checkparam",
    "compat.old.c_expression": "_c_expression",
    "compat.old.typing": "_c_expression.typing",
    "compat.old.version": "version",
    "profiler": "profiler.profiling",
    "compat.old.quant": "nn.layer.quant train.quant train.quant.quant train.quant.quant_utils compression "
                        "compression.quant compression.quant.qat "
                        "compression.quant.quant_utils compression.common compression.common.constant",
    "compat.old.transformer": "nn.transformer nn.transformer.transformer nn.transformer.layers nn.transformer.loss "
                              "nn.transformer.moe "
                              "nn.transformer.op_parallel_config parallel._transformer "
                              "parallel._transformer.transformer "
                              "parallel._transformer.layers parallel._transformer.loss parallel._transformer.moe "
                              "parallel._transformer.op_parallel_config",
}
_PATHS = {path: ours for ours, paths in _ELSEWHERE.items() for path in paths.split()}
_BELOW = {}  # our module: MindSpore's paths below it
for _path in _PATHS:
    _above = _path.rpartition(".")[0]
    _BELOW.setdefault(_PATHS.get(_above, _above), []).append(_path)

# MindSpore's modules without a file here that have the name of a function beside them, by the module of ours that holds
# it
_BESIDE = {"": "run_check", "nn.optim": "thor", "scipy.optimize": "line_search linear_sum_assignment minimize",
           "train.metrics": "auc",
           "ops": "op_info_register vm_impl_registry", "parallel": "parameter_broadcast shard",
           "utils": "runtime_execution_order_check stress_detect"}

_installed = False
_own_version = None
_finders = {}  # module: how names() finds what is in none of its submodules' places above


def _own(name):
    """Our module's name for a name below `mindspore` or `pijit`."""
    rest = name.partition(".")[2]
    return "pijit." + _PATHS[rest] if rest in _PATHS else "pijit." + rest if rest else "pijit"


def _shown(name):
    """How an error names a module of ours: by MindSpore's name where that is what the program imported."""
    if not _installed:
        return name
    rest = name.partition(".")[2]
    paths = _ELSEWHERE.get(rest, rest).split()
    return ".".join(["mindspore", *([rest] if any(p.startswith(rest + ".") for p in paths) else paths[:1])])


def _hint(name, known):
    known = [k for k in known if k[0] != "_" and k != name]
    near = difflib.get_close_matches(name, known, 3, 0.6)
    lower = {k.lower(): k for k in known}
    if name.lower() in lower and lower[name.lower()] not in near:
        near.insert(0, lower[name.lower()])
    return f" The nearest names there are: {', '.join(near)}." if near else ""


def _importing_from():
    """Whether the caller's caller executes `from module import name`."""
    import dis  # only on the way to an error
    frame = sys._getframe(2)
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def _found_above(module, name):
    """What a package above has under the name; the topmost counts for `common` alone, which is a second place for its
    names."""
    above = module.rpartition(".")[0]
    while (above.count(".") or above and module.startswith("pijit.common")) and not above.startswith("pijit.compat"):
        value = sys.modules[above].__dict__.get(name)
        if value is not None and not isinstance(value, types.ModuleType):
            return value
        above = above.rpartition(".")[0]
    return None


def _file_spec(path):
    """The spec of a module of ours that has a file or stands in `_PATHS`, or None."""
    if path.partition(".")[2] in _PATHS:
        return importlib.util.find_spec(path)
    return PathFinder.find_spec(path, getattr(sys.modules.get(path.rpartition(".")[0]), "__path__", ()))


def _paths(module):
    """MindSpore's paths that a module of ours answers, its own first."""
    rest = module.partition(".")[2]
    return [rest, *_ELSEWHERE.get(rest, "").split()]


def _own_value(path, name):
    """What the module of ours for MindSpore's path has under the name by itself, or None."""
    own = _own("mindspore." + path if path else "mindspore")
    if own not in sys.modules:
        parent = own.rpartition(".")[0]
        if parent and _own_module(parent) is None or _file_spec(own) is None:
            from pijit.compat import old
            return old.value(path, name)
    module = _prepared(importlib.import_module(own))
    value = module.__dict__.get(name)
    if value is None and own in _finders:
        value = _finders[own](name)
    if value is None:
        from pijit.compat import old
        value = old.value(path, name)
    return None if isinstance(value, types.ModuleType) else value


def _own_module(name):
    """The module of ours of that name if it has a file, loaded, or None."""
    if name not in sys.modules:
        parent = name.rpartition(".")[0]
        if parent and _own_module(parent) is None or _file_spec(name) is None:
            return None
        importlib.import_module(name)
    return sys.modules[name]


def _old_value(module, name):
    """What these modules have under the name in earlier versions of MindSpore, or in a way that programs of these
    know."""
    from pijit.compat import old
    for path in _paths(module):
        value = old.value(path, name)
        if value is not None:
            return value
    return None


def _reference_value(module, name):
    """What MindSpore's modules that this one answers have under the name: ours from elsewhere, or what raises when it
    is used."""
    from pijit.compat import reference
    for path in _paths(module):
        value = reference.value(path, name, _own_value)
        if value is not None:
            return value
    return None


def _module_below(module, name):
    """The module that MindSpore has below another of the paths that this one answers (`from mindspore.ops.operations
    import _sequence_ops`), or None."""
    from pijit.compat import reference
    for path in _ELSEWHERE.get(module.partition(".")[2], "").split():
        if reference.has_module(f"{path}.{name}"):
            return _prepared(importlib.import_module(f"pijit.{path}.{name}"))
    return None


def names(module: Any, lazy: Any = None, load: Any = None, known: Any = None) -> Any:
    """`__getattr__` and `__dir__` of a module (PEP 562), for what isn't in its `__dict__` yet.

    `lazy` maps submodules, by their names below `pijit`, to the names (in one string) that this module takes from them
    when they are asked for; `load` gives the value of any other name, or None, and `known` all names there are, which
    then are `__all__`.

    What is found goes into the `__dict__`. AttributeError (ImportError for `from module import name`) names the nearest
    names there are."""
    origin = {name: "pijit." + path for path, text in (lazy or {}).items() for name in text.split()}

    def find_here(name):
        if name in origin:
            return getattr(importlib.import_module(origin[name]), name)
        return load(name) if load is not None else None

    _finders[module] = find_here

    def find(name):
        value = find_here(name)
        if value is None:
            value = _found_above(module, name)
        if value is not None:
            return value
        if isinstance(sys.modules[module], _Made) or name in _BESIDE.get(module.partition(".")[2], "").split():
            value = _old_value(module, name)  # a function's name may be a module's, too
            if value is None:
                value = _reference_value(module, name)
            if value is not None:
                return value
        path = f"{module}.{name}"
        if path in sys.modules or "__path__" in sys.modules[module].__dict__ and _file_spec(path) is not None:
            return _prepared(importlib.import_module(path))
        value = _old_value(module, name)
        if value is None:
            value = _reference_value(module, name)
        if value is None and "__path__" in sys.modules[module].__dict__ and importlib.util.find_spec(path) is not None:
            return _prepared(importlib.import_module(path))
        return _module_below(module, name) if value is None else value

    def __getattr__(name):
        if name == "__all__" and known is not None:
            sys.modules[module].__dict__["__all__"] = known()
            return sys.modules[module].__dict__["__all__"]
        if name.startswith("__"):
            raise attribute_error(f"module {_shown(module)!r} has no attribute {name!r}", name)
        value = find(name)
        if value is not None:
            if not hasattr(builtins, name):  # else the module's own code found it instead of Python's
                sys.modules[module].__dict__[name] = value
            return value
        if _importing_from():
            raise ImportError(
                f"cannot import name {name!r} from {_shown(module)!r}: pijit doesn't have it.{_hint(name, __dir__())}",
                name=module)
        raise attribute_error(
            f"module {_shown(module)!r} has no attribute {name!r} (in pijit).{_hint(name, __dir__())}", name)

    def __dir__():
        return sorted({*sys.modules[module].__dict__, *origin, *(known() if known is not None else ())})

    return __getattr__, __dir__


# -- what classes are called under the alias: MindSpore's names, `mindspore.nn.layer.conv.Conv1d`, as programs print,
# compare and pickle them --
_renamed = {}  # class: the module of ours that defines it


def _name_classes(own):
    """Gives the classes that a module of ours defines the names of MindSpore's modules."""
    rest, module = own.partition(".")[2], sys.modules[own]
    for home, text in homes.HOMES.get(rest, {}).items():
        path = f"mindspore.{home}".rstrip(".")
        if _own(path) == own:
            sys.modules.setdefault(path, module)  # where `inspect` looks for the source
            _answering(module)
        for name in text.split():
            cls = module.__dict__.get(name)
            if isinstance(cls, type) and cls.__module__ == own:
                _renamed[cls] = own
                _move(cls, path)


def _move(cls: type, path: str) -> None:
    """Gives a class the module, and leaves it the line of its source, which Python 3.13 drops with that."""
    line = cls.__dict__.get("__firstlineno__")
    cls.__module__ = path
    if line is not None:
        cls.__firstlineno__ = line


class _Named(types.ModuleType):
    """The package under the alias: programs look for a module of this name among a function's globals. Its functions'
    globals, by which captured code knows them, keep the name."""

    __name__ = property(lambda self: "mindspore")  # noqa: ARG005


def own_module_of(cls: Any) -> str | None:
    """The module of ours that defines a class, whatever the class is called, or None."""
    own = _renamed.get(cls, cls.__module__)
    return own if isinstance(own, str) and own.partition(".")[0] == "pijit" else None


class _NamingLoader(SourceFileLoader):
    """Loads a file of ours under the alias."""

    def exec_module(self, module: Any) -> None:
        super().exec_module(module)
        if _installed:
            _name_classes(module.__name__)


class _Loader:
    """Puts a module that is there already, or imported under its own name, under another path."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def create_module(self, spec: Any) -> None:  # noqa: ARG002
        return None

    def exec_module(self, module: Any) -> None:
        sys.modules[module.__spec__.name] = _prepared(importlib.import_module(self.own))


class _Made(types.ModuleType):
    """A module of MindSpore that pijit has no file for: its names are found when they are asked for."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType) and name in dir(self):
            return  # an import of a submodule that has a function's name
        super().__setattr__(name, value)


def _made(own, is_package):
    def known():
        from pijit.compat import reference
        return sorted(n for n in reference.homes(rest) if n[0] != "_")

    rest = own.partition(".")[2]
    module = _Made(own, f"MindSpore's `mindspore.{rest}`.")
    if is_package:
        module.__path__ = []
    module.__getattr__, module.__dir__ = names(own, known=known)
    module.__spec__ = ModuleSpec(own, _Maker(), is_package=is_package)
    return module


class _Maker:
    """Puts a module made so in its place."""

    def create_module(self, spec: Any) -> _Made:
        return _made(spec.name, spec.submodule_search_locations is not None)

    def exec_module(self, module: Any) -> None:
        pass


class _LastFinder:
    """Finds MindSpore's modules below `pijit` that nothing else finds."""

    @staticmethod
    def find_spec(name: str, path: str | None = None, target: Any = None) -> Any:  # noqa: ARG004
        root, _, rest = name.partition(".")
        if root != "pijit":
            return None
        from pijit.compat import reference
        return ModuleSpec(name, _Maker(), is_package=reference.has_below(rest)) if reference.has_module(rest) else None


class _Finder:
    """Finds what is below `mindspore`, and MindSpore's divisions below `pijit`."""

    @staticmethod
    def find_spec(name: str, path: str | None = None, target: Any = None) -> Any:  # noqa: ARG004
        root, _, rest = name.partition(".")
        if root == "pijit" and rest not in _PATHS and _installed and rest in homes.HOMES:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _NamingLoader(spec.loader.name, spec.loader.path)
            return spec
        if not (root == "mindspore" and _installed or root == "pijit" and rest in _PATHS):
            return None
        own = _own(name)
        parent, _, leaf = own.rpartition(".")
        same = sys.modules[parent].__dict__.get(leaf) if parent in sys.modules and rest not in _PATHS else None
        # a function's name is a module's only where it is one in MindSpore, though pijit may keep the function in one
        if same is None or isinstance(same, types.ModuleType) or _is_reference(rest):
            try:
                if own in sys.modules or importlib.util.find_spec(own) is not None:
                    return ModuleSpec(name, _Loader(own))
            except ModuleNotFoundError:
                pass  # of a package that isn't there
        above, _, leaf = name.rpartition(".")
        raise ModuleNotFoundError(f"No module named {name!r} (in pijit).{_hint(leaf, dir(sys.modules[above]))}",
                                  name=name)


def _is_reference(rest):
    from pijit.compat import reference
    return reference.has_module(rest)


def _prepared(module):
    """The module, ready for imports through it: a package where MindSpore has one, and with names looked up as in
    `names`."""
    rest = module.__name__.partition(".")[2]
    _answering(module)
    _put_below(rest)
    return module


def _answering(module):
    """Lets the module answer names that it doesn't hold, and submodules, which a file of ours has none of."""
    if not hasattr(module, "__path__"):
        module.__path__ = []
    if "__getattr__" not in module.__dict__:
        module.__getattr__, module.__dir__ = names(module.__spec__.name)


def _put_below(rest):
    """Enters MindSpore's submodules whose names are those of functions (`common.mutable`): an import that had to find
    them would put the module in the function's place."""
    parent = sys.modules["pijit." + rest if rest else "pijit"]
    beside = _BESIDE.get(rest, "").split()
    for path in _BELOW.get(rest, ()):
        leaf, target = path.rpartition(".")[2], "pijit." + _PATHS[path]
        if not isinstance(parent.__dict__.get(leaf, parent), types.ModuleType):
            importlib.import_module(target)
        if target in sys.modules:
            for root in ("pijit", "mindspore") if _installed else ("pijit",):
                sys.modules.setdefault(f"{root}.{path}", sys.modules[target])
            _answering(sys.modules[target])
            if leaf not in parent.__dict__ and leaf not in beside:
                parent.__dict__[leaf] = _found_above(parent.__name__, leaf) or sys.modules[target]
    for leaf in beside:
        path = f"{rest}.{leaf}".lstrip(".")
        made = (sys.modules.get("pijit." + path)
                or sys.modules.setdefault("pijit." + path, _made("pijit." + path, leaf == "run_check")))
        _answering(made)
        if _installed:
            sys.modules.setdefault("mindspore." + path, made)


def raising_method(home: Any) -> Any:
    """A method that MindSpore's class has and ours leaves out: "Tensor.offload"."""
    def raises(self, *args, **kwargs):  # noqa: ARG001
        from pijit.compat import left_out
        raise NotImplementedError(left_out.text(home))
    raises.__name__ = raises.__qualname__ = home.rpartition(".")[2]
    raises.__doc__, raises._left_out = f"mindspore.{home}: calls raise NotImplementedError.", home
    return raises


def register() -> None:
    """Makes MindSpore's divisions of what is loaded importable. `import pijit` ends with it."""
    if _Finder not in sys.meta_path:
        sys.meta_path += [_Finder, _LastFinder]
    for rest in sorted({*_BELOW, *_ELSEWHERE, *_BESIDE}):
        own = "pijit." + rest if rest else "pijit"
        if own in sys.modules:
            _prepared(sys.modules[own])


def install(name: str = "mindspore") -> None:
    """Lets `import mindspore` mean pijit, and gives `__version__` MindSpore's value. Raises ValueError for another
    name, RuntimeError when the real one is loaded."""
    global _installed, _own_version
    if name != "mindspore":
        raise ValueError(f"pijit can stand in for 'mindspore' only, not for {name!r}.")
    import pijit
    if sys.modules.get("mindspore", pijit) is not pijit:
        raise RuntimeError("the real mindspore is imported already; call pijit.compat.install first.")
    if _installed:
        return
    _installed = True
    sys.modules["mindspore"] = pijit
    sys.meta_path.remove(_Finder)
    sys.meta_path.insert(0, _Finder)  # before the finder of files, which would load pijit's a second time
    _own_version, pijit.__version__ = pijit.__version__, VERSION
    pijit.__class__ = _Named
    for own in [m for m in sys.modules if m.partition(".")[0] == "pijit"]:
        _name_classes(own)
    register()


def uninstall() -> None:
    """Takes the import paths back."""
    global _installed
    if not _installed:
        return
    import pijit
    _installed = False
    for path in [p for p in sys.modules if p.partition(".")[0] == "mindspore"]:
        del sys.modules[path]
    sys.meta_path.remove(_Finder)
    sys.meta_path.append(_Finder)
    pijit.__version__ = _own_version
    pijit.__class__ = types.ModuleType
    for cls, own in _renamed.items():
        _move(cls, own)
    _renamed.clear()
