"""More Tensor methods: diagonals and places, random numbers, what MindSpore tells of a tensor's memory and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import compat
from pijit import dtype as mstype
from pijit import random as _random
from pijit._C import Tensor
from pijit._numpy import np
from pijit.ops import function as F
from pijit.ops.function import (diagonals as _diagonals, distributions as _draws, scattering as _scatter,
                                sorting as _sorting)

if TYPE_CHECKING:
    from typing import Any


class _Methods:
    # in a class, so that `int` or `all` mean Python's own in the bodies
    @property
    def H(self):
        """A matrix transposed, its elements conjugated. ValueError for other numbers of dimensions."""
        if self.ndim != 2:
            raise _check.expected("Tensor.H", "2 dimensions", self.ndim)
        return self.mH

    @property
    def mH(self):
        """The last two dimensions exchanged, elements conjugated."""
        y = F.swapaxes(self, -1, -2)
        return y.conj() if self.dtype.name.lower().startswith("complex") else y

    # -- places --
    def fill_diagonal(self, fill_value, wrap=False):
        """A tensor with one value (a float) where all indices are equal; wrap: again and again down a tall matrix."""
        if not isinstance(fill_value, float):
            raise _check.refused("Tensor.fill_diagonal", "fill_value", _check.FLOAT, fill_value)
        return _diagonals.fill_diagonal(self, fill_value, wrap)

    def fill_diagonal_(self, fill_value, wrap=False):
        """One value where all indices are equal, in place."""
        return self._assign(_diagonals.fill_diagonal(self, fill_value, wrap))

    def index(self, indices):
        """self[indices] for a tuple of index tensors."""
        return self[tuple(indices)]

    def index_put(self, indices, values, accumulate=False):
        """A tensor with `values` at the places that a tuple of index tensors names; added there with accumulate."""
        return _scatter.index_put(self, indices, values, accumulate)

    def index_put_(self, indices, values, accumulate=False):
        """index_put, in place."""
        return self._assign(_scatter.index_put(self, indices, values, accumulate))

    def masked_scatter(self, mask, x):
        """A tensor with the elements of x, in their order, where mask is true."""
        return _scatter.masked_scatter(self, mask, x)

    def masked_scatter_(self, mask, source):
        """masked_scatter, in place."""
        return self._assign(_scatter.masked_scatter(self, mask, source))

    def put_(self, index, source, accumulate=False):
        """Puts the elements of source at flat places, in place; adds them there with accumulate."""
        return _scatter.put_(self, index, source, accumulate)

    def kthvalue(self, k, dim=-1, keepdim=False):
        """(the k-th least elements along a dimension, their indices)."""
        return _sorting.kthvalue(self, k, dim, keepdim)

    def nextafter(self, other):
        """The next number from each element in the direction of other's."""
        return F.nextafter(self, other)

    def unfold(self, kernel_size, dilation=1, padding=0, stride=1):
        """Patches of [N, C, H, W] as columns [N, C kh kw, patches]."""
        return F.unfold(self, kernel_size, dilation, padding, stride)

    def fold(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        """Columns summed into the images they were taken from; output_size: a Tensor of height and width."""
        return F.fold(self, output_size, kernel_size, dilation, padding, stride)

    def col2im(self, output_size, kernel_size, dilation, padding_value, stride):
        """Columns [N, C, kh kw, patches] summed into images [N, C, H, W]."""
        return F.col2im(self, output_size, kernel_size, dilation, padding_value, stride)

    # -- random numbers --
    def random_(self, from_=0, to=None, *, generator=None):
        """Whole numbers in [from_, to), in place: by default all that the dtype holds (up to 2 to the bits of a
        floating dtype's mantissa)."""
        if to is None:
            digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
            name = self.dtype.name.lower()
            most = 2 ** digits[name] if name in digits else 1 if name == "bool" else mstype.finite_range(self.dtype)[1]
            low, high = from_, most + 1
        else:
            low, high = from_, to
        if low >= high:
            raise _check.refused("Tensor.random_", "from_", _check.below("'to'"), _check.several(low, high))
        span = high - low
        if span <= 2 ** 24:
            x = F.floor(_random.uniform(self.shape, generator) * float(span))
            x = F.cast(F.minimum(x, float(span - 1)), mstype.int64)
        else:
            first, second = (F.cast(_random.uniform(self.shape, generator) * 16777216.0, mstype.int64)
                             for _ in range(2))
            x = first * 16777216 + second
            x = x % span if span <= 2 ** 47 else F.cast(F.cast(x, mstype.float64) * (span / 2.0 ** 48), mstype.int64)
        return self._assign(F.cast(x + low, self.dtype))

    def cauchy(self, median=0.0, sigma=1.0):
        """Numbers of the Cauchy distribution in this shape and dtype."""
        return F.cast(_draws.cauchy(self.shape, median, sigma), self.dtype)

    def log_normal(self, mean=1.0, std=2.0):
        """Numbers exp(N(mean, std^2)) in this shape and dtype. TypeError where that isn't floating."""
        if not self.dtype.is_floating_point:
            raise _check.refused("Tensor.log_normal", "the tensor", _check.FLOATING, self.dtype)
        return F.cast(F.exp(_random.normal(self.shape) * std + mean), self.dtype)

    def random_categorical(self, num_sample, seed=0, dtype=mstype.int64):
        """Classes drawn with the probabilities softmax(self): [rows, num_sample]."""
        return F.random_categorical(self, num_sample, seed, dtype)

    # -- memory and device --
    def data_ptr(self):
        """The address of the data. It is read; what is written through it, captured code may not see."""
        return self.asnumpy().ctypes.data

    def get_bytes(self):
        """The data as bytes, in C order."""
        return self.asnumpy().tobytes()

    @staticmethod
    def convert_bytes_to_tensor(data, shape, dtype):
        """A tensor of bytes that get_bytes gave."""
        return Tensor(np.frombuffer(data, mstype.dtype_to_nptype(dtype)).reshape(shape), dtype)

    def move_to(self, to="CPU", blocking=True):
        """The tensor on another device, as `ops.move_to`."""
        return F.move_to(self, to, blocking)

    def is_pinned(self):
        """False: memory is never pinned."""
        return False

    def data_sync(self, need_wait=True):
        """Waits for the data, which is there."""

    def to_dlpack(self):
        """A DLPack capsule with a copy of the data, which `from_dlpack` of other libraries takes."""
        return self.__dlpack__()

    def set_const_arg(self, const_arg=True):
        """Says whether the tensor is a constant as an argument of a network; captures decide that by themselves.
        Returns self."""
        if not isinstance(const_arg, bool):
            raise _check.refused("Tensor.set_const_arg", "const_arg", _check.BOOL, const_arg)
        return self

    def set_dtype(self, dtype):
        """Converts the elements, in place. Returns the dtype."""
        self._replace(F.cast(self, dtype))
        return self.dtype

    def requires_grad_(self, requires_grad=True):
        """Says whether a Parameter is trained; of other tensors nothing changes."""
        if isinstance(self, _Parameter):
            self.requires_grad = bool(requires_grad)

    def hooks(self):
        """Functions on the gradient: those that register_hook took stay with the gradient being taken, none with the
        tensor."""
        return ()

    def is_init(self):
        """Whether the parameter server has the data: False."""
        return False

    @property
    def init_finished(self):
        """True: no initializer is left to run."""
        return True


from pijit.parameter import Parameter as _Parameter  # noqa: E402

for _name, _value in vars(_Methods).items():
    if not _name.startswith("__"):
        if getattr(_value, "__qualname__", "").startswith("_Methods."):
            _value.__qualname__ = f"Tensor.{_name}"
        setattr(Tensor, _name, _value)


def _plain(name, default, doc):
    """An attribute that a Parameter keeps for whoever reads it: it says something of several devices."""
    key = "_" + name

    def get(self):
        return self.__dict__.get(key, default() if callable(default) else default)

    def put(self, value):
        self.__dict__[key] = value
    setattr(_Parameter, name, property(get, put, doc=doc))


for _name, _default, _doc in (("comm_fusion", 1,
                               "The number of the group whose gradients are communicated together; kept."),
                              ("parallel_optimizer_comm_recompute", False,
                               "Whether communication is repeated for gradients; kept."),
                              ("cache_enable", False, "Whether an embedding is cached; kept."),
                              ("cache_shape", list, "The shape of an embedding's cache; kept."),
                              ("unique", False, "Whether the rows of an embedding's gradient are distinct; kept."),
                              ("sliced", False, "Whether this is one device's part; kept."),
                              ("key", -1, "The number at the parameter server; kept."),
                              ("inited_param", None, "The parameter that this one's data came from; kept."),
                              ("is_in_parallel", False, "Whether several devices hold it; kept."),
                              ("requires_aggr", True, "Whether gradients of several devices are added; kept.")):
    _plain(_name, _default, _doc)


def _add_pipeline_stage(self, stage):
    """Says which stage of a pipeline uses the parameter: there is one. TypeError unless it is an int >= 0."""
    if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
        raise _check.refused("add_pipeline_stage", "stage", _check.value("be an int of at least 0"), stage, TypeError)


_Parameter.add_pipeline_stage = _add_pipeline_stage


def _is_shared(self):
    """False: no other process sees the memory."""
    return False


def _storage_offset(self):
    """How many elements of what the Tensor is a view of lie before its first one."""
    return self._layout()[1]


def _kept(self, *args, **kwargs):
    """Kept for its name."""


Tensor.is_shared, Tensor.storage_offset, Tensor.set_cast_dtype, Tensor.set_init_flag = (_is_shared, _storage_offset,
    _kept, _kept)
Tensor.wait_pipeline = Tensor.flush_from_cache = _kept
# what MindSpore's tensors hold besides
for _name, _value in (("is_meta", False), ("init_flag", False), ("virtual_flag", False), ("const_arg", False),
                      ("adapter_flag", False),
                      ("symbolic_shape", None), ("delta_seed", 0), ("param_info", None)):
    setattr(Tensor, _name, property(lambda self, value=_value: value, doc=f"{_value}: kept for its "
                                                                          f"name."))
for _name in (
    "assign_value_cpp delete_ getitem_index_info index_of_parent_ offload offload_file_path parent_tensor_ pin_memory "
    "remove_hook set_ "
              "set_device_address set_param_info setitem_index_info storage to_ triangular_solve "
              "untyped_storage").split():
    setattr(Tensor, _name, compat.raising_method(f"Tensor.{_name}"))


class _ParamInfo:
    """MindSpore keeps a parameter's settings in an object of their own: the parameter's attributes are."""

    def __init__(self, parameter: Any) -> None:
        object.__setattr__(self, "obj", parameter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.obj, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.obj, name, value)


_Parameter.param_info = _Parameter._param_info = property(_ParamInfo, doc="The parameter's settings as an object.")
_Parameter.init_mode = _Parameter._inited_param = _Parameter._cast_type = None
_Parameter._sliced = _Parameter._unique = False
_Parameter.is_default_input_init = True
