"""Layers of mathematical functions, similarity of images, sampled losses, embeddings of several fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit.initializer import initializer
from pijit.nn.cell import Cell
from pijit.nn.container import CellList
from pijit.nn.layer.common import positive
from pijit.ops import function as F
from pijit.parameter import Parameter
from pijit.ops.function.creation import _filled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._C import DType, Tensor
    from pijit._types import Init, Number, Size


class IGamma(Cell):
    """The regularised lower incomplete gamma function of a at x: Tensors of float32 that broadcast. Gradients by both.

    Inputs:
        a: Tensor.
        x: Tensor.

    Outputs:
        Tensor of the common shape.

    Example:
        >>> print(nn.IGamma()(Tensor([1.0]), Tensor([1.0])))
        [0.6321205]
    """

    def construct(self, a: Tensor, x: Tensor) -> Tensor:
        return F.igamma(a, x)


class LBeta(Cell):
    """log of the beta function of x and y: Tensors of float32 or float16 that broadcast.

    For large arguments by the rest of Stirling's series, so that the great terms don't cancel.

    Inputs:
        x: Tensor.
        y: Tensor.

    Outputs:
        Tensor of the common shape.

    Example:
        >>> print(nn.LBeta()(Tensor([2.0]), Tensor([3.0])))
        [-2.4849067]
    """

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        p, q = F.minimum(x, y), F.maximum(x, y)
        plain = F.lgamma(x) + F.lgamma(y) - F.lgamma(x + y)
        large = F.maximum(q, 10.0)
        part = F.minimum(p / large, 1.0)
        correction = _stirling(large) - _stirling(p + large)
        one = F.lgamma(p) + correction + p - p * F.log(p + large) + (large - 0.5) * F.log1p(-part / (1.0 + part))
        return F.select(q >= 10.0, one, plain)


def _stirling(x):
    """log gamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2, for x of 10 and more."""
    y = 1.0 / (x * x)
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680)))) / x


class MatrixDiag(Cell):
    """Matrices with the vectors [..., n] on their diagonals.

    Inputs:
        input_x: Tensor [..., n].

    Outputs:
        Tensor [..., n, n].

    Example:
        >>> print(nn.MatrixDiag()(Tensor([1.0, 2.0])))
        [[1. 0.]
         [0. 2.]]
    """

    def construct(self, input_x: Tensor) -> Tensor:
        return F.matrix_diag(input_x)


class MatrixDiagPart(Cell):
    """The diagonals of matrices [..., m, n].

    Inputs:
        input_x: Tensor [..., m, n].

    Outputs:
        Tensor [..., min(m, n)].

    Example:
        >>> print(nn.MatrixDiagPart()(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [1. 4.]
    """

    def construct(self, input_x: Tensor) -> Tensor:
        return F.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """Matrices [..., m, n] with their diagonals replaced by `diagonal`.

    Inputs:
        input_x: Tensor [..., m, n].
        diagonal: Tensor [..., min(m, n)].

    Outputs:
        Tensor of input_x's shape.

    Example:
        >>> print(nn.MatrixSetDiag()(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([9.0, 8.0])))
        [[9. 2.]
         [3. 8.]]
    """

    def construct(self, input_x: Tensor, diagonal: Tensor) -> Tensor:
        return F.matrix_set_diag(input_x, diagonal)


class _Window(Cell):
    """Means over windows of a plane, weighted by a normal distribution."""

    def __init__(self, size: Any, sigma: float) -> None:
        super().__init__()
        self.weight: Parameter = Parameter(_window(size, sigma), name="weight", requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        return F.conv2d(x, F.cast(self.weight, x.dtype))


@one_operator
def _window(size, sigma):
    at = F.cast(F.arange(size), mstype.float32) - (size - 1) / 2.0
    g = F.softmax(F.reshape(F.expand_dims(at * at, 1) + at * at, (-1,)) * (-0.5 / (sigma * sigma)), -1)
    return F.reshape(g, (1, 1, size, size))


def _similarity(a, b, window, max_val, k1, k2):
    """(structural similarity, its contrast) per image and channel: Wang et al. 2004."""
    n, c, h, w = a.shape
    size = window.weight.shape[-1]
    if h < size or w < size:
        raise _check.refused("SSIM", "the images", _check.value(f"be at least {size} x {size}"), f"{h} x {w}")

    def mean(x):
        return F.reshape(window(F.reshape(x, (n * c, 1, h, w))), (n, c, h - size + 1, w - size + 1))
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    ma, mb = mean(a), mean(b)
    light = (2.0 * ma * mb + c1) / (ma * ma + mb * mb + c1)
    both, squares = mean(a * b) * 2.0, mean(a * a + b * b)
    contrast = (both - 2.0 * ma * mb + c2) / (squares - (ma * ma + mb * mb) + c2)
    return F.mean(light * contrast, (2, 3)), F.mean(contrast, (2, 3))


class SSIM(Cell):
    """The structural similarity of two batches of images [N, C, H, W], a number per image: [N] (Wang et al. 2004).

    max_val: the greatest value of a pixel. Raises TypeError or ValueError for arguments out of range and images smaller
        than the filter.

    Args:
        max_val (number, optional): the greatest value. Default: 1.0.
        filter_size (int, optional): the size of the window. Default: 11.
        filter_sigma (float, optional): its deviation. Default: 1.5.
        k1 (float, optional): keeps the luminance's quotient finite. Default: 0.01.
        k2 (float, optional): keeps the contrast's quotient finite. Default: 0.03.

    Inputs:
        img1: Tensor [N, C, H, W].
        img2: Tensor of its shape.

    Outputs:
        Tensor [N].

    Example:
        >>> print(nn.SSIM()(ops.ones((1, 1, 16, 16)), ops.ones((1, 1, 16, 16))))
        [1.]
    """

    max_val: Number
    filter_size: int
    filter_sigma: float
    k1: float
    k2: float

    def __init__(self, max_val: Number = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
                 k2: float = 0.03) -> None:
        super().__init__()
        _similarity_options("SSIM", max_val, filter_size, filter_sigma, k1, k2)
        self.max_val, self.filter_size, self.filter_sigma, self.k1, self.k2 = max_val, filter_size, filter_sigma, k1, k2
        self.conv: _Window = _Window(filter_size, filter_sigma)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _same_images("SSIM", img1, img2)
        both = _similarity(img1, img2, self.conv, self.max_val, self.k1, self.k2)
        return F.mean(both[0], -1)


def _similarity_options(name, max_val, filter_size, filter_sigma, k1, k2):
    for what, v in (("max_val", max_val), ("filter_sigma", filter_sigma)):
        if isinstance(v, bool) or not isinstance(v, (int, float)):
            raise _check.refused(name, what, _check.NUMBER, v)
        if v <= 0:
            raise _check.refused(name, what, _check.above(0), v)
    positive(name, "filter_size", filter_size)
    for what, v in (("k1", k1), ("k2", k2)):
        if not isinstance(v, float):
            raise _check.refused(name, what, _check.FLOAT, v)
        if v < 0:
            raise _check.refused(name, what, _check.at_least(0), v)


def _same_images(name, a, b):
    if a.ndim != 4 or a.shape != b.shape:
        raise _check.expected(name, "two batches [N, C, H, W] of one shape", _check.several(a.shape, b.shape))
    if a.dtype != b.dtype:
        raise _check.refused(name, "both batches", _check.value("be of one dtype"), _check.several(a.dtype, b.dtype),
                             TypeError)


class MSSSIM(Cell):
    """The structural similarity over several scales, each half the size of the one before: [N] (Wang et al. 2003).

    power_factors: the weight of each scale.

    Args:
        max_val (number, optional): the greatest value. Default: 1.0.
        power_factors (tuple of float, optional): the weight of each scale. Default: (0.0448, 0.2856, 0.3001,
            0.2363, 0.1333).
        filter_size (int, optional): the size of the window. Default: 11.
        filter_sigma (float, optional): its deviation. Default: 1.5.
        k1 (float, optional): keeps the luminance's quotient finite. Default: 0.01.
        k2 (float, optional): keeps the contrast's quotient finite. Default: 0.03.

    Inputs:
        img1: Tensor [N, C, H, W].
        img2: Tensor of its shape.

    Outputs:
        Tensor [N].

    Example:
        >>> print(nn.MSSSIM(power_factors=(0.5, 0.5))(ops.ones((1, 1, 32, 32)), ops.ones((1, 1, 32, 32))))
        [1.]
    """

    max_val: Number
    filter_size: int
    filter_sigma: float
    k1: float
    k2: float

    def __init__(self, max_val: Number = 1.0, power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
                 filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03) -> None:
        super().__init__()
        _check.need("MSSSIM", "power_factors", power_factors, _check.SEQUENCE)
        _similarity_options("MSSSIM", max_val, filter_size, filter_sigma, k1, k2)
        self.max_val, self.filter_size, self.filter_sigma, self.k1, self.k2 = max_val, filter_size, filter_sigma, k1, k2
        self.power_factors: tuple[float, ...] = tuple(power_factors)
        self.multi_convs_list: CellList = CellList([_Window(filter_size, filter_sigma) for _ in self.power_factors])

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _same_images("MSSSIM", img1, img2)
        a, b, total = img1, img2, None
        for k, power in enumerate(self.power_factors):
            if k:
                a, b = (F.avg_pool2d(x, 2, 2, pad_mode="same") for x in (a, b))
            whole, contrast = _similarity(a, b, self.multi_convs_list[k], self.max_val, self.k1, self.k2)
            part = F.pow(F.relu(whole if k + 1 == len(self.power_factors) else contrast), power)
            total = part if total is None else total * part
        return F.mean(total, -1)


class FractionalMaxPool2d(Cell):
    """Maxima of windows at random places of [N, C, H, W]: see ops.fractional_max_pool2d.

    Args:
        kernel_size (int or tuple): the size of windows.
        output_size (int or tuple, optional): the size of the result. Default: None.
        output_ratio (float or tuple, optional): the share of the input's size. Default: None.
        return_indices (bool, optional): whether to give the places as well. Default: False.
        _random_samples (Tensor, optional): numbers to use in place of random ones. Default: None.

    Inputs:
        input: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, C, h, w], or two.

    Example:
        >>> nn.FractionalMaxPool2d((2, 2), output_size=(2, 2))(ops.ones((1, 1, 4, 4))).shape
        (1, 1, 2, 2)
    """

    kernel_size: Size
    output_size: Size | None
    output_ratio: float | Sequence[float] | None
    return_indices: bool

    def __init__(self, kernel_size: Size, output_size: Size | None = None,
                 output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                 _random_samples: Tensor | None = None) -> None:
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices, self._random_samples = return_indices, _random_samples

    def construct(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, self.kernel_size, self.output_size, self.output_ratio,
                                       self.return_indices, self._random_samples)


class FractionalMaxPool3d(FractionalMaxPool2d):
    """Maxima of windows at random places of [N, C, D, H, W]: see ops.fractional_max_pool3d.

    Args:
        kernel_size (int or tuple): the size of windows.
        output_size (int or tuple, optional): the size of the result. Default: None.
        output_ratio (float or tuple, optional): the share of the input's size. Default: None.
        return_indices (bool, optional): whether to give the places as well. Default: False.
        _random_samples (Tensor, optional): numbers to use in place of random ones. Default: None.

    Inputs:
        input: Tensor [N, C, D, H, W].

    Outputs:
        Tensor [N, C, d, h, w], or two.

    Example:
        >>> nn.FractionalMaxPool3d((2, 2, 2), output_size=(2, 2, 2))(ops.ones((1, 1, 4, 4, 4))).shape
        (1, 1, 2, 2, 2)
    """

    def construct(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, self.kernel_size, self.output_size, self.output_ratio,
                                       self.return_indices, self._random_samples)


class MultiFieldEmbeddingLookup(Cell):
    """Rows of a table, weighted and reduced over those of each field.

    construct(input_indices [batch, n], input_values [batch, n], field_ids [batch, n]) gives [batch, field_size,
    embedding_size]; values of 0 only fill rows up. operator: 'SUM',
    'MEAN' or 'MAX'. Raises ValueError for another operator or sizes below 1.

    Args:
        vocab_size (int): the number of rows.
        embedding_size (int): the number of columns.
        field_size (int): the number of fields.
        param_init (Tensor, str, Initializer or number, optional): what the table is at first. Default: 'normal'.
        target (str, optional): kept for its name. Default: 'CPU'.
        slice_mode (str, optional): kept for its name. Default: 'batch_slice'.
        feature_num_list (tuple, optional): kept for its name. Default: None.
        max_norm (float, optional): the greatest norm. Default: None.
        sparse (bool, optional): kept for its name. Default: True.
        operator (str, optional): 'SUM', 'MEAN' or 'MAX'. Default: 'SUM'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        input_indices: Tensor [batch, n] of ints.
        input_values: Tensor [batch, n], their weights.
        field_ids: Tensor [batch, n], their fields.

    Outputs:
        Tensor [batch, field_size, embedding_size].

    Raises:
        TypeError: if `vocab_size` is not an int, or `embedding_size` is not an int, or `field_size` is not an int.
        ValueError: if `vocab_size` is below 1, or `embedding_size` is below 1, or `field_size` is below 1, or
            `operator` is not 'SUM', 'MEAN' or 'MAX'.

    Example:
        >>> nn.MultiFieldEmbeddingLookup(10, 2, 2)(Tensor([[1, 2]], ms.int32), Tensor([[1.0, 1.0]]), Tensor([[0, 1]],
        ...     ms.int32)).shape
        (1, 2, 2)
    """

    vocab_size: int
    embedding_size: int
    field_size: int
    max_norm: float | None
    OPERATOR_SUM, OPERATOR_MEAN, OPERATOR_MAX = "SUM", "MEAN", "MAX"

    def __init__(self, vocab_size: int, embedding_size: int, field_size: int, param_init: Init = "normal",
                 target: str = "CPU", slice_mode: str = "batch_slice",
                 feature_num_list: tuple[Any, ...] | list[Any] | None = None, max_norm: float | None = None,
                 sparse: bool = True, operator: str = "SUM", dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.vocab_size, self.embedding_size, self.field_size = (positive("MultiFieldEmbeddingLookup", n, v)
                                                                 for n, v in (
            ("vocab_size", vocab_size), ("embedding_size", embedding_size), ("field_size", field_size)))
        _check.need("MultiFieldEmbeddingLookup", "operator", operator, _check.one_of("SUM", "MEAN", "MAX"))
        self.operator, self.max_norm = operator, max_norm
        self.embedding_table: Parameter = Parameter(initializer(param_init, [vocab_size, embedding_size], dtype),
                                                    name="embedding_table")

    def construct(self, input_indices: Tensor, input_values: Tensor, field_ids: Tensor) -> Tensor:
        batch, n = input_indices.shape
        rows = F.gather(self.embedding_table, input_indices, 0)
        if self.max_norm is not None:
            norm = F.sqrt(F.sum(F.square(rows), -1, True))
            rows = rows * F.minimum(self.max_norm / F.maximum(norm, 1e-12), 1.0)
        rows = rows * F.expand_dims(input_values, -1)
        place = F.reshape(F.cast(field_ids, mstype.int64) + F.expand_dims(F.arange(batch), 1) * self.field_size, (-1,))
        flat, count = F.reshape(rows, (batch * n, self.embedding_size)), batch * self.field_size
        # values of 0 fill rows up: they belong to a segment behind the last
        place = F.select(F.reshape(input_values, (-1,)) != 0, place, count)
        if self.operator == "MAX":
            y = F.unsorted_segment_max(flat, place, count + 1)
            used = F.unsorted_segment_sum(F.ones((batch * n,), rows.dtype), place, count + 1)
            y = F.select(F.expand_dims(used, 1) > 0, y, F.zeros_like(y))
        else:
            y = F.unsorted_segment_sum(flat, place, count + 1)
            if self.operator == "MEAN":
                used = F.unsorted_segment_sum(F.ones((batch * n,), rows.dtype), place, count + 1)
                y = y / F.maximum(F.expand_dims(used, 1), 1.0)
        return F.reshape(y[:count], (batch, self.field_size, self.embedding_size))


class SampledSoftmaxLoss(Cell):
    """The softmax loss over the true classes and some that are drawn, in place of all.

    construct(weights [classes, n], biases [classes], labels [batch, num_true] int32, logits [batch, n]).
    sampled_values: (classes, expected counts of the true ones, of the drawn ones) in place of drawn ones. reduction:
        'none', 'mean' or 'sum'. Raises ValueError for another reduction.

    Args:
        num_sampled (int): how many to draw.
        num_classes (int): the number of classes.
        num_true (int, optional): the true classes per example. Default: 1.
        sampled_values (tuple, optional): what a sampler gave, in place of drawing. Default: None.
        remove_accidental_hits (bool, optional): whether drawn classes that are true don't count. Default: True.
        seed (int, optional): where the random numbers begin. Default: 0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'none'.

    Inputs:
        weights: Tensor [classes, n].
        biases: Tensor [classes].
        labels: Tensor [batch, num_true].
        logits: Tensor [batch, n].

    Outputs:
        Tensor.

    Raises:
        TypeError: if `num_sampled` is not an int, or `num_classes` is not an int, or `num_true` is not an int.
        ValueError: if `num_classes` is below 1, or `num_true` is less than 1, or `reduction` is not 'none', 'mean' or
            'sum', or `num_sampled` is greater than `num_classes`.

    Example:
        >>> nn.SampledSoftmaxLoss(2, 5, 1)(ops.ones((5, 3)), ops.ones(5), Tensor([[0], [1]]), ops.ones((2, 3))).shape
        (2,)
    """

    num_sampled: int
    num_classes: int
    num_true: int
    remove_accidental_hits: bool

    def __init__(self, num_sampled: int, num_classes: int, num_true: int = 1,
                 sampled_values: tuple[Any, ...] | list[Any] | None = None, remove_accidental_hits: bool = True,
                 seed: int = 0, reduction: str = "none") -> None:
        super().__init__()
        _check.need("SampledSoftmaxLoss", "num_true", num_true, _check.at_least(1))
        if num_sampled > num_classes:
            raise _check.refused("SampledSoftmaxLoss", "num_sampled", _check.at_most("'num_classes'"),
                                 _check.several(num_sampled, num_classes))
        _check.need("SampledSoftmaxLoss", "reduction", reduction, _check.one_of("none", "mean", "sum"))
        if sampled_values is not None and (not isinstance(sampled_values, (list, tuple)) or len(sampled_values) != 3):
            raise _check.refused("SampledSoftmaxLoss", "sampled_values", _check.length(3, "tensors"), sampled_values)
        self.num_sampled, self.num_classes, self.num_true = num_sampled, num_classes, num_true
        self.sampled_values = sampled_values
        self.remove_accidental_hits, self.reduction = remove_accidental_hits, reduction

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        labels = F.reshape(F.cast(labels, mstype.int64), (-1, self.num_true))
        drawn, of_true, of_drawn = self.sampled_values or F.log_uniform_candidate_sampler(
            labels, self.num_true, self.num_sampled, True, self.num_classes)
        drawn = F.cast(drawn, mstype.int64)
        true_w = F.gather(weights, labels, 0)
        true = F.sum(F.expand_dims(logits, 1) * true_w, -1) + F.gather(biases, labels, 0) - F.log(of_true)
        other = F.dense(logits, F.gather(weights, drawn, 0), F.gather(biases, drawn, 0)) - F.log(of_drawn)
        if self.remove_accidental_hits:
            hit = F.any(F.expand_dims(labels, -1) == drawn, 1)
            other = F.select(hit, _filled(other.shape, mstype.finite_range(other.dtype)[0], dtype=other.dtype), other)
        scores = F.log_softmax(F.cat([true, other], -1), -1)
        loss = -F.mean(scores[:, :self.num_true], -1)
        return loss if self.reduction == "none" else F.mean(loss) if self.reduction == "mean" else F.sum(loss)
