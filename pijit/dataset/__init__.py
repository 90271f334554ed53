"""Datasets and pipelines of operations on them: mindspore.dataset's names.

Rows come from a dataset (`GeneratorDataset`, `NumpySlicesDataset`, datasets of files …), pass operations (`map`,
`shuffle`, `batch` …) and are given out by iterators as Tensors or ndarrays:

    dataset = NumpySlicesDataset({"x": x, "y": y}, shuffle=True).map(f, "x").batch(32)
    for batch in dataset.create_dict_iterator(num_epochs=1):
        step(batch["x"], batch["y"])

With `config.set_seed` a pipeline gives the same rows in every run, whatever the number of workers; but several text
files that are not shuffled are read side by side by the workers, and their rows come by turns."""

import typing as _typing

from pijit import compat as _compat
from pijit.dataset import config
from pijit.dataset import text, transforms, vision
from pijit.dataset.callback import DSCallback, WaitedDSCallback
from pijit.dataset.datasets import Dataset, Shuffle, zip_datasets as zip
from pijit.dataset.files import CSVDataset, TextFileDataset
from pijit.dataset.image_arrays import (
    Cifar100Dataset, Cifar10Dataset, EMnistDataset, FakeImageDataset, FashionMnistDataset, KMnistDataset,
    MnistDataset, QMnistDataset, SemeionDataset, STL10Dataset, SVHNDataset, USPSDataset)
from pijit.dataset.image_folders import (
    Caltech101Dataset, Caltech256Dataset, CelebADataset, DIV2KDataset, FlickrDataset, Flowers102Dataset,
    Food101Dataset, ImageFolderDataset, LFWDataset, LSUNDataset, ManifestDataset, OmniglotDataset, PhotoTourDataset,
    Places365Dataset, RenderedSST2Dataset, SBUDataset, SUN397Dataset)
from pijit.dataset.image_marks import (
    CityscapesDataset, CocoDataset, KITTIDataset, SBDataset, VOCDataset, WIDERFaceDataset)
from pijit.dataset.sound_sets import (
    CMUArcticDataset, GTZANDataset, LibriTTSDataset, LJSpeechDataset, SpeechCommandsDataset, TedliumDataset,
    YesNoDataset)
from pijit.dataset.text_sets import (
    AGNewsDataset, AmazonReviewDataset, CLUEDataset, CoNLL2000Dataset, DBpediaDataset, EnWik9Dataset, IMDBDataset,
    IWSLT2016Dataset, IWSLT2017Dataset, Multi30kDataset, PennTreebankDataset, SogouNewsDataset, SQuADDataset,
    SST2Dataset, UDPOSDataset, WikiTextDataset, YahooAnswersDataset, YelpReviewDataset)
from pijit.dataset.tfrecord import TFRecordDataset
from pijit.dataset.mindrecord import MindDataset
from pijit.dataset.samplers import (DistributedSampler, PKSampler, RandomSampler, Sampler, SequentialSampler,
                                    SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)
from pijit.dataset.schema import Schema
from pijit.dataset.sources import GeneratorDataset, NumpySlicesDataset, PaddedDataset, RandomDataset

__all__ = ["AGNewsDataset", "AmazonReviewDataset", "CLUEDataset", "CMUArcticDataset", "CSVDataset",
           "Caltech101Dataset", "Caltech256Dataset", "CelebADataset", "Cifar100Dataset", "Cifar10Dataset",
           "CityscapesDataset", "CoNLL2000Dataset", "CocoDataset", "DBpediaDataset", "DIV2KDataset", "DSCallback",
           "Dataset", "DistributedSampler", "EMnistDataset", "EnWik9Dataset", "FakeImageDataset",
           "FashionMnistDataset", "FlickrDataset", "Flowers102Dataset", "Food101Dataset", "GTZANDataset",
           "GeneratorDataset", "IMDBDataset", "IWSLT2016Dataset", "IWSLT2017Dataset", "ImageFolderDataset",
           "KITTIDataset", "KMnistDataset", "LFWDataset", "LJSpeechDataset", "LSUNDataset", "LibriTTSDataset",
           "ManifestDataset", "MindDataset", "MnistDataset", "Multi30kDataset", "NumpySlicesDataset",
           "OmniglotDataset", "PKSampler", "PaddedDataset", "PennTreebankDataset", "PhotoTourDataset",
           "Places365Dataset", "QMnistDataset", "RandomDataset", "RandomSampler", "RenderedSST2Dataset", "SBDataset",
           "SBUDataset", "SQuADDataset", "SST2Dataset", "STL10Dataset", "SUN397Dataset", "SVHNDataset", "Sampler",
           "Schema", "SemeionDataset", "SequentialSampler", "Shuffle", "SogouNewsDataset", "SpeechCommandsDataset",
           "SubsetRandomSampler", "SubsetSampler", "TFRecordDataset", "TedliumDataset", "TextFileDataset",
           "UDPOSDataset", "USPSDataset", "VOCDataset", "WIDERFaceDataset", "WaitedDSCallback",
           "WeightedRandomSampler", "WikiTextDataset", "YahooAnswersDataset", "YelpReviewDataset", "YesNoDataset",
           "config", "text", "transforms", "vision", "zip"]


__getattr__, __dir__ = _compat.names(__name__)
if _typing.TYPE_CHECKING:  # what is loaded when it is asked for (tools/stubs.py)
    from pijit.dataset import (audio as audio, callback as callback, check as check, datasets as datasets,
                               files as files, image_arrays as image_arrays, image_folders as image_folders,
                               image_marks as image_marks, mat as mat, mindrecord as mindrecord, pipeline as pipeline,
                               samplers as samplers, schema as schema, seeds as seeds, sound_sets as sound_sets,
                               sources as sources, text_sets as text_sets, tfrecord as tfrecord)
# -- to here --
