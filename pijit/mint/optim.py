"""Optimizers under PyTorch's names and arguments."""

from pijit.experimental.optim.optimizers import SGD, Adam, AdamW

__all__ = ["Adam", "AdamW", "SGD"]
