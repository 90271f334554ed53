"""Quantisation-aware training of MindSpore 1.x: the layers without quantisation work, the others raise when they are
made."""

from pijit.compat import left_out
from pijit.kinds import QuantDtype  # noqa: F401
from pijit.nn.layer import Conv2dBnAct, DenseBnAct  # noqa: F401

_LEFT_OUT = {
    "cell": "FakeQuantWithMinMaxObserver Conv2dBnFoldQuantOneConv Conv2dBnFoldQuant Conv2dBnWithoutFoldQuant "
    "Conv2dQuant DenseQuant ActQuant TensorAddQuant MulQuant QuantBlock",
    "class": "QuantConfig QuantizationAwareTraining Quantizer OptimizeOption QuantMode ConvertToQuantNetwork",
    "function": "create_quant_config load_nonquant_param_into_quant_net convert_quant_network export export_geir "
    "query_quant_layers",
}
for _sort, _names in _LEFT_OUT.items():
    for _name in _names.split():
        globals()[_name] = left_out.stand_in(f"nn.layer.quant.{_name}", _sort, "mindspore.nn.layer.quant")
