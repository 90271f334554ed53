"""Operations on sound: ndarrays [..., time], and spectrograms [..., frequency, time]."""

import typing as _typing

from pijit import compat as _compat
from pijit.dataset.audio import transforms, utils  # noqa: F401
from pijit.dataset.audio.transforms import *  # noqa: F403
from pijit.dataset.audio.transforms import __all__ as _operations
from pijit.dataset.audio.utils import *  # noqa: F403
from pijit.dataset.audio.utils import __all__ as _names

__all__ = _operations + _names


__getattr__, __dir__ = _compat.names(__name__)

if _typing.TYPE_CHECKING:  # operations are made from tables
    def __getattr__(name: str) -> _typing.Any: ...
