"""What MindSpore has and pijit leaves out: it exists, and raises NotImplementedError when it is used.

`stand_in` makes the class, function or object. Classes can be subclassed, named in annotations and asked for by
`isinstance`; making an instance raises. Enumerations and exceptions are the real thing. `_REASONS` says why, the first
pattern of `path.name` or of the place where MindSpore defines it counts."""

from __future__ import annotations

import fnmatch
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_GENERAL = "pijit doesn't have it"

# (patterns, why it is left out, the nearest there is)
_REASONS = [
    ("boost *boost.*", "boost's algorithms are made for Ascend", "mindspore.amp for mixed precision"),
    (
        "rewrite *rewrite.* SymbolTree Node NodeType ScopedValue *.SymbolTree *.ScopedValue",
        "it rewrites MindSpore's own graphs",
        "a plain Python function or a subclass of the layer",
    ),
    (
        "graph.custom_* *custom_pass* *custom_backend* *CustomPassType *op_infer *op_wrapper",
        "it extends MindSpore's own compiler",
        "mindspore.jit",
    ),
    ("safeguard* *obf*", "it obfuscates files of MindSpore's own format", "mindspore.save_checkpoint"),
    (
        "tools* *sdc_detect* *stress_detect* *dryrun* utils.* *TrainFaultTolerance *OptTFTWrapper "
        "*FlopsUtilizationCollector *flops_collection *set_dump "
        "*mindio*",
        "it serves clusters of Ascend devices",
        "mindspore.profiler",
    ),
    ("dataset.audio.Vad *audio.transforms.Vad", "MindSpore's own finds no speech in sound that was tried, so there is "
     "nothing to agree with", "dataset.audio.Spectrogram and a threshold"),
    ("dataset.audio*", "it is an inner part of MindSpore's", "mindspore.dataset.audio"),
    ("*Video* *video* *decode_jpeg_gpu*", "pijit reads no video", "frames as arrays, in a GeneratorDataset"),
    ("mindrecord*", "it is an inner part of MindSpore's", "mindspore.mindrecord.FileWriter and FileReader"),
    ("dataset.dataloader*", "pijit has no DataLoader of samplers and workers", "mindspore.dataset.GeneratorDataset"),
    (
        "*ops.op_info_register* *AiCPURegOp *AkgAscendRegOp *AkgGpuRegOp *TBERegOp *ms_kernel *.kernel "
        "*CustomOpBuilder *vm_impl* *ops._primitive_cache*",
        "kernels of MindSpore's own library can't be registered",
        'ops.Custom(func_type="pyfunc")',
    ),
    (
        "*moe_* *flash_attention* *fused_infer_attention* *speed_fusion_attention *ring_attention* *all_gather_matmul "
        "*matmul_reduce_scatter *NPU* "
        "*PagedAttention* *ReshapeAndCache *ApplyRotaryPosEmb *GroupTopk *BasicLSTMCell *LARSUpdate *FusedAdaFactor* "
        "*RNNTLoss "
        "*multi_scale_deformable_attn_function *rotated_iou",
        "it runs on Ascend alone",
        "the operators that it is made of",
    ),
    (
        "*Thor *thor* *ConvertModelUtils *ConvertNetUtils",
        "the second-order optimizer has kernels of other devices",
        "nn.AdamWeightDecay or nn.LARS",
    ),
    (
        "*Push *Pull *MapCacheIdx *SubAndFilter *make_map_parameter parallel._ps_context*",
        "pijit has no parameter servers",
        "nn.Embedding",
    ),
    (
        "*eshard* *AdaSum* "
        "*VirtualDatasetCellTriple parallel* *parallel.cluster*",
        "processes divide batches, not networks (data parallel)",
        "the same network without it; collectives of `ops` and `mint.distributed`",
    ),
    (
        "explainer* nn.probability.*",
        "it was taken out of MindSpore",
        "what it is made of: layers, distributions and gradients",
    ),
    ("nn.transformer.Fixed*", "it runs on Ascend alone", "nn.transformer.MultiHeadAttention"),
    ("*quant*", "pijit has no quantisation-aware training", "nn.Conv2dBnAct, nn.DenseBnAct and float16"),
    ("*float8* *hifloat8 *qint4x2", "no kernel here has this dtype", "float16 or bfloat16"),
    (
        "*MemPool *PluggableAllocator *use_mem_pool *memory_replay *offload* *.storage* runtime* hal* device_context*",
        "it manages other devices' memory",
        "nothing: memory is managed without it",
    ),
    ("profiler* *EnvProfiler *DynamicProfilerMonitor", "it counts what other devices do", "pijit.profile"),
    (
        "*mindir* *split_mindir",
        "graphs of MindSpore's own compiler are not there",
        "mindspore.export and mindspore.load",
    ),
    ("*SummaryLandscape *lineage* *_pb2*", "it feeds MindInsight", "SummaryRecord"),
    (
        "*GetNext* *engine.queue* *offload",
        "there is no queue of a device",
        "a loop over dataset.create_dict_iterator()",
    ),
    (
        "*.J *.GeSwitch *.geswitch *.Merge *.merge *.PyExecute *.SelectView *.UpdateState *SliceGetItem *array_reduce "
        "*.distribute *.embed *environ_* "
        "*.ref_to_embed *is_dynamic_sequence* *is_sequence_* *iter_converter *make_row_tensor* *ms_hasnext *ms_next "
        "*recompute_block *switch_layer *.tail "
        "*zip_operation *augassign_* *TransposeView *TransposeExtView",
        "it is internal to MindSpore's graph compiler",
        "Python's own operation, under mindspore.jit",
    ),
    ("*saved_tensors_hooks* *swap_tensors", "what gradients keep is not to be seen", "mindspore.recompute"),
    ("*lightning_indexer *nsa_*", "it runs on Ascend alone", "the operators that it is made of"),
    (
        "*_grad_ops* *Grad *GradExt *Backprop*",
        "the gradient's kernel is no operator of its own here",
        "mindspore.grad of the forward operator",
    ),
    (
        "_extends* graph* common.* ops.composite.* ops._* *env_* *hyper_* *_c_expression* parallel._*",
        "it is internal to MindSpore's graph compiler",
        "mindspore.jit",
    ),
    (
        "ops.auto_generate*",
        "it is an inner kernel of MindSpore",
        "the operator of mindspore.ops or mindspore.mint that uses it",
    ),
]


class NotImplementedHere(NotImplementedError, AttributeError):
    """Raised by attributes: `hasattr` answers False for them."""


@functools.cache
def reason(home: Any) -> str:
    """Why `path.name` raises, as a sentence with the nearest that there is."""
    for patterns, why, nearest in _REASONS:
        if any(fnmatch.fnmatchcase(home, p) for p in patterns.split()):
            return f"{why}. The nearest there is: {nearest}."
    return f"{_GENERAL}."


def text(home: Any) -> str:
    return f"mindspore.{home} is not implemented by pijit: {reason(home)}"


def _raises(home):
    def raises(*args, **kwargs):
        raise NotImplementedError(text(home))

    return raises


class _Kind(type):
    """The class of classes that are left out: what MindSpore's has as attributes raises."""

    def __getattr__(cls, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        raise NotImplementedHere(f"{text(cls._left_out)} ({name} of it was asked for)")


class _Object:
    """An object that is left out."""

    def __init__(self, home: Any) -> None:
        self.__dict__["_left_out"] = home

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        raise NotImplementedHere(text(self._left_out))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(text(self._left_out))

    def __repr__(self) -> str:
        return f"<mindspore.{self._left_out}, which pijit leaves out>"


def _base(sort):
    import pijit

    return {
        "cell": lambda: pijit.nn.Cell,
        "optimizer": lambda: pijit.nn.Optimizer,
        "primitive": lambda: pijit.ops.Primitive,
        "callback": lambda: pijit.Callback,
    }[sort]()


def _class(home, name, sort):
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(text(home))

    space = {"__init__": __init__, "__doc__": text(home), "_left_out": home}
    if sort in ("cell", "optimizer", "primitive", "callback"):
        base = _base(sort)
        if type(base) is type:
            return type(name, (base,), space)
    return _Kind(name, (), space)


def stand_in(home: Any, sort: Any, module: Any) -> Any:
    """What `home` ("path.name") is here; `module` is the name of the module that shows in it."""
    name = home.rpartition(".")[2]
    if sort == "error":
        made = type(name, (Exception,), {"__doc__": "MindSpore raises it."})
    elif sort == "function":
        made = _raises(home)
        made.__name__ = made.__qualname__ = name
        made.__doc__, made._left_out = text(home), home
    elif sort == "value":
        return _Object(home)
    else:
        made = _class(home, name, sort)
    made.__module__ = module
    return made


def is_left_out(value: Any) -> bool:
    """Whether a class, function or object raises when it is used."""
    return "_left_out" in getattr(value, "__dict__", ())
