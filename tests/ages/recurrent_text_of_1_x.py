"""A text classifier in the style of MindSpore 1.x: DynamicRNN, settings in a dict, checks by Validator, an own step
with loss scaling, own callbacks."""
import argparse
import math
import os
import time

import numpy as np
import mindspore
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.ops.functional as F
from mindspore import Model, Parameter, ParameterTuple, Tensor, context
from mindspore._checkparam import Rel, Validator
from mindspore.common.initializer import Initializer, Zero, initializer, _register
from mindspore.common.seed import set_seed
from mindspore.communication.management import get_group_size, get_rank, init
from mindspore.context import ParallelMode
from mindspore.nn.learning_rate_schedule import LearningRateSchedule
from mindspore.nn.wrap.grad_reducer import DistributedGradReducer
from mindspore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell
from mindspore.ops import composite as C
from mindspore.ops import operations as P
from mindspore.parallel._auto_parallel_context import auto_parallel_context
from mindspore.train.callback import Callback, CheckpointConfig, ModelCheckpoint, TimeMonitor
from mindspore.train.serialization import load_checkpoint, load_param_into_net

config = {"vocab": 20, "embed": 12, "hidden": 16, "classes": 3, "length": 8, "batch": 16, "epochs": 12, "lr": 5e-3,
          "warmup": 10,
          "scale": {"start": 2.0 ** 12, "factor": 2, "window": 50}, "clip": (1, 1.0), "cell": "lstm"}
parser = argparse.ArgumentParser()
parser.add_argument("--distribute", type=lambda s: s.lower() == "true", default=False)
parser.add_argument("--out", type=str, default=".")
args_opt = parser.parse_args()


@_register("stdv_uniform")
class StdvUniform(Initializer):
    def __init__(self, stdv=0.1):
        super(StdvUniform, self).__init__(stdv=stdv)
        self.stdv = stdv

    def _initialize(self, arr):
        arr[:] = np.random.uniform(-self.stdv, self.stdv, arr.shape).astype(np.float32)


class RNNLayer(nn.Cell):
    """One direction, by the operator of the device."""

    def __init__(self, input_size, hidden_size, cell="lstm"):
        super(RNNLayer, self).__init__()
        self.input_size = Validator.check_positive_int(input_size, "input_size", self.cls_name)
        self.hidden_size = Validator.check_int_range(hidden_size, 1, 1024, Rel.INC_BOTH, "hidden_size", self.cls_name)
        self.cell_type = Validator.check_string(cell, ["lstm", "gru"], "cell", self.cls_name)
        stdv = 1 / math.sqrt(hidden_size)
        gates = 4 if cell == "lstm" else 3
        self.cast, self.concat = P.Cast(), P.Concat(axis=0)
        self.w_x = Parameter(initializer(StdvUniform(stdv), [input_size, gates * hidden_size], mstype.float32),
                             name="w_x")
        self.w_h = Parameter(initializer(StdvUniform(stdv), [hidden_size, gates * hidden_size], mstype.float32),
                             name="w_h")
        self.bias = Parameter(initializer(Zero(), [gates * hidden_size], mstype.float32), name="bias")
        self.rnn = P.DynamicRNN(forget_bias=1.0) if cell == "lstm" else P.DynamicGRUV2(gate_order="rzh")
        self.zeros = P.Zeros()

    def construct(self, x):
        x = self.cast(x, mstype.float16)
        batch = P.Shape()(x)[1]
        if self.cell_type == "lstm":
            weight = self.cast(self.concat((self.w_x, self.w_h)), mstype.float16)
            h = self.zeros((1, batch, self.hidden_size), mstype.float16)
            y, _, _, _, _, _, _, _ = self.rnn(x, weight, self.cast(self.bias, mstype.float16), None, h, h)
        else:
            h = self.zeros((batch, self.hidden_size), mstype.float32)
            y, _, _, _, _, _ = self.rnn(x, self.cast(self.w_x, mstype.float16), self.cast(self.w_h, mstype.float16),
                                        self.bias, None, None, h)
        return self.cast(y, mstype.float32)


class Classifier(nn.Cell):
    def __init__(self, cfg):
        super(Classifier, self).__init__()
        self.embedding = nn.Embedding(cfg["vocab"], cfg["embed"], embedding_table="normal", padding_idx=0)
        self.perm = (1, 0, 2)
        self.rnn = RNNLayer(cfg["embed"], cfg["hidden"], cfg["cell"])
        self.back = RNNLayer(cfg["embed"], cfg["hidden"], "gru")
        self.reverse = P.ReverseV2([0])
        self.dropout = nn.Dropout(keep_prob=0.9)
        self.head = nn.Dense(2 * cfg["hidden"], cfg["classes"], weight_init="stdv_uniform")

    def construct(self, ids):
        x = P.Transpose()(self.embedding(ids), self.perm)
        y = P.Concat(-1)((self.rnn(x)[-1], self.back(self.reverse(x))[-1]))
        return self.head(self.dropout(y))


class LossCell(nn.Cell):
    def __init__(self, backbone):
        super(LossCell, self).__init__(auto_prefix=False)
        self._backbone = backbone
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, ids, label):
        return self.loss(self._backbone(ids), F.reshape(label, (-1,)))


clip_grad = C.MultitypeFuncGraph("clip_grad")
grad_scale = C.MultitypeFuncGraph("grad_scale")
reciprocal = P.Reciprocal()


@clip_grad.register("Number", "Number", "Tensor")
def _clip_grad(clip_type, clip_value, grad):
    dt = F.dtype(grad)
    if clip_type == 0:
        return C.clip_by_value(grad, F.cast(F.tuple_to_array((-clip_value,)), dt),
                               F.cast(F.tuple_to_array((clip_value,)), dt))
    return nn.ClipByNorm()(grad, F.cast(F.tuple_to_array((clip_value,)), dt))


@grad_scale.register("Tensor", "Tensor")
def _grad_scale(scale, grad):
    return grad * reciprocal(scale)


class TrainStep(nn.TrainOneStepCell):
    """A step that is left out where a gradient is not finite."""

    def __init__(self, network, optimizer, scale_update_cell):
        super(TrainStep, self).__init__(network, optimizer, scale_update_cell.get_loss_scale())
        self.cast, self.base, self.less_equal = P.Cast(), Tensor(1, mstype.float32), P.LessEqual()
        self.hyper_map, self.reduce_sum, self.reshape = C.HyperMap(), P.ReduceSum(keep_dims=False), P.Reshape()
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.finite = P.FloatStatus()
        self.addn = P.AddN()
        self.loss_scale = Parameter(Tensor(scale_update_cell.get_loss_scale(), dtype=mstype.float32), name="loss_scale")
        self.loss_scaling_manager = scale_update_cell
        self.enable_clip = config["clip"]

    def construct(self, ids, label, sens=None):
        weights = self.weights
        loss = self.network(ids, label)
        scaling = self.loss_scale if sens is None else sens
        grads = self.grad(self.network, weights)(ids, label, self.cast(scaling, mstype.float32))
        grads = self.hyper_map(F.partial(grad_scale, scaling), grads)
        flags = self.hyper_map(self.finite, grads)
        total = self.reduce_sum(self.addn(flags))
        cond = self.less_equal(self.base, total)
        grads = self.hyper_map(F.partial(clip_grad, self.enable_clip[0], self.enable_clip[1]), grads)
        if self.reducer_flag:
            grads = self.grad_reducer(grads)
        overflow = self.loss_scaling_manager(self.loss_scale, cond) if sens is None else cond
        succ = False
        if not overflow:
            succ = self.optimizer(grads)
        return F.depend(loss, succ), cond, scaling


class WarmUpCosine(LearningRateSchedule):
    def __init__(self, base_lr, warmup, total):
        super(WarmUpCosine, self).__init__()
        self.warm = nn.WarmUpLR(base_lr, warmup)
        self.decay = nn.CosineDecayLR(base_lr * 0.1, base_lr, total)
        self.warmup, self.greater, self.one = (Tensor(np.array([warmup]).astype(np.float32)), P.Greater(),
                                               Tensor(np.array([1.0]).astype(np.float32)))

    def construct(self, global_step):
        warm = F.cast(self.greater(self.warmup, global_step), mstype.float32)
        return (self.one - warm) * self.decay(global_step) + warm * self.warm(global_step)


class LossCallBack(Callback):
    def __init__(self, per_print_times=1):
        super(LossCallBack, self).__init__()
        self._per_print_times = Validator.check_non_negative_int(per_print_times, "per_print_times")
        self.losses, self.overflows, self.start_time = [], 0, time.time()

    def step_end(self, run_context):
        cb_params = run_context.original_args()
        loss, overflow, scale = cb_params.net_outputs
        self.losses.append(float(loss.asnumpy()))
        self.overflows += bool(overflow.asnumpy())
        if self._per_print_times and cb_params.cur_step_num % self._per_print_times == 0:
            print("epoch: {}, step: {}, loss: {:.3f}, scale: {}".format(cb_params.cur_epoch_num, cb_params.cur_step_num,
                self.losses[-1], scale.asnumpy()))


def dataset(count=96):
    rng = np.random.RandomState(7)
    ids = rng.randint(2, config["vocab"], (count, config["length"])).astype(np.int32)
    labels = (np.arange(count) % config["classes"]).astype(np.int32)
    ids[np.arange(count), rng.randint(0, 3, count)] = 17 + labels  # one word says the class
    ids[:, 3:] = np.minimum(ids[:, 3:], 16)
    ids[:, :3] = np.where(ids[:, :3] >= 17, np.where(ids[:, :3] - 17 == labels[:, None], ids[:, :3], 2), ids[:, :3])
    data = ds.GeneratorDataset(lambda: iter(zip(ids, labels)), ["ids", "label"], shuffle=False)
    return data.batch(config["batch"], drop_remainder=True), ids, labels


def main():
    set_seed(3)
    context.set_context(mode=context.GRAPH_MODE, device_target="CPU", enable_auto_mixed_precision=False)
    rank = 0
    if args_opt.distribute:
        init()
        rank = get_rank()
        context.set_auto_parallel_context(device_num=get_group_size(), parallel_mode=ParallelMode.DATA_PARALLEL,
                                          mirror_mean=True)
        auto_parallel_context().set_all_reduce_fusion_split_indices([4])
    data, ids, labels = dataset()
    net = Classifier(config)
    steps = data.get_dataset_size() * config["epochs"]
    params = net.trainable_params()
    decayed = list(filter(lambda p: "bias" not in p.name, params))
    others = list(filter(lambda p: "bias" in p.name, params))
    optimizer = nn.AdamWeightDecay([{"params": decayed, "weight_decay": 1e-3}, {"params": others, "weight_decay": 0.0},
                                    {"order_params": params}],
                                   learning_rate=WarmUpCosine(config["lr"], config["warmup"], steps), eps=1e-8)
    scale = config["scale"]
    step = TrainStep(LossCell(net), optimizer,
                     DynamicLossScaleUpdateCell(loss_scale_value=scale["start"], scale_factor=scale["factor"],
                                                scale_window=scale["window"]))
    losses = LossCallBack(24)
    saving = ModelCheckpoint(prefix="text_rank{}".format(rank), directory=args_opt.out,
                             config=CheckpointConfig(save_checkpoint_steps=data.get_dataset_size() * 4,
                                                     keep_checkpoint_max=3))
    Model(step).train(config["epochs"], data, callbacks=[losses, TimeMonitor(data.get_dataset_size()), saving],
                      dataset_sink_mode=False)
    assert (len(losses.losses) == steps and losses.losses[-1] < 0.3 * losses.losses[0]), (losses.losses[0],
        losses.losses[-1])
    assert (float(step.loss_scale.asnumpy()) == scale["start"] * 2 ** (steps // scale["window"])
            and losses.overflows == 0)
    files = sorted((f for f in os.listdir(args_opt.out) if f.endswith(".ckpt")),
                   key=lambda f: os.path.getmtime(os.path.join(args_opt.out, f)))
    fresh = Classifier(config)
    left = load_param_into_net(fresh, load_checkpoint(os.path.join(args_opt.out, files[-1])))[0]
    fresh.set_train(False)
    net.set_train(False)
    scores = fresh(Tensor(ids)).asnumpy()
    assert np.array_equal(scores, net(Tensor(ids)).asnumpy())
    right = (scores.argmax(1) == labels).mean()
    twice = Tensor(scores).repeat(2, axis=0)
    parts = F.split(twice, axis=0, output_num=2) if hasattr(F, "split") else P.Split(0, 2)(twice)
    assert (twice.shape == (2 * len(labels), config["classes"]) and len(parts) == 2 and DistributedGradReducer
            and ParameterTuple)
    for bad, error in (({"hidden": 0}, ValueError), ({"cell": "rnn"}, ValueError), ({"embed": 1.5}, TypeError)):
        try:
            RNNLayer(*[{**config, **bad}[k] for k in ("embed", "hidden", "cell")])
        except error as e:
            assert "RNNLayer" in str(e)
        else:
            raise AssertionError(bad)
    print("OK", len(files), right > 0.95, left, mindspore.__name__)


if __name__ == "__main__":
    main()
