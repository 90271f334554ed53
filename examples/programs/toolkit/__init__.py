"""What the programs of this folder share, as packages of models do: configuration, registries, steps, callbacks."""

from .callbacks import Averages, EarlyStop, LossHistory
from .config import Config, load_config
from .registry import Registry, build
from .setup import arguments, fill, start
from .steps import EMA, ScaledStep, clip_gradients

__all__ = ["EMA", "Averages", "Config", "EarlyStop", "LossHistory", "Registry", "ScaledStep", "arguments", "build",
           "clip_gradients", "fill", "load_config", "start"]
