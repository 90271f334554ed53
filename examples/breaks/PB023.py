"""pandas computes columns and tables."""
import numpy as np
import pandas
import pijit as ms
from pijit import ops

TABLE = pandas.DataFrame({"a": [1.0, 2.0, 3.0]})
ARGS = (ms.Tensor(np.ones(3, np.float32)), TABLE)


def breaks(x, table):
    return ops.relu(x) * ms.Tensor((table["a"] * 2).to_numpy())


COLUMN = ms.Tensor(TABLE["a"].to_numpy())


def mended(x, table):
    return ops.relu(x) * (COLUMN * 2)
