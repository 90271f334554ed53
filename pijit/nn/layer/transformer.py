"""Attention and transformers (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit.initializer import XavierNormal, XavierUniform, initializer
from pijit.nn.cell import Cell
from pijit.nn.container import CellList
from pijit.nn.layer.basic import Dense, Dropout
from pijit.nn.layer.common import positive
from pijit.nn.layer.normalization import LayerNorm
from pijit.ops import function as F
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import DType, Tensor


def _masked(scores, mask):
    """scores, with a boolean mask -inf where it is True, with another its values added."""
    if mask.dtype == mstype.bool_:
        return F.select(mask, float("-inf"), scores)
    return scores + F.cast(mask, scores.dtype)


class MultiheadAttention(Cell):
    """softmax(q k^T / sqrt(d)) v for each of num_heads projections of query, key and value.

    These are [L, N, E] and [S, N, E]; with batch_first [N, L, E].

    Returns (output of query's shape, attention weights [N, L, S], or [N, heads, L, S] if they are not averaged; None
    without need_weights). key_padding_mask [N, S] and attn_mask [L, S] or [N * heads, L, S]: True where a key must not
    be looked at, or numbers to add.

    Args:
        embed_dim (int): the number of columns.
        num_heads (int): the number of heads.
        dropout (float, optional): the probability to drop elements. Default: 0.0.
        has_bias (bool, optional): whether there is a bias. Default: True.
        add_bias_kv (bool, optional): whether a learnt key and value are added. Default: False.
        add_zero_attn (bool, optional): whether a key and value of zeros are added. Default: False.
        kdim (int, optional): the columns of keys; embed_dim by default. Default: None.
        vdim (int, optional): the columns of values; embed_dim by default. Default: None.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        query: Tensor [L, N, E].
        key, value: Tensors [S, N, E].
        key_padding_mask, attn_mask: bool Tensors, true where nothing is looked at, or floats to add.
        need_weights: whether to give them.
        average_attn_weights: over the heads.

    Outputs:
        (Tensor [L, N, E], weights or None).

    Raises:
        TypeError: if `embed_dim` is not an int, or `num_heads` is not an int, or `has_bias` is not a bool.
        ValueError: if `embed_dim` is below 1, or `num_heads` does not divide `embed_dim`.

    Example:
        >>> nn.MultiheadAttention(4, 2)(ops.ones((3, 1, 4)), ops.ones((3, 1, 4)), ops.ones((3, 1, 4)))[0].shape
        (3, 1, 4)
    """

    embed_dim: int
    num_heads: int
    kdim: int
    vdim: int
    head_dim: int
    dropout: float
    batch_first: bool
    add_zero_attn: bool
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.embed_dim, self.num_heads = (positive("MultiheadAttention", "embed_dim", embed_dim),
                                          positive("MultiheadAttention", "num_heads", num_heads))
        if embed_dim % num_heads:
            raise _check.refused("MultiheadAttention", "num_heads", _check.value("divide 'embed_dim'"),
                                 _check.several(num_heads, embed_dim))
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.head_dim, self.dropout, self.batch_first, self.add_zero_attn = (embed_dim // num_heads, dropout,
            batch_first, add_zero_attn)
        self.same: bool = self.kdim == embed_dim and self.vdim == embed_dim
        xavier = XavierUniform()
        if self.same:
            self.in_proj_weight: Parameter = Parameter(initializer(xavier, [3 * embed_dim, embed_dim], dtype),
                                                       name="in_proj_weight")
        else:
            self.q_proj_weight = Parameter(initializer(xavier, [embed_dim, embed_dim], dtype), name="q_proj_weight")
            self.k_proj_weight = Parameter(initializer(xavier, [embed_dim, self.kdim], dtype), name="k_proj_weight")
            self.v_proj_weight = Parameter(initializer(xavier, [embed_dim, self.vdim], dtype), name="v_proj_weight")
        self.in_proj_bias = (Parameter(initializer("zeros", [3 * embed_dim], dtype), name="in_proj_bias") if has_bias
                             else None)
        self.bias_k = (Parameter(initializer(XavierNormal(), [1, 1, embed_dim], dtype), name="bias_k") if add_bias_kv
                       else None)
        self.bias_v = (Parameter(initializer(XavierNormal(), [1, 1, embed_dim], dtype), name="bias_v") if add_bias_kv
                       else None)
        self.out_proj: Dense = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=dtype)

    def _project(self, x, k):
        e = self.embed_dim
        w = (self.in_proj_weight[k * e:(k + 1) * e] if self.same
             else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)[k])
        return F.dense(x, w, None if self.in_proj_bias is None else self.in_proj_bias[k * e:(k + 1) * e])

    def _heads(self, x):  # [S, N, E] to [N, heads, S, head_dim]
        s, n, _ = x.shape
        return F.transpose(F.reshape(x, (s, n, self.num_heads, self.head_dim)), (1, 2, 0, 3))

    def construct(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                  need_weights: bool = True, attn_mask: Tensor | None = None,
                  average_attn_weights: bool = True) -> tuple[Tensor | Any, None] | tuple[Tensor | Any, Tensor]:
        batched = query.ndim == 3
        if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
            raise _check.refused("MultiheadAttention", "query, key and value", _check.dims(3, 2),
                                 _check.several(query.ndim, key.ndim, value.ndim))
        if not batched:
            query, key, value = (F.expand_dims(x, 1) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else F.expand_dims(key_padding_mask, 0)
        elif self.batch_first:
            query, key, value = (F.swapaxes(x, 0, 1) for x in (query, key, value))
        length, batch, _ = query.shape
        q, k, v = self._project(query, 0), self._project(key, 1), self._project(value, 2)
        extra = 0
        if self.bias_k is not None:
            shape = (1, batch, self.embed_dim)
            k, v = F.cat([k, F.broadcast_to(self.bias_k, shape)], 0), F.cat([v, F.broadcast_to(self.bias_v, shape)], 0)
            extra += 1
        if self.add_zero_attn:
            zero = F.zeros((1, batch, self.embed_dim), k.dtype)
            k, v = F.cat([k, zero], 0), F.cat([v, zero], 0)
            extra += 1
        q, k, v = self._heads(q), self._heads(k), self._heads(v)
        scores = F.matmul(q * (1.0 / math.sqrt(self.head_dim)), F.swapaxes(k, -1, -2))
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = F.reshape(attn_mask, (batch, self.num_heads, *attn_mask.shape[1:]))
            scores = _masked(scores, self._widened(attn_mask, extra))
        if key_padding_mask is not None:
            scores = _masked(scores, F.reshape(self._widened(key_padding_mask, extra), (batch, 1, 1, -1)))
        weights = F.softmax(scores, -1)
        if self.dropout > 0:
            weights = F.dropout(weights, self.dropout, self.training)
        y = F.reshape(F.transpose(F.matmul(weights, v), (2, 0, 1, 3)), (length, batch, self.embed_dim))
        y = self.out_proj(y)
        if not batched:
            y = F.squeeze(y, 1)
        elif self.batch_first:
            y = F.swapaxes(y, 0, 1)
        if not need_weights:
            return y, None
        if average_attn_weights:
            weights = F.mean(weights, 1)
        return y, weights if batched else F.squeeze(weights, 0)

    @staticmethod
    def _widened(mask, extra):
        return (F.pad(mask, (0, extra)) if extra and mask.dtype != mstype.bool_
                else F.cat([mask, F.zeros((*mask.shape[:-1], extra), mask.dtype)], -1) if extra else mask)


def _activation(name):
    if isinstance(name, str):
        if name not in ("relu", "gelu"):
            raise ValueError(
                f"For a transformer, 'activation' must be 'relu', 'gelu' or a Cell or function, but got {name!r}.")
        return F.relu if name == "relu" else F.gelu
    return name


class TransformerEncoderLayer(Cell):
    """Self-attention and two dense layers, each with a residual and layer normalisation.

    With norm_first the normalisation comes before, else behind.

    Args:
        d_model (int): the number of columns.
        nhead (int): the number of heads.
        dim_feedforward (int, optional): the width between the two dense layers. Default: 2048.
        dropout (float, optional): the probability to drop elements. Default: 0.1.
        activation (str, Cell or function, optional): what is applied to the output. Default: 'relu'.
        layer_norm_eps (float, optional): epsilon of the layer normalisations. Default: 1e-05.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        norm_first (bool, optional): whether layers are normalised before, not behind. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        src: Tensor [S, N, E].
        src_mask, src_key_padding_mask: masks.

    Outputs:
        Tensor of src's shape.

    Raises:
        TypeError: if `d_model` is not an int, or `nhead` is not an int, or `dim_feedforward` is not an int.
        ValueError: if `d_model` is below 1, or `nhead` is below 1, or `dim_feedforward` is below 1, or `dropout` is out
            of range, or `activation` is not one of those named.

    Example:
        >>> nn.TransformerEncoderLayer(4, 2, 8)(ops.ones((3, 1, 4))).shape
        (3, 1, 4)
    """

    self_attn: MultiheadAttention
    dense1: Dense
    dropout: Any
    dense2: Dense
    norm1: Any
    norm2: Any
    dropout1: Any
    dropout2: Any

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Cell | Callable[..., Any] = "relu", layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self.dense1, self.dropout, self.dense2 = (Dense(d_model, dim_feedforward, dtype=dtype), Dropout(p=dropout),
                                                  Dense(dim_feedforward, d_model, dtype=dtype))
        self.norm_first = norm_first
        self.norm1, self.norm2 = (LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(p=dropout), Dropout(p=dropout)
        self.activation: Callable[..., Any] = _activation(activation)

    def construct(self, src: Tensor, src_mask: Tensor = None, src_key_padding_mask: Tensor = None) -> Tensor:
        if self.norm_first:
            src = src + self._attend(self.norm1(src), src_mask, src_key_padding_mask)
            return src + self._feed(self.norm2(src))
        src = self.norm1(src + self._attend(src, src_mask, src_key_padding_mask))
        return self.norm2(src + self._feed(src))

    def _attend(self, x, mask, padding):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0])

    def _feed(self, x):
        return self.dropout2(self.dense2(self.dropout(self.activation(self.dense1(x)))))


class TransformerDecoderLayer(Cell):
    """Self-attention, attention to a memory and two dense layers, each with a residual and layer normalisation.

    Args:
        d_model (int): the number of columns.
        nhead (int): the number of heads.
        dim_feedforward (int, optional): the width between the two dense layers. Default: 2048.
        dropout (float, optional): the probability to drop elements. Default: 0.1.
        activation (str, Cell or function, optional): what is applied to the output. Default: 'relu'.
        layer_norm_eps (float, optional): epsilon of the layer normalisations. Default: 1e-05.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        norm_first (bool, optional): whether layers are normalised before, not behind. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        tgt: Tensor [T, N, E].
        memory: Tensor [S, N, E].
        tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask: masks.

    Outputs:
        Tensor of tgt's shape.

    Raises:
        TypeError: if `d_model` is not an int, or `nhead` is not an int, or `dim_feedforward` is not an int.
        ValueError: if `d_model` is below 1, or `nhead` is below 1, or `dim_feedforward` is below 1, or `dropout` is out
            of range, or `activation` is not one of those named.

    Example:
        >>> nn.TransformerDecoderLayer(4, 2, 8)(ops.ones((3, 1, 4)), ops.ones((2, 1, 4))).shape
        (3, 1, 4)
    """

    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention
    dense1: Dense
    dropout: Any
    dense2: Dense
    norm1: Any
    norm2: Any
    norm3: Any
    dropout1: Any
    dropout2: Any
    dropout3: Any

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Cell | Callable[..., Any] = "relu", layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self.dense1, self.dropout, self.dense2 = (Dense(d_model, dim_feedforward, dtype=dtype), Dropout(p=dropout),
                                                  Dense(dim_feedforward, d_model, dtype=dtype))
        self.norm_first = norm_first
        self.norm1, self.norm2, self.norm3 = (LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
                                              for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(p=dropout), Dropout(p=dropout), Dropout(p=dropout)
        self.activation: Callable[..., Any] = _activation(activation)

    def construct(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor = None, memory_mask: Tensor = None,
                  tgt_key_padding_mask: Tensor = None, memory_key_padding_mask: Tensor = None) -> Tensor:
        own, other = (tgt_mask, tgt_key_padding_mask), (memory_mask, memory_key_padding_mask)
        if self.norm_first:
            x = self.norm1(tgt)
            tgt = tgt + self.dropout1(self._attend(self.self_attn, x, x, *own))
            tgt = tgt + self.dropout2(self._attend(self.multihead_attn, self.norm2(tgt), memory, *other))
            return tgt + self._feed(self.norm3(tgt))
        tgt = self.norm1(tgt + self.dropout1(self._attend(self.self_attn, tgt, tgt, *own)))
        tgt = self.norm2(tgt + self.dropout2(self._attend(self.multihead_attn, tgt, memory, *other)))
        return self.norm3(tgt + self._feed(tgt))

    @staticmethod
    def _attend(attention, x, memory, mask, padding):
        return attention(x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]

    def _feed(self, x):
        return self.dropout3(self.dense2(self.dropout(self.activation(self.dense1(x)))))


def _copies(name, layer, count):
    if not isinstance(layer, Cell):
        raise _check.refused(name, "the layer", _check.a(Cell), layer)
    return CellList([copy.deepcopy(layer) for _ in range(positive(name, "num_layers", count))])


class TransformerEncoder(Cell):
    """num_layers copies of an encoder layer, then `norm`.

    Args:
        encoder_layer (Cell): what is copied.
        num_layers (int): the number of layers.
        norm (Cell, optional): what is applied at last. Default: None.

    Inputs:
        src: Tensor [S, N, E].
        src_mask, src_key_padding_mask: masks.

    Outputs:
        Tensor of src's shape.

    Raises:
        TypeError: if `num_layers` is not an int.
        ValueError: if `num_layers` is below 1.

    Example:
        >>> nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)(ops.ones((3, 1, 4))).shape
        (3, 1, 4)
    """

    num_layers: int
    norm: Cell | None

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers: CellList = _copies("TransformerEncoder", encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def construct(self, src: Tensor, src_mask: Tensor = None, src_key_padding_mask: Tensor = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """num_layers copies of a decoder layer, then `norm`.

    Args:
        decoder_layer (Cell): what is copied.
        num_layers (int): the number of layers.
        norm (Cell, optional): what is applied at last. Default: None.

    Inputs:
        tgt: Tensor [T, N, E].
        memory: Tensor [S, N, E].
        tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask: masks.

    Outputs:
        Tensor of tgt's shape.

    Raises:
        TypeError: if `num_layers` is not an int.
        ValueError: if `num_layers` is below 1.

    Example:
        >>> nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)(ops.ones((3, 1, 4)),
        ...     ops.ones((2, 1, 4))).shape
        (3, 1, 4)
    """

    num_layers: int
    norm: Cell | None

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers: CellList = _copies("TransformerDecoder", decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def construct(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor = None, memory_mask: Tensor = None,
                  tgt_key_padding_mask: Tensor = None, memory_key_padding_mask: Tensor = None) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """An encoder of src and a decoder of tgt (Vaswani et al.

    2017). src [S, N, E], tgt [T, N, E] (batch_first: [N, S, E], [N, T, E]).

    Args:
        d_model (int, optional): the number of columns. Default: 512.
        nhead (int, optional): the number of heads. Default: 8.
        num_encoder_layers (int, optional): the layers of the encoder. Default: 6.
        num_decoder_layers (int, optional): the layers of the decoder. Default: 6.
        dim_feedforward (int, optional): the width between the two dense layers. Default: 2048.
        dropout (float, optional): the probability to drop elements. Default: 0.1.
        activation (str, Cell or function, optional): what is applied to the output. Default: 'relu'.
        custom_encoder (Cell, optional): in place of the encoder. Default: None.
        custom_decoder (Cell, optional): in place of the decoder. Default: None.
        layer_norm_eps (float, optional): epsilon of the layer normalisations. Default: 1e-05.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        norm_first (bool, optional): whether layers are normalised before, not behind. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        src: Tensor [S, N, E].
        tgt: Tensor [T, N, E].
        src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: masks.

    Outputs:
        Tensor of tgt's shape.

    Raises:
        TypeError: if `d_model` is not an int, or `nhead` is not an int, or `num_encoder_layers` is not an int, or
            `num_decoder_layers` is not an int, or `dim_feedforward` is not an int.
        ValueError: if `d_model` is below 1, or `nhead` is below 1, or `num_encoder_layers` is below 1, or
            `num_decoder_layers` is below 1, or `dim_feedforward` is below 1, or `dropout` is out of range, or
            `activation` is not one of those named.

    Example:
        >>> nn.Transformer(4, 2, 1, 1, 8)(ops.ones((3, 1, 4)), ops.ones((2, 1, 4))).shape
        (2, 1, 4)
    """

    d_model: int
    nhead: int
    batch_first: bool

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Cell | Callable[..., Any] = "relu", custom_encoder: Cell | None = None,
                 custom_decoder: Cell | None = None, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, dtype: DType = mstype.float32) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)
        self.encoder: Any = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers,
            LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        self.decoder: Any = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers,
            LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for p in self.get_parameters():
            if p.ndim > 1:
                p.set_data(initializer(XavierUniform(), p.shape, p.dtype))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(self, src: Tensor, tgt: Tensor, src_mask: Tensor = None, tgt_mask: Tensor = None,
                  memory_mask: Tensor = None, src_key_padding_mask: Tensor = None, tgt_key_padding_mask: Tensor = None,
                  memory_key_padding_mask: Tensor = None) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise _check.refused("Transformer", "the batches of src and tgt", _check.value("be equal"),
                                 _check.several(src.shape[batch], tgt.shape[batch]))
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise _check.refused("Transformer", "the last dimension of src and tgt", _check.value(f"be {self.d_model}"),
                                 _check.several(src.shape[-1], tgt.shape[-1]))
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
