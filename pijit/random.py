"""The global generator: a [seed, counter] tensor, advanced by every draw (Philox4x32-10).

A draw is ordinary tensor code, so eager and jitted runs consume the same numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit._numpy import np
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any, Self
    from pijit._types import Shape

_state = Parameter(Tensor([0, 0], mstype.int64), name="random_state", requires_grad=False)
_steps = {"CPU": Tensor([0, 1], mstype.int64)}  # what a draw adds to the state, by the device that it lies on


class _Chosen:
    """What was set, and how often: pijit.dataset follows the last seed, its own or this. An object, because captured
    code is guarded by the globals of modules and by the dicts in them, and this changes."""

    def __init__(self) -> None:
        self.seed, self.times = None, 0


_chosen = _Chosen()


def place(device: Any) -> None:
    """Moves the global generator, so that draws make tensors there."""
    if device not in _steps:
        _steps[device] = _steps["CPU"]._on_device(device)
    if _state.device != device:
        try:
            _state._replace(_state._on_device(device))
        except RuntimeError:  # a device that is lost, as a forked process's parent has it: from the seed again
            _state._replace(Tensor([_chosen.seed or 0, 0], mstype.int64, device="CPU")._on_device(device))


def set_seed(seed: int) -> None:
    """Restarts the generator. `seed` is a non-negative int."""
    _check.need("set_seed", "seed", seed, _check.INT, _check.at_least(0))
    _chosen.seed = seed
    _chosen.times += 1
    _state._assign(Tensor(np.array([seed, 0], np.int64)))
    np.random.seed(seed % 2**32)


def get_seed() -> int | None:
    """The seed that was set, or None."""
    return _chosen.seed


def bits(shape: Shape, generator: Generator | None = None) -> Tensor:
    """uint32 random bits, of a Generator or the global one."""
    state = _state if generator is None else generator._state
    out = _ops["random_bits"](state, shape)
    state._assign(state + _steps[state.device])
    return out


@one_operator
def uniform(shape: Shape, generator: Generator | None = None) -> Tensor:
    """float32 in [0, 1), 24 random bits each."""
    return _ops["cast"](_ops["right_shift"](bits(shape, generator), 8), "float32") * 5.9604644775390625e-08


@one_operator
def normal(shape: Shape, generator: Generator | None = None) -> Tensor:
    """float32 standard normal numbers (Box & Muller 1958)."""
    u1 = uniform(shape, generator)
    u2 = uniform(shape, generator)
    r = _ops["sqrt"](_ops["log"](1.0 - u1) * -2.0)
    return r * _ops["cos"](u2 * 6.283185307179586)


class Generator:
    """A source of random numbers with a state of its own, to be given to functions of `mint`. It starts with seed 0."""

    def __init__(self) -> None:
        self._state = Parameter(Tensor([0, 0], mstype.int64), name="generator_state", requires_grad=False)

    def manual_seed(self, seed: int) -> Self:
        """Restarts from a seed. Returns the generator."""
        _check.need("manual_seed", "seed", seed, _check.INT)
        self._state._assign(Tensor(np.array([seed % 2**63, 0], np.int64)))
        return self

    def seed(self) -> int:
        """Restarts from a seed that the system gives, and returns it."""
        seed = int.from_bytes(os.urandom(6), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed it was started from."""
        return int(self._state.asnumpy()[0])

    def get_state(self) -> Tensor:
        """The state, as a tensor that set_state takes."""
        return Tensor(self._state.asnumpy().copy())

    def set_state(self, state: Any) -> None:
        """Takes a state that get_state gave. ValueError for another tensor."""
        if not isinstance(state, Tensor) or state.shape != (2,) or state.dtype != self._state.dtype:
            raise ValueError("For 'set_state', 'state' must be a tensor that get_state gave.")
        self._state._assign(state)


default_generator: Generator = Generator()
default_generator._state = _state


def seed() -> int:
    """Restarts the global generator from a seed that the system gives, and returns it."""
    return default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Restarts the global generator from a seed."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed the global generator was started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the global generator."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Puts the global generator in a state that get_rng_state gave."""
    default_generator.set_state(state)
