"""Messages by Python's `logging`: the library's, under MindSpore's names, and what capture and the compiler tell.

`pijit` is the logger of the library. GLOG_v sets its level: 0 debug, 1 info, 2 warning (the default), 3 error, 4
critical. `pijit.capture`, `pijit.breaks` and so on are those of the channels of PIJIT_LOG. They tell nothing until
somebody sets the level of one of them, or that of `pijit`; the level of the root logger turns none on.

    logging.basicConfig()
    logging.getLogger("pijit.breaks").setLevel(logging.INFO)

`import pijit` sees to the loggers where `logging` is loaded already, `import pijit.log` in any case. Lines come in the
order in which they were told, from the main thread, a moment later."""

from __future__ import annotations

import atexit
import logging
import os
from typing import Any

from pijit import _C

# By channel. Few lines say what became of a function; many, what was made of it.
CHANNELS = {"capture": logging.INFO, "breaks": logging.INFO, "recompiles": logging.INFO, "compile": logging.DEBUG,
            "graph": logging.DEBUG, "passes": logging.DEBUG, "kernels": logging.DEBUG, "dispatch": logging.DEBUG,
            "exec": logging.DEBUG}
_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR, "4": logging.CRITICAL}


def _tell(seconds: float, channel: str, text: str) -> None:
    """A line of a channel goes to its logger."""
    logger, level = logging.getLogger(f"pijit.{channel}"), CHANNELS[channel]
    if logger.isEnabledFor(level):
        record = logger.makeRecord(logger.name, level, "(pijit)", 0, text, (), None)
        record.created, record.msecs = seconds, seconds % 1 * 1000
        logger.handle(record)


def _listen() -> None:
    """Asks for the lines of those channels that somebody wants."""
    wanted = [c for c, level in CHANNELS.items() if logging.getLogger(f"pijit.{c}").getEffectiveLevel() <= level]
    _C.listen_to_log(",".join(wanted), _tell)


class _Heard:
    """A logger whose level says which lines are made at all."""

    def setLevel(self, level: Any) -> None:
        super().setLevel(level)  # pyright: ignore[reportAttributeAccessIssue]
        _listen()


_logger = logging.getLogger("pijit")
if not _logger.level or "GLOG_v" in os.environ:
    _logger.setLevel(_LEVELS.get(os.environ.get("GLOG_v", "2"), logging.WARNING))
for _each in (_logger, *(logging.getLogger(f"pijit.{c}") for c in CHANNELS)):
    if not isinstance(_each, _Heard):
        _each.__class__ = type(type(_each).__name__, (_Heard, type(_each)), {})
_listen()
atexit.register(_C.flush_log)

debug, info, warning, error, critical = _logger.debug, _logger.info, _logger.warning, _logger.error, _logger.critical


def get_level() -> str:
    """The level, as GLOG_v numbers it."""
    return next((k for k, v in _LEVELS.items() if v == _logger.level), "2")


def get_log_config() -> dict[str, str]:
    """The settings of the log."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
