"""Quantisation-aware training of MindSpore 1.x: the layers without quantisation work, the others raise when they are made."""

from pijit.compat import left_out
from pijit.kinds import QuantDtype  # noqa: F401
from pijit.nn.layer import Conv2dBnAct, DenseBnAct  # noqa: F401

for _name in (
    "FakeQuantWithMinMaxObserver Conv2dBnFoldQuantOneConv Conv2dBnFoldQuant Conv2dBnWithoutFoldQuant Conv2dQuant DenseQuant ActQuant "
    "TensorAddQuant MulQuant QuantBlock QuantConfig QuantizationAwareTraining Quantizer OptimizeOption QuantMode ConvertToQuantNetwork"
).split():
    globals()[_name] = left_out.stand_in(
        f"nn.layer.quant.{_name}",
        "cell" if "Quant" in _name and _name[-4:] != "Mode" else "class",
        "mindspore.nn.layer.quant",
    )
for _name in "create_quant_config load_nonquant_param_into_quant_net convert_quant_network export export_geir query_quant_layers".split():
    globals()[_name] = left_out.stand_in(f"train.quant.{_name}", "function", "mindspore.train.quant")
