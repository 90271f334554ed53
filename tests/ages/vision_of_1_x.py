"""A network for images in the style of MindSpore 1.x: inner modules, an own cell for training with loss scaling,
callbacks, initializers."""
import argparse
import math
import os
import sys
from functools import reduce

import numpy as np
import mindspore as ms
import mindspore.nn as nn
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.dataset.transforms.c_transforms as C2
import mindspore.dataset.vision.c_transforms as C
import mindspore.ops.functional as F
from mindspore import Model, Parameter, ParameterTuple, Tensor, context, ms_function
from mindspore._checkparam import Rel, Validator as validator
from mindspore.common import initializer as init, set_seed
from mindspore.common.initializer import (HeNormal, Initializer as MeInitializer, _assignment,
                                          _calculate_fan_in_and_fan_out, initializer)
from mindspore.common.parameter import Parameter as P2
from mindspore.communication.management import get_group_size, get_rank
from mindspore.context import ParallelMode
from mindspore.nn.loss.loss import _Loss
from mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register
from mindspore.nn.wrap.grad_reducer import DistributedGradReducer
from mindspore.ops import composite as CC
from mindspore.ops import operations as P
from mindspore.ops.operations import _grad_ops as G, _inner_ops as inner
from mindspore.ops.primitive import constexpr
from mindspore.parallel._utils import _get_device_num, _get_gradients_mean, _get_parallel_mode
from mindspore.train.callback import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor
from mindspore.train.callback._callback import _handle_loss
from mindspore.train.dataset_helper import DatasetHelper
from mindspore.train.loss_scale_manager import FixedLossScaleManager
from mindspore.train.parallel_utils import ParallelMode as PM
from mindspore.train.serialization import load_checkpoint, load_param_into_net
from mindspore.boost import AutoBoost
from mindspore.nn.layer.quant import Conv2dBnAct
from mindspore.train.quant import quant

assert P2 is Parameter and PM is ParallelMode and AutoBoost and quant and inner and G

parser = argparse.ArgumentParser()
parser.add_argument("--device_target", default="CPU")
parser.add_argument("--out", default=".")
args = parser.parse_args()
context.set_context(mode=context.GRAPH_MODE, device_target=args.device_target, save_graphs=False)
context.set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE, mirror_mean=True)
set_seed(1)


class KaimingUniform(MeInitializer):
    def __init__(self, a=math.sqrt(5)):
        super(KaimingUniform, self).__init__()
        self.a = a

    def _initialize(self, arr):
        fan_in, _ = _calculate_fan_in_and_fan_out(arr.shape)
        bound = math.sqrt(3.0) * init._calculate_gain("leaky_relu", self.a) / math.sqrt(fan_in)
        _assignment(arr, np.random.uniform(-bound, bound, arr.shape))


@constexpr
def _flat_size(shape):
    return reduce(lambda a, b: a * b, shape[1:])


class Flat(nn.Cell):
    def construct(self, x):
        return P.Reshape()(x, (P.Shape()(x)[0], _flat_size(P.Shape()(x))))


class Block(nn.Cell):
    def __init__(self, cin, cout, stride=1):
        super(Block, self).__init__()
        validator.check_positive_int(cin, "cin", self.cls_name)
        validator.check_int_range(stride, 1, 2, Rel.INC_BOTH, "stride", self.cls_name)
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, pad_mode="pad", padding=1, weight_init=KaimingUniform())
        self.bn1 = nn.BatchNorm2d(cout, momentum=0.5)
        self.conv2 = Conv2dBnAct(cout, cout, 3, 1, pad_mode="same", has_bn=True, momentum=0.5)
        self.relu = P.ReLU()
        self.add = P.TensorAdd() if hasattr(P, "TensorAdd") else P.Add()
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.SequentialCell([nn.Conv2d(cin, cout, 1, stride, weight_init=HeNormal()),
                                           nn.BatchNorm2d(cout, momentum=0.5)])

    def construct(self, x):
        y = self.conv2(self.relu(self.bn1(self.conv1(x))))
        if self.down is not None:
            x = self.down(x)
        return self.relu(self.add(x, y))


class Net(nn.Cell):
    def __init__(self, classes=4):
        super(Net, self).__init__()
        self.blocks = nn.CellList([Block(3, 8), Block(8, 16, 2)])
        self.pool = P.ReduceMean(keep_dims=True)
        self.flatten, self.drop = Flat(), nn.Dropout(keep_prob=0.9)
        self.fc = nn.Dense(16, classes, weight_init=initializer("XavierUniform", [classes, 16], mstype.float32))
        for name, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(initializer(KaimingUniform(), cell.weight.shape, cell.weight.dtype))

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.fc(self.drop(self.flatten(self.pool(x, (2, 3)))))


class CrossEntropySmooth(_Loss):
    def __init__(self, smooth=0.1, classes=4):
        super(CrossEntropySmooth, self).__init__()
        self.onehot, self.on, self.off = (P.OneHot(), Tensor(1.0 - smooth, mstype.float32),
                                          Tensor(smooth / (classes - 1), mstype.float32))
        self.ce, self.classes = nn.SoftmaxCrossEntropyWithLogits(), classes

    def construct(self, logit, label):
        return P.ReduceMean()(self.ce(logit, self.onehot(label, self.classes, self.on, self.off)))


_scale = CC.MultitypeFuncGraph("grad_scale")


@_scale.register("Tensor", "Tensor")
def _scaled(scale, grad):
    return grad * F.cast(P.Reciprocal()(scale), F.dtype(grad))


@_scale.register("Tensor", "RowTensor")
def _scaled_rows(scale, grad):
    return ms.RowTensor(grad.indices, grad.values * P.Reciprocal()(scale), grad.dense_shape)


class TrainStep(nn.Cell):
    def __init__(self, network, optimizer, sens=1024.0):
        super(TrainStep, self).__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.network.set_grad()
        self.weights, self.sens = ParameterTuple(network.trainable_params()), Tensor(sens, mstype.float32)
        self.grad, self.hyper_map = CC.GradOperation(get_by_list=True, sens_param=True), CC.HyperMap()
        self.reducer = None
        if _get_parallel_mode() in (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL):
            self.reducer = DistributedGradReducer(self.weights, _get_gradients_mean(), _get_device_num())

    def construct(self, x, y):
        loss = self.network(x, y)
        grads = self.grad(self.network, self.weights)(x, y, F.fill(F.dtype(loss), F.shape(loss), 1.0) * self.sens)
        grads = self.hyper_map(F.partial(_scale, self.sens), grads)
        if self.reducer is not None:
            grads = self.reducer(grads)
        return F.depend(loss, self.optimizer(grads))


class Momentum(Optimizer):
    @opt_init_args_register
    def __init__(self, params, learning_rate=0.05, momentum=0.9, weight_decay=1e-4):
        super(Momentum, self).__init__(learning_rate, params, weight_decay)
        self.moments, self.momentum = (self.parameters.clone(prefix="moments", init="zeros"),
                                       Tensor(momentum, mstype.float32))
        self.opt, self.map_ = P.ApplyMomentum(), CC.Map()

    def construct(self, gradients):
        gradients = self.decay_weight(gradients)
        lr = self.get_lr()
        for p, m, g in zip(self.parameters, self.moments, gradients):
            self.opt(p, m, lr, g, self.momentum)
        return True


class Losses(Callback):
    def __init__(self):
        super(Losses, self).__init__()
        self.seen = []

    def step_end(self, run_context):
        self.seen.append(_handle_loss(run_context.original_args().net_outputs))


rng = np.random.RandomState(0)
images = (rng.rand(32, 8, 8, 3) * 40).astype(np.uint8)
labels = (np.arange(32) % 4).astype(np.int32)
for i, k in enumerate(labels):
    images[i, 4 * (k // 2):4 * (k // 2) + 4, 4 * (k % 2):4 * (k % 2) + 4] += 150
data = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=False)
data = data.map(operations=[C.Normalize([60.0] * 3, [60.0] * 3), C.HWC2CHW(), C2.TypeCast(mstype.float32)],
                input_columns="image")
data = data.map(operations=C2.TypeCast(mstype.int32), input_columns="label").batch(16, drop_remainder=True)

net = Net()
step = TrainStep(nn.WithLossCell(net, CrossEntropySmooth()), Momentum(net.trainable_params()))
step.set_train()
losses, config = Losses(), CheckpointConfig(save_checkpoint_steps=10, keep_checkpoint_max=2)
model = Model(step)
model.train(8, data, callbacks=[losses, TimeMonitor(), ModelCheckpoint("net", args.out, config)],
            dataset_sink_mode=False)
assert len(losses.seen) == 16 and losses.seen[-1] < 0.6 * losses.seen[0], losses.seen
files = sorted(f for f in os.listdir(args.out) if f.endswith(".ckpt"))
fresh = Net()
load_param_into_net(fresh, load_checkpoint(os.path.join(args.out, files[-1])))
fresh.set_train(False)


@ms_function
def predict(x):
    return P.Argmax()(fresh(x))


right = sum(int((predict(row["image"]).asnumpy() == row["label"].asnumpy()).sum())
            for row in data.create_dict_iterator())
print("OK", len(files), right >= 28, sys.modules["mindspore"].__name__)
assert get_rank
assert DatasetHelper and FixedLossScaleManager and LossMonitor and get_group_size
