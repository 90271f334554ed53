"""Wrong calls of layers, losses, optimizers, schedules, wrappers and others, as MindSpore 2.10 answers them on the CPU
(facts_wrong_calls.json, written by facts.py for the calls that tools/wrong_calls.py makes): where both raise, the
exception here is of the type there, or of a subclass. Where MindSpore's own code or a kernel stumbles (AttributeError,
IndexError, RuntimeError), any of ours that says what is wrong is as good. What is computed here all the same, such as
integers for which MindSpore has no kernel, is no wrong call."""

import builtins
import collections
import pathlib

import pytest

import pijit as ms
import pijit.common.initializer  # noqa: F401
import pijit.train  # noqa: F401
from pijit import Tensor, nn
from tests.python.facts import flat, load, variables
from tools.wrong_calls import wrong_calls

FACTS = load(pathlib.Path(__file__).parent / "facts_wrong_calls.json")
STUMBLES = ("AttributeError", "IndexError", "RuntimeError")
CLEAR = (TypeError, ValueError, KeyError, RuntimeError)

# The first of two faults is another one there, or a number stands for a Tensor.
OTHERWISE = {
    "nn.Dense(3, 4)(2.5)", "nn.Conv1d(3, 1.5, 3)", "nn.Conv1d(3, 2, 3)(I)", "nn.Conv3d(2, 2, 2)(I)",
    "nn.GroupNorm(2, 4)(I)", "nn.AvgPool2d(2, 2)(I)", "nn.Softmax(-1)(2.5)", "nn.LogSoftmax(-1)(2.5)",
    "nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], 'bad')", "nn.GRUCell(4, 3)(A, I)", "nn.RNNCell(4, 3)(A, I)",
    "nn.CrossEntropyLoss()(M.reshape(-1), J)", "nn.CrossEntropyLoss()(M, I)", "nn.MarginRankingLoss()(I, V, V)",
    "nn.MarginRankingLoss()(V, I, V)", "nn.MarginRankingLoss()(V, V, I)",
    "nn.Adagrad(nn.Dense(2, 2).trainable_params(), -1)", "ms.ops.vmap(nn.ReLU(), 0, 0)()",
}

BY_NAME = collections.defaultdict(list)
for _call, _fact in FACTS.items():
    if "raises" in _fact:
        BY_NAME[_call.partition("(")[0]].append(_call)


def answer(call):
    """Why the exception of a call isn't the fact, or None."""
    expected = FACTS[call]["raises"]
    try:
        [getattr(part, "asnumpy", int)() for part in flat(eval(call, variables(ms)))]
    except Exception as e:
        wanted = (getattr(builtins, expected), *(CLEAR if expected in STUMBLES else ()))
        return None if isinstance(e, wanted) else f"{type(e).__name__} ({e}), not {expected}"
    return None


@pytest.mark.parametrize("name", BY_NAME)
def test_types_of_exceptions(name):
    differing = {call: answer(call) for call in BY_NAME[name] if call not in OTHERWISE}
    assert not {call: why for call, why in differing.items() if why is not None}


def test_there_are_facts_of_all_calls():
    assert set(wrong_calls()) == set(FACTS) and sum(map(len, BY_NAME.values())) > 850
    assert len(OTHERWISE) < 0.021 * 880 and all(answer(call) is not None for call in OTHERWISE)


@pytest.mark.parametrize("call, error", [
    (lambda: nn.LayerNorm([]), ValueError), (lambda: nn.MaxPool2d({}, 2), TypeError),
    (lambda: nn.AvgPool2d(2, {}), TypeError), (lambda: nn.GELU(1.5), TypeError),
    (lambda: nn.Softmax(Tensor([1.5])), TypeError), (lambda: nn.Flatten()(Tensor([1.0])), ValueError),
    (lambda: nn.MSELoss()(2.5, Tensor([1.0])), TypeError), (lambda: nn.CosineDecayLR(1.5, 0.1, 4), ValueError),
    (lambda: nn.CosineDecayLR(0.01, 0.1, 0), ValueError), (lambda: nn.ExponentialDecayLR(0.1, 0.9, []), TypeError),
    (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, -1), TypeError), (lambda: nn.WarmUpLR("bad", 2), TypeError),
    (lambda: nn.warmup_lr(0.1, 6, 2, 0), ValueError), (lambda: ms.amp.DynamicLossScaler(2, 2, 1.5), TypeError),
    (lambda: nn.Adam(nn.Dense(2, 2).trainable_params(), wrong=1), KeyError),
    (lambda: nn.Conv2d(4, 2, (1, 2, 3)), TypeError)])
def test_arguments_are_checked(call, error):
    with pytest.raises(error):
        call()
