"""MobileNetV3: inverted residuals with depthwise convolutions, squeeze and excitation, hard-swish."""

from training import images, run

from mindspore import nn, ops


def make_divisible(value, divisor=4, minimum=None):
    if minimum is None:
        minimum = divisor
    new = max(minimum, int(value + divisor / 2) // divisor * divisor)
    return new + divisor if new < 0.9 * value else new


class Activation(nn.Cell):
    def __init__(self, kind):
        super().__init__()
        if kind == "relu":
            self.act = nn.ReLU()
        elif kind == "hswish":
            self.act = nn.HSwish()
        elif kind == "hsigmoid":
            self.act = nn.HSigmoid()
        else:
            raise NotImplementedError(kind)

    def construct(self, x):
        return self.act(x)


class GlobalAvgPooling(nn.Cell):
    def __init__(self, keep_dims=False):
        super().__init__()
        self.keep_dims = keep_dims

    def construct(self, x):
        return ops.mean(x, (2, 3), self.keep_dims)


class SE(nn.Cell):
    def __init__(self, channels, ratio=4):
        super().__init__()
        hidden = make_divisible(channels // ratio)
        self.pool = GlobalAvgPooling(keep_dims=True)
        self.conv_reduce = nn.Conv2d(channels, hidden, 1, has_bias=True)
        self.act1 = nn.get_activation("relu")
        self.conv_expand = nn.Conv2d(hidden, channels, 1, has_bias=True)
        self.act2 = Activation("hsigmoid")
        self.mul = ops.Mul()

    def construct(self, x):
        out = self.act1(self.conv_reduce(self.pool(x)))
        out = self.act2(self.conv_expand(out))
        return self.mul(x, out)


class Unit(nn.Cell):
    def __init__(self, inputs, outputs, kernel=1, stride=1, groups=1, act_type="relu", use_act=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, pad_mode="pad", padding=(kernel - 1) // 2, group=groups)
        self.bn = nn.BatchNorm2d(outputs)
        self.use_act = use_act
        self.act = Activation(act_type) if use_act else None

    def construct(self, x):
        out = self.bn(self.conv(x))
        if self.use_act:
            out = self.act(out)
        return out


class Bottleneck(nn.Cell):
    def __init__(self, inputs, expanded, outputs, kernel, stride, se, act_type):
        super().__init__()
        self.conv1 = Unit(inputs, expanded, act_type=act_type)
        self.conv2 = Unit(expanded, expanded, kernel, stride, groups=expanded, act_type=act_type)
        self.use_se = se
        if self.use_se:
            self.se = SE(expanded)
        self.conv3 = Unit(expanded, outputs, use_act=False)
        self.shortcut = inputs == outputs and stride == 1

    def construct(self, x):
        out = self.conv2(self.conv1(x))
        if self.use_se:
            out = self.se(out)
        out = self.conv3(out)
        if self.shortcut:
            out = ops.add(out, x)
        return out


class MobileNetV3(nn.Cell):
    def __init__(self, settings, classes=10):
        super().__init__()
        self.conv_stem = Unit(3, 8, 3, 2, act_type="hswish")
        blocks, inputs = [], 8
        for kernel, expanded, outputs, se, act, stride in settings:
            blocks.append(Bottleneck(inputs, expanded, outputs, kernel, stride, se, act))
            inputs = outputs
        self.bneck = nn.CellList(blocks)
        self.head = nn.SequentialCell(Unit(inputs, 32, act_type="hswish"), GlobalAvgPooling(), nn.Dense(32, 32),
                                      Activation("hswish"),
                                      nn.Dropout(p=0.2), nn.Dense(32, classes))

    def construct(self, x):
        x = self.conv_stem(x)
        for block in self.bneck:
            x = block(x)
        return self.head(x)


def build():
    network = MobileNetV3([
        # kernel, expanded, outputs, squeeze and excitation, activation, stride
        (3, 8, 8, True, "relu", 2),
        (3, 24, 12, False, "relu", 2),
        (3, 32, 12, False, "relu", 1),
        (5, 32, 16, True, "hswish", 2),
        (5, 48, 16, True, "hswish", 1),
    ])
    criterion = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def loss(image, label):
        return criterion(network(image), label)

    optimizer = nn.RMSProp(network.trainable_params(), learning_rate=0.002, decay=0.9, momentum=0.9, epsilon=0.001)
    return network, loss, optimizer, images(32, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
