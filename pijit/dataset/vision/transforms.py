"""Operations on images, of all kinds."""

from pijit.dataset.transforms.transforms import TensorOperation, not_random
from pijit.dataset.vision.images import *  # noqa: F403
from pijit.dataset.vision.geometry import *  # noqa: F403
from pijit.dataset.vision.colors import *  # noqa: F403
from pijit.dataset.vision.policies import *  # noqa: F403
from pijit.dataset.vision.boxes import *  # noqa: F403

__all__ = sorted(n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, TensorOperation)
                 and not n.startswith("_") and n not in ("TensorOperation", "ImageOperation")) + ["not_random"]
