"""Layers, by family."""

from pijit.nn.cell import Cell as _Cell
from pijit.nn.layer.activation import *  # noqa: F403
from pijit.nn.layer.activation import get_activation
from pijit.nn.layer.basic import *  # noqa: F403
from pijit.nn.layer.combined import *  # noqa: F403
from pijit.nn.layer.conv import *  # noqa: F403
from pijit.nn.layer.functions import *  # noqa: F403
from pijit.nn.layer.image import *  # noqa: F403
from pijit.nn.layer.normalization import *  # noqa: F403
from pijit.nn.layer.pooling import *  # noqa: F403
from pijit.nn.layer.rnn import *  # noqa: F403
from pijit.nn.layer.sparse import *  # noqa: F403
from pijit.nn.layer.transformer import *  # noqa: F403

__all__ = ([n for n, v in globals().items() if isinstance(v, type) and issubclass(v, _Cell) and v is not _Cell
            and n[0] != "_" and n != "RNNCellBase"] + ["get_activation"])
