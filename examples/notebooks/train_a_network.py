# %% [markdown]
# # Train a network
# Handwritten digits of scikit-learn, a small convolutional network, plain Python. `%load_ext pijit`, then
# `%%pijit` above a cell captures the
# functions that the cell defines, and shows below it what that brought.

# %%
# %load_ext pijit
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pijit as ms
from pijit import nn

digits = load_digits()
images = (digits.images[:, None] / 16).astype(np.float32)
train_x, test_x, train_y, test_y = train_test_split(
    images, digits.target.astype(np.int32), test_size=0.25, random_state=0)
train_x.shape, test_x.shape

# %% [markdown]
# A Cell shows itself as a tree, with the shapes of its parameters.

# %%
ms.set_seed(1)
net = nn.SequentialCell(
    nn.Conv2d(1, 16, 3, pad_mode="same"), nn.ReLU(), nn.MaxPool2d(2, 2),
    nn.Conv2d(16, 32, 3, pad_mode="same"), nn.ReLU(), nn.MaxPool2d(2, 2),
    nn.Flatten(), nn.Dense(128, 10))
net

# %% [markdown]
# The training step is a function like any other. Every now and then `%%pijit` lets one of its calls run plainly, so
# that both ways have times.

# %%
# %%pijit
optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
loss_fn = nn.CrossEntropyLoss()
gradients = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)


def step(x, y):
    loss, grads = gradients(x, y)
    optimizer(grads)
    return loss


def epoch(order, size=32):
    losses = []
    for k in range(0, len(order) - size + 1, size):
        batch = order[k:k + size]
        losses.append(float(step(ms.Tensor(train_x[batch]), ms.Tensor(train_y[batch]))))
    return np.mean(losses)


random = np.random.RandomState(0)
history = [epoch(random.permutation(len(train_x))) for _ in range(6)]
history

# %%
net.set_train(False)
found = net(ms.Tensor(test_x)).argmax(1).asnumpy()
print(f"{(found == test_y).mean():.1%} of the test images are read right")

# %% [markdown]
# Where does the time of one step go? `%pijit_profile` takes a call.

# %%
batch_x, batch_y = ms.Tensor(train_x[:32]), ms.Tensor(train_y[:32])
# %pijit_profile step(batch_x, batch_y)
