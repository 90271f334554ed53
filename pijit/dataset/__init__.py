"""Datasets and pipelines of operations on them: mindspore.dataset's names.

Rows come from a dataset (`GeneratorDataset`, `NumpySlicesDataset`, datasets of files …), pass operations (`map`,
`shuffle`, `batch` …) and are given out by iterators as Tensors or ndarrays:

    dataset = NumpySlicesDataset({"x": x, "y": y}, shuffle=True).map(f, "x").batch(32)
    for batch in dataset.create_dict_iterator(num_epochs=1):
        step(batch["x"], batch["y"])

With `config.set_seed` a pipeline gives the same rows in every run, whatever the number of workers."""

from pijit import compat as _compat
from pijit.dataset import config
from pijit.dataset import text, transforms, vision
from pijit.dataset.callback import DSCallback, WaitedDSCallback
from pijit.dataset.datasets import Dataset, Shuffle, zip_datasets as zip
from pijit.dataset.files import (Cifar10Dataset, Cifar100Dataset, CSVDataset, FashionMnistDataset, ImageFolderDataset,
                                 KMnistDataset,
                                 MnistDataset, TextFileDataset, TFRecordDataset)
from pijit.dataset.mindrecord import MindDataset
from pijit.dataset.samplers import (DistributedSampler, PKSampler, RandomSampler, Sampler, SequentialSampler,
                                    SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)
from pijit.dataset.schema import Schema
from pijit.dataset.sources import (FakeImageDataset, GeneratorDataset, NumpySlicesDataset, PaddedDataset,
                                   RandomDataset)

__all__ = ["CSVDataset", "Cifar100Dataset", "Cifar10Dataset", "DSCallback", "Dataset", "DistributedSampler",
           "FakeImageDataset", "FashionMnistDataset", "GeneratorDataset", "ImageFolderDataset", "KMnistDataset",
           "MindDataset", "MnistDataset", "NumpySlicesDataset", "PKSampler", "PaddedDataset", "RandomDataset",
           "RandomSampler", "Sampler", "Schema", "SequentialSampler", "Shuffle", "SubsetRandomSampler", "SubsetSampler",
           "TFRecordDataset", "TextFileDataset", "WaitedDSCallback", "WeightedRandomSampler", "config", "text",
           "transforms", "vision", "zip"]


__getattr__, __dir__ = _compat.names(__name__)
