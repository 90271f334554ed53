"""The beginning of each program."""

import argparse

import numpy as np

import mindspore as ms
from mindspore import Tensor


def arguments(**defaults):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="overrides of the configuration")
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    return parser


def start(args, seed=1):
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE, device_target="CPU")
    ms.set_seed(seed)
    np.random.seed(seed)


def fill(network, seed, scale=1.0):
    """Known values for all trainable parameters, whatever the framework draws."""
    rng = np.random.RandomState(seed)
    for p in network.trainable_params():
        if p.ndim > 1:
            fan = int(np.prod(p.shape[1:])) if p.ndim > 2 else p.shape[-1]
            p.set_data(Tensor((rng.randn(*p.shape) * scale / np.sqrt(fan)).astype(np.float32)))
        elif "bias" in p.name or p.name.endswith("beta"):
            p.set_data(Tensor(np.zeros(p.shape, np.float32)))
    return network
