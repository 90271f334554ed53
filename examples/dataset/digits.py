"""Handwritten digits (scikit-learn's) through NumpySlicesDataset: python -m pijit --as mindspore digits.py"""

import numpy as np
import mindspore as ms
from mindspore import nn
import mindspore.dataset as ds
from mindspore.dataset import transforms, vision
from mindspore.dataset import NumpySlicesDataset
from sklearn.datasets import load_digits

ms.set_seed(42)
ds.config.set_seed(42)

def create_dataset(x, y, batch_size, training=True):
    dataset = NumpySlicesDataset({"image": x, "label": y}, shuffle=training)
    trans = [vision.Rescale(1.0 / 16.0, 0.0), vision.Normalize(mean=(0.5,), std=(0.5,)), vision.HWC2CHW()]
    dataset = dataset.map(operations=trans, input_columns=["image"], num_parallel_workers=2)
    dataset = dataset.map(operations=transforms.TypeCast(ms.int32), input_columns="label")
    dataset = dataset.batch(batch_size, drop_remainder=training)
    return dataset

data = load_digits()
images = data.images.astype(np.float32)[..., None]
labels = data.target
n = 1400
train = create_dataset(images[:n], labels[:n], 32)
test = create_dataset(images[n:], labels[n:], 64, training=False)
print(train.get_dataset_size(), test.get_dataset_size(), train.get_col_names(), train.output_shapes(),
      train.output_types())

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.seq = nn.SequentialCell(nn.Conv2d(1, 16, 3, pad_mode="same"), nn.ReLU(), nn.Flatten(),
                                     nn.Dense(16 * 64, 64), nn.ReLU(), nn.Dense(64, 10))

    def construct(self, x):
        return self.seq(x)

model = Net()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Adam(model.trainable_params(), 1e-2)

def forward_fn(data, label):
    logits = model(data)
    loss = loss_fn(logits, label)
    return loss, logits

grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    optimizer(grads)
    return loss

def train_loop(model, dataset):
    size = dataset.get_dataset_size()
    model.set_train()
    for batch, (data, label) in enumerate(dataset.create_tuple_iterator()):
        loss = train_step(data, label)
        if batch % 20 == 0:
            loss, current = loss.asnumpy(), batch
            print(f"loss: {loss:>7f}  [{current:>3d}/{size:>3d}]")

def test_loop(model, dataset, loss_fn):
    num_batches = dataset.get_dataset_size()
    model.set_train(False)
    total, test_loss, correct = 0, 0, 0
    for data, label in dataset.create_tuple_iterator():
        pred = model(data)
        total += len(data)
        test_loss += loss_fn(pred, label).asnumpy()
        correct += (pred.argmax(1) == label).asnumpy().sum()
    print(f"Test: Accuracy: {(100 * correct / total):>0.1f}%, Avg loss: {test_loss / num_batches:>8f}")

for t in range(3):
    print(f"Epoch {t + 1}")
    train_loop(model, train)
    test_loop(model, test, loss_fn)
for data in test.create_dict_iterator(num_epochs=1):
    predicted = model(data["image"]).argmax(1)
    print(f'Predicted: "{predicted[:6]}", Actual: "{data["label"][:6]}"')
    break
