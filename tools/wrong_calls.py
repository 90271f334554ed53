"""Wrong calls of layers, losses, optimizers, schedules and others, for tests/python/facts.py to answer.

    python tools/wrong_calls.py > calls; <Python with MindSpore 2.10.0> tests/python/facts.py
    tests/python/facts_wrong_calls.json < calls

Of each right call below, arguments and inputs are exchanged for others, one is missing, or one is too many. What
MindSpore takes all the same is no fact that the test reads."""

import ast

PARAMS = "nn.Dense(2, 2).trainable_params()"
# how it is made: what it is called with, if it is called
RIGHT = {
    "nn.Dense(3, 4)": "M",
    "nn.Conv2d(4, 2, 3)": "X4",
    "nn.Conv1d(3, 2, 3)": "X3",
    "nn.Conv3d(2, 2, 2)": "X5.reshape(1, 2, 3, 4, 5)",
    "nn.Conv2dTranspose(4, 2, 3)": "X4",
    "nn.BatchNorm2d(4)": "X4",
    "nn.BatchNorm1d(4)": "A",
    "nn.LayerNorm((4,))": "A",
    "nn.GroupNorm(2, 4)": "X4",
    "nn.Embedding(9, 4)": "J",
    "nn.Dropout(p=0.5)": "A",
    "nn.MaxPool2d(2, 2)": "X4",
    "nn.AvgPool2d(2, 2)": "X4",
    "nn.MaxPool1d(2, 2)": "X3",
    "nn.AvgPool1d(2, 2)": "X3",
    "nn.ReLU()": "A",
    "nn.LeakyReLU(0.1)": "A",
    "nn.ELU(1.0)": "A",
    "nn.Softmax(-1)": "A",
    "nn.LogSoftmax(-1)": "A",
    "nn.GELU(True)": "A",
    "nn.PReLU(1)": "A",
    "nn.Hardtanh(-1.0, 1.0)": "A",
    "nn.Flatten()": "X4",
    "nn.Pad(((1, 1), (1, 1)))": "A",
    "nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])": "X4",
    "nn.OneHot(-1, 5)": "J",
    "nn.PixelShuffle(2)": "X4",
    "nn.LSTM(6, 4)": "X3",
    "nn.GRU(6, 4)": "X3",
    "nn.RNN(6, 4)": "X3",
    "nn.LSTMCell(4, 3)": "A, (M, M)",
    "nn.GRUCell(4, 3)": "A, M",
    "nn.RNNCell(4, 3)": "A, M",
    "nn.MultiheadAttention(6, 2)": "X3, X3, X3",
    "nn.TransformerEncoderLayer(6, 2, 8)": "X3",
    "nn.MSELoss()": "A, B",
    "nn.L1Loss()": "A, B",
    "nn.SmoothL1Loss(1.0)": "A, B",
    "nn.CrossEntropyLoss()": "M, J",
    "nn.NLLLoss()": "M, J",
    "nn.BCELoss()": "P, Q",
    "nn.BCEWithLogitsLoss()": "A, Q",
    "nn.SoftmaxCrossEntropyWithLogits()": "A, Q",
    "nn.CosineEmbeddingLoss()": "A, B, J",
    "nn.KLDivLoss()": "A, P",
    "nn.HuberLoss()": "A, B",
    "nn.TripletMarginLoss()": "A, B, P",
    "nn.MarginRankingLoss()": "V, V, V",
    "nn.SequentialCell(nn.ReLU(), nn.Tanh())": "A",
    "nn.CellList([nn.ReLU()])": None,
    "nn.CellDict({'a': nn.ReLU()})": None,
    "nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1)": None,
    "nn.cosine_decay_lr(0.01, 0.1, 6, 2, 2)": None,
    "nn.piecewise_constant_lr([2, 5], [0.1, 0.05])": None,
    "nn.warmup_lr(0.1, 6, 2, 2)": None,
    "nn.ExponentialDecayLR(0.1, 0.9, 4)": "T(2)",
    "nn.CosineDecayLR(0.01, 0.1, 4)": "T(2)",
    "nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5)": "T(2)",
    "nn.WarmUpLR(0.1, 2)": "T(2)",
    "nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1)": None,
    "nn.Momentum(nn.Dense(2, 2).trainable_params(), 0.1, 0.9)": None,
    "nn.Adam(nn.Dense(2, 2).trainable_params(), 0.1)": None,
    "nn.AdamWeightDecay(nn.Dense(2, 2).trainable_params(), 0.1)": None,
    "nn.RMSProp(nn.Dense(2, 2).trainable_params(), 0.1)": None,
    "nn.Adagrad(nn.Dense(2, 2).trainable_params(), 0.1)": None,
    "nn.LARS(nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1))": None,
    "ms.Parameter(A, name='p')": None,
    "ms.ParameterTuple([ms.Parameter(A, name='p')])": None,
    "nn.WithLossCell(nn.ReLU(), nn.MSELoss())": "A, B",
    "nn.TrainOneStepCell(nn.ReLU(), nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1))": None,
    "nn.FixedLossScaleUpdateCell(2)": None,
    "nn.DynamicLossScaleUpdateCell(2, 2, 2)": None,
    "ms.amp.DynamicLossScaler(2, 2, 2)": None,
    "ms.amp.StaticLossScaler(2)": None,
    "ms.train.Accuracy()": None,
    "ms.train.TopKCategoricalAccuracy(2)": None,
    "ms.train.LossMonitor(1)": None,
    "ms.train.TimeMonitor(1)": None,
    "ms.train.CheckpointConfig(1)": None,
    "ms.train.EarlyStopping()": None,
    "ms.common.initializer.initializer('normal', (2, 3))": None,
    "ms.common.initializer.Normal(0.1)": None,
    "ms.common.initializer.Constant(1)": None,
    "ms.common.initializer.TruncatedNormal(0.1)": None,
    "ms.Tensor([1, 2], ms.float32)": None,
    "ms.set_context(mode=ms.PYNATIVE_MODE)": None,
    "ms.set_seed(1)": None,
    "ms.grad(nn.ReLU(), 0)": "A",
    "ms.value_and_grad(nn.ReLU(), 0)": "A",
    "ms.jit(nn.ReLU())": "A",
    "ms.ops.vmap(nn.ReLU(), 0, 0)": "A",
}
OTHERS = ["'bad'", 'None', '-1', '1.5', '[]', '0', '(1, 2, 3)', 'T([1.5])', 'nn.Tanh', '{}']


def wrong_calls():
    made_of = []
    for made, inputs in RIGHT.items():
        call = ast.parse(made, mode="eval").body
        name, args = ast.unparse(call.func), [ast.unparse(a) for a in call.args]
        keywords = [ast.unparse(k) for k in call.keywords]
        for k in range(len(args)):
            for j in range(3):
                other = OTHERS[(len(made_of) + j * 3 + k) % len(OTHERS)]
                made_of.append(f"{name}({', '.join([*args[:k], other, *args[k + 1:], *keywords])})")
        made_of.append(f"{name}({', '.join([*args, 'wrong=1'])})")
        if inputs is None:
            continue
        parts = inputs.split(", ") if "(" not in inputs else [inputs]
        for k, part in enumerate(parts):
            for other in ("2.5", "'bad'", "None", f"{part}.reshape(-1)" if part.isidentifier() else "A", "I"):
                made_of.append(f"{made}({', '.join([*parts[:k], other, *parts[k + 1:]])})")
        made_of += [f"{made}()", f"{made}({inputs}, A, A, A, A, A)"]
    return list(dict.fromkeys(made_of))


if __name__ == "__main__":
    print("\n".join("?" + call for call in wrong_calls()))
