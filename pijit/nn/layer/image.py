"""Images: padding, sizes, orders of channels and pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.nn.layer.common import OperatorCell, positive
from pijit.ops import function as F
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops import primitives as P
from pijit.ops.function.convolution import _conv_pad

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Axis, Number, Shape, Size


class Pad(OperatorCell):
    """Padded by paddings ((before, behind) per axis) with zeros or mirrored elements.

    What a mirror at ('SYMMETRIC') or within the border ('REFLECT') shows.

    Args:
        paddings (tuple): (before, behind) for each axis.
        mode (str, optional): 'CONSTANT', 'REFLECT' or 'SYMMETRIC'. Default: 'CONSTANT'.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor.

    Raises:
        TypeError: if `paddings` is not a tuple of pairs.
        ValueError: if `mode` is not 'CONSTANT', 'REFLECT' or 'SYMMETRIC', or `paddings` is not a tuple of pairs.

    Example:
        >>> print(nn.Pad(((1, 0), (0, 1)))(Tensor([[1.0]])))
        [[0. 0.]
         [1. 0.]]
    """

    paddings: tuple[Any, ...]

    def __init__(self, paddings: tuple[Any, ...] | list[Any], mode: str = "CONSTANT") -> None:
        super().__init__()
        _check.need("Pad", "mode", mode, _check.one_of("CONSTANT", "REFLECT", "SYMMETRIC"))
        if not isinstance(paddings, tuple):
            raise _check.refused("Pad", "paddings", _check.type_("a tuple of pairs"), paddings)
        if any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in paddings):
            raise _check.refused("Pad", "paddings", _check.value("be a tuple of pairs"), paddings)
        self.paddings, self.mode = paddings, mode
        self.operators(pad=P.Pad(paddings) if mode == "CONSTANT" else P.MirrorPad(mode))

    def construct(self, x: Tensor) -> Tensor:
        _need_tensor("Pad", "x", x)
        if self.replaced():
            return self.pad(x) if self.mode == "CONSTANT" else self.pad(x, Tensor(self.paddings, mstype.int32))
        if len(self.paddings) != x.ndim:
            raise _check.refused("Pad", "paddings", _check.value(f"have {x.ndim} pairs"), len(self.paddings))
        if self.mode == "SYMMETRIC":
            for axis, (before, behind) in enumerate(self.paddings):
                n = x.shape[axis]
                if max(before, behind) > n:
                    raise _check.refused("Pad", "a symmetric padding", _check.at_most(f"{n} here"), (before, behind))
                first, last = (F.flip(F.narrow(x, axis, 0, before), (axis,)),
                               F.flip(F.narrow(x, axis, n - behind, behind), (axis,)))
                x = F.cat([first, x, last], axis)
            return x
        flat = [v for p in reversed(self.paddings) for v in p]
        return F.pad(x, flat, "constant" if self.mode == "CONSTANT" else "reflect")


class _Border(Cell):
    axes, mode = 0, "constant"

    def __init__(self, padding: Size, value: Any = None) -> None:
        super().__init__()
        name = type(self).__name__
        if isinstance(padding, int):
            padding = (padding,) * (2 * self.axes)
        if not isinstance(padding, tuple):
            raise _check.refused(name, "padding", _check.type_("int or a tuple"), padding)
        if len(padding) % 2 or len(padding) > 2 * self.axes:
            raise _check.refused(name, "padding", _check.value(f"hold at most {self.axes} pairs"), padding)
        self.padding, self.value = padding, value

    def construct(self, x: Tensor) -> Tensor:
        return F.pad(x, self.padding, self.mode, self.value)


_BORDER = """The last {axes} axes padded (left, right, top, ...) with {what}.

    Args:
        padding (int or tuple): how much to add, everywhere or (left, right, top, ...).{argument}

    Inputs:
        x: Tensor.

    Outputs:
        Tensor.

    Raises:
        TypeError: where `padding` is neither int nor tuple.
        ValueError: where `padding` doesn't hold pairs, or too many.

    Example:
        >>> nn.{name}(1{value})(ops.ones({shape})).shape
        {padded}
    """


def _border(name: str, axes: Axis, mode: str, what: Any) -> type[Any]:
    def __init__(self, padding):
        _Border.__init__(self, padding)
    doc = _BORDER.format(axes=axes, what=what, name=name, value=", 0.5" if name.startswith("Constant") else "",
                         shape=(1, 2, *[4] * axes), padded=(1, 2, *[6] * axes),
                         argument="\n        value (number): the value of the border." if name.startswith("Constant")
                         else "")
    return type(name, (_Border,), {"axes": axes, "mode": mode, "__doc__": doc, "__module__": __name__,
                                   **({"__init__": __init__} if mode != "constant" or name == "ZeroPad2d" else {})})


ConstantPad3d: type[Any]
ConstantPad2d: type[Any]
ConstantPad1d: type[Any]
ConstantPad1d, ConstantPad2d, ConstantPad3d = (_border(f"ConstantPad{k}d", k, "constant", "a value") for k in (1, 2, 3))
ZeroPad2d: type[Any] = _border("ZeroPad2d", 2, "constant", "zeros")
ReflectionPad3d: type[Any]
ReflectionPad2d: type[Any]
ReflectionPad1d: type[Any]
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_border(f"ReflectionPad{k}d", k, "reflect",
                                                             "what a mirror within the border shows")
                                                             for k in (1, 2, 3))
ReplicationPad3d: type[Any]
ReplicationPad2d: type[Any]
ReplicationPad1d: type[Any]
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_border(f"ReplicationPad{k}d", k, "replicate",
                                                                "the element at the border") for k in (1, 2, 3))


class Upsample(Cell):
    """[N, C, ...] in another size; see ops.interpolate.

    Args:
        size (int or tuple, optional): the sizes of the result. Default: None.
        scale_factor (float or tuple, optional): the factor of the sizes. Default: None.
        mode (str, optional): how to get values between pixels. Default: 'nearest'.
        align_corners (bool, optional): whether the corners' centres stay where they are, instead of the edges.
            Default: None.
        recompute_scale_factor (bool, optional): whether the factor is computed again from the sizes. Default: None.

    Inputs:
        x: Tensor [N, C, ...].

    Outputs:
        Tensor.

    Example:
        >>> nn.Upsample(scale_factor=2.0, recompute_scale_factor=True)(ops.ones((1, 1, 2, 2))).shape
        (1, 1, 4, 4)
    """

    size: Size | None
    scale_factor: float | Sequence[float] | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(self, size: Size | None = None, scale_factor: float | Sequence[float] | None = None,
                 mode: str = "nearest", align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor = (size, scale_factor,
            mode, align_corners, recompute_scale_factor)

    def construct(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.recompute_scale_factor)


class PixelShuffle(Cell):
    """[..., C r^2, H, W] to [..., C, H r, W r] (Shi et al. 2016).

    Args:
        upscale_factor (int): the factor.

    Inputs:
        input: Tensor.

    Outputs:
        Tensor.

    Raises:
        TypeError: if `upscale_factor` is not an int.
        ValueError: if `upscale_factor` is below 1.

    Example:
        >>> nn.PixelShuffle(2)(ops.ones((1, 4, 1, 1))).shape
        (1, 1, 2, 2)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor: int = positive("PixelShuffle", "upscale_factor", upscale_factor)

    def construct(self, input: Tensor) -> Tensor:
        _need_tensor("PixelShuffle", "input", input)
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """[..., C, H r, W r] to [..., C r^2, H, W].

    Args:
        downscale_factor (int): the factor.

    Inputs:
        input: Tensor.

    Outputs:
        Tensor.

    Raises:
        TypeError: if `downscale_factor` is not an int.
        ValueError: if `downscale_factor` is below 1.

    Example:
        >>> nn.PixelUnshuffle(2)(ops.ones((1, 1, 2, 2))).shape
        (1, 4, 1, 1)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor: int = positive("PixelUnshuffle", "downscale_factor", downscale_factor)

    def construct(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """Channels taken from the groups in turn (Zhang et al. 2017).

    Args:
        groups (int): how many groups the channels are divided into.

    Inputs:
        x: Tensor [N, C, ...].

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: if `groups` is not an int.
        ValueError: if `groups` is below 1.

    Example:
        >>> nn.ChannelShuffle(2)(ops.ones((1, 4, 1, 1))).shape
        (1, 4, 1, 1)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups: int = positive("ChannelShuffle", "groups", groups)

    def construct(self, x: Tensor) -> Tensor:
        return F.channel_shuffle(x, self.groups)


class CentralCrop(Cell):
    """The middle of the last two axes, a fraction of each.

    Args:
        central_fraction (float): the fraction that stays, in (0, 1].

    Inputs:
        image: Tensor [C, H, W] or [N, C, H, W].

    Outputs:
        Tensor.

    Example:
        >>> nn.CentralCrop(0.5)(ops.ones((1, 4, 4))).shape
        (1, 2, 2)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        _check.need("CentralCrop", "central_fraction", central_fraction, _check.within(0, 1, "(]"))
        self.central_fraction = central_fraction

    def construct(self, image: Tensor) -> Tensor:
        if image.ndim not in (3, 4):
            raise _check.refused("CentralCrop", "the image", _check.dims(3, 4), image.ndim)
        h, w = image.shape[-2:]
        top, left = int((h - h * self.central_fraction) / 2), int((w - w * self.central_fraction) / 2)
        return image[..., top:h - top, left:w - left]


class ImageGradients(Cell):
    """(differences of neighbouring rows, of neighbouring columns) of [N, C, H, W], zeros in the last.

    Inputs:
        images: Tensor [N, C, H, W].

    Outputs:
        (Tensor, Tensor) of its shape.

    Example:
        >>> for part in nn.ImageGradients()(Tensor([[[[1.0, 2.0], [4.0, 8.0]]]])):
        ...     print(part)
        [[[[3. 6.]
           [0. 0.]]]]
        [[[[1. 0.]
           [4. 0.]]]]
    """

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        if images.ndim != 4:
            raise _check.refused("ImageGradients", "the images", _check.dims(4), images.ndim)
        return (F.pad(images[:, :, 1:] - images[:, :, :-1], (0, 0, 0, 1)),
                F.pad(images[:, :, :, 1:] - images[:, :, :, :-1], (0, 1, 0, 0)))


class PSNR(Cell):
    """Peak signal-to-noise ratio in dB of two [N, C, H, W].

    Args:
        max_val (number, optional): the greatest value. Default: 1.0.

    Inputs:
        img1: Tensor [N, C, H, W].
        img2: Tensor of its shape.

    Outputs:
        Tensor [N].

    Example:
        >>> print(nn.PSNR()(ops.zeros((1, 1, 2, 2)), ops.full((1, 1, 2, 2), 0.1, dtype=ms.float32)))
        [20.]
    """

    def __init__(self, max_val: Number = 1.0) -> None:
        super().__init__()
        _check.need("PSNR", "max_val", max_val, _check.above(0))
        self.max_val = max_val

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        for image in (img1, img2):
            if image.ndim != 4:
                raise _check.refused("PSNR", "the images", _check.dims(4), image.ndim)
        return 10.0 * F.log10(self.max_val ** 2 / F.mean(F.square(img1 - img2), (-3, -2, -1)))


class Unfold(OperatorCell):
    """Patches of [N, C, H, W]: [N, kh kw C, rows, columns], the channel varying fastest.

    ksizes, strides and rates are (1, row, column, 1); padding is 'valid', or 'same' with zeros around.

    Args:
        ksizes (list of int): [1, rows, columns, 1] of a patch.
        strides (tuple of int): the step along each axis.
        rates (list of int): [1, rows, columns, 1] between a patch's elements.
        padding (int or tuple, optional): how much to add at the borders. Default: 'valid'.

    Inputs:
        input_x: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, kh kw C, h, w].

    Raises:
        ValueError: if `padding` is not 'same' or 'valid'.

    Example:
        >>> nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])(ops.ones((1, 1, 3, 3))).shape
        (1, 4, 2, 2)
    """

    ksizes: tuple[int, ...]
    strides: tuple[int, ...]
    rates: tuple[int, ...]
    padding: Any

    def __init__(self, ksizes: Sequence[int], strides: Shape, rates: Sequence[int], padding: Size = "valid") -> None:
        super().__init__()
        for name, v in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            _check.need("Unfold", name, v, _check.SEQUENCE)
            if len(v) != 4 or v[0] != 1 or v[3] != 1:
                raise _check.refused("Unfold", name, _check.value("be (1, row, column, 1)"), v)
            for n in v:
                positive("Unfold", name, n)
        if padding.lower() not in ("same", "valid"):
            raise _check.refused("Unfold", "padding", _check.one_of("same", "valid"), padding)
        self.ksizes, self.strides, self.rates, self.padding = (tuple(ksizes), tuple(strides), tuple(rates),
                                                               padding.lower())
        self.operators(extract_image_patches=P.ExtractImagePatches(*[(1, 1, *v[1:3]) for v in (ksizes, strides, rates)],
            padding))

    def construct(self, input_x: Tensor) -> Tensor:
        _need_tensor("Unfold", "input_x", input_x)
        if input_x.ndim != 4:
            raise _check.refused("Unfold", "the input", _check.dims(4), input_x.ndim)
        if self.replaced():
            return self.extract_image_patches(input_x)
        k, s, r = self.ksizes[1:3], self.strides[1:3], self.rates[1:3]
        n, c, h, w = input_x.shape
        pad = _conv_pad((h, w), k, s, r, self.padding, 0)
        x = F.pad(input_x, (pad[2], pad[3], pad[0], pad[1]))
        rows, columns = ((size - d * (m - 1) - 1) // step + 1 for size, m, step, d in zip(x.shape[2:], k, s, r))
        y = F.reshape(F.unfold(x, k, r, 0, s), (n, c, k[0] * k[1], rows, columns))
        return F.reshape(F.transpose(y, (0, 2, 1, 3, 4)), (n, c * k[0] * k[1], rows, columns))
