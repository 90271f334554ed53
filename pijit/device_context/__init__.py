"""Devices by kind."""

from pijit.device_context import cpu  # noqa: F401
