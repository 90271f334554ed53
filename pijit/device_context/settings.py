"""Settings of devices by MindSpore's names: they have no effect here, and say so where the device isn't there, as
MindSpore does on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from typing import Any


def settings(kind: Any, names: Any) -> dict[Any, Any]:
    """{name: function} for the settings of one kind of device."""

    def is_available():
        from pijit import hal

        return hal.is_available(kind)

    def device_count():
        if not is_available():
            raise RuntimeError(f"Device {kind} not exist.")
        return 1

    def setting(name):
        def call(*args, **kwargs):  # noqa: ARG001
            from pijit import log

            if not is_available():
                log.error("For '%s', the device %s is not there: the setting has no effect.", name, kind)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"A setting of {kind}, without effect."
        return call

    device_count.__doc__ = f"1, or RuntimeError where there is no {kind}."
    is_available.__doc__ = f"Whether there is a {kind}."
    return {
        **{name: setting(name) for name in names.split()},
        "device_count": device_count,
        "is_available": is_available,
    }
