"""Normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit.communication import _collectives, _comm_helper, management as _management
from pijit.initializer import initializer
from pijit.nn.cell import Cell
from pijit.nn.layer.common import OperatorCell, positive
from pijit.ops import function as F
from pijit.ops.function.elementwise import _in_dtype_of, _need_tensor
from pijit.ops import primitives as P
from pijit.ops.function.shapes import _format
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType, Tensor
    from pijit._types import Init, Shape


class _BatchNorm(OperatorCell):
    num_features: int
    eps: float
    momentum: float
    use_batch_statistics: bool | None
    format: str
    gamma_init: Init
    beta_init: Init
    moving_mean_init: Init
    moving_var_init: Init
    moving_mean: Parameter
    moving_variance: Parameter
    rank: tuple[Any, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", moving_mean_init: Init = "zeros",
                 moving_var_init: Init = "ones", use_batch_statistics: bool | None = None, data_format: str = "NCHW",
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        _format(type(self).__name__, data_format)
        n = positive(type(self).__name__, "num_features", num_features)
        _check.need(type(self).__name__, "momentum", momentum, _check.within(0, 1))
        self.num_features, self.eps = n, eps
        self.momentum, self.use_batch_statistics, self.format = momentum, use_batch_statistics, data_format
        self.gamma_init, self.beta_init = gamma_init, beta_init
        self.moving_mean_init, self.moving_var_init = moving_mean_init, moving_var_init
        self.moving_mean = Parameter(initializer(moving_mean_init, [n], dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer(moving_var_init, [n], dtype), name="variance", requires_grad=False)
        self.gamma: Parameter = Parameter(initializer(gamma_init, [n], dtype), name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(initializer(beta_init, [n], dtype), name="beta", requires_grad=affine)
        self.operators(bn_train=P.BatchNorm(True, eps, 1.0 - momentum), bn_infer=P.BatchNorm(False, eps))

    def construct(self, x: Tensor) -> Any:
        _need_tensor(self.cls_name, "x", x)
        if x.ndim not in self.rank:
            raise _check.refused(self.cls_name, "the input", _check.dims(self.rank), x.ndim)
        use_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        if self.replaced():
            norm = self.bn_train if use_batch else self.bn_infer
            return norm(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)[0]
        return F.batch_norm(x, self.moving_mean, self.moving_variance, self.gamma, self.beta, use_batch,
                            1.0 - self.momentum, self.eps)

    def extend_repr(self) -> str:
        shown = (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, "
                 f"beta={self.beta}")
        return (shown + f", moving_mean={self.moving_mean}, moving_variance={self.moving_variance}"
                if hasattr(self, "moving_mean") else shown)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, L].

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.9.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        moving_mean_init (Tensor, str, Initializer or number, optional): what the running means are at first.
            Default: 'zeros'.
        moving_var_init (Tensor, str, Initializer or number, optional): what the running variances are at first.
            Default: 'ones'.
        use_batch_statistics (bool, optional): whether the batch's own statistics count; None: while training.
            Default: None.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCHW'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C] or [N, C, L].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range, or `data_format` is not one of those
            named.

    Example:
        >>> nn.BatchNorm1d(2)(ops.ones((3, 2))).shape
        (3, 2)
    """

    rank: tuple[int, int] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [N, C, H, W].

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.9.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        moving_mean_init (Tensor, str, Initializer or number, optional): what the running means are at first.
            Default: 'zeros'.
        moving_var_init (Tensor, str, Initializer or number, optional): what the running variances are at first.
            Default: 'ones'.
        use_batch_statistics (bool, optional): whether the batch's own statistics count; None: while training.
            Default: None.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCHW'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range, or `data_format` is not one of those
            named.

    Example:
        >>> nn.BatchNorm2d(2)(ops.ones((3, 2, 4, 4))).shape
        (3, 2, 4, 4)
    """

    rank: tuple[int] = (4,)


class BatchNorm3d(Cell):
    """Batch normalisation of [N, C, D, H, W]: that of a BatchNorm2d, the attribute bn2d, which holds the Parameters.

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.9.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        moving_mean_init (Tensor, str, Initializer or number, optional): what the running means are at first.
            Default: 'zeros'.
        moving_var_init (Tensor, str, Initializer or number, optional): what the running variances are at first.
            Default: 'ones'.
        use_batch_statistics (bool, optional): whether the batch's own statistics count; None: while training.
            Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, D, H, W].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range.

    Example:
        >>> nn.BatchNorm3d(2)(ops.ones((3, 2, 4, 4, 4))).shape
        (3, 2, 4, 4, 4)
    """

    reshape: Any
    shape: Any

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", moving_mean_init: Init = "zeros",
                 moving_var_init: Init = "ones", use_batch_statistics: bool | None = None,
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.bn2d: Any = BatchNorm2d(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init,
                                     moving_var_init, use_batch_statistics, dtype=dtype)
        self.shape, self.reshape = P.Shape(), P.Reshape()

    def construct(self, input_x: Tensor) -> Tensor:
        shape = self.shape(input_x)
        if len(shape) != 5:
            raise _check.refused(self.cls_name, "the input", _check.dims(5), len(shape))
        return self.reshape(self.bn2d(self.reshape(input_x, (shape[0], shape[1], shape[2] * shape[3], shape[4]))),
                            shape)


class LayerNorm(OperatorCell):
    """Layer normalisation over the dimensions from begin_norm_axis on.

    Gamma and beta have those from begin_params_axis on.

    Args:
        normalized_shape (tuple of int): the sizes that are normalised over.
        begin_norm_axis (int, optional): the first axis that is normalised over. Default: -1.
        begin_params_axis (int, optional): the first axis of the factors. Default: -1.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-07.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        input_x: Tensor.

    Outputs:
        Tensor of its shape.

    Example:
        >>> print(nn.LayerNorm((2,))(Tensor([[1.0, 3.0]])))
        [[-1.  1.]]
    """

    normalized_shape: tuple[int, ...]
    epsilon: float
    begin_norm_axis: int
    begin_params_axis: int

    def __init__(self, normalized_shape: Shape, begin_norm_axis: int = -1, begin_params_axis: int = -1,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", epsilon: float = 1e-7,
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        _check.need("LayerNorm", "normalized_shape", normalized_shape, _check.SEQUENCE)
        if not normalized_shape:
            raise _check.refused("LayerNorm", "normalized_shape", _check.least_dims(1), 0)
        self.normalized_shape, self.epsilon = tuple(normalized_shape), epsilon
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.gamma: Parameter = Parameter(initializer(gamma_init, normalized_shape, dtype), name="gamma")
        self.beta: Parameter = Parameter(initializer(beta_init, normalized_shape, dtype), name="beta")
        self.operators(layer_norm=P.LayerNorm(begin_norm_axis, begin_params_axis, epsilon))

    def construct(self, input_x: Tensor) -> Tensor:
        n = input_x.ndim
        if self.replaced():
            return self.layer_norm(input_x, self.gamma, self.beta)[0]
        for axis in (self.begin_norm_axis, self.begin_params_axis):
            if not -n <= axis < n:
                raise _check.out_of_range("LayerNorm", f"axis {axis} is", n)
        begin, params = self.begin_norm_axis % n, self.begin_params_axis % n
        if tuple(input_x.shape[params:]) != self.normalized_shape:
            raise ValueError(f"For 'LayerNorm', the dimensions {tuple(input_x.shape[params:])} from begin_params_axis "
                             f"on must be normalized_shape {self.normalized_shape}.")
        if begin == params:
            return F.layer_norm(input_x, self.normalized_shape, self.gamma, self.beta, self.epsilon)
        return _in_dtype_of(input_x, F.layer_norm(input_x, input_x.shape[begin:], None, None, self.epsilon)
                            * self.gamma + self.beta)

    def extend_repr(self) -> str:
        return (f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
                f"begin_params_axis={self.begin_params_axis}, "
                f"gamma{self.gamma}, beta={self.beta}")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics are those of the batches of all processes of a group together.

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.9.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        moving_mean_init (Tensor, str, Initializer or number, optional): what the running means are at first.
            Default: 'zeros'.
        moving_var_init (Tensor, str, Initializer or number, optional): what the running variances are at first.
            Default: 'ones'.
        use_batch_statistics (bool, optional): whether the batch's own statistics count; None: while training.
            Default: None.
        process_groups (list of list of int, optional): the groups of processes that have statistics in common; each
            process stands in one. None: all processes. Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, ...].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range.

    Example:
        >>> nn.SyncBatchNorm(2)(ops.ones((3, 2, 4, 4))).shape
        (3, 2, 4, 4)
    """

    rank: tuple[int, int, int, int] = (2, 3, 4, 5)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", moving_mean_init: Init = "zeros",
                 moving_var_init: Init = "ones", use_batch_statistics: bool | None = None,
                 process_groups: list[Any] | None = None, dtype: DType = mstype.float32) -> None:
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
                         use_batch_statistics, dtype=dtype)
        self.process_groups = process_groups
        self._group = _group_of_statistics(process_groups)

    def construct(self, x: Tensor) -> Any:
        use_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        if self._group.size == 1 or not use_batch:
            return super().construct(x)
        _need_tensor(self.cls_name, "x", x)
        if x.ndim not in self.rank:
            raise _check.refused(self.cls_name, "the input", _check.dims(self.rank), x.ndim)
        # first the mean, then the squares around it: the squares alone would cancel
        axes, shape = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
        full = F.cast(x, mstype.float32)
        own = x.size // max(x.shape[1], 1)
        sums = F.concat([F.sum(full, axes), F.full((1,), float(own), dtype=mstype.float32)], 0)
        sums = _collectives.all_reduce(sums, "sum", self._group)
        count = F.stop_gradient(sums[-1:])
        mean = F.reshape(sums[:-1] / count, shape)
        squares = F.sum(F.square(full - mean), axes)
        variance = F.reshape(_collectives.all_reduce(squares, "sum", self._group) / count, shape)
        old = self.momentum
        unbiased = F.reshape(F.stop_gradient(variance), (-1,)) * (count / F.maximum(count - 1.0, 1.0))
        self.moving_mean._assign(self.moving_mean * old + F.reshape(F.stop_gradient(mean), (-1,)) * (1.0 - old))
        self.moving_variance._assign(self.moving_variance * old + unbiased * (1.0 - old))
        y = (full - mean) * F.rsqrt(variance + self.eps)
        return _in_dtype_of(x, y * F.reshape(self.gamma, shape) + F.reshape(self.beta, shape))


def _group_of_statistics(process_groups):
    _comm_helper.need_processes("SyncBatchNorm")
    if process_groups is None:
        return _comm_helper.World.all
    name = "SyncBatchNorm"
    _check.need(name, "process_groups", process_groups, _check.LIST)
    seen: set[int] = set()
    for ranks in process_groups:
        _check.need(name, "process_groups", ranks, _check.LIST)
        for rank in ranks:
            _comm_helper.member_of(name, "process_groups", rank, _comm_helper.World.all)
            if rank in seen:
                raise _check.refused(name, "process_groups", _check.value("hold each process once"), process_groups)
            seen.add(rank)
    for ranks in process_groups:
        if _comm_helper.World.rank in ranks and len(ranks) < _comm_helper.World.all.size:
            group = "SyncBatchNorm_" + "_".join(str(r) for r in ranks)
            if group not in _management.groups:
                _management.create_group(group, ranks)
            return _comm_helper.group_of(name, group)
    return _comm_helper.World.all


class GroupNorm(Cell):
    """Normalisation over groups of channels of [N, C, H, W] (Wu & He 2018).

    Args:
        num_groups (int): the number of groups.
        num_channels (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, ...].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_groups` is not an int, or `num_channels` is not an int.
        ValueError: if `num_groups` is below 1, or `num_channels` is not a multiple of `num_groups`.

    Example:
        >>> nn.GroupNorm(2, 4)(ops.ones((1, 4, 2, 2))).shape
        (1, 4, 2, 2)
    """

    eps: float
    affine: bool
    gamma: Parameter
    beta: Parameter

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.num_groups: int = positive("GroupNorm", "num_groups", num_groups)
        self.num_channels: int = positive("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise _check.refused("GroupNorm", "num_channels", _check.multiple("'num_groups'"),
                                 _check.several(num_channels, num_groups))
        self.eps, self.affine = eps, affine
        self.gamma = Parameter(initializer(gamma_init, [num_channels], dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_channels], dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim < 3 or x.shape[1] != self.num_channels:
            raise _check.refused("GroupNorm", "the input", _check.value(f"be [N, {self.num_channels}, ...]"),
                                 list(x.shape))
        return F.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class _InstanceNorm(Cell):
    num_features: int
    eps: float
    momentum: float
    moving_variance: Parameter
    rank = 0

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", dtype: DType = mstype.float32) -> None:
        super().__init__()
        n = positive(type(self).__name__, "num_features", num_features)
        _check.need(type(self).__name__, "momentum", momentum, _check.within(0, 1))
        self.num_features, self.eps, self.momentum = n, eps, momentum
        self.moving_mean: Parameter = Parameter(initializer("zeros", [n], dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer("ones", [n], dtype), name="variance", requires_grad=False)
        self.gamma: Parameter = Parameter(initializer(gamma_init, [n], dtype), name="gamma", requires_grad=affine)
        self.beta: Parameter = Parameter(initializer(beta_init, [n], dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != self.rank or x.shape[1] != self.num_features:
            raise _check.refused(self.cls_name, "the input",
                                 _check.value(f"have {self.rank} dimensions and {self.num_features} channels"),
                                 list(x.shape))
        return F.group_norm(x, self.num_features, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        shown = (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, "
                 f"beta={self.beta}")
        return (shown + f", moving_mean={self.moving_mean}, moving_variance={self.moving_variance}"
                if hasattr(self, "moving_mean") else shown)


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each [C, L] of a batch normalised by itself (Ulyanov et al. 2016).

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.1.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, L].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range.

    Example:
        >>> nn.InstanceNorm1d(2)(ops.ones((1, 2, 3))).shape
        (1, 2, 3)
    """

    rank = 3


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each [C, H, W] of a batch normalised by itself (Ulyanov et al. 2016).

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.1.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range.

    Example:
        >>> nn.InstanceNorm2d(2)(ops.ones((1, 2, 3, 3))).shape
        (1, 2, 3, 3)
    """

    rank = 4


class InstanceNorm3d(_InstanceNorm):
    """Each channel of each [C, D, H, W] of a batch normalised by itself (Ulyanov et al. 2016).

    Args:
        num_features (int): the number of channels.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.1.
        affine (bool, optional): whether the factors and biases are trained. Default: True.
        gamma_init (Tensor, str, Initializer or number, optional): what the factors are at first. Default: 'ones'.
        beta_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, D, H, W].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `num_features` is not an int.
        ValueError: if `num_features` is below 1, or `momentum` is out of range.

    Example:
        >>> nn.InstanceNorm3d(2)(ops.ones((1, 2, 3, 3, 3))).shape
        (1, 2, 3, 3, 3)
    """

    rank = 5


class LRN(Cell):
    """Local response normalisation over neighbouring channels (Krizhevsky et al. 2012).

    Args:
        depth_radius (int, optional): how many channels to each side. Default: 5.
        bias (float, optional): what the sum is added to. Default: 1.0.
        alpha (float, optional): the factor of the sum. Default: 1.0.
        beta (float, optional): the exponent. Default: 0.5.
        norm_region (str, optional): 'ACROSS_CHANNELS'. Default: 'ACROSS_CHANNELS'.

    Inputs:
        input_x: Tensor [N, C, H, W].

    Outputs:
        Tensor of its shape.

    Example:
        >>> nn.LRN()(ops.ones((1, 2, 1, 1))).shape
        (1, 2, 1, 1)
    """

    def __init__(self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
                 norm_region: str = "ACROSS_CHANNELS") -> None:
        super().__init__()
        self.lrn_op: Any = P.LRN(depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x: Tensor) -> Tensor:
        return self.lrn_op(input_x)
