"""Training steps of one's own: loss scaling, clipping, an average of the weights."""

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.common import dtype as mstype
from mindspore.ops import composite as C
from mindspore.ops import functional as F

_ema_op = C.MultitypeFuncGraph("ema_op")
_hyper_map = C.HyperMap()
_grad_scale = C.MultitypeFuncGraph("grad_scale")
_overflow = C.MultitypeFuncGraph("overflow")


@_ema_op.register("Tensor", "Tensor", "Tensor")
def _ema_weights(factor, ema_weight, weight):
    return F.assign(ema_weight, ema_weight * factor + weight * (1 - factor))


@_grad_scale.register("Tensor", "Tensor")
def _scaled(scale, grad):
    return F.cast(grad, mstype.float32) * ops.reciprocal(scale)


@_overflow.register("Tensor")
def _any_not_finite(grad):
    return ops.logical_not(ops.isfinite(grad).all())


class EMA(nn.Cell):
    """The moving average of a network's weights, with a warm-up of its factor."""

    def __init__(self, network, decay=0.99):
        super().__init__()
        self.decay = decay
        self.updates = Parameter(Tensor(0, ms.float32), name="updates", requires_grad=False)
        self.weights = ParameterTuple(network.trainable_params())
        self.ema_weights = self.weights.clone("ema", init="same")
        self.swap = self.weights.clone("swap", init="zeros")
        self.hyper_map = C.HyperMap()
        self.assign = ops.Assign()

    def construct(self):
        updates = F.assign_add(self.updates, Tensor(1.0, ms.float32))
        factor = self.decay * (1 - F.exp(-updates / 20))
        return self.hyper_map(F.partial(_ema_op, factor), self.ema_weights, self.weights)

    def swap_before_eval(self):
        self.hyper_map(self.assign, self.swap, self.weights)
        self.hyper_map(self.assign, self.weights, self.ema_weights)

    def swap_after_eval(self):
        self.hyper_map(self.assign, self.weights, self.swap)


def clip_gradients(grads, limit):
    return ops.clip_by_global_norm(grads, limit) if limit else grads


class ScaledStep(nn.TrainOneStepWithLossScaleCell):
    """TrainOneStepWithLossScaleCell with clipping, an average of the weights, and gradients accumulated over steps."""

    def __init__(self, network, optimizer, scale_sense=1.0, clip=0.0, ema=None, accumulate=1):
        if isinstance(scale_sense, (int, float)):
            scale_sense = nn.FixedLossScaleUpdateCell(float(scale_sense))
        super().__init__(network, optimizer, scale_sense)
        self.clip, self.ema, self.accumulate = clip, ema, accumulate
        if accumulate > 1:
            self.accumulated = self.weights.clone("grad_accumulated", init="zeros")
            self.turn = Parameter(Tensor(0, ms.int32), name="turn", requires_grad=False)
            self.zeros = self.weights.clone("grad_zeros", init="zeros")

    def construct(self, *inputs):
        weights = self.weights
        loss = self.network(*inputs)
        scaling_sens = self.scale_sense
        sens = ops.ones_like(loss) * F.cast(scaling_sens, loss.dtype)
        grads = self.grad(self.network, weights)(*inputs, sens)
        grads = self.hyper_map(F.partial(_grad_scale, scaling_sens), grads)
        grads = self.grad_reducer(grads)
        cond = self.overflowed(grads)
        overflow = self.process_loss_scale(cond)
        if not overflow:
            loss = F.depend(loss, self._update(grads))
        return loss, cond, scaling_sens

    def overflowed(self, grads):
        """Whether a gradient is infinite or NaN: the base class asks an Ascend device."""
        bad = self.hyper_map(_overflow, grads)
        return ops.stack(bad).any()

    def _update(self, grads):
        if self.accumulate == 1:
            done = self.optimizer(clip_gradients(grads, self.clip))
        else:
            done = self.hyper_map(ops.assign_add, self.accumulated, grads)
            self.turn += 1
            if self.turn % self.accumulate == 0:
                mean = tuple([g / self.accumulate for g in self.accumulated])
                done = F.depend(done, self.optimizer(clip_gradients(mean, self.clip)))
                done = F.depend(done, self.hyper_map(ops.assign, self.accumulated, self.zeros))
        if self.ema is not None:
            self.ema()
        return done
