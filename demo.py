"""The main job: learn scikit-learn's handwritten digits twice, eagerly and with one decorator added.

Trains an MLP and a small convolutional network with the same code, checks that the loss curves are equal to
the last bit, and prints one table; writes demo.png. Run by `make demo`."""

import statistics
import time

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import pijit as ms
from pijit import nn, ops

BATCH, EPOCHS = 16, 12


class MLP(nn.Cell):
    """64 → 64 → 64 → 10."""

    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(nn.Flatten(), nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 64), nn.ReLU(),
                                        nn.Dense(64, 10))

    def construct(self, x):
        return self.layers(x)


class ConvNet(nn.Cell):
    """Two convolutions with batch normalisation, pooling and dropout."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16)
        self.pool, self.relu, self.flat, self.drop = nn.MaxPool2d(2, 2), nn.ReLU(), nn.Flatten(), nn.Dropout(p=0.25)
        self.fc1, self.fc2 = nn.Dense(16 * 2 * 2, 64), nn.Dense(64, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.pool(self.relu(self.bn2(self.conv2(x))))
        return self.fc2(self.drop(self.relu(self.fc1(self.flat(x)))))


def data():
    """Train and test digits: (images [N, 1, 8, 8] float32, labels [N] int32), a third held out."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    x = (digits.images[order, None] / 16.0 - 0.5).astype(np.float32)
    y = digits.target[order].astype(np.int32)
    cut = len(y) * 2 // 3
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def train(make_net, use_jit, train_set, test_set, name):
    """Losses, accuracy and times of one training run."""
    ms.set_seed(7)
    net = make_net()
    net.set_train()
    loss_fn = nn.CrossEntropyLoss()
    batches = len(train_set[1]) // BATCH
    optimizer = nn.Momentum(net.trainable_params(), nn.CosineDecayLR(0.0, 0.05, EPOCHS * batches), 0.9)

    def forward(x, y):
        logits = net(x)
        return loss_fn(logits, y), logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x, y):
        (loss, _), grads = grad_fn(x, y)
        optimizer(grads)
        return loss

    if use_jit:
        step = ms.jit(step, mode="PIJit")

    x, y = train_set
    order = np.random.RandomState(1)
    losses, times = [], []
    bar = tqdm(total=EPOCHS * batches, desc=f"{name:4} {'PIJit' if use_jit else 'eager'}", ncols=80)
    for _ in range(EPOCHS):
        perm = order.permutation(len(y))
        for b in range(batches):
            idx = perm[b * BATCH:(b + 1) * BATCH]
            xb, yb = ms.Tensor(x[idx]), ms.Tensor(y[idx])
            t = time.perf_counter()
            loss = step(xb, yb)
            losses.append(loss.asnumpy())
            times.append((time.perf_counter() - t) * 1e3)
            bar.update()
    bar.close()
    net.set_train(False)
    predicted = ops.argmax(net(ms.Tensor(test_set[0])), 1).asnumpy()
    explanation = ms.explain(step) if use_jit else None
    return {"losses": np.array(losses), "accuracy": float((predicted == test_set[1]).mean()), "first": times[0],
            "steady": statistics.median(times[20:]),
            "graphs": len(explanation.graphs) if use_jit else 0, "breaks": len(explanation.breaks) if use_jit else 0}


def plot(results):
    """demo.png: loss curves above, times below."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    fig, axes = plt.subplots(2, len(results), figsize=(5 * len(results), 7))
    for k, (name, (eager, jitted)) in enumerate(results.items()):
        axes[0, k].plot(eager["losses"], lw=3, alpha=0.4, label="eager")
        axes[0, k].plot(jitted["losses"], lw=0.8, label="PIJit")
        axes[0, k].set(title=f"{name}: loss", xlabel="step", yscale="log")
        axes[0, k].legend()
        axes[1, k].bar(["eager", "PIJit"], [eager["steady"], jitted["steady"]], color=["C0", "C1"])
        axes[1, k].set(title=f"{name}: {eager['steady'] / jitted['steady']:.1f}x faster", ylabel="ms per step")
    fig.tight_layout()
    fig.savefig("demo.png", dpi=110)


def main():
    train_set, test_set = data()
    results = {}
    for name, net in (("MLP", MLP), ("conv", ConvNet)):
        results[name] = train(net, False, train_set, test_set, name), train(net, True, train_set, test_set, name)
    print(f"\n{'':5} {'final loss':>12} {'same bits':>9} {'accuracy':>9} {'eager ms':>9} {'first ms':>9} "
          f"{'PIJit ms':>9} {'speed-up':>9} {'graphs':>7} {'breaks':>7}")
    for name, (e, j) in results.items():
        same = e["losses"].tobytes() == j["losses"].tobytes()
        print(f"{name:5} {j['losses'][-1]:12.6f} {'yes' if same else 'NO':>9} {j['accuracy']:9.2%} {e['steady']:9.3f} "
              f"{j['first']:9.1f} {j['steady']:9.3f} "
              f"{e['steady'] / j['steady']:8.1f}x {j['graphs']:7} {j['breaks']:7}")
        if not same:
            raise SystemExit(f"{name}: eager and PIJit losses differ")
    if results["conv"][1]["accuracy"] < 0.97:
        raise SystemExit("the convolutional network should reach 97 %")
    plot(results)
    print("demo.png: loss curves and times")


if __name__ == "__main__":
    main()
