"""Helpers of a package for sound and text: features as cells, padding and collating, a recurrent recogniser with CTC, a
decoder, a tokenizer's dataset."""
import collections
import copy
import math
import sys

import numpy as np
import mindspore
import mindspore as ms
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.dataset.audio as msaudio
import mindspore.dataset.text as text
import mindspore.nn as nn
import mindspore.numpy as mnp
import mindspore.ops as ops
from mindspore import Tensor
from mindspore import numpy as msnp
from mindspore.common.parameter import Parameter, ParameterTuple
from mindspore.dataset.audio import BorderType, NormType, WindowType
from mindspore.dataset.engine.datasets import GeneratorDataset as Generator2
from mindspore.dataset.engine.datasets_audio import LibriTTSDataset
from mindspore.dataset.text.utils import NormalizeForm
from mindspore.dataset.vision.validators import check_resize
from mindspore.mindrecord import FileReader, FileWriter
from mindspore.nn.layer.rnn_cells import RNNCellBase, _gru_cell, _lstm_cell
from mindspore.nn.layer.rnns import _DynamicLSTMCPUGPU
from mindspore.ops import functional as F
from mindspore.ops._utils.utils import get_broadcast_shape, is_shape_unknown
from mindspore.ops.operations._rl_inner_ops import CudnnGRU
from mindspore.ops.operations.nn_ops import DynamicGRUV2, DynamicRNN
from mindspore.train.metrics.metric import Metric, rearrange_inputs
from mindspore.utils import stress_detect

assert (Generator2 is ds.GeneratorDataset and FileReader and FileWriter and LibriTTSDataset and check_resize
        and CudnnGRU and stress_detect)
SAMPLE_RATE, HOP = 1600, 16


def frames(signal, size=64, hop=HOP, window: WindowType = WindowType.HANN):
    """[frames, size] of a signal."""
    shape = np.hanning(size) if window is WindowType.HANN else np.ones(size)
    count = 1 + (len(signal) - size) // hop
    return np.stack([signal[i * hop:i * hop + size] * shape for i in range(count)])


def mel_filters(bands=12, size=64, norm: NormType = NormType.NONE):
    mel = lambda f: 2595 * math.log10(1 + f / 700)
    edges = 700 * (10 ** (np.linspace(0, mel(SAMPLE_RATE / 2), bands + 2) / 2595) - 1)
    bins, table = np.linspace(0, SAMPLE_RATE / 2, size // 2 + 1), np.zeros((bands, size // 2 + 1))
    for b in range(bands):
        low, mid, high = edges[b:b + 3]
        table[b] = np.maximum(0, np.minimum((bins - low) / (mid - low), (high - bins) / (high - mid)))
    return table / (table.sum(1, keepdims=True) + 1e-9) if norm is NormType.SLANEY else table


class LogMel(nn.Cell):
    def __init__(self, bands=12):
        super().__init__()
        self.filters = Tensor(mel_filters(bands), mstype.float32)

    def construct(self, power):
        return F.log(F.matmul(power, self.filters.T) + 1e-6)


class BiGRU(nn.Cell):
    """A GRU by its steps, as a package writes it whose device has no operator for it."""

    def __init__(self, size, hidden):
        super().__init__()
        self.forward_cell, self.backward_cell = nn.GRUCell(size, hidden), nn.GRUCell(size, hidden)
        assert isinstance(self.forward_cell, RNNCellBase)
        self.hidden = hidden

    def _run(self, x, cell, order):
        h, outputs = ops.zeros((x.shape[1], self.hidden), x.dtype), {}
        for t in order:
            h = _gru_cell(x[t], h, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
            outputs[t] = h
        return ops.stack([outputs[t] for t in range(x.shape[0])])

    def construct(self, x):
        steps = range(x.shape[0])
        return ops.cat((self._run(x, self.forward_cell, steps), self._run(x, self.backward_cell, reversed(steps))), -1)


class Recogniser(nn.Cell):
    def __init__(self, bands, hidden, letters):
        super().__init__()
        self.features, self.norm, self.rnn = LogMel(bands), nn.LayerNorm((bands,)), BiGRU(bands, hidden)
        self.out, self.log_softmax = nn.Dense(2 * hidden, letters), nn.LogSoftmax(-1)
        self.pool = nn.AvgPool1d(4, 4)

    def construct(self, power):
        x = self.norm(self.features(power))
        x = self.pool(x.swapaxes(1, 2)).transpose(2, 0, 1)
        return self.log_softmax(self.out(self.rnn(x)))


class LetterErrorRate(Metric):
    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self._errors = self._letters = 0

    @rearrange_inputs
    def update(self, *inputs):
        found, wanted = inputs
        d = list(range(len(wanted) + 1))
        for i, a in enumerate(found, 1):
            last, d[0] = d[0], i
            for j, b in enumerate(wanted, 1):
                last, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, last + (a != b))
        self._errors, self._letters = self._errors + d[-1], self._letters + len(wanted)

    def eval(self):
        return self._errors / max(self._letters, 1)


def greedy(scores, blank=0):
    best, result = scores.argmax(-1), []
    for k, g in zip(best, [None, *best[:-1]]):
        if k != blank and k != g:
            result.append(int(k))
    return result


def pad(rows, value=0):
    width = max(map(len, rows))
    return np.array([list(r) + [value] * (width - len(r)) for r in rows], np.int32)


class Utterances:
    """Tones of one height for each letter, and their letters."""

    def __init__(self, count=24, letters=3):
        rng = np.random.RandomState(3)
        self.items = []
        for _ in range(count):
            word = [1 + int(k) for k in rng.permutation(letters)[:2]]
            t = np.arange(256) / SAMPLE_RATE
            signal = np.concatenate([np.sin(2 * np.pi * (80 + 180 * k) * t) for k in word]) + rng.randn(512) * 0.05
            self.items.append((np.abs(np.fft.rfft(frames(signal))).astype(np.float32) ** 2, np.array(word, np.int32)))

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


def vocabulary(lines):
    counts = collections.Counter(w for line in lines for w in line.split())
    vocab = text.Vocab.from_list(["<pad>", "<unk>"] + [w for w, _ in counts.most_common()])
    data = ds.NumpySlicesDataset({"text": list(lines)}, shuffle=False)
    data = data.map(text.WhitespaceTokenizer(), ["text"]).map(text.Lookup(vocab, "<unk>"), ["text"])
    return [row["text"].asnumpy().tolist() for row in data.create_dict_iterator()]


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(2)
    data = ds.GeneratorDataset(Utterances(), ["power", "word"], shuffle=True).batch(8)
    net = Recogniser(12, 16, 4)
    optimizer = nn.Adam(net.trainable_params(), 0.02)
    ctc = nn.CTCLoss(blank=0, reduction="mean")

    def forward(power, word):
        scores = net(power)
        n = scores.shape[1]
        return ctc(scores, word, mnp.full((n,), scores.shape[0], mstype.int32), msnp.full((n,), 2, mstype.int32))

    step = (nn.TrainOneStepCell(nn.Cell(), optimizer) if "cell" in sys.argv
            else ms.value_and_grad(forward, None, ParameterTuple(optimizer.parameters)))
    losses = []
    for _ in range(25):
        for row in data.create_dict_iterator():
            loss, grads = step(row["power"], row["word"])
            optimizer(grads)
            losses.append(float(loss.asnumpy()))
    metric = LetterErrorRate()
    for power, word in Utterances().items[:8]:
        metric.update(greedy(net(Tensor(power[None])).asnumpy()[:, 0]), word.tolist())
    assert losses[-1] < 0.3 * losses[0] and metric.eval() < 0.2, (losses[0], losses[-1], metric.eval())
    ids = vocabulary(["the cat sat", "the dog sat down"])
    assert (pad(ids).shape == (2, 4) and ids[0][0] == ids[1][0] and get_broadcast_shape((2, 1), (3,), "pad") == [2, 3]
            and not is_shape_unknown((1, 2)))
    cell = nn.LSTMCell(3, 4)
    x, h = Tensor(np.ones((5, 2, 3)), mstype.float32), (ops.zeros((2, 4)), ops.zeros((2, 4)))
    out, state = _DynamicLSTMCPUGPU()(x, h, None, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    assert (out.shape == (5, 2, 4)
            and np.array_equal(out.asnumpy()[0], _lstm_cell(x[0], h, *cell.get_parameters())[0].asnumpy())
            and len(state) == 2)
    shapes = [issubclass(k, nn.Cell) or issubclass(k, ops.Primitive) for k in (DynamicRNN, DynamicGRUV2)]
    for use in (lambda: DynamicRNN(), lambda: FileReader("none.mindrecord"), lambda: msaudio.Vad(16000)):
        try:
            use()
        except (NotImplementedError, OSError, RuntimeError, ValueError) as e:
            assert str(e)
    again = copy.deepcopy(net)
    assert all(np.array_equal(a.asnumpy(), b.asnumpy()) for a, b in zip(net.get_parameters(), again.get_parameters()))
    print("OK", shapes, BorderType.REFLECT.value, NormalizeForm.NFKC.name, Parameter.__name__, mindspore.__name__)


main()
