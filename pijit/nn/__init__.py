"""Networks: cells, layers, losses, optimizers, learning-rate schedules."""

from pijit.nn.cell import Cell, GraphCell  # noqa: F401
from pijit.nn.container import CellDict, CellList, SequentialCell  # noqa: F401
from pijit.nn.layer import *  # noqa: F401,F403
from pijit.nn.loss import *  # noqa: F401,F403
from pijit.nn.optim import *  # noqa: F401,F403
from pijit.nn.schedule import *  # noqa: F401,F403
from pijit.nn.wrap import *  # noqa: F401,F403
from pijit.nn import cell, layer, loss, optim, wrap  # noqa: F401
