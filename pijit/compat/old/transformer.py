"""The transformer layers of MindSpore 1.5 to 1.9 (`mindspore.nn.transformer`, `mindspore.parallel._transformer`), on
one device.

Parameters have the names and shapes of their time, so that checkpoints fit. What needs several devices is kept in the
configurations and has no effect; mixtures of experts and steps with cached keys (`use_past`) raise
NotImplementedError."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.compat import left_out
from pijit.compat.old import checkparam
from pijit.initializer import initializer
from pijit.nn.cell import Cell
from pijit.nn.container import CellList
from pijit.nn.layer import activation
from pijit.ops import function as F
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any, Self
    from pijit._C import DType
    from pijit._types import Init


class _Config:
    """Settings by name."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k.strip(chr(95))}={v}' for k, v in vars(self).items())})"


def _positive(owner, **values):
    for name, value in values.items():
        checkparam.check_positive_int(value, name, owner)


def _fraction(owner, **values):
    for name, value in values.items():
        checkparam.check_float_range(value, 0.0, 1.0, checkparam.INC_LEFT, name, owner)


def _given(arguments):
    """The arguments of a call, of its locals()."""
    return {name: value for name, value in arguments.items() if name not in ("self", "__class__")}


def _made(cls, given, **others):
    """An instance, from those arguments that its class has and from these."""
    taken = {name: given[name] for name in inspect.signature(cls.__init__).parameters if name in given}
    return cls(**{**taken, **others})


class OpParallelConfig(_Config):
    """How operators are divided: data_parallel and model_parallel, each 1 by default."""

    data_parallel: int
    model_parallel: int

    def __init__(self, data_parallel: int = 1, model_parallel: int = 1) -> None:
        _positive("OpParallelConfig", data_parallel=data_parallel, model_parallel=model_parallel)
        self.data_parallel, self.model_parallel = data_parallel, model_parallel

    @property
    def dp(self) -> OpParallelConfig:
        return OpParallelConfig(self.data_parallel, 1)


class EmbeddingOpParallelConfig(OpParallelConfig):
    """How an embedding is divided."""

    use_seq_parallel: bool
    vocab_emb_dp: bool

    def __init__(self, data_parallel: int = 1, model_parallel: int = 1, use_seq_parallel: bool = False,
                 vocab_emb_dp: bool = True) -> None:
        super().__init__(data_parallel, model_parallel)
        self.use_seq_parallel, self.vocab_emb_dp = use_seq_parallel, vocab_emb_dp


class MoEParallelConfig(OpParallelConfig):
    """How a mixture of experts is divided."""

    expert_parallel: int
    use_seq_parallel: bool

    def __init__(self, data_parallel: int = 1, model_parallel: int = 1, expert_parallel: int = 1,
                 use_seq_parallel: bool = False) -> None:
        super().__init__(data_parallel, model_parallel)
        self.expert_parallel, self.use_seq_parallel = expert_parallel, use_seq_parallel


class TransformerRecomputeConfig(_Config):
    """What is computed again for gradients; graphs decide that by themselves."""

    recompute: bool
    parallel_optimizer_comm_recompute: bool
    mp_comm_recompute: bool
    recompute_slice_activation: bool

    def __init__(self, recompute: bool = False, parallel_optimizer_comm_recompute: bool = False,
                 mp_comm_recompute: bool = True, recompute_slice_activation: bool = False) -> None:
        self.recompute, self.parallel_optimizer_comm_recompute = recompute, parallel_optimizer_comm_recompute
        self.mp_comm_recompute, self.recompute_slice_activation = mp_comm_recompute, recompute_slice_activation


class TransformerOpParallelConfig(_Config):
    """How a transformer is divided."""

    data_parallel: int
    model_parallel: int
    expert_parallel: int
    pipeline_stage: int
    micro_batch_num: int
    use_seq_parallel: bool
    optimizer_shard: bool
    gradient_aggregation_group: int
    vocab_emb_dp: bool

    def __init__(self, data_parallel: int = 1, model_parallel: int = 1, expert_parallel: int = 1,
                 pipeline_stage: int = 1, micro_batch_num: int = 1, recompute: Any = None,
                 use_seq_parallel: bool = False, optimizer_shard: bool = False, gradient_aggregation_group: int = 4,
                 vocab_emb_dp: bool = True) -> None:
        _positive(
            "TransformerOpParallelConfig",
            data_parallel=data_parallel,
            model_parallel=model_parallel,
            pipeline_stage=pipeline_stage,
        )
        self.data_parallel, self.model_parallel, self.expert_parallel = data_parallel, model_parallel, expert_parallel
        self.pipeline_stage, self.micro_batch_num = pipeline_stage, micro_batch_num
        self.recompute: Any = TransformerRecomputeConfig() if recompute is None else recompute
        self.use_seq_parallel, self.optimizer_shard = use_seq_parallel, optimizer_shard
        self.gradient_aggregation_group, self.vocab_emb_dp = gradient_aggregation_group, vocab_emb_dp

    @property
    def dp_mp_config(self) -> OpParallelConfig:
        return OpParallelConfig(self.data_parallel, self.model_parallel)

    @property
    def embedding_dp_mp_config(self) -> EmbeddingOpParallelConfig:
        return EmbeddingOpParallelConfig(self.data_parallel, self.model_parallel, vocab_emb_dp=self.vocab_emb_dp)

    @property
    def moe_parallel_config(self) -> MoEParallelConfig:
        return MoEParallelConfig(self.data_parallel, self.model_parallel, self.expert_parallel)


class MoEConfig(_Config):
    """A mixture of experts."""

    expert_num: int
    capacity_factor: float
    aux_loss_factor: float
    num_experts_chosen: int
    expert_group_size: Any
    group_wise_a2a: bool
    comp_comm_parallel: bool
    comp_comm_parallel_degree: int

    def __init__(self, expert_num: int = 1, capacity_factor: float = 1.1, aux_loss_factor: float = 0.05,
                 num_experts_chosen: int = 1, expert_group_size: Any = None, group_wise_a2a: bool = False,
                 comp_comm_parallel: bool = False, comp_comm_parallel_degree: int = 2) -> None:
        _positive("MoEConfig", expert_num=expert_num, num_experts_chosen=num_experts_chosen)
        self.expert_num, self.capacity_factor, self.aux_loss_factor = expert_num, capacity_factor, aux_loss_factor
        self.num_experts_chosen, self.expert_group_size, self.group_wise_a2a = (
            num_experts_chosen,
            expert_group_size,
            group_wise_a2a,
        )
        self.comp_comm_parallel, self.comp_comm_parallel_degree = comp_comm_parallel, comp_comm_parallel_degree


default_embedding_parallel_config: EmbeddingOpParallelConfig
default_dpmp_config: OpParallelConfig
default_dpmp_config, default_embedding_parallel_config = OpParallelConfig(), EmbeddingOpParallelConfig()
default_transformer_recompute_config: TransformerRecomputeConfig
default_moeparallel_config: MoEParallelConfig
default_moeparallel_config, default_transformer_recompute_config = MoEParallelConfig(), TransformerRecomputeConfig()
default_moe_config: MoEConfig
default_transformer_config: TransformerOpParallelConfig
default_transformer_config, default_moe_config = TransformerOpParallelConfig(), MoEConfig()


def _no_experts(owner, moe_config=None, expert_num=1, use_past=False):
    if expert_num > 1 or moe_config is not None and moe_config.expert_num > 1:
        raise NotImplementedError(
            f"For '{owner}', mixtures of experts are not implemented by pijit. The nearest there is: expert_num=1."
        )
    if use_past:
        raise NotImplementedError(
            f"For '{owner}', 'use_past' is not implemented by pijit. The nearest there is: use_past=False, with the "
            f"whole sequence."
        )


class _Dropout(Cell):
    """nn.Dropout by the probability that an element is kept."""

    keep_prob: float
    dtype: DType

    def __init__(self, keep_prob: float = 0.5, dtype: DType = mstype.float32) -> None:
        super().__init__()
        _check.need("_Dropout", "keep_prob", keep_prob, _check.within(0, 1, "(]"))
        self.keep_prob, self.dtype = keep_prob, dtype

    def construct(self, x: Any) -> Any:
        if not self.training or self.keep_prob == 1:
            return x
        return F.dropout(x, 1 - self.keep_prob)


class _LayerNorm(Cell):
    """Layer normalisation of the last axis, in float32."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, param_init_type: DType = mstype.float32) -> None:
        super().__init__()
        self.gamma: Parameter = Parameter(initializer("ones", normalized_shape, param_init_type), name="gamma")
        self.beta: Parameter = Parameter(initializer("zeros", normalized_shape, param_init_type), name="beta")
        self.eps = eps

    def construct(self, x: Any) -> Tensor:
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)

    def shard(self, strategy: Any) -> Self:
        """Kept for its name. Returns itself."""
        return self


class _Linear(Cell):
    """A dense layer that computes in `compute_dtype` and gives x's dtype. transpose_b: the weight is [out_channels,
    in_channels]."""

    in_channels: int
    out_channels: int
    transpose_b: bool
    dtype: DType

    def __init__(self, in_channels: int, out_channels: int, weight_init: str = "normal", bias_init: str = "zeros",
                 has_bias: bool = True, activation: Any = None, transpose_b: bool = True, expert_num: int = 1,
                 outer_batch: int = 1, expert_group_size: Any = None, param_init_type: DType = mstype.float32,
                 compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        _no_experts("_Linear", expert_num=expert_num)
        self.in_channels, self.out_channels, self.transpose_b, self.dtype = (
            in_channels,
            out_channels,
            transpose_b,
            compute_dtype,
        )
        shape = [out_channels, in_channels] if transpose_b else [in_channels, out_channels]
        self.weight: Parameter = Parameter(initializer(weight_init, shape, param_init_type), name="weight")
        self.has_bias = has_bias
        if has_bias:
            self.bias: Parameter = Parameter(initializer(bias_init, [out_channels], param_init_type), name="bias")
        self.activation: Any = _activation(activation) if activation is not None else None

    def construct(self, x: Any) -> Any:
        weight = F.cast(self.weight, self.dtype)
        y = F.matmul(F.cast(x, self.dtype), F.transpose(weight, (1, 0)) if self.transpose_b else weight)
        if self.has_bias:
            y = y + F.cast(self.bias, self.dtype)
        y = F.cast(y, x.dtype)
        return y if self.activation is None else self.activation(y)

    def shard(self, strategy_matmul: Any, strategy_bias: Any = None, strategy_activation: Any = None) -> Self:
        """Kept for its name. Returns itself."""
        return self


def _activation(name):
    return activation.get_activation(name) if isinstance(name, str) else name()


FixedSparseAttention: Any = left_out.stand_in("nn.transformer.FixedSparseAttention", "cell", "mindspore.nn.transformer")


class AttentionMask(Cell):
    """From a mask [batch, seq_length] of tokens that count, a mask [batch, seq_length, seq_length] by which a token
    sees those before it.

    Args:
        seq_length (int): the length.
    """

    def __init__(self, seq_length: int, parallel_config: Any = default_dpmp_config) -> None:
        super().__init__()
        _positive("AttentionMask", seq_length=seq_length)
        self.seq_length = seq_length
        self.lower_triangle_mask: Tensor = Tensor(np.tril(np.ones((seq_length, seq_length), np.float32)))

    def construct(self, input_mask: Any) -> Tensor:
        mask = F.cast(input_mask, mstype.float32)
        return mask.expand_dims(2) * mask.expand_dims(1) * self.lower_triangle_mask.expand_dims(0)


class VocabEmbedding(Cell):
    """An embedding that gives (the rows, its table).

    Args:
        vocab_size (int): the number of rows.
        embedding_size (int): the number of columns.
        param_init (str, Tensor, Initializer): what the table is at first. Default: "normal".
    """

    vocab_size: int
    embedding_size: int
    embedding_table: Parameter

    def __init__(self, vocab_size: int, embedding_size: int, parallel_config: Any = default_embedding_parallel_config,
                 param_init: Init = "normal") -> None:
        super().__init__()
        _positive("VocabEmbedding", vocab_size=vocab_size, embedding_size=embedding_size)
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.embedding_table = Parameter(
            initializer(param_init, [vocab_size, embedding_size]), name="embedding_table", parallel_optimizer=False
        )

    def construct(self, input_ids: Any) -> tuple[Tensor, Tensor]:
        return F.gather(self.embedding_table, input_ids, 0), self.embedding_table.value()


class CrossEntropyLoss(Cell):
    """The mean of the cross entropy of logits [N, classes] and labels [N] over the positions where input_mask [N] is
    1."""

    def __init__(self, parallel_config: Any = default_dpmp_config) -> None:
        super().__init__()

    def construct(self, logits: Any, label: Any, input_mask: Any) -> Tensor:
        losses = (
            -F.log_softmax(F.cast(logits, mstype.float32), -1)
            .gather_elements(1, F.cast(label, mstype.int32).reshape(-1, 1))
            .reshape(-1)
        )
        mask = F.cast(input_mask, mstype.float32).reshape(-1)
        return (losses * mask).sum() / (mask.sum() + 1e-8)


class FeedForward(Cell):
    """projection(act(mapping(x))), then dropout.

    Args:
        hidden_size (int): the width.
        ffn_hidden_size (int): the inner width.
        dropout_rate (float): what share of elements is dropped.
        hidden_act (str, Cell): the activation. Default: "gelu".
    """

    hidden_size: int
    dropout_rate: float

    def __init__(self, hidden_size: int, ffn_hidden_size: int, dropout_rate: float, hidden_act: str | Cell = "gelu",
                 expert_num: int = 1, expert_group_size: Any = None, param_init_type: DType = mstype.float32,
                 parallel_config: Any = default_dpmp_config, compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        _positive("FeedForward", hidden_size=hidden_size, ffn_hidden_size=ffn_hidden_size)
        _fraction("FeedForward", dropout_rate=dropout_rate)
        _no_experts("FeedForward", expert_num=expert_num)
        self.hidden_size, self.dropout_rate = hidden_size, dropout_rate
        self.mapping: _Linear = _Linear(
            hidden_size,
            ffn_hidden_size,
            activation=hidden_act,
            transpose_b=False,
            param_init_type=param_init_type,
            compute_dtype=compute_dtype,
        )
        self.projection: _Linear = _Linear(
            ffn_hidden_size,
            hidden_size,
            transpose_b=False,
            param_init_type=param_init_type,
            compute_dtype=compute_dtype,
        )
        self.projection.bias.parallel_optimizer = False
        self.dropout: _Dropout = _Dropout(1 - dropout_rate)

    def construct(self, x: Any) -> Any:
        return self.dropout(self.projection(self.mapping(x)))


class MultiHeadAttention(Cell):
    """Attention of queries [batch, tgt, hidden] to keys and values [batch, src, hidden]; positions where the mask
    [batch, tgt, src] is 0 don't count.

    Args:
        batch_size (int): kept for its name: any batch will do.
        src_seq_length (int): the keys' length.
        tgt_seq_length (int): the queries' length.
        hidden_size (int): the width, a multiple of num_heads.
        num_heads (int): the number of heads.
        hidden_dropout_rate (float): what share of the result is dropped. Default: 0.1.
        attention_dropout_rate (float): what share of the weights is dropped. Default: 0.1.
        compute_dtype (dtype): of the dense layers and products. Default: float16.
        softmax_compute_type (dtype): of the softmax. Default: float32.
        param_init_type (dtype): of the parameters. Default: float32.

    Outputs:
        (Tensor [batch, tgt, hidden], (keys [batch, heads, size, src], values [batch, heads, src, size])).
    """

    batch_size: int
    src_seq_length: int
    tgt_seq_length: int
    hidden_size: int
    n_head: int
    size_per_head: int
    softmax_dtype: DType
    dtype: DType
    projection: _Linear
    dropout: _Dropout
    prob_dropout: _Dropout
    dense1: _Linear
    dense2: _Linear
    dense3: _Linear

    def __init__(self, batch_size: int, src_seq_length: int, tgt_seq_length: int, hidden_size: int, num_heads: int,
                 hidden_dropout_rate: float = 0.1, attention_dropout_rate: float = 0.1,
                 compute_dtype: DType = mstype.float16, softmax_compute_type: DType = mstype.float32,
                 param_init_type: DType = mstype.float32, use_past: bool = False,
                 parallel_config: Any = default_dpmp_config) -> None:
        super().__init__()
        _positive(
            "MultiHeadAttention",
            hidden_size=hidden_size,
            num_heads=num_heads,
            src_seq_length=src_seq_length,
            tgt_seq_length=tgt_seq_length,
        )
        _fraction(
            "MultiHeadAttention", hidden_dropout_rate=hidden_dropout_rate, attention_dropout_rate=attention_dropout_rate
        )
        _no_experts("MultiHeadAttention", use_past=use_past)
        if hidden_size % num_heads:
            raise _check.refused("MultiHeadAttention", "hidden_size", _check.multiple("'num_heads'"),
                                 _check.several(hidden_size, num_heads))
        self.batch_size, self.src_seq_length, self.tgt_seq_length = batch_size, src_seq_length, tgt_seq_length
        self.hidden_size, self.n_head, self.size_per_head = hidden_size, num_heads, hidden_size // num_heads
        self.softmax_dtype, self.dtype = softmax_compute_type, compute_dtype
        self.projection = _Linear(
            hidden_size, hidden_size, transpose_b=False, param_init_type=param_init_type, compute_dtype=compute_dtype
        )
        self.projection.bias.parallel_optimizer = False
        self.dropout, self.prob_dropout = _Dropout(1 - hidden_dropout_rate), _Dropout(1 - attention_dropout_rate)
        self.dense1 = _Linear(hidden_size, hidden_size, param_init_type=param_init_type, compute_dtype=compute_dtype)
        self.dense2 = _Linear(hidden_size, hidden_size, param_init_type=param_init_type, compute_dtype=compute_dtype)
        self.dense3 = _Linear(hidden_size, hidden_size, param_init_type=param_init_type, compute_dtype=compute_dtype)

    def _heads(self, x, batch, order):
        return F.transpose(x.reshape(batch, -1, self.n_head, self.size_per_head), order)

    def construct(self, query_tensor: Any, key_tensor: Any, value_tensor: Any, attention_mask: Any,
                  key_past: Any = None, value_past: Any = None,
                  batch_valid_length: Any = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        shape, dtype = query_tensor.shape, query_tensor.dtype
        batch = shape[0] if len(shape) == 3 else shape[0] // self.tgt_seq_length
        query = self._heads(F.cast(self.dense1(query_tensor), self.dtype), batch, (0, 2, 1, 3))
        key = self._heads(F.cast(self.dense2(key_tensor), self.dtype), batch, (0, 2, 3, 1))
        value = self._heads(F.cast(self.dense3(value_tensor), self.dtype), batch, (0, 2, 1, 3))
        scale = math.sqrt(math.sqrt(self.size_per_head))
        score = F.cast(F.matmul(query / scale, key / scale), self.softmax_dtype)
        if attention_mask is not None:
            score = score + (1 - F.cast(attention_mask, self.softmax_dtype)).expand_dims(1) * -10000.0
        weights = self.prob_dropout(F.softmax(F.cast(score, self.softmax_dtype), -1))
        merged = F.transpose(F.matmul(F.cast(weights, self.dtype), value), (0, 2, 1, 3)).reshape(
            *shape[:-1], self.hidden_size
        )
        return self.dropout(self.projection(F.cast(merged, dtype))), (key, value)


class _Layer(Cell):
    """What encoder and decoder layers share: self-attention and a feed-forward part, each with layer normalisation and
    a residual.

    post_layernorm_residual: the residual is what the normalisation gives, not what it gets."""

    layernorm1: _LayerNorm
    layernorm2: _LayerNorm
    cross_attention_layernorm: _LayerNorm
    post_layernorm_residual: Any
    layernorm_dtype: Any
    attention: Any
    cross_attention: Any
    output: Any

    def _make(self, given, length, cross=False):
        owner, hidden_size = type(self).__name__, given["hidden_size"]
        _positive(owner, **{name: given[name] for name in ("hidden_size", "ffn_hidden_size", "num_heads")})
        _no_experts(owner, given["moe_config"], use_past=given["use_past"])
        self.post_layernorm_residual, self.layernorm_dtype = (
            given["post_layernorm_residual"],
            given["layernorm_compute_type"],
        )
        self.layernorm1, self.layernorm2 = _LayerNorm((hidden_size,)), _LayerNorm((hidden_size,))
        if cross:
            self.cross_attention_layernorm = _LayerNorm((hidden_size,))
        self.attention = _made(MultiHeadAttention, given, src_seq_length=length, tgt_seq_length=length)
        if cross:
            self.cross_attention = _made(MultiHeadAttention, given)
        self.output = _made(FeedForward, given, dropout_rate=given["hidden_dropout_rate"])

    def _attended(self, x, norm, attention, mask, memory=None):
        """(x with what attention gives added, the keys and values)."""
        y = norm(F.cast(x, self.layernorm_dtype))
        memory = y if memory is None else memory
        found, present = attention(y, memory, memory, mask)
        return (y if self.post_layernorm_residual else x) + found, present

    def _fed(self, x):
        """x with the feed-forward part added."""
        y = self.layernorm2(x)
        return (y if self.post_layernorm_residual else x) + self.output(y)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward part, each with layer normalisation before it and a residual.

    Outputs:
        (Tensor of hidden_stats' shape, (keys, values)).
    """

    def __init__(self, batch_size: int, hidden_size: int, ffn_hidden_size: int, num_heads: int, seq_length: int,
                 attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1,
                 post_layernorm_residual: bool = False, layernorm_compute_type: DType = mstype.float32,
                 softmax_compute_type: DType = mstype.float32, param_init_type: DType = mstype.float32,
                 hidden_act: str = "gelu", use_past: bool = False, moe_config: Any = default_moe_config,
                 parallel_config: Any = default_dpmp_config, compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        self._make(_given(locals()), seq_length)

    def construct(self, x: Any, input_mask: Any = None, init_reset: bool = True,
                  batch_valid_length: Any = None) -> tuple[Any, Any]:
        x, present = self._attended(x, self.layernorm1, self.attention, input_mask)
        return self._fed(x), present


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward part.

    Outputs:
        (Tensor of hidden_stats' shape, (keys, values, the encoder's keys, values)).
    """

    def __init__(self, hidden_size: int, ffn_hidden_size: int, num_heads: int, batch_size: int, src_seq_length: Any,
                 tgt_seq_length: Any, attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1,
                 post_layernorm_residual: bool = False, use_past: bool = False,
                 layernorm_compute_type: DType = mstype.float32, softmax_compute_type: DType = mstype.float32,
                 param_init_type: DType = mstype.float32, hidden_act: str = "gelu",
                 moe_config: Any = default_moe_config, parallel_config: Any = default_dpmp_config,
                 compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        self._make(_given(locals()), tgt_seq_length, cross=True)

    def construct(self, hidden_stats: Any, decoder_mask: Any = None, encoder_output: Any = None,
                  memory_mask: Any = None, init_reset: bool = True, batch_valid_length: Any = None) -> tuple[Any, Any]:
        x, present = self._attended(hidden_stats, self.layernorm1, self.attention, decoder_mask)
        if encoder_output is not None:
            x, cross = self._attended(
                x, self.cross_attention_layernorm, self.cross_attention, memory_mask, encoder_output
            )
            present += cross
        return self._fed(x), present


class _Stack(Cell):
    """Layers, one behind the other.

    lambda_func(block, layer_id=, offset=, layers=, parallel_config=) is called with each layer, counted from offset."""

    blocks: CellList
    num_layers: Any

    def _make(self, layer, given):
        _positive(type(self).__name__, num_layers=given["num_layers"])
        self.num_layers = given["num_layers"]
        self.blocks = CellList([_made(layer, given) for _ in range(self.num_layers)])
        if given["lambda_func"] is not None:
            for i, block in enumerate(self.blocks):
                given["lambda_func"](
                    block,
                    layer_id=i,
                    offset=given["offset"],
                    layers=self.num_layers,
                    parallel_config=given["parallel_config"],
                )

    def _through(self, x, *others):
        """(What the last layer gives, each layer's keys and values)."""
        presents = ()
        for block in self.blocks:
            x, present = block(x, *others)
            presents += (present,)
        return x, presents


class TransformerEncoder(_Stack):
    """num_layers TransformerEncoderLayers.

    Outputs:
        (Tensor of hidden_states' shape, a tuple of each layer's keys and values).
    """

    def __init__(self, batch_size: int, num_layers: int, hidden_size: int, ffn_hidden_size: int, seq_length: int,
                 num_heads: int, attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1,
                 hidden_act: str = "gelu", post_layernorm_residual: bool = False,
                 layernorm_compute_type: DType = mstype.float32, softmax_compute_type: DType = mstype.float32,
                 param_init_type: DType = mstype.float32, lambda_func: Any = None, offset: float = 0,
                 use_past: bool = False, moe_config: Any = default_moe_config,
                 parallel_config: Any = default_transformer_config, compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        self._make(TransformerEncoderLayer, _given(locals()))

    def construct(self, hidden_states: Any, attention_mask: Any = None, init_reset: bool = True,
                  batch_valid_length: Any = None) -> tuple[Any, tuple[()] | tuple[Any]]:
        return self._through(hidden_states, attention_mask, init_reset, batch_valid_length)


class TransformerDecoder(_Stack):
    """num_layers TransformerDecoderLayers.

    Outputs:
        (Tensor of hidden_states' shape, a tuple of each layer's keys and values).
    """

    def __init__(self, num_layers: int, batch_size: int, hidden_size: int, ffn_hidden_size: int, src_seq_length: Any,
                 tgt_seq_length: Any, num_heads: int, attention_dropout_rate: float = 0.1,
                 hidden_dropout_rate: float = 0.1, post_layernorm_residual: bool = False,
                 layernorm_compute_type: DType = mstype.float32, softmax_compute_type: DType = mstype.float32,
                 param_init_type: DType = mstype.float32, hidden_act: str = "gelu", lambda_func: Any = None,
                 use_past: bool = False, offset: float = 0, moe_config: Any = default_moe_config,
                 parallel_config: Any = default_transformer_config, compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        self._make(TransformerDecoderLayer, _given(locals()))

    def construct(self, hidden_states: Any, attention_mask: Any = None, encoder_output: Any = None,
                  memory_mask: Any = None, init_reset: bool = True,
                  batch_valid_length: Any = None) -> tuple[Any, tuple[()] | tuple[Any]]:
        return self._through(hidden_states, attention_mask, encoder_output, memory_mask, init_reset, batch_valid_length)


class Transformer(Cell):
    """An encoder and a decoder.

    Outputs:
        (Tensor, each encoder layer's keys and values, each decoder layer's).
    """

    decoder: Any

    def __init__(self, hidden_size: int, batch_size: int, ffn_hidden_size: int, src_seq_length: Any,
                 tgt_seq_length: Any, encoder_layers: int = 3, decoder_layers: int = 3, num_heads: int = 2,
                 attention_dropout_rate: float = 0.1, hidden_dropout_rate: float = 0.1, hidden_act: str = "gelu",
                 post_layernorm_residual: bool = False, layernorm_compute_type: DType = mstype.float32,
                 softmax_compute_type: DType = mstype.float32, param_init_type: DType = mstype.float32,
                 lambda_func: Any = None, use_past: bool = False, moe_config: Any = default_moe_config,
                 parallel_config: Any = default_transformer_config, compute_dtype: DType = mstype.float16) -> None:
        super().__init__()
        if encoder_layers <= 0 < decoder_layers:
            raise ValueError(
                "For 'Transformer', the encoder layer number is 0, and the decoder layer number must be 0 then."
            )
        given = _given(locals())
        self.encoder = self.decoder = None
        if encoder_layers > 0:
            self.encoder: Any = _made(TransformerEncoder, given, num_layers=encoder_layers, seq_length=src_seq_length)
        if decoder_layers > 0:
            self.decoder = _made(TransformerDecoder, given, num_layers=decoder_layers, offset=max(encoder_layers, 0))

    def construct(self, encoder_inputs: Any, encoder_masks: Any, decoder_inputs: Any = None, decoder_masks: Any = None,
                  memory_mask: Any = None, init_reset: bool = True,
                  batch_valid_length: Any = None) -> tuple[Any, Any | None, Any | None]:
        output, encoder_presents, decoder_presents = encoder_inputs, None, None
        if self.encoder is not None:
            output, encoder_presents = self.encoder(encoder_inputs, encoder_masks, init_reset, batch_valid_length)
        if self.decoder is not None:
            output, decoder_presents = self.decoder(
                decoder_inputs, decoder_masks, output, memory_mask, init_reset, batch_valid_length
            )
        return output, encoder_presents, decoder_presents
