"""What annotations name. For type checkers: no module imports it at run time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pijit._C import DType, Tensor
from pijit.initializer import Initializer
from pijit.nn.schedule import LearningRateSchedule
from pijit.parameter import Parameter

Number: TypeAlias = int | float | complex
TensorLike: TypeAlias = Tensor | int | float | complex  # what broadcasts
ArrayLike: TypeAlias = Tensor | np.ndarray | np.generic | int | float | complex | Sequence[Any]  # pijit.numpy's
DTypeLike: TypeAlias = DType | type | str | np.dtype
Shape: TypeAlias = tuple[int, ...] | list[int]
Axis: TypeAlias = int | tuple[int, ...] | list[int]  # one or several
Size: TypeAlias = int | tuple[int, ...] | list[int]  # the same for all axes, or of each
Init: TypeAlias = Tensor | str | Initializer | int | float  # of parameters
Rate: TypeAlias = float | Tensor | list[float] | tuple[float, ...] | LearningRateSchedule  # of learning
Params: TypeAlias = Iterable[Parameter] | Iterable[dict[str, Any]]  # of optimizers: in groups, too
