"""Vectors of words, read from the text files that word embeddings are published in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.transforms.transforms import TensorOperation

if TYPE_CHECKING:
    from collections.abc import Sequence


class Vectors:
    """A vector of float32 for each of some words. Made by from_file."""

    _name = ("", "")  # what the names of files start and end with

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._values = np.zeros((0, 0), np.float32)

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Vectors:
        """The vectors of a text file, whose lines are a word and its numbers; a first line with one number is left out.

        Args: file_path: the path. max_vectors: how many lines at most; None or 0 for all.
        Raises TypeError and ValueError for wrong arguments, RuntimeError for a file that is missing or broken."""
        op = f"{cls.__name__}.from_file"
        check.string(op, "file_path", file_path)
        most = check.integer(op, "max_vectors", max_vectors, 0, check.INT32_MAX, none=True) or check.INT64_MAX
        name, (start, end) = os.path.basename(file_path), cls._name
        if not (name.startswith(start) and name.endswith(end)):
            raise RuntimeError(f"[{op}] the file should be named {start}*{end}, but is {file_path!r}.")
        vectors = cls()
        try:
            if not os.path.isfile(file_path):
                raise RuntimeError(f"[{op}] there is no file {file_path!r}.")
            with open(file_path, encoding="utf-8", newline="\n") as f:
                vectors._fill(op, file_path, f, most)
        except (OSError, UnicodeDecodeError) as e:
            raise RuntimeError(f"[{op}] cannot read {file_path!r}: {e}") from e
        return vectors

    def _fill(self, op, path, lines, most):
        rows, size = [], None
        for number, line in enumerate(lines, 1):
            if len(rows) == most:
                break
            word, *values = line.rstrip("\r\n ").split(" ")
            if number == 1 and len(values) == 1:
                continue  # it says how many vectors there are, and how large
            size = len(values) if size is None else size
            try:
                vector = np.array(values, np.float32)
            except ValueError as e:
                raise RuntimeError(f"[{op}] {path!r} should have a word and numbers in line {number}: {e}") from e
            if not size or len(vector) != size:
                raise RuntimeError(f"[{op}] {path!r} should have {size or 'some'} numbers in line {number}, but has "
                                   f"{len(vector)}.")
            if word not in self._places:
                self._places[word] = len(rows)
                rows.append(vector)
        if not rows:
            raise RuntimeError(f"[{op}] {path!r} has no vectors.")
        self._values = np.stack(rows)

    def _found(self, word):
        """The vector of a word, None where there is none."""
        place = self._places.get(word)
        return None if place is None else self._values[place]


class GloVe(Vectors):
    """Vectors of GloVe, whose files are named glove.*.txt."""

    _name = ("glove.", ".txt")


class FastText(Vectors):
    """Vectors of fastText, whose files are named *.vec."""

    _name = ("", ".vec")


class CharNGram(Vectors):
    """Vectors of two, three and four characters: a word's is the mean of those it is made of."""

    def _found(self, word):
        characters, found = ["#BEGIN#", *word, "#END#"], []
        for n in (2, 3, 4):
            for i in range(len(characters) - n + 1):
                place = self._places.get(f"{n}gram-{''.join(characters[i:i + n])}")
                if place is not None:
                    found.append(self._values[place])
        return np.mean(found, 0, dtype=np.float32) if found else None


class ToVectors(TensorOperation):
    """The vectors of strings: float32 [..., size].

    Args:
        vectors: Vectors. unk_init: the numbers of the vector of other words; None for zeros.
        lower_case_backup: looks for the word in lower case where it is not found.
    Raises TypeError for wrong arguments, RuntimeError when unk_init has another size."""

    def __init__(self, vectors: Vectors, unk_init: Sequence[float] | None = None,
                 lower_case_backup: bool = False) -> None:
        op = "ToVectors"
        self.vectors: Vectors = check.instance(op, "vectors", vectors, Vectors)
        if unk_init is not None:
            check.instance(op, "unk_init", unk_init, (list, tuple, np.ndarray))
            unk_init = [check.real(op, f"unk_init[{i}]", v) for i, v in enumerate(unk_init)]
        self.unk_init: list[float] | None = unk_init
        self.lower_case_backup: bool = check.boolean(op, "lower_case_backup", lower_case_backup)

    def _run(self, v):
        from pijit.dataset.text.transforms import _strings
        words, size = _strings("ToVectors", v), self.vectors._values.shape[1]
        other = np.zeros(size, np.float32) if self.unk_init is None else np.array(self.unk_init, np.float32)
        if len(other) != size:
            raise RuntimeError(f"[ToVectors] unk_init should have {size} numbers, as the vectors, but has "
                               f"{len(other)}.")
        out = np.empty((words.size, size), np.float32)
        for i, word in enumerate(words.reshape(-1).tolist()):
            found = self.vectors._found(word)
            if found is None and self.lower_case_backup:
                found = self.vectors._found(word.lower())
            out[i] = other if found is None else found
        return out.reshape(*words.shape, size)
