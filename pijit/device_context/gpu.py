"""Settings of GPUs by MindSpore's names; kernels choose their ways by themselves."""

from pijit.device_context.settings import settings

globals().update(settings("GPU", "conv_allow_tf32 conv_dgrad_algo conv_fprop_algo conv_wgrad_algo matmul_allow_tf32"))
