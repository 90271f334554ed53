"""A jitted function in Dask's workers, which are processes: each compiles it once.

    pip install dask distributed
    python examples/distributed/workers/with_dask.py"""

import numpy as np
from dask.distributed import Client, LocalCluster

import pijit as ms
from pijit import Tensor, ops


@ms.jit
def score(x):
    return ops.tanh(x @ x.T).sum(1)


def scores(rows):
    return score(Tensor(rows)).asnumpy()


def main():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(64, 8)).astype(np.float32) for _ in range(6)]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        found = client.gather(client.map(scores, parts))
    for part, result in zip(parts, found):
        np.testing.assert_array_equal(result, scores(part))
    print(len(found), "parts by Dask")


if __name__ == "__main__":
    main()
