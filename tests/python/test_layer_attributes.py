"""Attributes of layers that subclasses use: an operator that is replaced by another is the one that construct calls,
eagerly and as one graph; the Parameters have MindSpore's names and shapes."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check

R = np.random.RandomState(0)


def floats(*shape):
    return Tensor(R.randn(*shape).astype(np.float32))


X1, X2, X3 = floats(2, 4, 8), floats(2, 4, 6, 6), floats(1, 4, 4, 4, 4)
ROWS, ONES, LABELS = floats(3, 4), Tensor(np.sign(R.randn(3, 4)).astype(np.float32)), Tensor([1, 0, 3], ms.int32)

# layer: (attributes, the layer, its inputs)
LAYERS = {
    "Conv1d": ("conv2d bias_add expand_dims squeeze", lambda: nn.Conv1d(4, 3, 3, has_bias=True, bias_init="ones"), X1),
    "Conv2d": ("conv2d bias_add", lambda: nn.Conv2d(4, 3, 3, has_bias=True, bias_init="ones"), X2),
    "Conv3d": ("conv3d bias_add", lambda: nn.Conv3d(4, 3, 3, has_bias=True, bias_init="ones"), X3),
    "Conv2dTranspose": (
        "conv2d_transpose bias_add",
        lambda: nn.Conv2dTranspose(4, 3, 3, stride=2, has_bias=True, bias_init="ones"),
        X2,
    ),
    "Conv2dTranspose, valid": ("conv2d_transpose", lambda: nn.Conv2dTranspose(4, 3, 2, stride=3, pad_mode="valid"), X2),
    "Conv2dTranspose, pad": (
        "conv2d_transpose",
        lambda: nn.Conv2dTranspose(4, 3, 3, stride=2, pad_mode="pad", padding=1),
        X2,
    ),
    "Conv1dTranspose": (
        "conv2d_transpose bias_add expand_dims squeeze",
        lambda: nn.Conv1dTranspose(4, 3, 3, has_bias=True, bias_init="ones"),
        X1,
    ),
    "Conv3dTranspose": (
        "conv3d_transpose bias_add",
        lambda: nn.Conv3dTranspose(4, 3, 3, has_bias=True, bias_init="ones"),
        X3,
    ),
    "Dense": ("matmul bias_add activation", lambda: nn.Dense(4, 3, bias_init="ones", activation="relu"), ROWS),
    "BiDense": ("matmul bias_add", lambda: nn.BiDense(4, 4, 3, bias_init="ones"), ROWS, ROWS),
    "Embedding": ("gather", lambda: nn.Embedding(5, 3), LABELS),
    "EmbeddingLookup": ("gatherv2", lambda: nn.EmbeddingLookup(5, 3), LABELS),
    "LayerNorm": ("layer_norm", lambda: nn.LayerNorm((4,)), ROWS),
    "BatchNorm1d": ("bn_train", lambda: nn.BatchNorm1d(4).set_train(), ROWS),
    "BatchNorm2d": ("bn_train", lambda: nn.BatchNorm2d(4).set_train(), X2),
    "BatchNorm2d, not training": ("bn_infer", lambda: nn.BatchNorm2d(4).set_train(False), X2),
    "BatchNorm3d": ("bn2d", lambda: nn.BatchNorm3d(4).set_train(), X3),
    "LRN": ("lrn_op", lambda: nn.LRN(), X2),
    "MaxPool1d": ("max_pool", lambda: nn.MaxPool1d(2, 2), X1),
    "MaxPool2d": ("max_pool", lambda: nn.MaxPool2d(2, 2), X2),
    "MaxPool3d": ("max_pool", lambda: nn.MaxPool3d(2, 2), X3),
    "AvgPool1d": ("avg_pool", lambda: nn.AvgPool1d(2, 2), X1),
    "AvgPool2d": ("avg_pool", lambda: nn.AvgPool2d(2, 2, "same"), X2),
    "AvgPool3d": ("avg_pool", lambda: nn.AvgPool3d(2, 2), X3),
    "AdaptiveAvgPool2d": ("adaptive_avgpool2d", lambda: nn.AdaptiveAvgPool2d((2, 3)), X2),
    "AdaptiveAvgPool3d": ("adaptive_avg_pool3d", lambda: nn.AdaptiveAvgPool3d((2, 2, 2)), X3),
    "AdaptiveMaxPool3d": ("adaptive_max_pool3d", lambda: nn.AdaptiveMaxPool3d((2, 2, 2)), X3),
    "Unfold": ("extract_image_patches", lambda: nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1]), X2),
    "Pad": ("pad", lambda: nn.Pad(((1, 0), (0, 2))), ROWS),
    "OneHot": ("onehot", lambda: nn.OneHot(depth=4), LABELS),
    "Norm": ("reduce_sum sqrt", lambda: nn.Norm(1), ROWS),
    "L1Regularizer": ("abs reduce_sum", lambda: nn.L1Regularizer(0.5), ROWS),
    "ReduceLogSumExp": ("exp sum log", lambda: nn.ReduceLogSumExp(1), ROWS),
    "TimeDistributed": ("layer", lambda: nn.TimeDistributed(nn.Dense(8, 3), 1), X1),
    **{
        n: (n.lower(), lambda n=n: getattr(nn, n)(), ROWS)
        for n in "ReLU ReLU6 Sigmoid Tanh SeLU Mish Softsign HSigmoid HSwish ELU CELU HShrink SoftShrink "
                 "Softmax".split()
    },
    "LogSoftmax": ("log_softmax", lambda: nn.LogSoftmax(), ROWS),
    "FastGelu": ("fast_gelu", lambda: nn.FastGelu(), ROWS),
    "PReLU": ("prelu", lambda: nn.PReLU(), ROWS),
    "GLU": ("sigmoid", lambda: nn.GLU(), ROWS),
    "Softmax2d": ("softmax", lambda: nn.Softmax2d(), X2),
    "LSTM": ("dropout_op", lambda: nn.LSTM(8, 3, 2, dropout=0.5).set_train(False), X1),
    "MAELoss": ("abs reduce_mean mul", lambda: nn.MAELoss(), ROWS, ONES),
    "MAELoss, sum": ("reduce_sum", lambda: nn.MAELoss("sum"), ROWS, ONES),
    "RMSELoss": ("MSELoss", lambda: nn.RMSELoss(), ROWS, ONES),
    "SmoothL1Loss": ("smooth_l1_loss", lambda: nn.SmoothL1Loss(), ROWS, ONES),
    "SoftmaxCrossEntropyWithLogits": (
        "softmax_cross_entropy",
        lambda: nn.SoftmaxCrossEntropyWithLogits(),
        ROWS,
        ops.softmax(ROWS),
    ),
    "SoftmaxCrossEntropyWithLogits, sparse": (
        "sparse_softmax_cross_entropy",
        lambda: nn.SoftmaxCrossEntropyWithLogits(True, "mean"),
        ROWS,
        LABELS,
    ),
    "MultiMarginLoss": ("multi_margin_loss", lambda: nn.MultiMarginLoss(), ROWS, Tensor([1, 0, 3])),
    "MultilabelMarginLoss": (
        "multilabel_margin_loss",
        lambda: nn.MultilabelMarginLoss(),
        ROWS,
        Tensor([[1, 2, -1, 0]] * 3, ms.int32),
    ),
    "MultiClassDiceLoss": ("binarydiceloss activation", lambda: nn.MultiClassDiceLoss(), ROWS, ops.softmax(-ROWS)),
    "FocalLoss": ("logsoftmax", lambda: nn.FocalLoss(), ROWS, ops.reshape(LABELS, (3, 1))),
    "TripletMarginWithDistanceLoss": ("maximum", lambda: nn.TripletMarginWithDistanceLoss(), ROWS, ONES, ONES + 0.5),
    "Conv2dBnAct": ("conv activation", lambda: nn.Conv2dBnAct(4, 3, 3, activation="sigmoid"), X2),
    "DenseBnAct": ("dense activation", lambda: nn.DenseBnAct(4, 3, activation="sigmoid"), ROWS),
}
CASES = [(name, attribute) for name, (attributes, *_) in LAYERS.items() for attribute in attributes.split()]


class Tripled(nn.Cell):
    """What another operator gives, three times; of several results the first."""

    def __init__(self, operator):
        super().__init__(auto_prefix=False)
        self.operator = operator

    def construct(self, *args):
        y = self.operator(*args)
        return (y[0] * 3, *y[1:]) if isinstance(y, tuple) else y * 3


class Shifted(Tripled):
    def construct(self, *args):
        return self.operator(*args) + 2


def outputs(y):
    return [v.asnumpy() for v in (y if isinstance(y, tuple) else (y,)) if isinstance(v, Tensor)]


def known(cell):
    """The layer with Parameters that don't depend on what was drawn before."""
    for k, p in enumerate(cell.get_parameters()):
        if p.name.rpartition(".")[2] not in ("moving_variance", "variance"):
            p.set_data(Tensor(np.random.RandomState(k).rand(*p.shape).astype(np.float32) + 0.1))
    return cell


@pytest.mark.parametrize("name,attribute", CASES)
def test_a_replaced_operator_is_used(name, attribute):
    _, make, *inputs = LAYERS[name]

    def replaced():
        layer = known(make())
        operator = getattr(layer, attribute)
        setattr(
            layer,
            attribute,
            (Shifted if attribute in ("conv", "dense", "squeeze", "expand_dims") else Tripled)(operator),
        )
        return layer

    own, new = outputs(known(make())(*inputs)), outputs(replaced()(*inputs))
    assert [a.shape for a in own] == [a.shape for a in new] and not all(np.allclose(a, b) for a, b in zip(own, new))
    check(replaced, *inputs, breaks=0, graphs=1)


@pytest.mark.parametrize("name,attribute", CASES)
def test_the_same_operator_in_a_cell_of_its_own_changes_nothing(name, attribute):
    """construct by the layer's operators gives what it gives at once."""
    _, make, *inputs = LAYERS[name]

    class Same(Tripled):
        def construct(self, *args):
            return self.operator(*args)

    layer = known(make())
    own = outputs(known(make())(*inputs))
    setattr(layer, attribute, Same(getattr(layer, attribute)))
    for a, b in zip(own, outputs(layer(*inputs))):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_subclasses_with_operators_of_their_own():
    class Standardised(nn.Conv2d):
        """Weight standardisation, as programs write it: by the layer's own operators."""

        def construct(self, x):
            w = self.weight - self.weight.mean((1, 2, 3), True)
            y = self.conv2d(x, w / (ops.sqrt(ops.mean(w * w, (1, 2, 3), True)) + 1e-5))
            return self.bias_add(y, self.bias) if self.has_bias else y

    class Half(nn.Dense):
        def construct(self, x):
            return self.bias_add(self.matmul(x.half(), self.weight.half()), self.bias.half()).float()

    class Frozen(nn.BatchNorm2d):
        def construct(self, x):
            return self.bn_infer(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)[0]

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv, self.norm, self.pool, self.dense = (
                Standardised(4, 3, 3, has_bias=True),
                Frozen(3),
                nn.MaxPool2d(2, 2),
                Half(27, 2),
            )
            known(self)

        def construct(self, x):
            return self.dense(self.pool.max_pool(self.norm(self.conv(x))).reshape(x.shape[0], -1))

    def step():
        net = Net()
        return ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())

    check(step, X2, breaks=0, graphs=1)


def test_parameters_have_mindspores_names_and_shapes():
    net = nn.SequentialCell(
        nn.BatchNorm3d(4), nn.InstanceNorm2d(3), nn.Conv1d(3, 4, 3), nn.GRU(3, 4), nn.BatchNorm2d(3)
    )
    assert [(p.name, p.shape, p.requires_grad) for p in net.get_parameters()] == [
        ("0.bn2d.moving_mean", (4,), False),
        ("0.bn2d.moving_variance", (4,), False),
        ("0.bn2d.gamma", (4,), True),
        ("0.bn2d.beta", (4,), True),
        ("1.moving_mean", (3,), False),
        ("1.moving_variance", (3,), False),
        ("1.gamma", (3,), True),
        ("1.beta", (3,), True),
        ("2.weight", (4, 3, 1, 3), True),
        ("3.weight_ih_l0", (12, 3), True),
        ("3.weight_hh_l0", (12, 4), True),
        ("3.bias_ih_l0", (12,), True),
        ("3.bias_hh_l0", (12,), True),
        ("4.moving_mean", (3,), False),
        ("4.moving_variance", (3,), False),
        ("4.gamma", (3,), True),
        ("4.beta", (3,), True),
    ]
    gru = nn.GRU(3, 4)
    assert gru.weight_ih_l0 is gru.w_ih_list[0] and gru.bias_hh_l0 is gru.b_hh_list[0]
    cell = nn.LSTMCell(3, 4)
    before = cell.weight_ih.asnumpy().copy()
    cell.reset_parameters()
    assert (cell.weight_ih.asnumpy() != before).any() and np.abs(cell.weight_ih.asnumpy()).max() <= 0.5
