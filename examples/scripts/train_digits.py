"""A network that reads scikit-learn's handwritten digits, its training step captured; then where a step's time goes."""

import numpy as np
from sklearn.datasets import load_digits

import pijit as ms
from pijit import nn

digits = load_digits()
images, labels = (digits.data / 16).astype(np.float32), digits.target.astype(np.int32)
order = np.random.RandomState(0).permutation(len(images))
train, test = order[:1400], order[1400:]

ms.set_seed(0)
net = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 10))
optimizer = nn.Adam(net.trainable_params(), 2e-3)
loss_fn = nn.CrossEntropyLoss()
gradients = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)


@ms.jit
def step(x, y):
    loss, grads = gradients(x, y)
    optimizer(grads)
    return loss


for epoch in range(8):
    losses = [float(step(ms.Tensor(images[b]), ms.Tensor(labels[b]))) for b in np.array_split(train, 28)]
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}")
right = (net(ms.Tensor(images[test])).argmax(1).asnumpy() == labels[test]).mean()
print(f"{right:.1%} of the test images are read right")
assert right > 0.93

print(ms.profile(step, ms.Tensor(images[:50]), ms.Tensor(labels[:50]), seconds=0.5))
