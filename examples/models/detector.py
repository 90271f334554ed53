"""A detector head in the manner of YOLO: boxes of anchors on a grid, a loss with IoU; non-maximum suppression in
NumPy."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Tensor, nn, ops

GRID, SIZE, CLASSES = 4, 32, 3
ANCHORS = np.array([[0.15, 0.15], [0.35, 0.35]], np.float32)


def conv_block(inputs, outputs, stride=2):
    return nn.SequentialCell([nn.Conv2d(inputs, outputs, 3, stride, pad_mode="same"), nn.BatchNorm2d(outputs),
                              nn.LeakyReLU(0.1)])


class DetectionBlock(nn.Cell):
    """Raw outputs of shape (N, G, G, A, 5 + classes), and boxes as centre and size."""

    def __init__(self, inputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, len(ANCHORS) * (5 + CLASSES), 1, has_bias=True)
        self.anchors = Tensor(ANCHORS)
        x, y = np.meshgrid(np.arange(GRID), np.arange(GRID))
        self.grid = Tensor(np.stack([x, y], -1).reshape(1, GRID, GRID, 1, 2).astype(np.float32))

    def construct(self, x):
        n = x.shape[0]
        p = self.conv(x).reshape(n, len(ANCHORS), 5 + CLASSES, GRID, GRID).transpose(0, 3, 4, 1, 2)
        xy = (ops.sigmoid(p[..., :2]) + self.grid) / GRID
        wh = ops.exp(ops.clip_by_value(p[..., 2:4], -4.0, 4.0)) * self.anchors
        return p, ops.concat((xy, wh), -1)


class Detector(nn.Cell):
    def __init__(self):
        super().__init__()
        self.backbone = nn.SequentialCell(conv_block(3, 8), conv_block(8, 16), conv_block(16, 24))
        self.head = DetectionBlock(24)

    def construct(self, x):
        return self.head(self.backbone(x))


def iou(a, b):
    low = ops.maximum(a[..., :2] - a[..., 2:] / 2, b[..., :2] - b[..., 2:] / 2)
    high = ops.minimum(a[..., :2] + a[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2)
    size = ops.relu(high - low)
    both = size[..., 0] * size[..., 1]
    return both / (a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - both + 1e-9)


class YoloLoss(nn.Cell):
    def __init__(self, ignore=0.5):
        super().__init__()
        self.ignore = ignore
        self.bce = ops.SigmoidCrossEntropyWithLogits()

    def construct(self, outputs, target, boxes):
        p, predicted = outputs
        has = target[..., 4]
        n = predicted.shape[0]
        best = iou(predicted.reshape(n, -1, 1, 4), boxes.expand_dims(1)).max(axis=-1).reshape(has.shape)
        noobj = (1 - has) * (best < self.ignore).astype(ms.float32)
        overlap = ops.stop_gradient(iou(predicted, target[..., :4]))
        box = (has * (2 - overlap) * ops.abs(predicted - target[..., :4]).sum(-1)).sum()
        confidence = ((has + noobj) * self.bce(p[..., 4], has)).sum()
        kind = (has.expand_dims(-1) * self.bce(p[..., 5:], target[..., 5:])).sum()
        return (5 * box + confidence + kind) / n


def batches(n, batch=2, objects=2):
    """Squares of three colours."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        image = rng.standard_normal((batch, 3, SIZE, SIZE)) * 0.1
        target = np.zeros((batch, GRID, GRID, len(ANCHORS), 5 + CLASSES), np.float32)
        boxes = np.zeros((batch, objects, 4), np.float32)
        for b in range(batch):
            for o in range(objects):
                kind, size = rng.integers(CLASSES), rng.uniform(0.1, 0.4)
                x, y = rng.uniform(0.2, 0.8, 2)
                low, high = [np.clip(np.array([y, x]) * SIZE + s * size * SIZE / 2, 0, SIZE).astype(int)
                             for s in (-1, 1)]
                image[b, kind, low[0]:high[0], low[1]:high[1]] += 1
                boxes[b, o] = x, y, size, size
                cell = target[b, int(y * GRID), int(x * GRID), int(size > 0.25)]
                cell[:] = 0
                cell[:5] = x, y, size, size, 1
                cell[5 + kind] = 1
        yield Tensor(image.astype(np.float32)), Tensor(target), Tensor(boxes)


def non_maximum_suppression(boxes, scores, threshold=0.5):
    """The numbers of the boxes kept, best first."""
    low, high = boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2
    area = boxes[:, 2] * boxes[:, 3]
    order, kept = scores.argsort()[::-1], []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(int(best))
        size = np.maximum(np.minimum(high[best], high[order]) - np.maximum(low[best], low[order]), 0)
        both = size[:, 0] * size[:, 1]
        order = order[both / (area[best] + area[order] - both) < threshold]
    return kept


def detect(network, image, threshold=0.3):
    """For each image a list of (class, score, box)."""
    network.set_train(False)
    p, boxes = network(image)
    scores = (ops.sigmoid(p[..., 4:5]) * ops.sigmoid(p[..., 5:])).asnumpy().reshape(image.shape[0], -1, CLASSES)
    boxes = boxes.asnumpy().reshape(image.shape[0], -1, 4)
    found = []
    for s, b in zip(scores, boxes):
        best = s.max(1)
        some = np.nonzero(best > threshold)[0]
        found.append([(int(s[i].argmax()), float(best[i]), b[i].tolist())
                      for i in some[non_maximum_suppression(b[some], best[some])]])
    return found


def build():
    network = Detector()
    criterion = YoloLoss()

    def loss(image, target, boxes):
        return criterion(network(image), target, boxes)

    optimizer = nn.Momentum(network.trainable_params(), learning_rate=nn.CosineDecayLR(1e-4, 0.01, 50), momentum=0.9,
                            weight_decay=5e-4)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
