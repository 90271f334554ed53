"""A jitted function in Ray's workers, which are processes: each compiles it once.

    pip install ray
    python examples/distributed/workers/with_ray.py"""

import numpy as np
import ray

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
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    remote = ray.remote(scores)
    found = ray.get([remote.remote(part) for part in parts])
    ray.shutdown()
    for part, result in zip(parts, found):
        np.testing.assert_array_equal(result, scores(part))
    print(len(found), "parts by Ray")


if __name__ == "__main__":
    main()
