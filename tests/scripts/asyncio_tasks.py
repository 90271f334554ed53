import asyncio
import pijit as ms
from pijit import ops


def blend(a, b):
    return a * 0.5 + ops.cos(b) * 0.5


async def worker(name, queue, out):
    while True:
        x = await queue.get()
        if x is None:
            break
        for _ in range(15):
            x = blend(x, x + 1)
        out.append((name, float(x.sum()).hex()))
        await asyncio.sleep(0)


async def main():
    queue, out = asyncio.Queue(), []
    task = asyncio.create_task(worker("w", queue, out))
    for k in range(10):
        await queue.put(ms.Tensor([float(k), 1.0]))
    await queue.put(None)
    await task
    print(out)
    raise RuntimeError("the end")


try:
    asyncio.run(main())
except RuntimeError as e:
    print(repr(e))
