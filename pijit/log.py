"""Messages under MindSpore's names. Levels by GLOG_v: 0 debug, 1 info, 2 warning (the default), 3 error, 4 critical."""

from __future__ import annotations

import logging
import os

_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR, "4": logging.CRITICAL}
_logger = logging.getLogger("pijit")
_logger.setLevel(_LEVELS.get(os.environ.get("GLOG_v", "2"), logging.WARNING))

debug, info, warning, error, critical = _logger.debug, _logger.info, _logger.warning, _logger.error, _logger.critical


def get_level() -> str:
    """The level, as GLOG_v numbers it."""
    return next((k for k, v in _LEVELS.items() if v == _logger.level), "2")


def get_log_config() -> dict[str, str]:
    """The settings of the log."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
