"""A table of embedding rows by key, which grows as keys are asked for."""

from __future__ import annotations

import numbers
import sys
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.initializer import initializer
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any, Self

_INTS = (mstype.int8, mstype.int16, mstype.int32, mstype.int64, mstype.uint8, mstype.uint16, mstype.uint32,
         mstype.uint64)
_UNCHANGED, _NEW_OR_CHANGED, _ERASED = range(3)  # of a row since the last export


class MapParameter(Parameter):
    """A parameter that keeps a row of values for each key, in the order in which the keys came.

    Args:
        name (str, optional): of the parameter. Default: None.
        requires_grad (bool, optional): kept; rows that `get` gives have no gradient to the table. Default: True.
        key_dtype (mindspore.dtype, optional): of the keys, an integer one. Default: int32.
        value_dtype (mindspore.dtype, optional): of the rows. Default: float32.
        value_shape (int, tuple or list, optional): of one row. Default: 1.
        key_tensor (Tensor, optional): the first keys, with
        value_tensor (Tensor, optional): their rows.
        default_value (number or str, optional): what a new row is filled with, or the initializer that does. Default:
            'normal'.
        permit_filter_value, evict_filter_value (number, optional): kept, and have no effect here.

    Raises:
        TypeError: if an argument is of the wrong type, or `key_dtype` is not an integer.
        ValueError: if keys and rows do not fit one another.

    Example:
        >>> m = ms.experimental.MapParameter(value_shape=2, default_value="zeros")
        >>> m.put(Tensor([7], ms.int32), Tensor([[1.0, 2.0]])).get(Tensor([7, 8], ms.int32))
        Tensor(shape=[2, 2], dtype=Float32, value=
        [[ 1.00000000e+00,  2.00000000e+00],
         [ 0.00000000e+00,  0.00000000e+00]])
    """

    def __init__(self, name: str | None = None, requires_grad: bool = True, **kwargs: Any) -> None:
        options = {"key_dtype": mstype.int32, "value_dtype": mstype.float32, "value_shape": 1, "key_tensor": None,
                   "value_tensor": None, "default_value": "normal", "permit_filter_value": 1,
                   "evict_filter_value": sys.maxsize}
        if unknown := [k for k in kwargs if k not in options]:
            raise TypeError(f"MapParameter() got an unexpected keyword argument {unknown[0]!r}")
        for key, value in {**options, **kwargs}.items():
            setattr(self, key, value)
        if self.key_dtype not in _INTS:
            raise _check.refused("MapParameter", "key_dtype", _check.value("be an integer dtype"), self.key_dtype,
                                 TypeError)
        if not isinstance(self.value_dtype, mstype.Type):
            raise _check.refused("MapParameter", "value_dtype", _check.value("be a dtype"), self.value_dtype, TypeError)
        shape = self.value_shape
        shape = (shape,) if isinstance(shape, int) and not isinstance(shape, bool) else shape
        if not isinstance(shape, (tuple, list)) or not all(isinstance(n, int) and n > 0 for n in shape):
            raise _check.refused("MapParameter", "value_shape",
                                 _check.value("be an int or a tuple or list of ints above 0"), self.value_shape,
                                 TypeError)
        if not isinstance(self.default_value, (str, numbers.Number)):
            raise _check.refused("MapParameter", "default_value",
                                 _check.value("be a number or the name of an initializer"), self.default_value,
                                 TypeError)
        self.value_shape = tuple(shape)
        super().__init__(initializer("zeros", (1, *self.value_shape), self.value_dtype), name, requires_grad)
        self._rows, self._changes = {}, {}
        if (self.key_tensor is None) != (self.value_tensor is None):
            raise _check.together("MapParameter", "key_tensor", "value_tensor")
        if self.key_tensor is not None:
            self.put(self.key_tensor, self.value_tensor)

    def _keys(self, method, keys):
        _check.need(f"MapParameter.{method}", "key_tensor", keys, _check.TENSOR)
        if keys.dtype != self.key_dtype or keys.ndim != 1:
            raise ValueError(f"For 'MapParameter.{method}', 'key_tensor' must have 1 dimension of {self.key_dtype}, "
                             f"but got {keys.ndim} of {keys.dtype}.")
        return keys.tolist()

    def _stacked(self, rows):
        if not rows:
            return Tensor(np.zeros((0, *self.value_shape), np.float32)).astype(self.value_dtype)
        return Tensor(np.stack(rows)).astype(self.value_dtype)

    def get(self, key_tensor: Tensor, insert_default_value: bool = True) -> Tensor:
        """The rows of these keys. A key without one gets the default, which stays if `insert_default_value`.

        Raises TypeError or ValueError where `key_tensor` is no Tensor of 1 dimension of `key_dtype`."""
        rows, made = [], {}
        for key in self._keys("get", key_tensor):
            row = self._rows.get(key, made.get(key))
            if row is None:
                made[key] = row = initializer(self.default_value, self.value_shape, self.value_dtype).asnumpy()
            rows.append(row)
        if insert_default_value:
            self._rows.update(made)
            self._changes.update(dict.fromkeys(made, _NEW_OR_CHANGED))
        return self._stacked(rows)

    def put(self, key_tensor: Tensor, value_tensor: Tensor) -> Self:
        """Takes rows for these keys; of a key that is there twice, the last. Returns the table.

        Raises TypeError where an argument is no Tensor, ValueError where the shapes do not fit."""
        keys = self._keys("put", key_tensor)
        _check.need("MapParameter.put", "value_tensor", value_tensor, _check.TENSOR)
        if value_tensor.shape != (len(keys), *self.value_shape):
            raise _check.refused("MapParameter.put", "value_tensor", _check.shape((len(keys), *self.value_shape)),
                                 value_tensor.shape)
        self._rows.update(zip(keys, value_tensor.astype(self.value_dtype).asnumpy()))
        self._changes.update(dict.fromkeys(keys, _NEW_OR_CHANGED))
        return self

    def erase(self, key_tensor: Tensor) -> Self:
        """Drops the rows of these keys. Returns the table. KeyError where there is none, and nothing is dropped."""
        keys = self._keys("erase", key_tensor)
        for key in keys:
            if key not in self._rows:
                raise _check.none_such("MapParameter.erase", "key", key, error=KeyError)
        for key in keys:
            self._rows.pop(key, None)
            self._changes[key] = _ERASED
        return self

    def get_keys(self) -> Tensor:
        """The keys: a Tensor [n]."""
        return Tensor(list(self._rows), self.key_dtype)

    def get_values(self) -> Tensor:
        """The rows: a Tensor [n, *value_shape]."""
        return self._stacked(list(self._rows.values()))

    def get_data(self) -> tuple[Tensor, Tensor]:
        """Keys and rows."""
        return self.get_keys(), self.get_values()

    def export_data(self, incremental: bool = False) -> Any:
        """(keys, rows, status) as arrays: of all rows, or of those that changed since the last export; status is 1 for
        new and changed rows and 2 for erased ones, which are among the keys alone where `incremental`."""
        if incremental:
            keys = list(self._changes)
            rows = self._stacked([self._rows[k] for k in keys if k in self._rows])
        else:
            keys, rows = list(self._rows), self.get_values()
        status = [self._changes.get(k, _UNCHANGED) for k in keys]
        self._changes = {}
        return (Tensor(keys, self.key_dtype).asnumpy(), rows.asnumpy(), np.array(status, np.int32))

    def export_bytes(self, incremental: bool = False) -> Any:
        """export_data as bytes."""
        return tuple(part.tobytes() for part in self.export_data(incremental))

    def export_slice_data(self, incremental: bool = False) -> Any:
        """export_data, and whether that was the last slice: it always is."""
        return *self.export_data(incremental), True

    def import_data(self, data: Any) -> None:
        """Takes what export_data gave, in place of all that there is."""
        keys, rows, *_ = data
        self._rows, self._changes = {}, {}
        self.put(Tensor(np.asarray(keys)).astype(self.key_dtype), Tensor(np.asarray(rows)))

    def asnumpy(self) -> Any:
        """The rows as an array."""
        return self.get_values().asnumpy()

    def clone(self, init: Any = "same") -> MapParameter:
        """Another table with the same rows, or with none where `init` is another initializer."""
        c = MapParameter(self.name, self.requires_grad, key_dtype=self.key_dtype, value_dtype=self.value_dtype,
                         value_shape=self.value_shape,
                         default_value=self.default_value if isinstance(init, str) and init == "same" else init)
        if isinstance(init, str) and init == "same":
            c._rows = {k: v.copy() for k, v in self._rows.items()}
        return c

    def __deepcopy__(self, memo: Any) -> Any:
        memo[id(self)] = c = self.clone()
        return c

    def __reduce__(self) -> Any:
        return _made_again, (self.name, self.requires_grad,
                             {k: getattr(self, k) for k in ("key_dtype", "value_dtype", "value_shape", "default_value",
                                                            "permit_filter_value", "evict_filter_value")},
                             self.export_data()[:2])

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return (f"MapParameter (name={self.name}, rows={len(self._rows)}, value_shape={self.value_shape}, "
                f"dtype={self.value_dtype}, requires_grad={self.requires_grad})")


def _made_again(name, requires_grad, options, data):
    m = MapParameter(name, requires_grad, **options)
    m.import_data(data)
    return m
