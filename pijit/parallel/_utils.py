"""The parallel context as programs that define their own training steps ask for it."""

from pijit.parallel._auto_parallel_context import get_auto_parallel_context


def _get_parallel_mode():
    """The parallel mode."""
    return get_auto_parallel_context("parallel_mode")


def _get_gradients_mean():
    """Whether gradients are averaged over devices."""
    return get_auto_parallel_context("gradients_mean")


def _get_device_num():
    """The number of devices: that of the processes."""
    return get_auto_parallel_context("device_num")


def _get_global_rank():
    """The number of this process."""
    return get_auto_parallel_context("global_rank")


def _get_full_batch():
    """Whether each device gets the whole batch."""
    return get_auto_parallel_context("full_batch")


def _get_loss_repeated_mean():
    """Whether a loss that is computed repeatedly is averaged."""
    return get_auto_parallel_context("loss_repeated_mean")


def _get_pipeline_stages():
    """The number of stages: 1."""
    return get_auto_parallel_context("pipeline_stages")


def _get_parameter_broadcast():
    """Whether parameters are sent to all devices before training."""
    return get_auto_parallel_context("parameter_broadcast")


def _get_enable_parallel_optimizer():
    """Whether devices share the optimizer's work."""
    return get_auto_parallel_context("enable_parallel_optimizer")


def _is_pynative_parallel():
    """False: there is one device."""
    return False
