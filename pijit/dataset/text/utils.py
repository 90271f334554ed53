"""Vocabularies, and conversions between strings and bytes."""

from __future__ import annotations

import collections
import enum
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check

if TYPE_CHECKING:
    from typing import Any


class NormalizeForm(enum.IntEnum):
    """Unicode's normalization forms."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


def to_str(array: Any, encoding: str = "utf8") -> Any:
    """An ndarray of bytes as one of strings. Raises TypeError for no ndarray."""
    check.instance("to_str", "array", array, np.ndarray)
    return array if array.dtype.kind == "U" else np.char.decode(array, encoding)


def to_bytes(array: Any, encoding: str = "utf8") -> Any:
    """An ndarray of strings as one of bytes. Raises TypeError for no ndarray."""
    check.instance("to_bytes", "array", array, np.ndarray)
    return array if array.dtype.kind == "S" else np.char.encode(array, encoding)


def _words(op, name, words, none=False):
    if words is None and none:
        return []
    check.instance(op, name, words, list)
    for i, w in enumerate(words):
        check.string(op, f"{name}[{i}]", w)
    seen = set()
    for w in words:
        if w in seen:
            raise ValueError(f"[{op}] {name} contains duplicate word: {w!r}.")
        seen.add(w)
    return words


class Vocab:
    """A vocabulary: a number for each word. Made by from_dataset, from_list, from_file or from_dict."""

    def __init__(self) -> None:
        self._ids = {}
        self._tokens = {}

    @classmethod
    def _make(cls, op, words, special_tokens, special_first):
        check.boolean(op, "special_first", special_first)
        special = _words(op, "special_tokens", special_tokens, none=True)
        both = set(words) & set(special)
        if both:
            raise ValueError(f"[{op}] special_tokens and word_list contain duplicate word: {sorted(both)}.")
        words = list(special) + list(words) if special_first else list(words) + list(special)
        return cls._from({w: i for i, w in enumerate(words)})

    @classmethod
    def _from(cls, ids):
        vocab = cls()
        vocab._ids = ids
        vocab._tokens = {i: w for w, i in ids.items()}
        return vocab

    @classmethod
    def from_dataset(cls, dataset: Any, columns: Any = None, freq_range: Any = None, top_k: Any = None,
                     special_tokens: Any = None, special_first: bool = True) -> Vocab:
        """The words in columns of a dataset, the most frequent first.

        Args:
            columns: a str or a list of str; None for all. freq_range: (minimum, maximum) of how often a word comes,
                None for any.
            top_k: how many words at most. special_tokens: words added. special_first: whether they come first."""
        op = "Vocab.from_dataset"
        columns = check.columns(op, "columns", columns, none=True, empty=True) or None
        low, high = 0, check.INT64_MAX
        if freq_range is not None:
            check.instance(op, "freq_range", freq_range, tuple)
            if len(freq_range) != 2:
                raise ValueError(f"[{op}] freq_range must be (minimum, maximum), but got {check.shown(freq_range)}.")
            low = check.integer(op, "freq_range[0]", freq_range[0], 0, none=True) or 0
            high = check.integer(op, "freq_range[1]", freq_range[1], 0, none=True)
            high = check.INT64_MAX if high is None else high
            if low > high:
                raise ValueError(f"[{op}] freq_range must be (minimum, maximum), but got {check.shown(freq_range)}.")
        check.integer(op, "top_k", top_k, 1, none=True)
        counts = collections.Counter()
        for row in dataset.create_tuple_iterator(columns=columns, num_epochs=1, output_numpy=True):
            for v in row:
                if v.dtype.kind not in "US":
                    raise RuntimeError(f"[{op}] the columns must hold strings, but hold {v.dtype}.")
                counts.update((to_str(v) if v.dtype.kind == "S" else v).reshape(-1).tolist())
        words = sorted((w for w, c in counts.items() if low <= c <= high), key=lambda w: (-counts[w], w))
        return cls._make(op, words[:top_k], special_tokens, special_first)

    @classmethod
    def from_list(cls, word_list: Any, special_tokens: Any = None, special_first: bool = True) -> Vocab:
        """The words of a list. Raises TypeError for no list of str, ValueError for words that come twice."""
        return cls._make("Vocab.from_list", _words("Vocab.from_list", "word_list", word_list), special_tokens,
                         special_first)

    @classmethod
    def from_file(cls, file_path: Any, delimiter: str = "", vocab_size: Any = None, special_tokens: Any = None,
                  special_first: bool = True) -> Vocab:
        """The words of a text file, one per line: what stands before `delimiter`.

        Args: vocab_size: how many lines at most; None for all. The others are those of from_list."""
        op = "Vocab.from_file"
        check.string(op, "file_path", file_path)
        check.string(op, "delimiter", delimiter)
        check.integer(op, "vocab_size", vocab_size, 1, none=True)
        try:
            with open(file_path, encoding="utf-8") as f:
                words = f.read().split("\n")
        except (OSError, UnicodeDecodeError) as e:
            raise RuntimeError(f"[{op}] cannot read {file_path!r}: {e}") from e
        words = words[:-1] if words and not words[-1] else words
        words = [w.partition(delimiter)[0] if delimiter else w for w in words[:vocab_size]]
        return cls._make(op, _words(op, "the file", words), special_tokens, special_first)

    @classmethod
    def from_dict(cls, word_dict: Any) -> Vocab:
        """The words of a dict from words to numbers. Raises TypeError and ValueError for other things and numbers below
        0."""
        check.instance("Vocab.from_dict", "word_dict", word_dict, dict)
        for w, i in word_dict.items():
            check.string("Vocab.from_dict", "a word", w)
            check.integer("Vocab.from_dict", f"word_dict[{w!r}]", i, 0, check.INT32_MAX)
        return cls._from({w: int(i) for w, i in word_dict.items()})

    def vocab(self) -> dict[Any, Any]:
        """A dict from words to numbers."""
        return dict(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def tokens_to_ids(self, tokens: Any) -> Any:
        """The number of a word, or a list of them for a list (or ndarray) of several words; −1 for unknown ones."""
        if isinstance(tokens, np.ndarray):
            tokens = tokens.tolist()
        if isinstance(tokens, str):
            return self._ids.get(tokens, -1)
        check.instance("Vocab.tokens_to_ids", "tokens", tokens, list)
        ids = [self._ids.get(check.string("Vocab.tokens_to_ids", "tokens", t), -1) for t in tokens]
        return ids[0] if len(ids) == 1 else ids  # as in MindSpore

    def ids_to_tokens(self, ids: Any) -> Any:
        """The word of a number, or a list of them for a list (or ndarray) of several numbers; "" for unknown ones."""
        if isinstance(ids, np.ndarray):
            ids = ids.tolist()
        if check.is_int(ids):
            return self._tokens.get(check.integer("Vocab.ids_to_tokens", "ids", ids, 0), "")
        check.instance("Vocab.ids_to_tokens", "ids", ids, list)
        tokens = [self._tokens.get(check.integer("Vocab.ids_to_tokens", "ids", i, 0), "") for i in ids]
        return tokens[0] if len(tokens) == 1 else tokens
