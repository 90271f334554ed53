"""Options of layers and functions, against facts of MindSpore 2.7.1 (values rounded to 4 decimals)."""

import pickle
import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check
from tests.python.pairs import pairs

_R = np.random.RandomState(0)
X = _R.randn(2, 3, 4).astype(np.float32)
P = _R.randn(1, 2, 5, 6).astype(np.float32)
P7 = _R.randn(1, 1, 7, 7).astype(np.float32)

# expression -> what it gives: (dtype, shape, at most 24 values), a list of such, or an exception
FACTS = {
    'nn.LayerNorm((4,))(X)':
        ('float32', [2, 3, 4],
         [0.5905, -1.3359, -0.5187, 1.264, 1.3397, -1.2973, 0.4893, -0.5317, -0.9773, -0.111, -0.5604, 1.6488, 1.4985,
          -1.2707, 0.1247, -0.3525, 1.519, -0.4557, 0.1465, -1.2098, -1.5448, 0.8043, 0.9587, -0.2182]),
    'nn.LayerNorm((3,4),begin_norm_axis=1,begin_params_axis=1)(X)':
        ('float32', [2, 3, 4],
         [1.1009, -0.3772, 0.2498, 1.6177, 1.2131, -1.87, 0.2188, -0.9749, -0.9227, -0.3659, -0.6548, 0.7652, 0.7022,
          0.0685, 0.3878, 0.2786, 1.4288, -0.2555, 0.2582, -0.8987, -2.5826, 0.5957, 0.8047, -0.7878]),
    'nn.LayerNorm((3,4))(X)':
        ValueError,
    'nn.LayerNorm((4,),begin_norm_axis=1,begin_params_axis=2)(X)':
        ('float32', [2, 3, 4],
         [1.1009, -0.3772, 0.2498, 1.6177, 1.2131, -1.87, 0.2188, -0.9749, -0.9227, -0.3659, -0.6548, 0.7652, 0.7022,
          0.0685, 0.3878, 0.2786, 1.4288, -0.2555, 0.2582, -0.8987, -2.5826, 0.5957, 0.8047, -0.7878]),
    'nn.LayerNorm((3,4),begin_norm_axis=2,begin_params_axis=1)(X)':
        ('float32', [2, 3, 4],
         [0.5905, -1.3359, -0.5187, 1.264, 1.3397, -1.2973, 0.4893, -0.5317, -0.9773, -0.111, -0.5604, 1.6488, 1.4985,
          -1.2707, 0.1247, -0.3525, 1.519, -0.4557, 0.1465, -1.2098, -1.5448, 0.8043, 0.9587, -0.2182]),
    'nn.LayerNorm([3,4],1,1)(X)':
        ('float32', [2, 3, 4],
         [1.1009, -0.3772, 0.2498, 1.6177, 1.2131, -1.87, 0.2188, -0.9749, -0.9227, -0.3659, -0.6548, 0.7652, 0.7022,
          0.0685, 0.3878, 0.2786, 1.4288, -0.2555, 0.2582, -0.8987, -2.5826, 0.5957, 0.8047, -0.7878]),
    "nn.AvgPool2d(3,2,pad_mode='pad',padding=1,ceil_mode=True)(P)":
        ('float32', [1, 2, 3, 4],
         [0.1498, -0.454, 0.0714, 0.271, 0.3567, -0.1083, -0.6507, -0.081, -0.1758, 0.0313, -0.2464, -0.0672, -0.0702,
          -0.2335, -0.2939, -0.1274, -0.255, -0.5343, -0.3528, -0.1419, -0.039, -0.1917, -0.256, -0.3525]),
    "nn.AvgPool2d(3,2,pad_mode='pad',padding=1,ceil_mode=True,count_include_pad=False)(P)":
        ('float32', [1, 2, 3, 4],
         [0.3371, -0.681, 0.1071, 0.8129, 0.535, -0.1083, -0.6507, -0.1621, -0.3955, 0.047, -0.3697, -0.2016, -0.158,
          -0.3503, -0.4409, -0.3823, -0.3825, -0.5343, -0.3528, -0.2839, -0.0877, -0.2876, -0.384, -1.0575]),
    "nn.AvgPool2d(2,2,pad_mode='pad',ceil_mode=True)(P)":
        ('float32', [1, 2, 3, 3],
         [0.3371, -0.7525, 0.7026, 0.6693, -0.4093, -0.736, -0.9133, -0.2543, -0.8457, -0.158, -0.5426, -0.3054,
          -0.3157, -0.2845, -0.1479, -0.1277, -0.1322, -0.5353]),
    "nn.AvgPool2d(2,2,pad_mode='pad',divisor_override=3)(P)":
        ('float32', [1, 2, 2, 3],
         [0.4495, -1.0033, 0.9369, 0.8924, -0.5458, -0.9813, -0.2106, -0.7235, -0.4071, -0.4209, -0.3793, -0.1972]),
    "nn.AvgPool2d(2,2,pad_mode='valid',ceil_mode=True)(P)":
        ('float32', [1, 2, 3, 3],
         [0.3371, -0.7525, 0.7026, 0.6693, -0.4093, -0.736, -0.9133, -0.2543, -0.8457, -0.158, -0.5426, -0.3054,
          -0.3157, -0.2845, -0.1479, -0.1277, -0.1322, -0.5353]),
    "nn.AvgPool2d(2,2,pad_mode='valid',divisor_override=3)(P)":
        ('float32', [1, 2, 2, 3],
         [0.4495, -1.0033, 0.9369, 0.8924, -0.5458, -0.9813, -0.2106, -0.7235, -0.4071, -0.4209, -0.3793, -0.1972]),
    'ops.avg_pool2d(P,2,2,0,True,True,3)':
        ('float32', [1, 2, 3, 3],
         [0.4495, -1.0033, 0.9369, 0.8924, -0.5458, -0.9813, -0.6089, -0.1695, -0.5638, -0.2106, -0.7235, -0.4071,
          -0.4209, -0.3793, -0.1972, -0.0851, -0.0881, -0.3569]),
    'ops.avg_pool2d(P,3,2,1,True,False)':
        ('float32', [1, 2, 3, 4],
         [0.3371, -0.681, 0.1071, 0.8129, 0.535, -0.1083, -0.6507, -0.1621, -0.3955, 0.047, -0.3697, -0.2016, -0.158,
          -0.3503, -0.4409, -0.3823, -0.3825, -0.5343, -0.3528, -0.2839, -0.0877, -0.2876, -0.384, -1.0575]),
    "nn.AvgPool2d(3,1,pad_mode='same',count_include_pad=True)(P)":
        ('float32', [1, 2, 5, 6],
         [0.3371, 0.0844, -0.681, -0.3042, 0.1071, 0.7026, 0.6302, 0.2835, -0.3971, -0.3959, -0.2365, 0.057, 0.535,
          0.1584, -0.1083, -0.795, -0.6507, -0.5226, 0.1418, -0.1047, 0.0883, -0.5509, -0.5543, -0.7726]),
    "nn.AvgPool2d(3,1,pad_mode='pad',padding=1,count_include_pad=True)(P)":
        ('float32', [1, 2, 5, 6],
         [0.1498, 0.0563, -0.454, -0.2028, 0.0714, 0.3123, 0.4201, 0.2835, -0.3971, -0.3959, -0.2365, 0.038, 0.3567,
          0.1584, -0.1083, -0.795, -0.6507, -0.3484, 0.0945, -0.1047, 0.0883, -0.5509, -0.5543, -0.515]),
    "nn.AvgPool2d(3,1,pad_mode='pad',padding=1,count_include_pad=False)(P)":
        ('float32', [1, 2, 5, 6],
         [0.3371, 0.0844, -0.681, -0.3042, 0.1071, 0.7026, 0.6302, 0.2835, -0.3971, -0.3959, -0.2365, 0.057, 0.535,
          0.1584, -0.1083, -0.795, -0.6507, -0.5226, 0.1418, -0.1047, 0.0883, -0.5509, -0.5543, -0.7726]),
    "nn.MaxPool2d(3,2,pad_mode='pad',padding=1,ceil_mode=True)(P)":
        ('float32', [1, 2, 3, 4],
         [2.2698, 0.3782, 1.5328, 1.4694, 1.9508, 1.9508, 0.7775, 0.7775, 1.9508, 1.9508, 0.7775, 0.7775, 0.4283,
          0.4283, 0.3025, -0.3627, 1.1394, 0.4628, 0.7291, 0.129, 1.1394, 0.9008, 0.9008, -0.5788]),
    "nn.MaxPool2d(2,2,pad_mode='pad',ceil_mode=True)(P7)":
        ('float32', [1, 1, 4, 4],
         [1.8959, 1.1788, 1.0545, 1.7859, 1.9436, 1.9229, 1.8676, 0.906, 1.9101, 0.8025, 1.3264, 0.6141, 1.8493, 0.6723,
          0.5392, -0.6743]),
    "nn.MaxPool2d(2,1,pad_mode='pad',dilation=2)(P)":
        ('float32', [1, 2, 3, 4],
         [2.2698, 1.2024, 1.5328, 1.4694, 0.1549, 1.9508, -0.3479, 0.7775, 1.2303, 1.2024, -0.3873, 0.3869, 0.0665,
          0.4628, 0.7291, 0.3025, 1.1394, -0.3596, 0.4023, -0.4018, -0.3116, 0.9008, 0.7291, 0.9008]),
    "nn.MaxPool2d(2,2,pad_mode='pad',return_indices=True)(P)":
        [('float32', [1, 2, 2, 3],
          [2.2698, 0.0458, 1.5328, 1.9508, -0.3023, 0.7775, 0.4283, 0.3025, 0.1774, 1.1394, 0.4023, 0.7291]),
          ('int64', [1, 2, 2, 3], [0.0, 2.0, 4.0, 19.0, 15.0, 23.0, 1.0, 3.0, 10.0, 18.0, 20.0, 16.0])],
    "nn.MaxPool2d(2,2,pad_mode='valid',return_indices=True)(P)":
        ValueError,
    "nn.MaxPool2d(2,2,pad_mode='valid',dilation=2)(P)":
        ValueError,
    'ops.max_pool2d(P,3,2,1,1,True)':
        [('float32', [1, 2, 3, 3],
          [2.2698, 0.3782, 1.5328, 1.9508, 1.9508, 0.7775, 1.9508, 1.9508, 0.7775, 0.4283, 0.4283, 0.3025, 1.1394,
           0.4628, 0.7291, 1.1394, 0.9008, 0.9008]),
           ('int64', [1, 2, 3, 3],
            [0.0, 7.0, 4.0, 19.0, 19.0, 23.0, 19.0, 19.0, 23.0, 1.0, 1.0, 3.0, 18.0, 13.0, 16.0, 18.0, 27.0, 27.0])],
    'ops.max_pool2d(P,2,2,0,2,False,True)':
        ('float32', [1, 2, 2, 3],
         [2.2698, 1.5328, 1.5328, 1.2303, -0.3873, -0.5108, 0.0665, 0.7291, 0.7291, -0.3116, 0.7291, 0.7291]),
    "nn.MaxPool2d(3,2,pad_mode='pad',padding=2)(P)":
        ValueError,
    'nn.PolynomialDecayLR(0.1,0.01,4,2.0,True)(T(np.int32(5)))':
        ('float32', [], [0.0227]),
    'nn.PolynomialDecayLR(0.1,0.01,4,2.0)(T(np.int32(5)))':
        ('float32', [], [0.01]),
    'nn.PolynomialDecayLR(0.1,0.01,4,2.0,True)(T(np.int32(0)))':
        ('float32', [], [0.1]),
    'nn.PolynomialDecayLR(0.1,0.01,4,2.0,True)(T(np.int32(4)))':
        ('float32', [], [0.01]),
    'ops.softplus(T(np.array([1.,30.,-3.],np.float32)),2,5)':
        ('float32', [3], [1.0635, 30.0, 0.0012]),
    'ops.softplus(T(np.array([1.,3.,-3.],np.float32)),1,2)':
        ('float32', [3], [1.3133, 3.0, 0.0486]),
    'ops.clip_by_norm(X,1.0)':
        ('float32', [2, 3, 4],
         [0.3266, 0.0741, 0.1812, 0.4148, 0.3457, -0.1809, 0.1759, -0.028, -0.0191, 0.076, 0.0267, 0.2692, 0.1409,
          0.0225, 0.0822, 0.0618, 0.2766, -0.038, 0.058, -0.1581, -0.4726, 0.121, 0.16, -0.1374]),
    'ops.clip_by_norm([X,X],1.0)':
        [('float32', [2, 3, 4],
          [0.2309, 0.0524, 0.1281, 0.2933, 0.2445, -0.1279, 0.1244, -0.0198, -0.0135, 0.0537, 0.0189, 0.1904, 0.0996,
           0.0159, 0.0581, 0.0437, 0.1956, -0.0269, 0.041, -0.1118, -0.3342, 0.0856, 0.1132, -0.0971]),
           ('float32', [2, 3, 4],
            [0.2309, 0.0524, 0.1281, 0.2933, 0.2445, -0.1279, 0.1244, -0.0198, -0.0135, 0.0537, 0.0189, 0.1904, 0.0996,
             0.0159, 0.0581, 0.0437, 0.1956, -0.0269, 0.041, -0.1118, -0.3342, 0.0856, 0.1132, -0.0971])],
    'ops.clip_by_global_norm((X,X),1.0)':
        [('float32', [2, 3, 4],
          [0.2309, 0.0524, 0.1281, 0.2933, 0.2445, -0.1279, 0.1244, -0.0198, -0.0135, 0.0537, 0.0189, 0.1904, 0.0996,
           0.0159, 0.0581, 0.0437, 0.1956, -0.0269, 0.041, -0.1118, -0.3342, 0.0856, 0.1132, -0.0971]),
           ('float32', [2, 3, 4],
            [0.2309, 0.0524, 0.1281, 0.2933, 0.2445, -0.1279, 0.1244, -0.0198, -0.0135, 0.0537, 0.0189, 0.1904, 0.0996,
             0.0159, 0.0581, 0.0437, 0.1956, -0.0269, 0.041, -0.1118, -0.3342, 0.0856, 0.1132, -0.0971])],
    'ops.clip_by_global_norm([X],1.0,2.0)':
        ValueError,
    'ops.clip_by_norm(X*1e-3,1.0)':
        ('float32', [2, 3, 4],
         [0.0018, 0.0004, 0.001, 0.0022, 0.0019, -0.001, 0.001, -0.0002, -0.0001, 0.0004, 0.0001, 0.0015, 0.0008,
          0.0001, 0.0004, 0.0003, 0.0015, -0.0002, 0.0003, -0.0009, -0.0026, 0.0007, 0.0009, -0.0007]),
    'ops.norm(X,1,1)':
        ('float32', [2, 4], [3.7348, 1.788, 2.0729, 3.8465, 4.8081, 0.9805, 1.6214, 1.9299]),
    'ops.norm(X,3.0,(1,))':
        ('float32', [2, 4], [2.2897, 1.0217, 1.216, 2.429, 2.7331, 0.6617, 0.9142, 1.0225]),
    'ops.norm(X,dim=(1,2))':
        ('float32', [2], [4.1152, 3.4996]),
    'ops.norm(X,0,1)':
        ('float32', [2, 4], [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]),
    "ops.norm(X,-float('inf'),1)":
        ('float32', [2, 4], [0.1032, 0.4002, 0.144, 0.1514, 0.761, 0.1217, 0.3131, 0.3337]),
    "ops.norm(X,'fro',(0,1))":
        ('float32', [4], [3.9924, 1.3296, 1.7099, 2.9242]),
    'ops.norm(X,1,(1,2))':
        ('float32', [2], [3.8465, 4.8081]),
    'ops.adaptive_avg_pool2d(P,(2,4))':
        ('float32', [1, 2, 2, 4],
         [0.6302, -0.1839, -0.389, 0.057, 0.1418, 0.1913, -0.5276, -0.7726, -0.2999, -0.1871, -0.1833, -0.0606, -0.253,
          -0.3977, 0.0987, -0.277]),
    'ops.prelu(P,T(np.array([0.1],np.float32)))':
        ('float32', [1, 2, 5, 6],
         [2.2698, -0.1454, 0.0458, -0.0187, 1.5328, 1.4694, 0.1549, 0.3782, -0.0888, -0.1981, -0.0348, 0.1563, 1.2303,
          1.2024, -0.0387, -0.0302, -0.1049, -0.142, -0.1706, 1.9508, -0.051, -0.0438, -0.1253, 0.7775]),
    'nn.AdaptiveAvgPool2d((None,3))(P)':
        ('float32', [1, 2, 5, 3],
         [0.4077, -0.0707, 1.5011, 0.2666, -1.4343, -0.0958, 1.2163, -0.3448, -1.2343, 0.1223, -0.4739, -0.2377,
          -0.9133, -0.2543, -0.8457, 0.2001, 0.1845, -0.4985, -0.516, -1.2697, -0.1122, -0.5837, -0.4277, 0.429]),
    'nn.AdaptiveAvgPool2d(4)(P)':
        ('float32', [1, 2, 4, 4],
         [0.3371, -0.4796, -0.2458, 0.7026, 0.7414, 0.0764, -0.9199, -0.665, 0.6693, 0.564, -0.7604, -0.736, -0.3955,
          0.0832, -0.4537, -0.5417, -0.158, -0.1695, -0.4702, -0.3054, -0.5499, -0.4043, -0.192, 0.1584]),
}


def shown(r):
    if isinstance(r, (tuple, list)):
        return [shown(v) for v in r]
    return r.dtype.name, list(r.shape), r.asnumpy().astype(np.float64).ravel()[:24]


@pytest.mark.parametrize("expression", FACTS)
def test_option(expression):
    scope = {"ms": ms, "nn": nn, "ops": ops, "T": Tensor, "np": np, "X": Tensor(X), "P": Tensor(P), "P7": Tensor(P7)}
    want = FACTS[expression]
    if isinstance(want, type):
        with pytest.raises(want):
            eval(expression, scope)
        return
    got = shown(eval(expression, scope))
    for g, w in pairs(got, want) if isinstance(want, list) else [(got, want)]:
        assert g[:2] == w[:2]
        np.testing.assert_allclose(g[2], w[2], atol=6e-5)


def test_general_pooling_differentiates_and_jits():
    dilated = nn.MaxPool2d(2, 1, pad_mode="pad", dilation=2)

    def make():
        def f(x):
            y, at = ops.max_pool2d(x, 3, 2, 1, 1, True, True)
            return (ops.avg_pool2d(x, 3, 2, 1, True, False).sum() + (y * at).sum() +
                    ops.adaptive_avg_pool2d(x, (2, 4)).mean() + dilated(x).sum())
        g = ms.value_and_grad(f)
        return lambda x: g(x)
    check(make, Tensor(P), graphs=1, breaks=0)
    plain = ms.grad(lambda x: ops.max_pool2d(x, 3, 2, 1).sum())(Tensor(P))
    general = ms.grad(lambda x: ops.max_pool2d(x, 3, 2, 1, 1, True)[0].sum())(Tensor(P))
    np.testing.assert_array_equal(plain.asnumpy(), general.asnumpy())


def test_gather_by_batch():
    x, index = Tensor(X), Tensor(np.array([[0, 2], [1, -1]]))
    for axis, batch in ((1, 1), (2, 1), (1, 0)):
        want = np.stack([np.take(X[k], index.asnumpy()[k] if batch else index.asnumpy(), axis - 1) for k in range(2)])
        np.testing.assert_array_equal(ops.gather(x, index, axis, batch).asnumpy(), want)
        np.testing.assert_array_equal(ops.Gather(batch)(x, index, axis).asnumpy(), want)
    with pytest.raises(ValueError):
        ops.gather(x, index, 0, 1)
    with pytest.raises(IndexError):
        ops.gather(x, Tensor(np.array([[3], [0]])), 1, 1).asnumpy()


def test_strided_slice_masks():
    x = Tensor(X)
    for masks, want in (((2, 0, 0, 0, 0), X[0:2, :3, 0:2]), ((0, 4, 0, 0, 0), X[0:2, 1:3, 0:]),
                        ((0, 0, 0, 0, 2), X[0:2, 1, 0:2]), ((0, 0, 1, 0, 0), X[..., 1:3, 0:2]),
                        ((0, 0, 0, 1, 0), X[None, 1:3, 0:2])):
        np.testing.assert_array_equal(ops.strided_slice(x, (0, 1, 0), (2, 3, 2), (1, 1, 1), *masks).asnumpy(), want)
        np.testing.assert_array_equal(ops.StridedSlice(*masks)(x, (0, 1, 0), (2, 3, 2), (1, 1, 1)).asnumpy(), want)


def test_gradients_scaled_and_named():
    def net():
        return nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    x, y = Tensor(np.ones((2, 2), np.float32)), Tensor(np.zeros((2, 1), np.float32))
    for sens, weight in ((None, 0.6), (3.0, -0.2)):  # d loss / d w = 2 * 2 * 1
        n = net()
        step = nn.TrainOneStepCell(nn.WithLossCell(n, nn.MSELoss()), nn.SGD(n.trainable_params(), 0.1), sens,
                                   return_grad=True)
        loss, grads = step(x, y)
        assert float(loss) == 4.0 and list(grads) == ["weight", "bias"]
        np.testing.assert_allclose(n.weight.asnumpy(), [[weight, weight]], atol=1e-6)
        scaled = nn.WithGradCell(net(), nn.MSELoss(), sens)(x, y)
        np.testing.assert_allclose(scaled[0].asnumpy(), [[4.0 * (sens or 1)] * 2])
    value, grads = nn.ForwardValueAndGrad(net(), get_all=True, sens_param=True)(x,
        Tensor(np.full((2, 1), 3, np.float32)))
    np.testing.assert_array_equal(grads[0].asnumpy(), np.full((2, 2), 3))

    w = ms.Parameter(Tensor(np.array([2.0], np.float32)), name="w")
    a, b = Tensor([3.0]), Tensor([5.0])

    def f(a, b):
        return (a * b * w).sum()
    g = ms.grad(f, (0, 1), [w], return_ids=True)(a, b)
    assert [[i for i, _ in part] for part in g] == [[0, 1], ["w"]]
    assert [float(ms.get_grad(g, i)) for i in (0, 1, w)] == [10.0, 6.0, 15.0]
    assert float(ms.get_grad(ms.grad(f, return_ids=True)(a, b), 0)) == 10.0
    value, g = ms.value_and_grad(f, None, w, return_ids=True)(a, b)
    assert float(value) == 30.0 and g[0] == "w" and float(g[1]) == 15.0
    with pytest.raises(RuntimeError):
        ms.get_grad(g, 1)
    with pytest.raises(TypeError):
        ms.get_grad(g, "w")


def test_padding_row_has_no_gradient():
    table = Tensor(np.ones((3, 2), np.float32))
    g = ms.grad(lambda t: ops.embedding(Tensor([0, 1, 1]), t, padding_idx=1).sum())(table)
    np.testing.assert_array_equal(g.asnumpy(), [[1, 1], [0, 0], [0, 0]])
    with pytest.raises(ValueError):
        ops.embedding(Tensor([0]), table, max_norm=1.0)


def test_checkpoint_options(tmp_path):
    path = str(tmp_path / "a.ckpt")
    n = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    with pytest.raises(ValueError):
        ms.save_checkpoint(n, path, enc_key=b"0123456789abcdef")
    assert not (tmp_path / "a.ckpt").exists()
    ms.save_checkpoint(n, path)
    assert set(ms.load_checkpoint(path)) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert set(ms.load_checkpoint(path, filter_prefix="0.")) == {"1.weight", "1.bias"}
    assert set(ms.load_checkpoint(path, specify_prefix=["0.w", "1.w"])) == {"0.weight", "1.weight"}
    with pytest.raises(ValueError):
        ms.load_checkpoint(path, dec_key=b"0123456789abcdef")


def test_norms_of_matrices():
    for order in (2, -2, "nuc"):
        np.testing.assert_allclose(ops.norm(Tensor(X), order, (1, 2)).asnumpy(), np.linalg.norm(X, order, (1, 2)),
                                   rtol=1e-5)
    assert ops.norm(Tensor(X), "fro", (1, 2)).shape == (2,)


def _product(x, y):
    return (x * y).sum()


def test_jit_of_a_gradient_is_one_graph():
    f = ms.jit(ms.grad(_product, (0, 1)))
    a, b = f(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    assert a.asnumpy().tolist() == [3, 4] and b.asnumpy().tolist() == [1, 2]
    assert len(ms.explain(f).graphs) == 1 and not ms.explain(f).breaks
    b, a = pickle.loads(pickle.dumps(f))(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    assert b.asnumpy().tolist() == [3, 4] and a.asnumpy().tolist() == [1, 2]
