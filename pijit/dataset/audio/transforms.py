"""Operations on sound, of all kinds."""

from pijit.dataset.audio.arguments import AudioTensorOperation
from pijit.dataset.audio.effects import *  # noqa: F403
from pijit.dataset.audio.filters import *  # noqa: F403
from pijit.dataset.audio.level import *  # noqa: F403
from pijit.dataset.audio.masks import *  # noqa: F403
from pijit.dataset.audio.spectra import *  # noqa: F403
from pijit.dataset.audio.time import *  # noqa: F403

__all__ = sorted(n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, AudioTensorOperation)
                 and not n.startswith("_") and n != "AudioTensorOperation")
