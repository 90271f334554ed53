"""Primitives that are a function with some of its arguments fixed: before `/` stand the inputs, behind it the
attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import in_compute_dtype, one_operator
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops import function as F
from pijit.ops.function.convolution import _conv_pad
from pijit.ops.function.creation import _filled
from pijit.ops.function.shapes import _format
from pijit.ops.function.parameter import _changed
from pijit.ops.primitive import primitive

if TYPE_CHECKING:
    from typing import Any


def _one_of(*choices):
    def check(name, value, *_):
        if value not in choices:
            raise _check.refused(name, "the attribute", _check.one_of(*choices), value)
    return check


_reduction = _one_of("none", "mean", "sum")


def _blocks(name, block_size, data_format="NCHW"):
    _format(name, data_format)
    if not isinstance(block_size, int) or isinstance(block_size, bool):
        raise _check.refused(name, "block_size", _check.INT, block_size)
    if block_size < 2:
        raise _check.refused(name, "block_size", _check.at_least(2), block_size)


def _ints_of(x):
    """The numbers of a tensor, a number, or a sequence, as a tuple."""
    if isinstance(x, Tensor):
        x = x.asnumpy().tolist()
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


# --- order ---

@primitive
def Sort(x, /, axis=-1, descending=False):
    """(values in order along an axis, their indices as int32)."""
    return F.sort(x, axis, descending)


@primitive
def TopK(input_x, k, /, sorted=True):
    """(the k largest along the last axis, their indices as int32)."""
    return F.topk(input_x, k.item() if isinstance(k, Tensor) else k)


@primitive
def ArgMinWithValue(x, /, axis=0, keep_dims=False):
    """(index, value) of the minimum along one axis."""
    return F.cast(F.argmin(x, axis, keep_dims), mstype.int64), F.amin(x, axis, keep_dims)


@primitive
def Cummax(x, /, axis):
    """(running maxima, their indices)."""
    return F.cummax(x, axis)


@primitive
def Cummin(x, /, axis):
    """(running minima, their indices)."""
    return F.cummin(x, axis)


@primitive
def SearchSorted(sorted_sequence, values, /, dtype=mstype.int64, right=False):
    """Where values belong in a sorted sequence."""
    return F.reshape(F.cast(F.searchsorted(sorted_sequence, values, right=right), dtype), values.shape)


@primitive
def Bucketize(x, /, boundaries):
    """Which part, between boundaries, each element lies in."""
    return F.cast(F.bucketize(x, list(boundaries), right=True), mstype.int32)


@primitive
def InTopK(x1, x2, /, k):
    """Whether the class x2 is among the k greatest of each row."""
    return F.intopk(x1, x2, k)


@primitive
def UniqueConsecutive(x, /, return_inverse=False, return_counts=False, dim=None):
    """(values without their immediate repetitions, each element's place among them, how often each stood); 0 stands for
    what isn't asked for."""
    values, places, counts = F.unique_consecutive(x, True, True, dim)
    nothing = F.zeros((), mstype.int64)
    return (values, F.cast(places, mstype.int64) if return_inverse else nothing,
            F.cast(counts, mstype.int64) if return_counts else nothing)


@primitive
def UniqueWithPad(x, pad_num, /):
    """Distinct values, then pad_num; and the places of the elements' values."""
    return F.unique_with_pad(x, pad_num)


# --- places ---

@primitive
def Unstack(input_x, /, axis=0, num=None):
    """The parts along an axis, without it."""
    return F.unbind(input_x, axis)


@primitive
def ReverseV2(input, /, axis):
    """Reversed along axes."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -input.ndim <= a < input.ndim:
            raise _check.refused("ReverseV2", "axis", _check.within(-input.ndim, input.ndim, "[)"), a)
    return F.flip(input, axes)


@primitive
def ReverseSequence(x, seq_lengths, /, seq_dim, batch_dim=0):
    """The first seq_lengths[b] elements along seq_dim in reverse order, for each b along batch_dim."""
    return F.reverse_sequence(x, seq_lengths, seq_dim, batch_dim)


@primitive(check=_blocks)
def DepthToSpace(x, /, block_size, data_format="NCHW"):
    """Blocks of depth become blocks of the plane."""
    return F.depth_to_space(x, block_size)


@primitive(check=_blocks)
def SpaceToDepth(x, /, block_size, data_format="NCHW"):
    """Blocks of the plane become depth."""
    return F.space_to_depth(x, block_size)


@primitive
def BatchToSpace(input_x, /, block_size, crops):
    """Blocks of the batch moved to the plane."""
    return F.batch_to_space_nd(input_x, block_size, crops)


@primitive
def SpaceToBatch(input_x, /, block_size, paddings):
    """Blocks of the plane moved to the batch."""
    return F.space_to_batch_nd(input_x, block_size, paddings)


@primitive
def BatchToSpaceND(input_x, /, block_shape, crops):
    """Blocks of the batch moved to the plane."""
    return F.batch_to_space_nd(input_x, block_shape, crops)


@primitive
def SpaceToBatchND(input_x, /, block_shape, paddings):
    """Blocks of the plane moved to the batch."""
    return F.space_to_batch_nd(input_x, block_shape, paddings)


@primitive
def Roll(input_x, /, shift, axis):
    """Elements shifted along axes, what leaves at the end coming in at the start."""
    return F.roll(input_x, shift, axis)


@primitive
def Meshgrid(inputs, /, indexing="xy"):
    """Grids of coordinates."""
    return F.meshgrid(*inputs, indexing=indexing)


@primitive
def SplitV(input_x, /, size_splits, split_dim, num_split):
    """Pieces of given sizes along an axis."""
    return F.split_by_sizes(input_x, list(size_splits), split_dim)


@primitive
def ChannelShuffle(x, /, group):
    """Channels of [N, C, H, W] interleaved over groups."""
    return F.channel_shuffle(x, group)


@primitive
def Tril(x, /, diagonal=0):
    """The lower triangle."""
    return F.tril(x, diagonal)


@primitive
def Triu(x, /, diagonal=0):
    """The upper triangle."""
    return F.triu(x, diagonal)


@primitive
def MatrixBandPart(x, lower, upper, /):
    """Some diagonals of matrices, zeros elsewhere."""
    return F.matrix_band_part(x, lower, upper)


@primitive
def Diag(input_x, /):
    """A matrix with a vector on its diagonal."""
    return F.diag(input_x)


@primitive
def DiagPart(input_x, /):
    """The diagonal of a matrix."""
    return F.diagonal(input_x)


@primitive
def MirrorPad(input_x, paddings, /, mode="REFLECT"):
    """A border of mirrored elements."""
    return F.mirror_pad(input_x, paddings, mode)


@primitive
def Padding(x, /, pad_dim_size=8):
    """The last dimension extended by zeros."""
    return F.padding(x, pad_dim_size)


@primitive
def IndexAdd(x, indices, y, /, axis, use_lock=True, check_index_bound=True):
    """A Parameter with y added at indices of one axis, in place."""
    return _changed(x, F.index_add(x, indices, y, axis))


@primitive
def IndexFill(x, dim, index, value, /):
    """value at the indices of one axis."""
    return F.index_fill(x, dim, index, value)


@primitive
def MaskedSelect(x, mask, /):
    """The elements where mask is true."""
    return F.masked_select(x, mask)


@primitive
def NonZero(x, /):
    """Indices of the elements that aren't 0."""
    return F.nonzero(x)


@primitive
def UnravelIndex(indices, dims, /):
    """Coordinates of flat indices."""
    return F.unravel_index(indices, dims)


@primitive
def InvertPermutation(input_x, /):
    """The permutation that takes one back."""
    return F.invert_permutation(input_x)


@primitive
def IdentityN(x, /):
    """Its inputs."""
    return tuple([_ops["identity"](t) for t in x])


@primitive
def Col2Im(x, output_size, /, kernel_size, dilation=1, padding=0, stride=1):
    """Columns summed into the images they were taken from."""
    return F.col2im(x, output_size, kernel_size, dilation, padding, stride)


@primitive
def TensorScatterElements(data, indices, updates, /, axis=0, reduction="none"):
    """updates at the indices along an axis."""
    return F.tensor_scatter_elements(data, indices, updates, axis, reduction)


@primitive
def Eye(n, m, t, /):
    """Ones on the diagonal."""
    return F.eye(n, m, t)


@primitive
def LinSpace(start, stop, num, /):
    """`num` values from start to stop, both included."""
    return F.linspace(start, stop, num)


@primitive
def FillV2(shape, value, /):
    """A tensor of a shape filled with one value."""
    return _ops["broadcast_to"](in_compute_dtype(value), tuple(_ints_of(shape)))


@primitive
def Fills(x, value, /):
    """One value in x's shape and dtype."""
    return F.fills(x, value)


@primitive
def TupleToArray(input_x, /):
    """A tensor of a tuple of numbers."""
    return F.tuple_to_array(input_x)


@primitive
def ScalarToArray(input_x, /):
    """A 0-d tensor of a number."""
    return F.scalar_to_array(input_x)


@primitive
def ScalarToTensor(input_x, dtype=mstype.float32, /):
    """A 0-d tensor of a number."""
    return F.scalar_to_tensor(input_x, dtype)


@primitive
def ScalarCast(input_x, input_y, /):
    """A number as another Python type."""
    return F.scalar_cast(input_x, input_y)


# --- arithmetic ---

@primitive
def CumulativeLogsumexp(x, axis, /, exclusive=False, reverse=False):
    """log of the running sums of exp."""
    return F.cumulative_logsumexp(x, axis.item() if isinstance(axis, Tensor) else axis, exclusive, reverse)


@primitive
def ReduceStd(input_x, /, axis=(), unbiased=True, keep_dims=False):
    """(standard deviation, mean) over axes."""
    axes = None if axis == () else axis
    return F.std(input_x, axes, 1 if unbiased else 0, keep_dims), F.mean(input_x, axes, keep_dims)


@primitive
def LpNorm(input, /, axis, p=2, keep_dims=False, epsilon=1e-12):
    """The p-norm over axes."""
    return F.lp_norm(input, axis, p, keep_dims, epsilon)


@primitive
def EuclideanNorm(x, axes, /, keep_dims=False):
    """The Euclidean norm over axes."""
    return F.sqrt(F.sum(F.square(x), _ints_of(axes), keep_dims))


@primitive
def L2Normalize(x, /, axis=0, epsilon=1e-4):
    """x over its Euclidean norm along an axis."""
    return F.l2_normalize(x, axis, epsilon)


@primitive
def Renorm(x, /, p, dim, maxnorm):
    """Slices scaled down to a norm."""
    return F.renorm(x, p, dim, maxnorm)


@primitive
def Einsum(x, /, equation):
    """Einstein summation of a tuple of tensors."""
    return F.einsum(equation, *x)


@primitive
def Cdist(x1, x2, /, p=2.0):
    """Norms of differences of rows."""
    return F.cdist(x1, x2, p)


@primitive
def Pdist(x, /, p=2.0):
    """Norms of differences of all pairs of rows."""
    return F.pdist(x, p)


@primitive
def Cross(x1, x2, /, dim=-65530):
    """Vector products along a dimension of 3; the first such one by default."""
    if dim == -65530:
        dim = [n == 3 for n in x1.shape].index(True)
    return F.cross(x1, x2, dim)


@primitive
def Bincount(array, size, weights, /):
    """Sums of weights by the ints of `array`, of `size` classes."""
    n = size.item() if isinstance(size, Tensor) else size
    return _ops["scatter_nd"](F.zeros((n,), weights.dtype), F.reshape(array, (-1, 1)), F.reshape(weights, (-1,)), "add")


@primitive
def CountNonZero(x, /, dims=None):
    """How many elements aren't 0, over dimensions."""
    return F.count_nonzero(x, () if dims is None else dims, dtype=mstype.int64)


@primitive
def SquareSumAll(x, y, /):
    """(sum of x^2, sum of y^2)."""
    return F.sum(F.square(x)), F.sum(F.square(y))


@primitive
def IsClose(input, other, /, rtol=1e-05, atol=1e-08, equal_nan=True):
    """Where elements are close."""
    return F.isclose(input, other, rtol, atol, equal_nan)


@primitive
def Logit(input, /, eps=-1.0):
    """log(x / (1 - x)), of x kept in [eps, 1 - eps]."""
    return F.logit(input, None if eps == -1.0 else eps)


@primitive
def Lerp(start, end, weight, /):
    """start + weight * (end - start)."""
    return F.lerp(start, end, weight)


@primitive
def Addcmul(input, tensor1, tensor2, value, /):
    """input + value * tensor1 * tensor2."""
    return F.addcmul(input, tensor1, tensor2, value)


@primitive
def Addcdiv(input, tensor1, tensor2, value, /):
    """input + value * tensor1 / tensor2."""
    return F.addcdiv(input, tensor1, tensor2, value)


@primitive
def ApproximateEqual(x, y, /, tolerance=1e-05):
    """Where |x - y| < tolerance."""
    return F.approximate_equal(x, y, tolerance)


@primitive
def Mvlgamma(x, /, p):
    """log of the multivariate gamma function."""
    return F.mvlgamma(x, p)


@primitive
def Histogram(x, /, bins=100, min=0.0, max=0.0):
    """How many elements lie in each part of a range."""
    return F.histc(x, bins, min, max)


@primitive
def MatrixInverse(x, /, adjoint=False):
    """The inverse of matrices, or of the transposed ones."""
    return F.inverse(F.adjoint(x) if adjoint else x)


@primitive
def MatrixSolve(matrix, rhs, /, adjoint=False):
    """x with matrix x = rhs."""
    return F.matrix_solve(matrix, rhs, adjoint)


@primitive
def MatrixPower(x, /, n):
    """The n-th power of matrices."""
    return F.matrix_power(x, n)


@primitive
def Cholesky(input_x, /, upper=False):
    """The Cholesky factor of matrices."""
    return F.cholesky(input_x, upper)


@primitive
def CholeskyInverse(x, /, upper=False):
    """The inverse, from a Cholesky factor."""
    return F.cholesky_inverse(x, upper)


@primitive
def CholeskySolve(x1, x2, /, upper=False):
    """x with A x = x1, for the Cholesky factor x2 of A."""
    return F.cholesky_solve(x1, x2, upper)


@primitive
def LogMatrixDeterminant(x, /):
    """(sign, log of the absolute value) of determinants."""
    return F.slogdet(x)


# --- activations, normalisation, losses ---

@primitive
def HShrink(input_x, /, lambd=0.5):
    """0 within [-lambd, lambd]."""
    return F.hardshrink(input_x, lambd)


@primitive
def SoftShrink(input_x, /, lambd=0.5):
    """Towards 0 by lambd."""
    return F.softshrink(input_x, lambd)


@primitive
def CeLU(input_x, /, alpha=1.0):
    """max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)."""
    return F.celu(input_x, alpha)


@primitive
def GLU(x, /, axis=-1):
    """One half times the sigmoid of the other."""
    return F.glu(x, axis)


@primitive
def RmsNorm(x, gamma, /, epsilon=1e-6):
    """(x over its root mean square, times gamma; the reciprocal of that root)."""
    return F.rms_norm(x, gamma, epsilon)


@primitive
def LRN(x, /, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
    """Local response normalisation."""
    return F.lrn(x, depth_radius, bias, alpha, beta, norm_region)


def _weighted(reduction, ignore_index):
    def loss(logits, labels, weight):
        keep = labels != ignore_index
        safe = F.select(keep, labels, F.zeros_like(labels))
        w = F.gather(weight, safe, 0) * F.cast(keep, weight.dtype)
        total = F.sum(w)
        each = -F.reshape(F.gather_elements(logits, 1, F.expand_dims(safe, 1)), labels.shape) * w
        if reduction == "none":
            return each, total
        return F.sum(each) / total if reduction == "mean" else F.sum(each), total
    return loss


@primitive(check=_reduction)
def NLLLoss(logits, labels, weight, /, reduction="mean", ignore_index=-100):
    """(negative log likelihood of [N, C] for classes [N], the sum of their weights)."""
    return _weighted(reduction, ignore_index)(logits, labels, weight)


@primitive(check=_reduction)
def BinaryCrossEntropy(logits, labels, weight=None, /, reduction="mean"):
    """Cross entropy of probabilities."""
    return F.binary_cross_entropy(logits, labels, weight, reduction)


@primitive(check=_reduction)
def BCEWithLogitsLoss(logits, label, weight, pos_weight, /, reduction="mean"):
    """Cross entropy of sigmoid(logits)."""
    return F.binary_cross_entropy_with_logits(logits, label, weight, pos_weight, reduction)


@primitive
def SmoothL1Loss(logits, labels, /, beta=1.0, reduction="none"):
    """Quadratic below beta, linear above."""
    if beta <= 0:
        raise _check.refused("SmoothL1Loss", "beta", _check.above(0), beta, RuntimeError)
    return F.smooth_l1_loss(logits, labels, beta, reduction)


@primitive(check=_one_of("none", "mean", "sum", "batchmean"))
def KLDivLoss(logits, labels, /, reduction="mean"):
    """labels * (log(labels) - logits)."""
    return F.kl_div(logits, labels, reduction)


@primitive(check=_reduction)
def SoftMarginLoss(logits, labels, /, reduction="mean"):
    """log(1 + exp(-labels * logits))."""
    return F.soft_margin_loss(logits, labels, reduction)


@primitive
def MultiMarginLoss(inputs, target, weight=None, /, p=1, margin=1.0, reduction="mean"):
    """How far other classes come within the margin."""
    return F.multi_margin_loss(inputs, target, p, margin, weight, reduction)


@primitive(check=_reduction)
def MultilabelMarginLoss(x, target, /, reduction="mean"):
    """The same for several classes."""
    return F.multilabel_margin_loss(x, target, reduction)


@primitive
def TripletMarginLoss(x, positive, negative, margin, /, p=2, swap=False, eps=1e-06, reduction="mean"):
    """How far a negative comes within the margin of a positive."""
    return F.triplet_margin_loss(x, positive, negative, margin, p, eps, swap, reduction)


@primitive
def SparseSoftmaxCrossEntropyWithLogits(logits, labels, /, is_grad=False):
    """Mean cross entropy of softmax(logits) for classes; or its gradient."""
    if is_grad:
        hot = F.one_hot(labels, logits.shape[1], 1.0, 0.0)
        return (F.softmax(logits, -1) - hot) / logits.shape[0]
    return F.cross_entropy(logits, labels)


@primitive
def CTCLossV2(log_probs, targets, input_lengths, target_lengths, /, blank=0, reduction="none", zero_infinity=False):
    """Connectionist temporal classification (Graves et al. 2006)."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


# --- random ---

@primitive
def StandardNormal(shape, /, seed=0, seed2=0):
    """Standard normal numbers."""
    return F.standard_normal(_ints_of(shape))


@primitive
def UniformReal(shape, /, seed=0, seed2=0):
    """Uniform numbers in [0, 1)."""
    return F.rand(*_ints_of(shape))


@primitive
@one_operator
def UniformInt(shape, minval, maxval, /, seed=0, seed2=0):
    """Uniform int32 numbers in [minval, maxval)."""
    low, high = F.cast(minval, mstype.float32), F.cast(maxval, mstype.float32)
    return F.cast(F.minimum(F.floor(F.rand(*_ints_of(shape)) * (high - low)) + low, high - 1.0), mstype.int32)


@primitive
def RandomShuffle(x, /, seed=0, seed2=0):
    """The rows in random order."""
    return F.shuffle(x)


@primitive
def Randperm(n, /, max_length=1, pad=-1, dtype=mstype.int32):
    """The numbers 0 to n - 1 in random order, then `pad` up to max_length."""
    count = n.item() if isinstance(n, Tensor) else n
    return F.cat([F.randperm(count, dtype=dtype), _filled((max(max_length - count, 0),), pad, dtype=dtype)])


@primitive
def Bernoulli(x, p, /, seed=-1, offset=0):
    """1 with probability p, else 0."""
    return F.bernoulli(x, p)


@primitive
def Multinomial(x, num_samples, /, seed=0, seed2=0, dtype=mstype.int32):
    """Indices drawn with probabilities in proportion to rows."""
    return F.cast(F.multinomial(x, num_samples), dtype)


@primitive
def TruncatedNormal(shape, /, dtype=mstype.float32, seed=0, seed2=0):
    """Standard normal numbers within two standard deviations, by the inverse of the distribution."""
    share = 0.9544997361036416
    return F.cast(F.erfinv((F.rand(*_ints_of(shape)) * 2.0 - 1.0) * share) * 1.4142135623730951, dtype)


def _dropped(x, keep_prob, planes):
    if x.ndim != planes + 2:
        raise _check.refused(f"Dropout{planes}D", "the input", _check.dims(planes + 2), x.ndim)
    keep = F.rand(*x.shape[:2], *(1,) * planes) < keep_prob
    if not 0 <= keep_prob <= 1:
        raise _check.refused(f"Dropout{planes}D", "keep_prob", _check.within(0, 1), keep_prob)
    y = F.cast(F.select(keep, x * (1.0 / keep_prob if keep_prob else 0.0), 0.0), x.dtype)
    return y, F.broadcast_to(keep, x.shape)


@primitive
def Dropout2D(x, /, keep_prob=0.5):
    """(output, mask) of dropout of whole channels of [N, C, H, W]."""
    return _dropped(x, keep_prob, 2)


@primitive
def Dropout3D(x, /, keep_prob=0.5):
    """(output, mask) of dropout of whole channels of [N, C, D, H, W]."""
    return _dropped(x, keep_prob, 3)


# --- images, pooling, convolution ---

@primitive
def ResizeNearestNeighbor(input_x, /, size, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, each element that of the nearest place."""
    return F.resize_nearest(input_x, size, align_corners, half_pixel_centers)


@primitive
def ResizeBilinearV2(image, size, /, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, linear between places."""
    return F.resize_bilinear(image, size if isinstance(size, (tuple, list)) else _ints_of(size), align_corners,
                             half_pixel_centers)


@primitive
def ResizeBilinear(x, /, size, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, linear between places."""
    return F.resize_bilinear(x, size, align_corners, half_pixel_centers)


@primitive
def ResizeNearestNeighborV2(x, size, /, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, each element that of the nearest place."""
    return F.resize_nearest(x, _ints_of(size), align_corners, half_pixel_centers)


@primitive
def AffineGrid(theta, output_size, /, align_corners=False):
    """Sampling grids of affine maps."""
    return F.affine_grid(theta, _ints_of(output_size), align_corners)


@primitive
def GridSampler2D(input_x, grid, /, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """[N, C, H, W] at the places of a grid."""
    return F.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


@primitive
def GridSampler3D(input_x, grid, /, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """[N, C, D, H, W] at the places of a grid."""
    return F.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


@primitive
def IOU(anchor_boxes, gt_boxes, /, mode="iou"):
    """Shares of overlap of boxes."""
    return F.iou(anchor_boxes, gt_boxes, mode)


@primitive
def BoundingBoxEncode(anchor_box, groundtruth_box, /, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0)):
    """Shifts and log scales from anchor boxes to true ones."""
    return F.bounding_box_encode(anchor_box, groundtruth_box, means, stds)


@primitive
def BoundingBoxDecode(anchor_box, deltas, /, max_shape, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0),
                      wh_ratio_clip=0.016):
    """Boxes from anchor boxes and shifts."""
    return F.bounding_box_decode(anchor_box, deltas, max_shape, means, stds, wh_ratio_clip)


@primitive
def CheckValid(bboxes, img_metas, /):
    """Which boxes lie inside an image."""
    return F.check_valid(bboxes, img_metas)


@primitive
def AdaptiveAvgPool2D(input_x, /, output_size):
    """Means of as many windows as asked for."""
    return F.adaptive_avg_pool2d(input_x, output_size)


@primitive
def AdaptiveAvgPool3D(input_x, /, output_size):
    """Means of as many windows as asked for."""
    return F.adaptive_avg_pool3d(input_x, output_size)


@primitive
def AdaptiveMaxPool2D(input_x, /, output_size):
    """(maxima of as many windows as asked for, their places)."""
    return F.adaptive_max_pool2d(input_x, output_size, True)


def _pad3d(x, kernel, strides, pad_mode, pad):
    kernel, strides = ((v,) * 3 if isinstance(v, int) else tuple(v)[-3:] for v in (kernel, strides))
    return kernel, strides, _conv_pad(x.shape[2:], kernel, strides, (1, 1, 1), pad_mode.lower(), pad)


def _pooled(x, kernel, strides, pad_mode, pad, ceil_mode, fill):
    kernel, strides, p = _pad3d(x, kernel, strides, pad_mode, pad)
    if p[0::2] == p[1::2]:
        return x, kernel, strides, tuple(p[0::2]), ceil_mode
    return _ops["pad"](x, (0, 0, *p[0::2]), (0, 0, *p[1::2]), fill), kernel, strides, (0, 0, 0), ceil_mode


@primitive
def MaxPool3D(x, /, kernel_size=1, strides=1, pad_mode="VALID", pad_list=0, ceil_mode=None, data_format="NCDHW"):
    """Maxima of windows of [N, C, D, H, W]."""
    x, kernel, stride, p, ceil = _pooled(x, kernel_size, strides, pad_mode, pad_list, bool(ceil_mode), float("-inf"))
    return F.max_pool3d(x, kernel, stride, p, ceil_mode=ceil)


@primitive
def AvgPool3D(x, /, kernel_size=1, strides=1, pad_mode="valid", pad=0, ceil_mode=False, count_include_pad=True,
              divisor_override=0, data_format="NCDHW"):
    """Means of windows of [N, C, D, H, W]."""
    kernel, stride, p = _pad3d(x, kernel_size, strides, pad_mode, pad)
    return F.avg_pool3d(x, kernel, stride, tuple(p[0::2]) if p[0::2] == p[1::2] else p, ceil_mode, count_include_pad,
                        divisor_override)


@primitive
def Conv3D(x, weight, bias=None, /, out_channel=1, kernel_size=1, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1,
           group=1, data_format="NCDHW"):
    """3-d convolution."""
    return F.conv3d(x, weight, bias, stride, pad_mode, pad, dilation, group)


@primitive
def Conv2DTranspose(x, weight, input_size, /, out_channel, kernel_size, pad_mode="valid", pad=0, pad_list=None, mode=1,
                    stride=1, dilation=1, group=1,
                    data_format="NCHW"):
    """The gradient of a 2-d convolution in its input [N, C, H, W] of shape input_size; weight [O, C / group, kh,
    kw]."""
    _format("Conv2DTranspose", data_format)
    s, d = ((v,) * 2 if isinstance(v, int) else tuple(v)[-2:] for v in (stride, dilation))
    size = _ints_of(input_size)
    p = tuple(pad_list) if pad_list else _conv_pad(size[2:], weight.shape[2:], s, d, pad_mode.lower(), pad)
    return _ops["conv2d_dx"](x, weight, s, tuple(p), d, group, size)


Conv2DBackpropInput: type[Any] = type("Conv2DBackpropInput", (Conv2DTranspose,),
                                      {"__doc__": Conv2DTranspose.__doc__, "__module__": __name__})


@primitive
def Conv3DTranspose(dout, weight, /, in_channel, out_channel, kernel_size, mode=1, pad_mode="valid", pad=0, stride=1,
                    dilation=1, group=1, output_padding=0,
                    data_format="NCDHW"):
    """Transposed 3-d convolution. weight [in_channel, out_channel / group, kd, kh, kw]."""
    return F.conv3d_transpose(dout, weight, pad_mode, pad, stride, dilation, group, output_padding)


@primitive
def DepthwiseConv2dNative(x, weight, /, channel_multiplier, kernel_size, mode=3, pad_mode="valid", pad=0, stride=1,
                          dilation=1, group=1):
    """A convolution of each channel by itself. weight [channel_multiplier, C, kh, kw]."""
    multiplier, channels, h, w = weight.shape
    kernels = F.reshape(F.transpose(weight, (1, 0, 2, 3)), (channels * multiplier, 1, h, w))
    return F.conv2d(x, kernels, None, stride, pad_mode, pad, dilation, channels)


__all__ = [n for n in globals() if n[0].isupper() and n not in ("Tensor", "TYPE_CHECKING")]
