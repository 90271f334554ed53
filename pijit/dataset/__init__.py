"""Datasets and pipelines of operations on them: mindspore.dataset's names.

Rows come from a dataset (`GeneratorDataset`, `NumpySlicesDataset`, datasets of files …), pass operations (`map`, `shuffle`,
`batch` …) and are given out by iterators as Tensors or ndarrays:

    dataset = NumpySlicesDataset({"x": x, "y": y}, shuffle=True).map(f, "x").batch(32)
    for batch in dataset.create_dict_iterator(num_epochs=1):
        step(batch["x"], batch["y"])

With `config.set_seed` a pipeline gives the same rows in every run, whatever the number of workers."""

from pijit.dataset import config
from pijit.dataset import transforms, vision
from pijit.dataset.callback import DSCallback, WaitedDSCallback
from pijit.dataset.datasets import Dataset, Shuffle, zip_datasets as zip  # noqa: A004
from pijit.dataset.samplers import (DistributedSampler, PKSampler, RandomSampler, Sampler, SequentialSampler,
                                    SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)
from pijit.dataset.sources import GeneratorDataset, NumpySlicesDataset, PaddedDataset, RandomDataset

__all__ = ["DSCallback", "Dataset", "DistributedSampler", "GeneratorDataset", "NumpySlicesDataset", "PKSampler", "PaddedDataset",
           "RandomDataset", "RandomSampler", "Sampler", "SequentialSampler", "Shuffle", "SubsetRandomSampler", "SubsetSampler",
           "WaitedDSCallback", "WeightedRandomSampler", "config", "transforms", "vision", "zip"]
