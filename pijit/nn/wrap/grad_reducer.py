"""Gradients over several processes, of which there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import TensorLike


class DistributedGradReducer(Cell):
    """The gradients' mean over all processes: with one process the gradients as they are.

    parameters: the parameters that are trained. mean: whether gradients are divided by degree; None: as the
    parallel context says. degree: the number that is divided by, 1 if None. fusion_type and group are accepted."""

    def __init__(self, parameters: Any, mean: TensorLike | None = None, degree: Any = None, fusion_type: int = 1,
                 group: str = "hccl_world_group") -> None:
        super().__init__(auto_prefix=False)
        _check.need("DistributedGradReducer", "mean", mean, _check.optional(_check.BOOL))
        if degree is not None and (isinstance(degree, bool) or not isinstance(degree, int) or degree < 1):
            raise _check.refused("DistributedGradReducer", "degree", _check.value("be an int greater than 0"), degree)
        # the sum over one process, divided by what the script says
        self.degree: int = degree or 1
        self.mean: bool = bool(mean)

    def construct(self, grads: Any) -> Any:
        if not self.mean or self.degree == 1:
            return grads
        return tuple([g * (1.0 / self.degree) for g in grads])


class PipelineGradReducer(DistributedGradReducer):
    """The gradients as they are: there is one stage and one process."""

    def __init__(self, parameters: Any, scale_sense: float = 1.0, opt_shard: Any = None) -> None:
        super().__init__(parameters)


__all__ = ["DistributedGradReducer", "PipelineGradReducer"]
