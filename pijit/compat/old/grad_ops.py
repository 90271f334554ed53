"""Gradients of operators as operators of their own (`mindspore.ops.operations._grad_ops`), for cells that define
`bprop` by them.

Those of the commonest layers are here, made of the operators whose gradients they are; the others raise when they are
called."""

import functools
import inspect

from pijit import _check
from pijit.grad import vjp
from pijit.ops import function as F, primitives as P
from pijit.ops.primitive import Primitive, prim_attr_register


_needed = inspect.Parameter.empty  # of an attribute that has to be given


def _operator(name, arguments, fn, **attributes):
    """A primitive with these attributes, and their values where none are given: fn(primitive, *inputs) is what it
    gives.

    An argument with a question mark may be left out."""

    def __init__(self, *args, **kwargs):
        pass

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    __init__.__signature__ = inspect.Signature(
        [inspect.Parameter("self", kind)] + [inspect.Parameter(a, kind, default=v) for a, v in attributes.items()]
    )

    def __call__(self, *inputs):
        if len(inputs) not in lengths:
            raise _check.expected(name, f"{arguments} as inputs", len(inputs), TypeError)
        return fn(self, *inputs)

    count = len(arguments.split())
    lengths = (count, count - arguments.count("?"))
    globals()[name] = type(
        name,
        (Primitive,),
        {
            "__init__": prim_attr_register(__init__),
            "__call__": __call__,
            "__module__": __name__,
            "__doc__": f"A gradient: {name}(...)({', '.join(arguments.split())}).",
        },
    )


def _back(fn, inputs, dout):
    """Gradients of fn by its inputs, for the gradient of its result."""
    return vjp(fn, *inputs)[1](dout)


def _first(gradients):
    return gradients[0] if isinstance(gradients, tuple) else gradients


def _by_input(name, forward, first="x", **attributes):
    """The gradient of an elementwise operator by its input; first: which input of two comes first."""

    def fn(self, a, b):
        x, dout = (a, b) if first == "x" else (b, a)
        return _first(_back(functools.partial(forward, self) if attributes else forward, (x,), dout))

    _operator(name, "x dout" if first == "x" else "dout x", fn, **attributes)


for _name, _forward in (("AbsGrad", F.abs), ("ACosGrad", F.acos), ("AsinGrad", F.asin), ("AtanGrad", F.atan)):
    _by_input(_name, _forward)
for _name, _forward in (
    ("ReluGrad", F.relu),
    ("ReLU6Grad", F.relu6),
    ("HSwishGrad", F.hardswish),
    ("HSigmoidGrad", F.hardsigmoid),
    ("SiLUGrad", F.silu),
    ("FastGeLUGrad", F.fast_gelu),
    ("SoftplusGrad", F.softplus),
):
    _by_input(_name, _forward, "dout")
_by_input("HShrinkGrad", lambda self, x: F.hardshrink(x, self.lambd), "dout", lambd=0.5)
_by_input("SoftShrinkGrad", lambda self, x: F.softshrink(x, self.lambd), "dout", lambd=0.5)
_by_input("GluGrad", lambda self, x: F.glu(x, self.axis), "dout", axis=-1)
_operator("GeLUGrad", "dout x y", lambda self, dout, x, y: _first(_back(lambda x: F.gelu(x, "tanh"), (x,), dout)))
# by the operator's result
_operator("SigmoidGrad", "y dout", lambda self, y, dout: dout * y * (1 - y))
_operator("TanhGrad", "y dout", lambda self, y, dout: dout * (1 - y * y))
_operator("SqrtGrad", "y dout", lambda self, y, dout: dout * 0.5 / y)
_operator("RsqrtGrad", "y dout", lambda self, y, dout: dout * -0.5 * y * y * y)
_operator("ReciprocalGrad", "y dout", lambda self, y, dout: dout * -(y * y))
_operator("InvGrad", "y dout", lambda self, y, dout: dout * -(y * y))
_operator("AcoshGrad", "y dout", lambda self, y, dout: dout / F.sinh(y))
_operator("AsinhGrad", "y dout", lambda self, y, dout: dout / F.cosh(y))
_operator("EluGrad", "dout y", lambda self, dout, y: dout * F.where(y > 0, F.ones_like(y), y + 1))
_operator(
    "LogSoftmaxGrad", "y dout", lambda self, y, dout: dout - F.exp(y) * dout.sum(self.axis, keepdims=True), axis=-1
)
_operator("SoftmaxGrad", "y dout", lambda self, y, dout: y * (dout - (y * dout).sum(-1, keepdims=True)))


def _of_both(name, forward):
    """grad_x and grad_y say which gradients a program uses; both are given."""
    _operator(name, "x y dout", lambda self, x, y, dout: _back(forward, (x, y), dout), grad_x=True, grad_y=True)


_of_both("MaximumGrad", F.maximum)
_of_both("MinimumGrad", F.minimum)
_operator("PReLUGrad", "dout x weight", lambda self, dout, x, weight: _back(F.prelu, (x, weight), dout))


def _bias_add(self, dout):
    channels = dout.ndim - 1 if self.data_format == "NHWC" else 1
    return dout.sum(tuple(a for a in range(dout.ndim) if a != channels))


_operator("BiasAddGrad", "dout", _bias_add, data_format="NCHW")


def _layer_norm(self, x, dout, variance, mean, gamma):
    axes, first = tuple(range(self.begin_norm_axis % x.ndim, x.ndim)), self.begin_params_axis % x.ndim
    n = 1
    for a in axes:
        n *= x.shape[a]
    scale = F.rsqrt(variance + 1e-12)
    normal, d = (x - mean) * scale, dout * gamma
    dx = scale * (d - d.sum(axes, keepdims=True) / n - normal * (d * normal).sum(axes, keepdims=True) / n)
    others = tuple(range(first))
    return dx, (dout * normal).sum(others) if others else dout * normal, dout.sum(others) if others else dout


_operator("LayerNormGrad", "x dout variance mean gamma", _layer_norm, begin_norm_axis=1, begin_params_axis=1)


def _pool(primitive):
    def grad(self, x, out, dout):
        pool = primitive(
            kernel_size=self.kernel_size, strides=self.strides, pad_mode=self.pad_mode, data_format=self.data_format
        )
        return _first(_back(pool, (x,), dout))

    return grad


_operator("MaxPoolGrad", "x out dout", _pool(P.MaxPool), kernel_size=1, strides=1, pad_mode="VALID", data_format="NCHW")
_operator("AvgPoolGrad", "x out dout", _pool(P.AvgPool), kernel_size=1, strides=1, pad_mode="VALID", data_format="NCHW")
_operator(
    "DropoutGrad", "dout mask", lambda self, dout, mask: dout * F.cast(mask, dout.dtype) / self.keep_prob, keep_prob=0.5
)
_operator(
    "SigmoidCrossEntropyWithLogitsGrad",
    "logits labels dout",
    lambda self, logits, labels, dout: (F.sigmoid(logits) - labels) * dout,
)
_operator("FlattenGrad", "dout shape", lambda self, dout, shape: dout.reshape(shape))


def _smooth_l1(self, prediction, target, dout):
    d = prediction - target
    grad = F.where(F.abs(d) < self.beta, d / self.beta, F.sign(d)) * dout
    return grad / prediction.size if self.reduction == "mean" else grad


_operator("SmoothL1LossGrad", "prediction target dout", _smooth_l1, beta=1.0, reduction="none")


def _cross_entropy(self, input, target, dout, weight=None):
    def loss(x):
        return F.binary_cross_entropy(x, target, weight, self.reduction)

    return _first(_back(loss, (input,), dout))


_operator("BinaryCrossEntropyGrad", "input target dout weight?", _cross_entropy, reduction="mean")


def _strided(self, dout, shape, begin, end, strides):
    masks = (self.begin_mask, self.end_mask, self.ellipsis_mask, self.new_axis_mask, self.shrink_axis_mask)
    return _first(_back(lambda x: F.strided_slice(x, begin, end, strides, *masks), (F.zeros(shape, dout.dtype),), dout))


_operator(
    "StridedSliceGrad",
    "dout shape begin end strides",
    _strided,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)


def _l2_normalize(self, x, y, dout):
    return _first(_back(P.L2Normalize(self.axis, self.epsilon), (x,), dout))


_operator("L2NormalizeGrad", "x y dout", _l2_normalize, axis=0, epsilon=1e-4)


def _resize(primitive):
    def grad(self, dout, image):
        size = image.shape[-2:] if hasattr(image, "shape") else image
        x = image if hasattr(image, "shape") else F.zeros((*dout.shape[:2], *size), dout.dtype)
        return _first(
            _back(
                lambda x: primitive(tuple(dout.shape[-2:]), self.align_corners, self.half_pixel_centers)(x), (x,), dout
            )
        )

    return grad


_operator("ResizeBilinearGrad", "dout image", _resize(P.ResizeBilinear), align_corners=False, half_pixel_centers=False)


def _conv_filter(self, dout, x, shape):
    window = {name: getattr(self, name) for name in ("mode", "pad_mode", "pad", "stride", "group", "data_format")}
    dilation = self.dilation[-2:] if isinstance(self.dilation, tuple) else self.dilation
    conv = P.Conv2D(self.out_channel, self.kernel_size, dilation=dilation, **window)
    return _first(_back(functools.partial(conv, x), (F.zeros(shape, x.dtype),), dout))


_operator(
    "Conv2DBackpropFilter",
    "dout x shape",
    _conv_filter,
    out_channel=_needed,
    kernel_size=_needed,
    pad_mode="valid",
    pad=0,
    pad_list=(0, 0, 0, 0),
    mode=1,
    stride=(1, 1),
    dilation=(1, 1, 1, 1),
    group=1,
    data_format="NCHW",
)


def _batch_norm(self, dout, x, scale, mean, variance, reserve):
    channel = x.ndim - 1 if self.data_format == "NHWC" else 1
    axes = tuple(a for a in range(x.ndim) if a != channel)
    shape = tuple(-1 if a == channel else 1 for a in range(x.ndim))
    inverse = F.rsqrt(variance + self.epsilon).reshape(shape)
    normal = (x - mean.reshape(shape)) * inverse
    dbias, dscale = dout.sum(axes), (dout * normal).sum(axes)
    if self.is_training:
        n = x.size // x.shape[channel]
        dout = dout - (dbias.reshape(shape) + normal * dscale.reshape(shape)) / n
    return dout * scale.reshape(shape) * inverse, dscale, dbias


_operator(
    "BatchNormGrad",
    "dout x scale mean variance reserve",
    _batch_norm,
    is_training=False,
    epsilon=1e-5,
    data_format="NCHW",
)
_operator(
    "MaxPoolGradWithArgmax",
    "x dout argmax",
    lambda self, x, dout, argmax: _pool(P.MaxPool)(self, x, None, dout),
    kernel_size=1,
    strides=1,
    pad_mode="VALID",
    data_format="NCHW",
)


def _resize_nearest(self, dout, size):
    resize = P.ResizeNearestNeighbor(tuple(dout.shape[-2:]), self.align_corners, self.half_pixel_centers)
    return _first(_back(resize, (F.zeros((*dout.shape[:2], *size), dout.dtype),), dout))


_operator("ResizeNearestNeighborGrad", "dout size", _resize_nearest, align_corners=False, half_pixel_centers=False)
_operator(
    "GatherDGradV2",
    "x dim index dout",
    lambda self, x, dim, index, dout: _first(_back(lambda x: F.gather_elements(x, dim, index), (x,), dout)),
)
_operator(
    "SliceGrad",
    "dout x begin size",
    lambda self, dout, x, begin, size: _first(_back(lambda x: F.slice(x, begin, size), (x,), dout)),
)
_operator(
    "KLDivLossGrad",
    "dout logits labels",
    lambda self, dout, x, labels: _first(_back(lambda x: P.KLDivLoss(self.reduction)(x, labels), (x,), dout)),
    reduction="mean",
)


def _nll(self, logits, dout, labels, weight, total_weight):
    loss = P.NLLLoss(self.reduction, self.ignore_index)
    return _first(_back(lambda x: loss(x, labels, weight)[0], (logits,), dout))


_operator("NLLLossGrad", "logits dout labels weight total_weight", _nll, reduction="mean", ignore_index=-100)


def _mirror_pad(self, dout, paddings):
    pads = paddings.asnumpy().tolist() if hasattr(paddings, "asnumpy") else paddings
    shape = tuple(d - a - b for d, (a, b) in zip(dout.shape, pads))
    pad = P.MirrorPad(self.mode)
    return _first(_back(lambda x: pad(x, paddings), (F.zeros(shape, dout.dtype),), dout))


_operator("MirrorPadGrad", "dout paddings", _mirror_pad, mode="REFLECT")
_operator(
    "LRNGrad",
    "dout x y",
    lambda self, dout, x, y: _first(_back(P.LRN(self.depth_radius, self.bias, self.alpha, self.beta), (x,), dout)),
    depth_radius=5,
    bias=1.0,
    alpha=1.0,
    beta=0.5,
)
_operator(
    "GridSampler2DGrad",
    "dout x grid",
    lambda self, dout, x, grid: _back(
        P.GridSampler2D(self.interpolation_mode, self.padding_mode, self.align_corners), (x, grid), dout
    ),
    interpolation_mode="bilinear",
    padding_mode="zeros",
    align_corners=False,
    output_mask=(1, 1),
)


def _roi_align(self, dout, rois, shape):
    align = P.ROIAlign(self.pooled_height, self.pooled_width, self.spatial_scale, self.sample_num)
    return _first(_back(lambda x: align(x, rois), (F.zeros(shape, dout.dtype),), dout))


_operator(
    "ROIAlignGrad",
    "dout rois shape",
    _roi_align,
    pooled_height=_needed,
    pooled_width=_needed,
    spatial_scale=_needed,
    sample_num=2,
)
