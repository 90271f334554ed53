"""Operators: functions (`ops.add`) and primitives (`ops.Add()`)."""

import typing as _typing

from pijit.ops.function import *
from pijit.ops.composite import *
from pijit.ops.communication import *
from pijit.ops.summary import *
from pijit.ops import (composite as composite, function as function, functional as functional, primitives as primitives,
                       primitives as operations)  # noqa: F401
from pijit.grad import (GradOperation as GradOperation, derivative as derivative, get_grad as get_grad, grad as grad,
                        jet as jet, jvp as jvp, linearize as linearize, value_and_grad as value_and_grad, vjp as vjp)
from pijit.vmap import vmap as vmap
from pijit.jacobian import jacfwd as jacfwd, jacrev as jacrev
from pijit import compat as _compat

for _name in primitives._HERE:
    globals().setdefault(_name, getattr(primitives, _name))


def _primitive(name):
    """A primitive of the families that aren't loaded yet, or None."""
    return primitives._load().get(name) if name[:1].isupper() else None


def _known():
    return sorted({*primitives._load(), *(n for n in globals() if n[0] != "_")})


__getattr__, __dir__ = _compat.names(__name__, {  # loaded when one is asked for
    "ops.custom": "AiCPURegOp AkgAscendRegOp AkgGpuRegOp CpuRegOp Custom CustomRegOp DataType TBERegOp "
                  "custom_info_register get_vm_impl_fn op_info_register "
                  "vm_impl_registry",
    "mint.distributed": "P2POp TCPStore all_gather all_gather_into_tensor all_gather_into_tensor_uneven "
                        "all_gather_object all_reduce all_to_all all_to_all_single "
                        "all_to_all_v_c barrier batch_isend_irecv broadcast broadcast_object_list "
                        "destroy_process_group gather_object get_backend get_global_rank "
                        "get_group_rank get_process_group_ranks get_rank get_world_size init_process_group irecv "
                        "is_available is_initialized isend new_group recv "
                        "reduce reduce_scatter reduce_scatter_tensor reduce_scatter_tensor_uneven scatter_object_list "
                        "send set_comm_ops_inplace",
}, load=_primitive, known=_known)

if _typing.TYPE_CHECKING:  # what pijit/ops/table.py names is made when the module is loaded, or later
    Shape: _typing.Any  # primitives, not the types of these names that annotations of functions use
    DType: _typing.Any
    def __getattr__(name: str) -> _typing.Any: ...
