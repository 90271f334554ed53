"""Regression: a training step of one's own with clipped gradients, a decaying rate, weight decay by groups, early
stopping, and a second run that goes on from the parameters.

    python -m pijit --as mindspore examples/training/regression.py [--mode graph]
"""

import argparse

import numpy as np

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.train import MAE, MSE, Callback, EarlyStopping, LossMonitor, Model, ReduceLROnPlateau


class ClippedStep(nn.TrainOneStepCell):
    """A step on gradients whose common norm is at most `clip`."""

    def __init__(self, network, optimizer, clip=0.5, sens=1.0):
        super().__init__(network, optimizer, sens)
        self.clip = clip

    def construct(self, *inputs):
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.grad_reducer(ops.clip_by_global_norm(grads, self.clip))
        return ops.depend(loss, self.optimizer(grads))


def mlp():
    return nn.SequentialCell([nn.Dense(6, 32), nn.Tanh(), nn.Dense(32, 16), nn.ReLU(), nn.Dense(16, 1)])


class Report(Callback):
    def on_train_epoch_end(self, run_context):
        p = run_context.original_args()
        print(f"epoch {p.cur_epoch_num} loss {float(p.net_outputs.asnumpy()):.4f}",
              {k: f"{p.eval_results[k]:.4f}" for k in ("mae", "mse")})


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    rng = np.random.RandomState(1)
    x = rng.randn(256, 6).astype(np.float32)
    y = (np.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3] + 0.05 * rng.randn(256, 1)).astype(np.float32)

    def batches(part):
        return ds.NumpySlicesDataset((x[part], y[part]), ["x", "y"], shuffle=False).batch(16)
    net = mlp()
    for p in net.trainable_params():
        p.set_data(ms.Tensor((rng.randn(*p.shape) * 0.3).astype(np.float32)))
    weights = [p for p in net.trainable_params() if p.name.endswith("weight")]
    biases = [p for p in net.trainable_params() if p.name.endswith("bias")]
    optimizer = nn.Adam([{"params": weights, "weight_decay": 0.001}, {"params": biases, "weight_decay": 0.0}],
                        nn.ExponentialDecayLR(0.01, 0.9, 16))
    loss = nn.MSELoss()
    model = Model(ClippedStep(nn.WithLossCell(net, loss), optimizer), eval_network=nn.WithEvalCell(net, loss),
                  eval_indexes=[0, 1, 2],
                  metrics={"mae": MAE(), "mse": MSE()})
    stop = EarlyStopping("mae", patience=2, verbose=True, mode="min", min_delta=0.01)
    model.fit(30, batches(slice(0, 192)), batches(slice(192, 256)), callbacks=[Report(), stop])

    again = mlp()
    ms.load_param_into_net(again, net.parameters_dict())
    model = Model(again, loss, nn.SGD(again.trainable_params(), 0.02, momentum=0.9, nesterov=True),
                  metrics={"mse": MSE()})
    model.fit(3, batches(slice(0, 192)), batches(slice(192, 256)),
              callbacks=[LossMonitor(12), ReduceLROnPlateau("mse", patience=1, factor=0.5, verbose=True)])


if __name__ == "__main__":
    main()
