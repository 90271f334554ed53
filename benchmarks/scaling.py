"""On paper: the speed of data parallel training by the number of ranks, of one with the same batch each. Costs of a
message are latency + bytes / bandwidth. docs/scaling.md says what is counted.

    python benchmarks/scaling.py [--latency 30e-6] [--bandwidth 1e9] [--gradients 11.2e6] [--step 0.18]"""

import argparse
import math

RANKS = (8, 16, 32, 64, 128, 256, 512, 1024)


def ring(p, n, latency, bandwidth):
    """Seconds of an all-reduce of n bytes: each rank passes on a p-th, twice around."""
    return 2 * (p - 1) * (latency + n / p / bandwidth)


def tree(p, n, latency, bandwidth):
    """Halving and doubling: as many bytes in log2(p) rounds each way."""
    return 2 * math.ceil(math.log2(p)) * latency + 2 * (p - 1) / p * n / bandwidth


def agreement(p, latency):
    """What ranks compare before: an all-gather of some bytes."""
    return math.ceil(math.log2(p)) * latency


def step(p, args, reduce):
    """Seconds of a training step. The first third is the forward pass; buckets leave evenly during the backward pass,
    one after the other, and the update waits for the last."""
    forward, backward = args.step / 3, args.step * 2 / 3
    buckets = max(1, math.ceil(args.gradients / args.bucket))
    cost = agreement(p, args.latency) + reduce(p, args.gradients / buckets, args.latency, args.bandwidth)
    free = 0.0  # when the bucket before has arrived
    for k in range(1, buckets + 1):
        free = max(free, backward * k / buckets) + cost
    apart = backward + buckets * cost
    return forward + free, forward + apart


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for name, default in (("latency", 30e-6), ("bandwidth", 1e9), ("gradients", 11.2e6), ("step", 0.18),
                          ("bucket", 4 << 20)):
        p.add_argument(f"--{name}", type=float, default=default)
    args = p.parse_args()
    print("| ranks | " + " | ".join(map(str, RANKS)) + " |")
    print("|---" * (len(RANKS) + 1) + "|")
    for name, reduce in (("ring", ring), ("tree", tree)):
        for how, which in (("overlapped", 0), ("behind the backward pass", 1)):
            cells = [f"{100 * args.step / step(n, args, reduce)[which]:.0f} %" for n in RANKS]
            print(f"| {name}, {how} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
