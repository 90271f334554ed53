"""Datasets of texts: lines, fields of CSV files, blocks of tagged words, pairs of translations, and JSON."""

from __future__ import annotations

import csv
import json
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Shuffle
from pijit.dataset.files import (Blocks, Computed, FileRows, Lines, UsageSet, _folder, files_below, read_json,
                                 read_lines, read_text)
from pijit.dataset.image_marks import parse_xml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class _Texts(FileRows):
    """Rows of the text files in a folder, which `_parts` names for each usage."""

    _parts: dict[str, Any] = {}
    _sorted = True  # whether the files of all parts are read in the order of their names

    def _set(self, dataset_dir, usage):
        op = type(self).__name__
        self.dataset_dir: Any = dataset_dir
        self.usage = check.choice(op, "usage", usage, (*self._parts, "all"), none=True) or "all"

    def _find(self, op, dataset_files):
        _folder(op, dataset_files)
        names = list(self._parts.values()) if self.usage == "all" else [self._parts[self.usage]]
        files = [self._placed(n) for n in names]
        return sorted(files) if self._sorted else files

    def _placed(self, name):
        return os.path.join(self.dataset_dir, name)


class _ByParts(_Texts):
    """Texts of a folder with parts that `usage` names."""

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        self._set(dataset_dir, usage)
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


class _ByPartsToo(_Texts):
    """As _ByParts, with the arguments in another order."""

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
                 num_parallel_workers: int | None = None, cache: Any = None) -> None:
        self._set(dataset_dir, usage)
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


# --- CSV --------------------------------------------------------------------------------------------------------------


class _CSVRows(_Texts):
    """Rows of CSV files without a header, whose fields are the columns; `\"\"` within quotes is a quote."""

    _parts = {"train": "train.csv", "test": "test.csv"}

    def _source(self, file):
        return Lines(type(self).__name__, file, quoted=True)

    def _values(self, file, row):
        try:
            values = next(csv.reader([row.rstrip("\r")] if "\n" not in row else row.splitlines(True)), [])
        except csv.Error as e:
            raise RuntimeError(f"[{type(self).__name__}] {file!r} has {row[:60]!r}: {e}") from e
        if len(values) != len(self._names_of_columns):
            raise RuntimeError(f"[{type(self).__name__}] {file!r} should have {len(self._names_of_columns)} fields in "
                               f"each line, but has {len(values)}: {row[:60]!r}.")
        return values


class AGNewsDataset(_CSVRows, _ByParts):
    """AG News: columns index, title and description (strings).

    Args:
        dataset_dir: the folder with train.csv and test.csv. usage: "train", "test" or "all" (None).
        shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _names_of_columns = ("index", "title", "description")


class AmazonReviewDataset(_CSVRows, _ByParts):
    """Amazon Review Polarity and Full: columns label, title and content (strings).

    Arguments and errors are those of AGNewsDataset."""

    _names_of_columns = ("label", "title", "content")


class DBpediaDataset(_CSVRows, _ByParts):
    """DBpedia: columns class, title and content (strings). Arguments and errors are those of AGNewsDataset."""

    _names_of_columns = ("class", "title", "content")


class YahooAnswersDataset(_CSVRows, _ByParts):
    """Yahoo! Answers: columns class, title, content and answer (strings).

    Arguments and errors are those of AGNewsDataset."""

    _names_of_columns = ("class", "title", "content", "answer")


class SogouNewsDataset(_CSVRows, _ByPartsToo):
    """Sogou News: columns index, title and content (strings).

    Args:
        dataset_dir: the folder with train.csv and test.csv. usage: "train", "test" or "all" (None).
        shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_shards, shard_id, num_parallel_workers: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _names_of_columns, _sorted = ("index", "title", "content"), False


class YelpReviewDataset(_CSVRows, _ByPartsToo):
    """Yelp Review Polarity and Full: columns label and text (strings).

    Arguments and errors are those of SogouNewsDataset."""

    _names_of_columns, _sorted = ("label", "text"), False


class SST2Dataset(_ByParts):
    """SST2: columns sentence and label (strings), of "test" sentence alone.

    Args:
        dataset_dir: the folder with train.tsv, dev.tsv and test.tsv. usage: "train" (None), "dev" or "test".
        shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _parts = {"train": "train.tsv", "test": "test.tsv", "dev": "dev.tsv"}

    def _set(self, dataset_dir, usage):
        self.dataset_dir: Any = dataset_dir
        self.usage = check.choice("SST2Dataset", "usage", usage, tuple(self._parts), none=True) or "train"

    def _columns(self):
        return ["sentence"] if self.usage == "test" else ["sentence", "label"]

    def _source(self, file):
        return Lines("SST2Dataset", file, skip=1)

    def _values(self, file, row):
        values = row.rstrip("\r").split("\t")
        if len(values) != 2:
            raise RuntimeError(f"[SST2Dataset] {file!r} should have two fields in each line, but has {row[:60]!r}.")
        return values[1:] if self.usage == "test" else values


# --- lines and blocks -------------------------------------------------------------------------------------------------


class _LineRows(_Texts):
    """Lines of text files."""

    _names_of_columns = ("text",)

    def _source(self, file):
        return Lines(type(self).__name__, file)

    def _values(self, file, row):
        return (row,)


class PennTreebankDataset(_LineRows, _ByParts):
    """Penn Treebank: the column text (strings), the lines that are not empty.

    Args:
        dataset_dir: the folder with ptb.train.txt, ptb.valid.txt and ptb.test.txt.
        usage: "train", "valid", "test" or "all" (None). shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _parts = {p: f"ptb.{p}.txt" for p in ("train", "valid", "test")}


class WikiTextDataset(_LineRows, _ByParts):
    """WikiText-2 and WikiText-103: the column text (strings), the lines that are not empty.

    Args: dataset_dir: the folder with wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens. The others are those
        of PennTreebankDataset, as are the errors."""

    _parts = {p: f"wiki.{p}.tokens" for p in ("train", "valid", "test")}


class EnWik9Dataset(_LineRows):
    """EnWik9: the column text (strings), all lines.

    Args:
        dataset_dir: the folder with enwik9. shuffle: a bool or a Shuffle, True by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _parts = {"train": "enwik9"}

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = True, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        self._set(dataset_dir, None)
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _source(self, file):
        return Lines("EnWik9Dataset", file, empty=True)


class _TaggedWords(_Texts):
    """Sentences as blocks of lines, each a word with its tags."""

    _separator = " "

    def _source(self, file):
        return Blocks(type(self).__name__, file)

    def _values(self, file, row):
        words = [line.rstrip("\r").split(self._separator) for line in row.split("\n")]
        for word in words:
            if len(word) != len(self._names_of_columns):
                raise RuntimeError(f"[{type(self).__name__}] {file!r} should have {len(self._names_of_columns)} fields "
                                   f"in each line, but has {self._separator.join(word)[:60]!r}.")
        return [np.array(c) for c in zip(*words)]


class CoNLL2000Dataset(_TaggedWords, _ByPartsToo):
    """CoNLL-2000: columns word, pos_tag and chunk_tag (strings [words]), a row for each sentence.

    Args: dataset_dir: the folder with train.txt and test.txt. The others are those of SogouNewsDataset, as are the
        errors."""

    _names_of_columns, _parts = ("word", "pos_tag", "chunk_tag"), {"train": "train.txt", "test": "test.txt"}


class UDPOSDataset(_TaggedWords, _ByPartsToo):
    """UDPOS: columns word, universal and stanford (strings [words]), a row for each sentence.

    Args:
        dataset_dir: the folder with en-ud-tag.v2.train.txt, en-ud-tag.v2.dev.txt and en-ud-tag.v2.test.txt.
        usage: "train", "valid", "test" or "all" (None). The others are those of SogouNewsDataset, as are the errors."""

    _names_of_columns, _separator = ("word", "universal", "stanford"), "\t"
    _parts = {"train": "en-ud-tag.v2.train.txt", "valid": "en-ud-tag.v2.dev.txt", "test": "en-ud-tag.v2.test.txt"}


# --- translations -----------------------------------------------------------------------------------------------------


class _Pairs:
    """The rows of two sequences side by side."""

    def __init__(self, op: str, paths: Sequence[str], sides: Sequence[Sequence[str]]) -> None:
        if len(sides[0]) != len(sides[1]):
            raise RuntimeError(f"[{op}] {paths[0]!r} has {len(sides[0])} rows, but {paths[1]!r} {len(sides[1])}.")
        self.sides = sides

    def __len__(self) -> int:
        return len(self.sides[0])

    def __getitem__(self, i: int) -> tuple[str, str]:
        return self.sides[0][i], self.sides[1][i]


class _Translations(_Texts):
    """Texts and translations of them, in two files each."""

    _names_of_columns, _sorted = ("text", "translation"), False

    def _source(self, file):
        return _Pairs(type(self).__name__, file, [self._side(f) for f in file])

    def _side(self, file):
        return Lines(type(self).__name__, file)

    def _values(self, file, row):
        return row

    def _set_pair(self, language_pair, default, pairs):
        op = type(self).__name__
        pair = default if language_pair is None else language_pair
        check.instance(op, "language_pair", pair, (list, tuple))
        for i, p in enumerate(pair):
            check.string(op, f"language_pair[{i}]", p)
        if tuple(pair) not in pairs:
            raise ValueError(f"[{op}] language_pair must be one of {', '.join(map(str, pairs))}, but got "
                             f"{check.shown(pair)}.")
        self.language_pair: Any = pair


class Multi30kDataset(_Translations):
    """Multi30k: columns text and translation (strings), the lines that are not empty.

    Args:
        dataset_dir: the folder with training, validation and mmt16_task1_test.
        usage: "train", "test", "valid" or "all" (None). language_pair: ("en", "de") (None) or ("de", "en").
        shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _parts = {"test": "mmt16_task1_test/test", "train": "training/train", "valid": "validation/val"}

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Sequence[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle | None = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        self._set(dataset_dir, usage)
        self._set_pair(language_pair, ("en", "de"), (("en", "de"), ("de", "en")))
        super().__init__(dataset_dir, num_samples, num_parallel_workers, Shuffle.GLOBAL if shuffle is None else shuffle,
                         num_shards, shard_id, cache)

    def _placed(self, name):
        return tuple(os.path.join(self.dataset_dir, f"{name}.{language}") for language in self.language_pair)


class _IWSLT(_Translations):
    """The files of IWSLT: lines among tags for training, XML for the others."""

    _parts = {"train": "train", "valid": "valid", "test": "test"}
    _year = 0
    _named_sets: dict[str, str] = {}

    def _placed(self, name):
        pair = "-".join(self.language_pair)
        if name == "train":
            names = [f"train.tags.{pair}.{side}" for side in self.language_pair]
        else:
            names = [f"IWSLT{self._year}.TED.{self._named_sets[name]}.{pair}.{side}.xml" for side in self.language_pair]
        return tuple(os.path.join(self.dataset_dir, *self._below(), n) for n in names)

    def _below(self):
        raise NotImplementedError

    def _side(self, file):
        op = type(self).__name__
        if file.endswith(".xml"):
            return [" ".join((s.text or "").split("\n")).strip() for s in parse_xml(op, file).iter("seg")]
        return [line.strip() for line in read_lines(op, file) if line.strip() and not line.lstrip().startswith("<")]


class IWSLT2016Dataset(_IWSLT):
    """IWSLT2016: columns text and translation (strings).

    Args:
        dataset_dir: the folder with texts/de/en/de-en and those of the other pairs.
        usage: "train", "valid", "test" or "all" (None).
        language_pair: ("de", "en") (None), or "en" with "fr", "de", "cs" or "ar", in either order.
        valid_set, test_set: "dev2010", "tst2010", "tst2011", "tst2012", "tst2013" (valid, None) or "tst2014" (test,
            None). shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_shards, shard_id, num_parallel_workers: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _year = 16

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Sequence[str] | None = None,
                 valid_set: str | None = None, test_set: str | None = None, num_samples: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
                 num_parallel_workers: int | None = None, cache: Any = None) -> None:
        op = "IWSLT2016Dataset"
        self._set(dataset_dir, usage)
        pairs = [("en", o) for o in ("fr", "de", "cs", "ar")]
        self._set_pair(language_pair, ("de", "en"), pairs + [p[::-1] for p in pairs])
        sets = ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014")
        self.valid_set = check.choice(op, "valid_set", valid_set, sets, none=True) or "tst2013"
        self.test_set = check.choice(op, "test_set", test_set, sets, none=True) or "tst2014"
        self._named_sets = {"valid": self.valid_set, "test": self.test_set}
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _below(self):
        return "texts", *self.language_pair, "-".join(self.language_pair)


class IWSLT2017Dataset(_IWSLT):
    """IWSLT2017: columns text and translation (strings).

    Args:
        dataset_dir: the folder with texts or DeEnItNlRo, below which the files lie.
        usage: "train", "valid", "test" or "all" (None).
        language_pair: ("de", "en") (None), or another two of "en", "de", "it", "nl" and "ro".
        shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_shards, shard_id, num_parallel_workers: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _year = 17
    _named_sets = {"valid": "dev2010", "test": "tst2010"}

    def __init__(self, dataset_dir: str, usage: str | None = None, language_pair: Sequence[str] | None = None,
                 num_samples: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, num_parallel_workers: int | None = None,
                 cache: Any = None) -> None:
        self._set(dataset_dir, usage)
        languages = ("en", "nl", "de", "it", "ro")
        self._set_pair(language_pair, ("de", "en"), [(a, b) for a in languages for b in languages if a != b])
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _below(self):
        below = "DeEnItNlRo", "DeEnItNlRo", "DeEnItNlRo-DeEnItNlRo"
        inside = os.path.isdir(os.path.join(self.dataset_dir, "texts"))
        return ("texts", *below) if inside else below


# --- JSON, and a file for each row ------------------------------------------------------------------------------------


class SQuADDataset(_ByParts):
    """SQuAD 1.1 and 2.0.

    Columns context, question (strings), text (strings [answers]) and answer_start (uint32 [answers]). A question
    without an answer has the text "" and the start 4294967295.

    Args:
        dataset_dir: the folder with train-v1.1.json and dev-v1.1.json, or train-v2.0.json and dev-v2.0.json.
        usage: "train", "dev" or "all" (None). shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _names_of_columns, _sorted = ("context", "question", "text", "answer_start"), False
    _parts = {"train": "train", "dev": "dev"}

    def _placed(self, name):
        paths = [os.path.join(self.dataset_dir, f"{name}-v{v}.json") for v in ("1.1", "2.0")]
        return next((p for p in paths if os.path.isfile(p)), paths[-1])

    def _source(self, file):
        try:
            return [(p["context"], q["question"], [a["text"] for a in q["answers"]],
                     [int(a["answer_start"]) for a in q["answers"]])
                    for d in read_json("SQuADDataset", file)["data"] for p in d["paragraphs"] for q in p["qas"]]
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise RuntimeError(f"[SQuADDataset] {file!r} has no data of SQuAD: {type(e).__name__}: {e}") from e

    def _values(self, file, row):
        context, question, texts, starts = row
        if not all(isinstance(t, str) for t in (context, question, *texts)):
            raise RuntimeError(f"[SQuADDataset] {file!r} has a context, question or answer that is no text.")
        starts = np.array(starts or [2**32 - 1], np.float64)
        if not ((starts >= 0) & (starts < 2**32)).all():
            raise RuntimeError(f"[SQuADDataset] {file!r} has an answer that starts at {starts.tolist()}.")
        return context, question, np.array(texts or [""]), starts.astype(np.uint32)


class CLUEDataset(FileRows):
    """CLUE: a column for each key that the task and the usage have: strings and uint32.

    Args:
        dataset_files: a path, a pattern, or a list of them, each line a JSON object.
        task: "AFQMC", "TNEWS", "IFLYTEK", "CMNLI", "WSC" or "CSL". usage: "train", "test" or "eval".
        shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are broken
    or of another task."""

    _pair, _text = {"sentence1": str, "sentence2": str}, {"sentence": str}
    _spans = {"span1_index": int, "span1_text": str, "span2_index": int, "span2_text": str, "text": str, "idx": int}
    _keys = {  # of test, and what train and eval have besides (instead of id)
        "AFQMC": ({"id": int, **_pair}, {"label": str}),
        "TNEWS": ({"id": int, "keywords": str, **_text}, {"label": str, "label_desc": str}),
        "IFLYTEK": ({"id": int, **_text}, {"label": str, "label_des": str}),
        "CMNLI": ({"id": int, **_pair}, {"label": str}),
        "WSC": (_spans, {"label": str}),
        "CSL": ({"id": int, "abst": str, "keyword": list}, {"label": str}),
    }

    def __init__(self, dataset_files: str | Sequence[str], task: str = "AFQMC", usage: str = "train",
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        self.task = check.choice("CLUEDataset", "task", task, tuple(self._keys))
        self.usage = check.choice("CLUEDataset", "usage", usage, ("train", "test", "eval"))
        test, more = self._keys[task]
        kinds = test if usage == "test" else {**test, **more}
        if usage != "test" and task != "CSL":
            kinds = {k: v for k, v in kinds.items() if k != "id"}
        self._kinds = dict(sorted(kinds.items()))
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _columns(self):
        return list(self._kinds)

    def _source(self, file):
        return Lines("CLUEDataset", file)

    def _values(self, file, row):
        try:
            found = json.loads(row)
            found.update(found.get("target", {}) if self.task == "WSC" else {})
            return [self._typed(found[k], kind) for k, kind in self._kinds.items()]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as e:
            raise RuntimeError(f"[CLUEDataset] {file!r} has a line that is no row of {self.task} for {self.usage!r}: "
                               f"{type(e).__name__}: {e}; it is {row[:60]!r}.") from e

    @staticmethod
    def _typed(value, kind):
        if kind is list:
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise TypeError("a list of strings is missing")
            return np.array(value, str)
        if kind is int:
            return np.array(int(value), np.uint32)
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no string")
        return np.array(value)


class IMDBDataset(UsageSet):
    """IMDb: columns text (a string, the whole file) and label (int32: 1 for positive).

    Args:
        dataset_dir: the folder with train and test, each with pos and neg. usage: "train", "test" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "all")

    def num_classes(self) -> int:
        """2."""
        return 2

    @staticmethod
    def _review(path):
        return read_text("IMDBDataset", path).rstrip("\r\n")

    def _list(self):
        paths, labels = [], []
        for part in ("train", "test") if self.usage == "all" else [self.usage]:
            for label, name in ((1, "pos"), (0, "neg")):
                found = list(files_below(self._path(part, name), (".txt",), deep=False))
                paths += found
                labels += [label] * len(found)
        return {"text": Computed(paths, self._review),
                "label": np.array(labels, np.int32)}
