"""Settings of Ascend devices by MindSpore's names."""

from pijit.device_context.settings import settings

globals().update(settings("Ascend",
                          "aclinit_config aclnn_cache aoe_job_type aoe_tune_mode conv_allow_hf32 debug_option "
                          "execute_timeout matmul_allow_hf32 "
                                    "op_compile op_precision_mode precision_mode"))
