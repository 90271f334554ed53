"""A folder of images, made here, through ImageFolderDataset and vision operations: python -m pijit --as mindspore
image_folder.py"""

import os
import tempfile
import numpy as np
from PIL import Image
import mindspore.nn as nn
import mindspore.dataset as ds
import mindspore.dataset.vision.c_transforms as C
import mindspore.dataset.transforms.c_transforms as C2
from mindspore.dataset.vision import Inter
import mindspore.common.dtype as mstype

ds.config.set_seed(1)
root = tempfile.mkdtemp()
rng = np.random.RandomState(0)
for split, count in (("train", 40), ("val", 12)):
    for c, name in enumerate(["circle", "square", "stripes"]):
        os.makedirs(os.path.join(root, split, name))
        for i in range(count):
            yy, xx = np.mgrid[0:72, 0:80]
            img = rng.randint(0, 60, (72, 80, 3))
            if c == 0:
                img[(yy - 36) ** 2 + (xx - 40) ** 2 < 400] += 150
            elif c == 1:
                img[16:56, 20:60] += 150
            else:
                img[(yy // 6) % 2 == 0] += 150
            Image.fromarray(img.astype(np.uint8)).save(os.path.join(root, split, name, f"{i:03d}.jpg"))

def create_dataset(path, do_train, batch_size=16, image_size=32):
    mean = [0.485 * 255, 0.456 * 255, 0.406 * 255]
    std = [0.229 * 255, 0.224 * 255, 0.225 * 255]
    data_set = ds.ImageFolderDataset(path, num_parallel_workers=2, shuffle=do_train)
    if do_train:
        trans = [C.RandomCropDecodeResize(image_size, scale=(0.5, 1.0), ratio=(0.75, 1.333)),
                 C.RandomHorizontalFlip(prob=0.5),
                 C.RandomColorAdjust(0.2, 0.2, 0.2)]
    else:
        trans = [C.Decode(), C.Resize(40, interpolation=Inter.LINEAR), C.CenterCrop(image_size)]
    trans += [C.Normalize(mean=mean, std=std), C.HWC2CHW()]
    data_set = data_set.map(operations=trans, input_columns="image", num_parallel_workers=2)
    data_set = data_set.map(operations=C2.TypeCast(mstype.int32), input_columns="label", num_parallel_workers=2)
    data_set = data_set.batch(batch_size, drop_remainder=do_train)
    return data_set

train = create_dataset(os.path.join(root, "train"), True)
val = create_dataset(os.path.join(root, "val"), False)
print("classes", ds.ImageFolderDataset(os.path.join(root, "train")).get_class_indexing(), train.num_classes())
print("steps", train.get_dataset_size(), "batch", train.get_batch_size(), val.get_dataset_size())
for image, label in val:
    print(image.shape, image.dtype, label.dtype, round(float(image.mean().asnumpy()), 2))
    break

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, pad_mode="pad", padding=1)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(16 * 8 * 8, 3)

    def construct(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.conv2(x))
        return self.fc(self.flatten(x))

net = Net()
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
opt = nn.Momentum(net.trainable_params(), 0.01, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), opt)
step.set_train()
it = train.create_dict_iterator(num_epochs=8)
for epoch in range(8):
    losses = [float(step(d["image"], d["label"]).asnumpy()) for d in it]
    print("epoch", epoch, len(losses), round(sum(losses) / len(losses), 3))
net.set_train(False)
right = sum(int((net(d["image"]).argmax(1) == d["label"]).sum().asnumpy())
            for d in val.create_dict_iterator(num_epochs=1))
print("accuracy", round(right / 36, 2))
