"""A training script in the style of MindSpore 2.0 with a package's helpers: checks of arguments, a registry, EMA, own
optimizer, schedules, amp."""
import inspect
import os
import sys
import types
from typing import Dict, List, Optional, Type

import numpy as np
import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, mint, nn, ops
from mindspore import _checkparam as Validator
from mindspore import context, jit, log as logger, mutable
from mindspore._c_expression import typing
from mindspore._checkparam import args_type_check
from mindspore.amp import DynamicLossScaler, _grad_scale_map, all_finite, auto_mixed_precision
from mindspore.common._decorator import deprecated
from mindspore.common.api import _no_grad, _pynative_executor, jit_class
from mindspore.common.initializer import Initializer, Normal, initializer
from mindspore.common.tensor import Tensor as T2
from mindspore.graph.api import jit as graph_jit
from mindspore.log import _LogActionOnce
from mindspore.nn.layer.activation import _activation
from mindspore.nn.optim.optimizer import _grad_scale
from mindspore.nn.transformer import AttentionMask, TransformerEncoder, TransformerOpParallelConfig, VocabEmbedding
from mindspore.ops._primitive_cache import _get_cache_prim
from mindspore.ops.auto_generate import select_ext_view_op
from mindspore.ops.operations._inner_ops import TopTypeof
from mindspore.parallel._transformer.layers import _LayerNorm, _Linear
from mindspore.rewrite import SymbolTree
from mindspore.train import Callback, LearningRateScheduler, Model
from mindspore.train._utils import _make_directory
from mindspore.train.serialization import _load_dismatch_prefix_params

try:
    from mindspore.ops.operations.nn_ops import FlashAttentionScore
    from mindspore.ops import flash_attention_score
except ImportError:
    FlashAttentionScore = flash_attention_score = None
assert (T2 is Tensor and graph_jit is jit and _grad_scale and SymbolTree and _load_dismatch_prefix_params
        and FlashAttentionScore is not None)

_REGISTRY: Dict[str, Type[nn.Cell]] = {}


def register(cls):
    Validator.check_subclass("cls", cls, nn.Cell, "register") if False else Validator.check_isinstance("cls", cls, type)
    _REGISTRY[cls.__name__] = cls
    return cls


def find_framework(fn):
    """As a package does that serves several frameworks: by the modules among the function's globals."""
    return [v.__name__ for v in fn.__globals__.values() if isinstance(v, types.ModuleType)
            and v.__name__ in ("mindspore", "torch", "jax")]


@register
class TextClassifier(nn.Cell):
    def __init__(self, vocab: int = 16, hidden: int = 16, length: int = 6, classes: int = 2, act: str = "gelu",
                 tree: Optional[SymbolTree] = None):
        super().__init__()
        self.vocab = Validator.check_positive_int(vocab, "vocab", self.cls_name)
        Validator.check_int_range(hidden, 8, 1024, Validator.INC_BOTH, "hidden", self.cls_name)
        Validator.check_string(act, list(_activation), "act", self.cls_name)
        Validator.check_value_type("tree", tree, [SymbolTree, type(None)], self.cls_name)
        config = TransformerOpParallelConfig(data_parallel=1, model_parallel=1)
        self.embedding, self.mask = (VocabEmbedding(vocab, hidden, config.embedding_dp_mp_config),
                                     AttentionMask(length, config.dp_mp_config))
        self.position = Parameter(initializer(Normal(0.02), [length, hidden]), name="position")
        self.encoder = TransformerEncoder(batch_size=8, num_layers=1, hidden_size=hidden, ffn_hidden_size=2 * hidden,
                                          seq_length=length, num_heads=2,
                                          attention_dropout_rate=0.0, hidden_dropout_rate=0.0, hidden_act=act,
                                          parallel_config=config,
                                          compute_dtype=ms.float32)
        self.norm, self.act = _LayerNorm((hidden,)), _activation[act]()
        self.head = _Linear(hidden, classes, compute_dtype=ms.float32)

    def construct(self, ids, valid):
        x, _ = self.embedding(ids)
        x, _ = self.encoder(x + self.position, self.mask(valid))
        x = self.norm(x)
        return self.head(self.act(select_ext_view_op(x, 1, x.shape[1] - 1)))


@jit_class
class EMA:
    def __init__(self, net, decay=0.9):
        self.net = ParameterTuple(net.trainable_params())
        self.shadow, self.decay = self.net.clone("ema", init="same"), decay

    def update(self):
        for s, p in zip(self.shadow, self.net):
            s.set_data(s * self.decay + p * (1 - self.decay))


class AdamW(nn.Optimizer):
    @args_type_check(learning_rate=float, weight_decay=float)
    def __init__(self, params, learning_rate=1e-3, weight_decay=0.01, betas=(0.9, 0.99)):
        super().__init__(learning_rate, params, weight_decay)
        self.betas, self.m, self.v = (betas, self.parameters.clone("m", init="zeros"),
                                      self.parameters.clone("v", init="zeros"))

    def construct(self, grads):
        lr, (a, b) = self.get_lr(), self.betas
        for p, m, v, g in zip(self._parameters, self.m, self.v, grads):
            ops.assign(m, m * a + g * (1 - a))
            ops.assign(v, v * b + g * g * (1 - b))
            ops.assign(p, p - lr * (m / (ops.sqrt(v) + 1e-6)))
        return True


class Stopper(Callback):
    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num >= 40:
            run_context.request_stop()


@deprecated("2.0", "build")
def create(name: str, **kwargs) -> nn.Cell:
    return _REGISTRY[name](**kwargs)


@_LogActionOnce(logger=logger, key="dtype")
def checked_dtype(dtype):
    if not isinstance(dtype, typing.Float):
        logger.warning("no floating dtype: %s", dtype)
    return dtype


def main(out: str = "."):
    context.set_context(mode=context.PYNATIVE_MODE)
    ms.set_seed(0)
    out = _make_directory(os.path.join(out, "runs"))
    for bad in ({"hidden": 4}, {"vocab": 0}, {"act": "nope"}):
        try:
            create("TextClassifier", **bad)
        except ValueError as e:
            assert "TextClassifier" in str(e)
        else:
            raise AssertionError(bad)
    net = create("TextClassifier")
    assert (checked_dtype(ms.float16) == ms.float16 and isinstance(ms.int32, typing.Number)
            and str(TopTypeof()(net.position)) == "Tensor")
    assert (find_framework(main) == ["mindspore"] and type(net).__module__ == "__main__"
            and repr(type(net.position)).endswith("parameter.Parameter'>"))
    rng = np.random.RandomState(0)
    ids = rng.randint(0, 16, (64, 6)).astype(np.int32)
    labels = (ids[:, 0] > 7).astype(np.int32)
    loss_fn, optimizer, ema, scaler = (nn.CrossEntropyLoss(), AdamW(net.trainable_params(), learning_rate=0.01),
                                       EMA(net), DynamicLossScaler(64.0, 2, 100))

    def forward(x, valid, y):
        logits = net(x, valid)
        return scaler.scale(loss_fn(logits, y)), logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
    assert grad_fn.__code__ is forward.__code__ and getattr(grad_fn, "_dynamic_shape_inputs", 1) is None

    @jit
    def step(x, valid, y):
        (loss, _), grads = grad_fn(x, valid, y)
        grads = _grad_scale_map(Tensor(1.0 / 64), grads)
        if all_finite(grads):
            optimizer(grads)
            ema.update()
        return scaler.unscale(loss)

    valid = ops.ones((32, 6), ms.float32)
    losses = []
    for epoch in range(40):
        k = 32 * (epoch % 2)
        losses.append(float(step(Tensor(ids[k:k + 32]), valid, Tensor(labels[k:k + 32]))))
    with _no_grad():
        right = float((net(Tensor(ids), ops.ones((64, 6), ms.float32)).argmax(1) ==
                       Tensor(labels)).astype(ms.float32).mean())
    _pynative_executor.sync()
    assert losses[-1] < 0.5 * losses[0] and right > 0.9, (losses[0], losses[-1], right)
    ms.save_checkpoint(net, os.path.join(out, "net.ckpt"))
    assert _get_cache_prim(ops.ReduceSum)(True) is _get_cache_prim(ops.ReduceSum)(True) and mutable((1, 2)) == (1, 2)
    half = auto_mixed_precision(net, "O2") if "amp" in sys.argv else net
    assert inspect.signature(half.construct) and mint.sum(Tensor([1.0])) == 1
    print("OK", sorted(os.listdir(out)), LearningRateScheduler.__module__.split(".")[0], Model.__name__,
          Stopper.__mro__[1].__name__, List, Initializer.__name__)


if __name__ == "__main__":
    main(sys.argv[1])
