"""Clicks from tables of features: embeddings of fields, factorization machines, a deep tower, two optimizers (FTRL and
lazy Adam), an own metric (AUC), early ending, a checkpoint of the best epoch, inference from it.

    python -m pijit --as mindspore examples/programs/recommend.py [--mode graph]"""

import os
import sys
import tempfile

import numpy as np

from toolkit import Averages, LossHistory, Registry, arguments, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, ParameterTuple, nn, ops
from mindspore.common.initializer import Zero, initializer
from mindspore.train import Callback, Metric, Model

CONFIG = """
data:
  fields: 5
  vocabulary: 40
  dense: 3
  samples: 192
  batch: 32
model:
  width: 6
  layers: [16, 8]
  dropout: 0.0
  batch_norm: true
  activation: relu
train:
  epochs: 4
  wide_lr: 0.05
  deep_lr: 0.01
  l2: 0.0001
  loss_scale: 128.0
"""

ACTIVATIONS = Registry("activation")
ACTIVATIONS.register("relu")(nn.ReLU)
ACTIVATIONS.register("tanh")(nn.Tanh)


class AUC(Metric):
    """The area under the curve, by ranks."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self.scores, self.labels = [], []

    def update(self, *inputs):
        scores, labels = (self._convert_data(x) for x in inputs[-2:])
        self.scores.extend(scores.ravel().tolist())
        self.labels.extend(labels.ravel().tolist())

    def eval(self):
        scores, labels = np.array(self.scores), np.array(self.labels) > 0.5
        ranks = scores.argsort().argsort() + 1
        hits, misses = labels.sum(), (~labels).sum()
        return float((ranks[labels].sum() - hits * (hits + 1) / 2) / (hits * misses))


class Table:
    """Rows of fields (ids), their weights, and whether it was a click."""

    def __init__(self, cfg, seed):
        rng = np.random.RandomState(seed)
        taste = np.random.RandomState(99).randn(cfg.vocabulary)
        self.ids = rng.randint(0, cfg.vocabulary, (cfg.samples, cfg.fields)).astype(np.int32)
        self.values = np.ones((cfg.samples, cfg.fields), np.float32)
        self.values[:, :cfg.dense] = rng.uniform(0.5, 1.5, (cfg.samples, cfg.dense))
        score = (taste[self.ids] * self.values).sum(1) + rng.randn(cfg.samples) * 0.3
        self.labels = (score > 0).astype(np.float32)[:, None]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.ids[index], self.values[index], self.labels[index]


class DenseLayer(nn.Cell):
    def __init__(self, inputs, outputs, activation, keep, batch_norm):
        super().__init__()
        self.weight = Parameter(initializer("ones", [inputs, outputs], ms.float32), name="weight")
        # none before a normalization: it would take part in nothing, and an optimizer would move it by rounding errors
        self.bias = None if batch_norm else Parameter(initializer(Zero(), [outputs], ms.float32), name="bias")
        self.activation = ACTIVATIONS.build({"type": activation})
        self.matmul, self.bias_add = ops.MatMul(transpose_b=False), ops.BiasAdd()
        self.norm = nn.BatchNorm1d(outputs) if batch_norm else None
        self.dropout = nn.Dropout(p=1 - keep)

    def construct(self, x):
        x = self.matmul(self.dropout(x), self.weight)
        if self.bias is not None:
            x = self.bias_add(x, self.bias)
        if self.norm is not None:
            x = self.norm(x)
        return self.activation(x)


class DeepFM(nn.Cell):
    def __init__(self, cfg, width, layers, dropout, batch_norm, activation):
        super().__init__()
        self.fields, self.width = cfg.fields, width
        self.wide = Parameter(initializer("normal", [cfg.vocabulary, 1]), name="wide_w")
        self.wide_bias = Parameter(initializer("zeros", [1]), name="wide_b")
        self.embedding = Parameter(initializer("normal", [cfg.vocabulary, width]), name="V_l2")
        sizes = [cfg.fields * width] + list(layers)
        self.tower = nn.SequentialCell([DenseLayer(a, b, activation, 1 - dropout, batch_norm)
                                        for a, b in zip(sizes, sizes[1:])])
        self.last = nn.Dense(sizes[-1], 1)
        self.gather, self.sum, self.square = ops.Gather(), ops.ReduceSum(keep_dims=False), ops.Square()
        self.tile, self.concat = ops.Tile(), ops.Concat(axis=1)

    def construct(self, ids, values):
        mask = values.expand_dims(2)
        linear = self.sum(self.gather(self.wide, ids, 0) * mask, 1) + self.wide_bias
        vectors = self.gather(self.embedding, ids, 0) * mask
        crossed = 0.5 * self.sum(self.square(self.sum(vectors, 1)) - self.sum(self.square(vectors), 1), 1)
        deep = self.last(self.tower(vectors.reshape(-1, self.fields * self.width)))
        return linear + crossed.expand_dims(1) + deep, self.embedding


class LossNet(nn.Cell):
    def __init__(self, network, l2):
        super().__init__(auto_prefix=False)
        self.network, self.l2 = network, l2
        self.loss = ops.SigmoidCrossEntropyWithLogits()
        self.mean, self.square, self.sum = ops.ReduceMean(keep_dims=False), ops.Square(), ops.ReduceSum()

    def construct(self, ids, values, label):
        logits, embedding = self.network(ids, values)
        log_loss = self.mean(self.loss(logits, label))
        return log_loss, log_loss + self.l2 / 2 * self.sum(self.square(embedding))


class Wide(nn.Cell):
    def __init__(self, loss):
        super().__init__(auto_prefix=False)
        self.loss = loss

    def construct(self, *batch):
        return self.loss(*batch)[0]


class Deep(nn.Cell):
    def __init__(self, loss):
        super().__init__(auto_prefix=False)
        self.loss = loss

    def construct(self, *batch):
        return self.loss(*batch)[1]


class TrainStepWrap(nn.Cell):
    """Each part has its loss, its optimizer and a scale."""

    def __init__(self, loss, cfg):
        super().__init__()
        self.loss = loss
        self.wide, self.deep = Wide(loss), Deep(loss)
        params = loss.trainable_params()
        self.weights_w = ParameterTuple([p for p in params if "wide" in p.name])
        self.weights_d = ParameterTuple([p for p in params if "wide" not in p.name])
        self.optimizer_w = nn.FTRL(self.weights_w, learning_rate=cfg.wide_lr, l1=1e-4, l2=1e-4, initial_accum=1.0)
        self.optimizer_d = nn.LazyAdam(self.weights_d, learning_rate=cfg.deep_lr, eps=1e-8,
                                       loss_scale=cfg.loss_scale)
        self.hyper_map = ops.HyperMap()
        self.grad_w = ops.GradOperation(get_by_list=True, sens_param=True)
        self.grad_d = ops.GradOperation(get_by_list=True, sens_param=True)
        self.sens = cfg.loss_scale

    def construct(self, *batch):
        loss_w, loss_d = self.loss(*batch)
        sens_w, sens_d = ops.Fill()(loss_w.dtype, loss_w.shape, 1.0), ops.Fill()(loss_d.dtype, loss_d.shape, self.sens)
        grads_w = self.grad_w(self.wide, self.weights_w)(*batch, sens_w)
        grads_d = self.grad_d(self.deep, self.weights_d)(*batch, sens_d)
        loss_w = ops.depend(loss_w, self.optimizer_w(grads_w))
        return loss_w, ops.depend(loss_d, self.optimizer_d(grads_d))


class PredictWithSigmoid(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network, self.sigmoid = network, ops.Sigmoid()

    def construct(self, ids, values, labels):
        logits, _ = self.network(ids, values)
        return logits, self.sigmoid(logits), labels


class KeepBest(Callback):
    """A checkpoint of the epoch with the best result."""

    def __init__(self, averages, network, path, name):
        super().__init__()
        self.averages, self.network, self.path, self.name = averages, network, path, name
        self.best, self.epoch = -1.0, None

    def on_train_epoch_end(self, run_context):
        value = self.averages.results[-1][self.name]
        if value > self.best + 1e-9:
            self.best, self.epoch = value, run_context.original_args().cur_epoch_num
            ms.save_checkpoint(self.network, self.path, append_dict={"epoch": self.epoch, "auc": value})


def make_dataset(cfg, seed):
    return ds.GeneratorDataset(Table(cfg, seed), ["ids", "values", "labels"], shuffle=False,
                               num_parallel_workers=2).batch(cfg.batch, drop_remainder=True)


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    network = fill(DeepFM(cfg.data, **cfg.model), 19)
    step = TrainStepWrap(LossNet(network, cfg.train.l2), cfg.train).set_train()
    evaluator = Model(step, eval_network=PredictWithSigmoid(network), metrics={"auc": AUC()})
    validation = make_dataset(cfg.data, 2)

    def evaluate():
        network.set_train(False)
        result = evaluator.eval(validation, dataset_sink_mode=False)
        network.set_train(True)
        return result
    history, averages = LossHistory(every=6), Averages(evaluate)
    with tempfile.TemporaryDirectory() as folder:
        keep = KeepBest(averages, network, os.path.join(folder, "best.ckpt"), "auc")
        Model(step).train(cfg.train.epochs, make_dataset(cfg.data, 1), callbacks=[history, averages, keep],
                          dataset_sink_mode=False)
        print("losses:", " ".join(f"{v:.4f}" for v in history.losses))
        values = ms.load_checkpoint(keep.path)
        print("best epoch:", int(values.pop("epoch")), f"auc {float(values.pop('auc')):.4f}")
        again = fill(DeepFM(cfg.data, **cfg.model), 20)
        print("not loaded:", len(ms.load_param_into_net(again, values)[0]))
        again.set_train(False)
        ids, clicks, _ = next(validation.create_tuple_iterator())
        print("logits:", " ".join(f"{v:.3f}" for v in again(ids, clicks)[0].asnumpy().ravel()[:8]))


if __name__ == "__main__":
    main(sys.argv[1:])
