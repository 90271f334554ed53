"""Optimizers and schedulers of pijit.experimental. Values are those of MindSpore 2.7.1 after the first and the seventh
step."""

import numpy as np
import pytest

import pijit as ms
from pijit import nn
from pijit.experimental import optim
from pijit.experimental.optim import lr_scheduler as S


def parameters():
    return [ms.Parameter(ms.Tensor(np.linspace(-1, 1, 6).reshape(2, 3).astype(np.float32)), name="a"),
            ms.Parameter(ms.Tensor(np.array([.5, -.5], np.float32)), name="b")]


def gradients(i):
    return (ms.Tensor(np.sin(np.arange(6) + i).reshape(2, 3).astype(np.float32)),
            ms.Tensor(np.cos(np.arange(2) * 2. + i).astype(np.float32)))


def values(ps):
    return np.concatenate([p.asnumpy().reshape(-1) for p in ps])


FACTS = [
    ("SGD", dict(lr=0.1), [-1.0, -0.68415, -0.29093, 0.18589, 0.67568, 1.09589, 0.4, -0.45839],
     [-0.98967, -0.65537, -0.27016, 0.17956, 0.64807, 1.07239, 0.42756, -0.47925]),
    ("SGD", dict(lr=0.1, momentum=0.9), [-1.0, -0.68415, -0.29093, 0.18589, 0.67568, 1.09589, 0.4, -0.45839],
     [-1.39995, -1.01532, -0.24886, 0.56253, 1.04061, 1.11359, 0.26323, -0.0378]),
    ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
     [-0.99, -0.67815, -0.28893, 0.18389, 0.66968, 1.08589, 0.395, -0.45339],
     [-1.09088, -0.88601, -0.32381, 0.38369, 0.89084, 1.03622, 0.12078, -0.05404]),
    ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, maximize=True),
     [-1.0, -0.44012, -0.02723, 0.22681, 0.45621, 0.8178, 0.69, -0.57907],
     [-0.65037, -0.17083, -0.08587, -0.10583, 0.15538, 0.82538, 0.78553, -0.93673]),
    ("Adam", dict(), [-1.0, -0.601, -0.201, 0.199, 0.601, 1.001, 0.499, -0.499],
     [-1.00239, -0.60291, -0.20123, 0.20123, 0.60307, 1.00153, 0.49794, -0.49658]),
    ("Adam", dict(lr=0.1, weight_decay=0.1, amsgrad=True), [-0.9, -0.7, -0.3, 0.1, 0.7, 1.1, 0.4, -0.4],
     [-1.07144, -0.84549, -0.30087, 0.30809, 0.86243, 1.07544, 0.27191, -0.14307]),
    ("Adam", dict(lr=0.1, maximize=True), [-1.0, -0.5, -0.1, 0.3, 0.5, 0.9, 0.6, -0.6],
     [-0.76148, -0.30914, -0.07683, 0.077, 0.29274, 0.84719, 0.70647, -0.84226]),
    ("AdamW", dict(lr=0.1), [-0.999, -0.6994, -0.2998, 0.0998, 0.6994, 1.099, 0.3995, -0.3995],
     [-1.23055, -0.88519, -0.32094, 0.3213, 0.90153, 1.14488, 0.29121, -0.1559]),
    ("AdamW", dict(lr=0.1, amsgrad=True, weight_decay=0.3, maximize=True),
     [-0.97, -0.482, -0.094, 0.294, 0.482, 0.87, 0.585, -0.585],
     [-0.59783, -0.23587, -0.06143, 0.04791, 0.22115, 0.68169, 0.57775, -0.69946]),
    ("Adadelta", dict(), [-1.0, -0.60316, -0.20316, 0.19684, 0.60316, 1.00316, 0.49684, -0.49684],
     [-0.99927, -0.60203, -0.20258, 0.19644, 0.60195, 1.0025, 0.49775, -0.49817]),
    ("Adadelta", dict(lr=0.5, rho=0.8, weight_decay=0.1),
     [-0.99888, -0.60112, -0.20112, 0.19888, 0.60112, 1.00112, 0.49888, -0.49888],
     [-0.99771, -0.60024, -0.20082, 0.1985, 0.60019, 1.00019, 0.49885, -0.49898]),
    ("Adagrad", dict(lr=0.1), [-1.0, -0.7, -0.3, 0.1, 0.7, 1.1, 0.4, -0.4],
     [-1.06209, -0.69692, -0.26064, 0.17198, 0.70314, 1.06649, 0.42344, -0.37187]),
    ("Adagrad", dict(lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5),
     [-0.986, -0.67415, -0.27827, 0.17778, 0.67019, 1.0772, 0.41705, -0.44496],
     [-1.01533, -0.66238, -0.23545, 0.23051, 0.66498, 1.01889, 0.42542, -0.40477]),
    ("ASGD", dict(lr=0.1), [-0.99999, -0.68414, -0.29093, 0.18589, 0.67567, 1.09588, 0.39999, -0.45838],
     [-0.9896, -0.65533, -0.27014, 0.17954, 0.64802, 1.07232, 0.42753, -0.47921]),
    ("ASGD", dict(lr=0.1, lambd=0.1, alpha=0.5, t0=2.0, weight_decay=0.1),
     [-0.98, -0.67215, -0.28693, 0.18189, 0.66368, 1.07589, 0.39, -0.44839],
     [-0.85181, -0.56789, -0.24174, 0.1467, 0.56023, 0.93857, 0.36874, -0.42388]),
    ("Adamax", dict(lr=0.1, weight_decay=0.1), [-0.9, -0.7, -0.3, 0.1, 0.7, 1.1, 0.4, -0.4],
     [-1.03067, -0.83781, -0.29922, 0.24818, 0.84065, 1.08622, 0.29977, -0.21023]),
    ("RMSprop", dict(lr=0.1), [-1.0, -1.6, -1.2, -0.8, 1.6, 2.0, -0.5, 0.5],
     [-1.6111, -1.56543, -0.80968, -0.08992, 1.6266, 1.66728, -0.26587, 0.77339]),
    ("RMSprop", dict(lr=0.1, momentum=0.9, centered=True, weight_decay=0.1),
     [0.00504, -1.60504, -1.20504, -0.80504, 1.60504, 2.00504, -0.50504, 0.50504],
     [-0.6024, -3.5679, -0.56202, 0.70774, 4.08108, 0.99164, -1.67233, 5.39349]),
    ("Rprop", dict(lr=0.1), [-1.0, -0.7, -0.3, 0.1, 0.7, 1.1, 0.4, -0.4],
     [-1.2056, -0.8056, -0.324, 0.144, 0.8056, 1.124, 0.376, -0.2944]),
    ("Rprop", dict(lr=0.1, etas=(0.4, 1.5), step_sizes=(0.01, 0.3)), [-1.0, -0.7, -0.3, 0.1, 0.7, 1.1, 0.4, -0.4],
     [-1.25, -0.85, -0.336, 0.14, 0.85, 1.136, 0.364, -0.25]),
    ("RAdam", dict(lr=0.1, weight_decay=0.1), [-0.99, -0.67815, -0.28893, 0.18389, 0.66968, 1.08589, 0.395, -0.45339],
     [-1.11871, -0.81091, -0.28139, 0.33211, 0.815, 1.07243, 0.29697, -0.24715]),
    ("NAdam", dict(lr=0.1, weight_decay=0.1),
     [-0.89435, -0.70565, -0.30565, 0.09435, 0.70565, 1.10565, 0.39435, -0.39435],
     [-0.89909, -0.67361, -0.27068, 0.14439, 0.67747, 1.0303, 0.38, -0.35341]),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", range(len(FACTS)))
def test_steps(case, compiled):
    name, options, first, last = FACTS[case]
    p = parameters()
    o = getattr(optim, name)(p, **options)
    step = ms.jit(lambda *g: o(g)) if compiled else lambda *g: o(g)
    for i in range(7):
        step(*gradients(i))
        if i == 0:
            np.testing.assert_allclose(values(p), first, atol=3e-5)
    np.testing.assert_allclose(values(p), last, atol=3e-5)
    if compiled:
        found = ms.explain(step)
        assert not found.breaks and len(found.graphs) == 1


def test_groups():
    p = parameters()
    o = optim.Adam([{"params": [p[0]], "lr": .1, "weight_decay": .1}, {"params": [p[1]]}], lr=.01)
    for i in range(3):
        o(gradients(i))
    np.testing.assert_allclose(values(p), [-1.04588, -.88081, -.3771, .23678, .88706, 1.18415, .47592, -.47098],
                               atol=2e-5)
    assert [g["weight_decay"] for g in o.param_groups] == [.1, 0.] and [round(float(v), 6) for v in o.lrs] == [.1, .01]
    p = parameters()
    o = optim.SGD([p[0]], lr=.1, momentum=.9)
    o.add_param_group({"params": p[1], "lr": .5})
    o(gradients(0))
    np.testing.assert_allclose(p[1].asnumpy(), [.5 - .5 * 1, -.5 - .5 * np.cos(2)], atol=1e-6)
    assert repr(optim.Adam(parameters(),
                           lr=.1)) == (
                               "Adam (\nParameter Group 0\n    amsgrad: False\n    betas: (0.9, 0.999)\n    eps: "
                               "1e-08\n    lr: 0.1\n    maximize: False\n"
                                                     "    weight_decay: 0.0\n)")


SCHEDULES = [
    (lambda o: S.StepLR(o, 3, .5), [.1, .1, .1, .05, .05, .05, .025]),
    (lambda o: S.MultiStepLR(o, [2, 5, 5], .5), [.1, .1, .05, .05, .05, .0125, .0125]),
    (lambda o: S.ExponentialLR(o, .9), [.1, .09, .081, .0729]),
    (lambda o: S.LinearLR(o), [.033333, .046667, .06, .073333, .086667, .1, .1]),
    (lambda o: S.LinearLR(o, .5, .1, 4), [.05, .04, .03, .02, .01, .01]),
    (lambda o: S.ConstantLR(o, .5, 3), [.05, .05, .05, .1, .1]),
    (lambda o: S.PolynomialLR(o, 4, 2.), [.1, .05625, .025, .00625, 0., 0.]),
    (lambda o: S.LambdaLR(o, lambda e: .9 ** e), [.1, .09, .081]),
    (lambda o: S.MultiplicativeLR(o, lambda e: .9), [.1, .09, .081]),
    (lambda o: S.CosineAnnealingLR(o, 4, .01), [.1, .08682, .055, .02318, .01, .02318, .055, .08682, .1, .08682]),
    (lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2, .01), [.1, .055, .1, .08682, .055, .02318, .1, .096575]),
    (lambda o: S.CyclicLR(o, .01, .1, 3), [.01, .04, .07, .1, .07, .04, .01, .04]),
    (lambda o: S.CyclicLR(o, .01, .1, 3, 2, "triangular2"),
     [.01, .04, .07, .1, .055, .01, .025, .04, .055, .0325, .01]),
    (lambda o: S.CyclicLR(o, .01, .1, 3, 2, "exp_range", .9), [.01, .037, .0586, .07561, .039525, .01, .025943]),
    (lambda o: S.CyclicLR(o, .01, .1, 3, 2, scale_fn=lambda x: .5, scale_mode="iterations"),
     [.01, .025, .04, .055, .0325, .01]),
    (lambda o: S.SequentialLR(o, [S.ConstantLR(o, .1, 2), S.ExponentialLR(o, .9)], [3]), [.01, .01, .1, .1, .09, .081]),
]


@pytest.mark.parametrize("case", range(len(SCHEDULES)))
def test_schedules(case):
    make, expected = SCHEDULES[case]
    o = optim.SGD(parameters(), lr=.1)
    s = make(o)
    found = []
    for _ in expected:
        found.append(float(s.get_last_lr()[0]))
        s.step()
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_plateaus_and_own_schedules():
    for options, expected in ((dict(patience=1, factor=.5),
                               [.1, .1, .1, .1, .05, .05, .025, .025, .025, .0125, .0125, .00625]),
                              (dict(mode="max", factor=.5, patience=0, threshold=.1, threshold_mode="abs", cooldown=1,
                                    min_lr=.02), [.1, .1, .05, .05, .025, .025, .02, .02])):
        o = optim.SGD(parameters(), lr=.1)
        s, found = S.ReduceLROnPlateau(o, **options), []
        for v in [1, .9, .95, .96, .97, .98, .5, .6, .7, .8, .9, 1][:len(expected)]:
            found.append(float(o.lrs[0]))
            s.step(v)
        np.testing.assert_allclose(found, expected, atol=1e-6)

    class Own(S.LRScheduler):
        def get_lr(self):
            return [group["lr"] * .5 for group in self.optimizer.param_groups]
    o = optim.SGD([{"params": parameters()[:1], "lr": .2}, {"params": parameters()[1:]}], lr=.1)
    s = Own(o)
    s.step()
    np.testing.assert_allclose([float(v) for v in o.lrs], [.05, .025], atol=1e-7)
    o = optim.SGD([{"params": parameters()[:1], "lr": .2}, {"params": parameters()[1:]}], lr=.1)
    S.LambdaLR(o, [lambda e: 1., lambda e: .5])
    np.testing.assert_allclose([float(v) for v in o.lrs], [.2, .05], atol=1e-7)


def test_a_step_reads_the_rate_that_a_scheduler_set(tmp_path):
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    o = optim.SGD(net.trainable_params(), lr=1.)
    s = S.ExponentialLR(o, .5)
    grad = ms.value_and_grad(lambda x: net(x).sum(), None, o.parameters)

    @ms.jit
    def step(x):
        value, grads = grad(x)
        o(grads)
        return value
    x, seen = ms.Tensor(np.ones((1, 2), np.float32)), []
    for _ in range(3):
        step(x)
        seen.append(float(net.bias.asnumpy()[0]))
        s.step()
    assert seen == [-1, -1.5, -1.75] and len(ms.explain(step).graphs) == 1
    ms.save_checkpoint(o, str(tmp_path / "o.ckpt"))
    assert float(ms.load_checkpoint(str(tmp_path / "o.ckpt"))["learning_rate_group_0"]) == .125


def test_errors():
    o = optim.SGD(parameters(), lr=.1)
    for call, kind, text in (
            (lambda: optim.Adam(3), TypeError, "params"), (lambda: optim.Adam([]), ValueError, "params"),
            (lambda: optim.Adam(parameters(), lr=-1.), ValueError, "lr"),
            (lambda: optim.Adam(parameters(), betas=(2, .9)), ValueError, "betas"),
            (lambda: optim.SGD(parameters(), .1, nesterov=True), ValueError, "nesterov"),
            (lambda: optim.Adam(parameters(), lr="a"), TypeError, "lr"),
            (lambda: optim.Adam([{"foo": []}]), KeyError, "params"), (lambda: optim.Adam([3]), TypeError, "int"),
            (lambda: optim.Adam(parameters() * 2), ValueError, "'a'"),
            (lambda: o(gradients(0)[:1]), ValueError, "2 gradients"), (lambda: S.StepLR(3, 1), TypeError, "optimizer"),
            (lambda: S.StepLR(o, "a"), TypeError, "step_size"),
            (lambda: S.CyclicLR(o, .1, .2, mode="x"), ValueError, "mode"),
            (lambda: S.LambdaLR(o, [lambda e: 1] * 2), ValueError, "1 groups"),
            (lambda: S.SequentialLR(o, [S.StepLR(o, 1)], [1]), ValueError, "milestones"),
            (lambda: S.ReduceLROnPlateau(o, factor=1.), ValueError, "factor"),
            (lambda: S.LinearLR(o, start_factor=2.), ValueError, "start_factor"),
            (lambda: S.CosineAnnealingWarmRestarts(o, 0), ValueError, "T_0"),
            (lambda: S.LRScheduler(o), NotImplementedError, "get_lr"),
            (lambda: optim.Rprop(parameters(), etas=(1.2, .5)), ValueError, "etas")):
        with pytest.raises(kind, match=text):
            call()
