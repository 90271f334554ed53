"""Wide and deep with factorisation machine (DeepFM): embeddings of sparse fields, two optimizers in one training
Cell."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.common.initializer import Normal, Uniform, initializer


class DenseLayer(nn.Cell):
    def __init__(self, inputs, outputs, keep_prob=0.9, use_activation=True):
        super().__init__()
        self.weight = Parameter(initializer(Normal(0.1), [inputs, outputs]), name="weight")
        self.bias = Parameter(initializer("zeros", [outputs]), name="bias")
        self.matmul = ops.MatMul(transpose_b=False)
        self.bias_add = ops.BiasAdd()
        self.dropout = nn.Dropout(p=1 - keep_prob)
        self.activation = ops.ReLU()
        self.use_activation = use_activation

    def construct(self, x):
        x = self.bias_add(self.matmul(self.dropout(x), self.weight), self.bias)
        return self.activation(x) if self.use_activation else x


class DeepFM(nn.Cell):
    def __init__(self, fields=6, vocab=50, dim=8, hidden=(32, 16)):
        super().__init__()
        self.fm_w = Parameter(initializer(Uniform(0.01), [vocab, 1], ms.float32), name="FM_W")
        self.fm_b = Parameter(initializer("zeros", [1], ms.float32), name="FM_b")
        self.embedding_table = Parameter(initializer(Normal(0.1), [vocab, dim], ms.float32), name="V_l2")
        self.width = fields * dim
        sizes = (self.width, *hidden)
        for i in range(len(hidden)):
            setattr(self, f"dense_layer_{i + 1}", DenseLayer(sizes[i], sizes[i + 1]))
        self.dense_out = DenseLayer(sizes[-1], 1, use_activation=False)
        self.gather = ops.Gather()
        self.mul = ops.Mul()
        self.reduce_sum = ops.ReduceSum(keep_dims=False)
        self.reshape = ops.Reshape()
        self.square = ops.Square()
        self.tile = ops.Tile()

    def construct(self, id_hldr, wt_hldr):
        mask = ops.expand_dims(wt_hldr, 2)
        linear = self.reduce_sum(self.mul(self.gather(self.fm_w, id_hldr, 0), mask), 1)
        vx = self.mul(self.gather(self.embedding_table, id_hldr, 0), mask)
        v1 = self.square(self.reduce_sum(vx, 1))
        v2 = self.reduce_sum(self.square(vx), 1)
        fm = 0.5 * self.reshape(self.reduce_sum(v1 - v2, 1), (-1, 1))
        deep = self.reshape(vx, (-1, self.width))
        deep = self.dense_out(self.dense_layer_2(self.dense_layer_1(deep)))
        return linear + fm + deep + self.tile(self.reshape(self.fm_b, (1, 1)), (id_hldr.shape[0], 1))


class NetWithLoss(nn.Cell):
    def __init__(self, network, l2=1e-3):
        super().__init__(auto_prefix=False)
        self.network = network
        self.l2 = l2
        self.loss = ops.SigmoidCrossEntropyWithLogits()

    def construct(self, ids, weights, label):
        predict = self.network(ids, weights)
        log_loss = ops.ReduceMean()(self.loss(predict, label))
        table = self.network.embedding_table
        return log_loss + self.l2 * ops.ReduceSum()(ops.Square()(table)) / 2


class TrainStep(nn.Cell):
    """The wide part by FTRL, the deep part by Adam."""

    def __init__(self, loss, optimizers):
        super().__init__()
        self.loss = loss.set_train()
        self.optimizer_w, self.optimizer_d = optimizers
        self.weights = ParameterTuple(self.optimizer_w.parameters + self.optimizer_d.parameters)
        self.count = len(self.optimizer_w.parameters)
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)

    def construct(self, ids, weights, label):
        value = self.loss(ids, weights, label)
        sens = ops.Fill()(ops.DType()(value), ops.Shape()(value), 1.0)
        grads = self.grad(self.loss, self.weights)(ids, weights, label, sens)
        value = ops.depend(value, self.optimizer_w(grads[:self.count]))
        return ops.depend(value, self.optimizer_d(grads[self.count:]))


def batches(n, batch=8, fields=6, vocab=50):
    rng = np.random.default_rng(0)
    for _ in range(n):
        ids = rng.integers(0, vocab, (batch, fields))
        weights = np.ones((batch, fields))
        weights[:, 0] = rng.random(batch)
        label = (ids.sum(1, keepdims=True) > vocab * fields / 2).astype(np.float32)
        yield Tensor(ids.astype(np.int32)), Tensor(weights.astype(np.float32)), Tensor(label)


def build():
    network = DeepFM()
    wide = [p for p in network.trainable_params() if "FM" in p.name]
    deep = [p for p in network.trainable_params() if "FM" not in p.name]
    optimizers = [nn.FTRL(wide, learning_rate=5e-2, l1=1e-8, l2=1e-8, initial_accum=1.0),
                  nn.Adam(deep, learning_rate=1e-2, eps=1e-8)]
    return network, NetWithLoss(network), optimizers, batches


def make_step(network, loss, optimizers):
    return TrainStep(loss, optimizers)


def main():
    run(globals())


if __name__ == "__main__":
    main()
