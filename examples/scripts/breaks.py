"""What ends a graph, and what helps: the commonest breaks one by one, on scikit-learn's irises, with what explain says
of each."""

import logging
import time

import numpy as np
from sklearn.datasets import load_iris

import pijit as ms
from pijit import ops

x = ms.Tensor(load_iris().data.astype(np.float32))
log = logging.getLogger("irises")


def asks_for_a_number(x):
    return x / float(x.max())


def branches_on_a_value(x):
    if x.asnumpy().max() > 7:
        x = x - 7
    return x * 2


def looks_at_the_clock(x):
    begin = time.perf_counter()
    y = ops.exp(-x)
    return y, time.perf_counter() - begin


def logs(x):
    m = x.mean()
    log.info("mean %s", m)
    return x - m


def uses_numpy(x):
    return ops.relu(x - ms.Tensor(np.quantile(x.asnumpy(), 0.5, axis=0)))


def none_of_it(x):
    return ops.relu(x - x.median(0)[0]) / x.max()


for f in (asks_for_a_number, branches_on_a_value, looks_at_the_clock, logs, uses_numpy, none_of_it):
    g = ms.jit(f)
    for _ in range(3):
        g(x)
    e = ms.explain(g)
    print(f"\n{f.__name__}: {len(e.graphs)} graphs, {len(e.all_breaks)} breaks")
    for b in e.all_breaks:
        print(f"  {b.where}  {b.source}\n    {b.why}" + (f"\n    hint: {b.hint}" if b.hint else ""))
assert not e.all_breaks and all(b.hint for b in ms.explain(g).all_breaks)
