import logging
import sys
import pijit as ms
from pijit import ops
logging.basicConfig(stream=sys.stdout, level=logging.INFO,
                    format="%(levelname)s %(filename)s:%(lineno)d %(funcName)s %(message)s")
log = logging.getLogger("scripts")


def step(x, k):
    y = ops.tanh(x) * 2
    if k % 10 == 0:
        log.info("step %d: %s", k, float(y.sum()).hex())
    z = y - x
    log.debug("never shown")
    return z * 0.5


x = ms.Tensor([0.3, 0.7])
for k in range(40):
    x = step(x, k)
    if k % 20 == 5:
        log.warning("loop %d %s", k, x.shape, stack_info=True)
log.error("done %s", x.shape)
