import pijit as ms
from pijit import nn, ops
# A training loop in the module's body, with no function of its own.
ms.set_seed(3)
net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 1))
opt = nn.SGD(net.trainable_params(), 0.05)
grad = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, opt.parameters)
losses = []
for epoch in range(3):
    for k in range(40):
        x = ops.arange(12).reshape(3, 4).astype(ms.float32) * 0.1 + k * 0.01
        y = x.sum(1, keepdims=True)
        loss, grads = grad(x, y)
        opt(grads)
        losses.append(float(loss))
        if k % 20 == 0:
            print(epoch, k, float(loss).hex())
print(len(losses), losses[-1].hex(), x.shape, epoch, k)
