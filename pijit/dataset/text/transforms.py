"""Operations on strings. Offsets, where they are asked for, count bytes of UTF-8."""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.transforms.transforms import TensorOperation, array, numpy_type
from pijit.dataset.text.utils import NormalizeForm, Vocab

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Axis


def _text(op, v):
    """A 0-d array of strings (or bytes) as a str."""
    v = array(op, v)
    if v.dtype.kind not in "US" or v.ndim:
        raise RuntimeError(f"[{op}] the input must be one string, but is {v.dtype} of shape {v.shape}.")
    v = v.item()
    return v.decode() if isinstance(v, bytes) else v


def _strings(op, v):
    v = array(op, v)
    if v.dtype.kind not in "US":
        raise RuntimeError(f"[{op}] the input must hold strings, but holds {v.dtype}.")
    return np.char.decode(v) if v.dtype.kind == "S" else v


class _Tokenizer(TensorOperation):
    """Kinds define `_spans(text)`, the (token, start, end) of a text, in characters."""

    def __init__(self, with_offsets: bool = False) -> None:
        self.with_offsets: bool = check.boolean(type(self).__name__, "with_offsets", with_offsets)

    def _run(self, v):
        return self._tokens(_text(type(self).__name__, v))

    def _tokens(self, text):
        spans = list(self._spans(text)) or [("", 0, 0)]
        tokens = np.array([s[0] for s in spans], np.str_)
        if not self.with_offsets:
            return tokens
        at = np.concatenate([[0], np.cumsum([len(c.encode()) for c in text])]).astype(np.uint32)
        return tokens, at[[s[1] for s in spans]], at[[s[2] for s in spans]]

    def _spans(self, text):
        raise NotImplementedError


class WhitespaceTokenizer(_Tokenizer):
    """The parts of a string between white space. Args: with_offsets: gives their starts and ends as columns too."""

    def _spans(self, text):
        return ((m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", text))


class UnicodeCharTokenizer(_Tokenizer):
    """The characters of a string. Args: with_offsets: gives their starts and ends as columns too."""

    def _spans(self, text):
        return ((c, i, i + 1) for i, c in enumerate(text))


def _script(c):
    if not c.isalpha():
        return "SPACE" if c.isspace() else "COMMON"
    return unicodedata.name(c, "UNKNOWN").partition(" ")[0]


class UnicodeScriptTokenizer(_Tokenizer):
    """The parts of a string in one script each.

    Args: keep_whitespace: white space is a token. with_offsets: as above."""

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self.keep_whitespace: bool = check.boolean("UnicodeScriptTokenizer", "keep_whitespace", keep_whitespace)

    def _spans(self, text):
        start = 0
        for script, part in itertools.groupby(text, _script):
            end = start + len(list(part))
            if script != "SPACE" or self.keep_whitespace:
                yield text[start:end], start, end
            start = end


class RegexTokenizer(_Tokenizer):
    """The parts of a string between matches of a pattern (of Python's `re`).

    Args: delim_pattern: the pattern. keep_delim_pattern: matches of this one are tokens too. with_offsets: as above."""

    def __init__(self, delim_pattern: Any, keep_delim_pattern: str = "", with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self._delim = _pattern("RegexTokenizer", "delim_pattern", delim_pattern)
        self._keep = (_pattern("RegexTokenizer", "keep_delim_pattern", keep_delim_pattern) if keep_delim_pattern
                      else None)

    def _spans(self, text):
        start = 0
        for m in self._delim.finditer(text):
            if m.end() == m.start():
                continue
            if m.start() > start:
                yield text[start:m.start()], start, m.start()
            if self._keep is not None and self._keep.fullmatch(m.group()):
                yield m.group(), m.start(), m.end()
            start = m.end()
        if start < len(text):
            yield text[start:], start, len(text)


def _pattern(op, name, pattern):
    check.string(op, name, pattern)
    try:
        return re.compile(pattern)
    except re.error as e:
        raise ValueError(f"[{op}] {name} is no regular expression: {e}.") from e


def _is_cjk(c):
    n = ord(c)
    return (0x4E00 <= n <= 0x9FFF or 0x3400 <= n <= 0x4DBF or 0x20000 <= n <= 0x2CEAF or 0xF900 <= n <= 0xFAFF
            or 0x2F800 <= n <= 0x2FA1F)


def _is_punctuation(c):
    return unicodedata.category(c)[0] == "P" or ord(c) < 128 and not c.isalnum() and c.isprintable() and not c.isspace()


_UNUSED = re.compile(r"\[(?:CLS|SEP|UNK|PAD|MASK|unused\d+)\]")


class BasicTokenizer(_Tokenizer):
    """The words, punctuation marks and Chinese characters of a string, as BERT has them.

    Args:
        lower_case: folds cases and leaves accents out. keep_whitespace: white space is a token.
        normalization_form: a NormalizeForm, where lower_case is False.
        preserve_unused_token: keeps [CLS], [SEP], [UNK], [PAD], [MASK] in one piece. with_offsets: as above."""

    def __init__(self, lower_case: bool = False, keep_whitespace: bool = False,
                 normalization_form: NormalizeForm = NormalizeForm.NONE, preserve_unused_token: bool = True,
                 with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        op = type(self).__name__
        self.lower_case: bool = check.boolean(op, "lower_case", lower_case)
        self.keep_whitespace: bool = check.boolean(op, "keep_whitespace", keep_whitespace)
        self.normalization_form: Any = check.instance(op, "normalization_form", normalization_form, NormalizeForm)
        self.preserve_unused_token: bool = check.boolean(op, "preserve_unused_token", preserve_unused_token)

    def _clean(self, text):
        if self.lower_case:
            text = "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if unicodedata.category(c) != "Mn")
        elif self.normalization_form:
            text = unicodedata.normalize(self.normalization_form.name, text)
        return "".join(c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))

    def _run(self, v):
        text = _text(type(self).__name__, v)
        if not self.preserve_unused_token:
            return self._tokens(self._clean(text))
        parts, start, kept, length = [], 0, {}, 0
        for m in _UNUSED.finditer(text):
            parts += [self._clean(text[start:m.start()]), m.group()]
            length += len(parts[-2])
            kept[length] = length + len(m.group())
            length = kept[length]
            start = m.end()
        parts.append(self._clean(text[start:]))
        self_kept = _Kept("".join(parts))
        self_kept.kept = kept
        return self._tokens(self_kept)

    def _spans(self, text):
        kept = getattr(text, "kept", {})
        text = str(text)
        i, n = 0, len(text)
        while i < n:
            j = i + 1
            if i in kept:
                j = kept[i]
            elif text[i].isspace():
                while j < n and text[j].isspace() and j not in kept:
                    j += 1
                if not self.keep_whitespace:
                    i = j
                    continue
            elif not _is_punctuation(text[i]) and not _is_cjk(text[i]):
                while (j < n and j not in kept
                       and not (text[j].isspace() or _is_punctuation(text[j]) or _is_cjk(text[j]))):
                    j += 1
            yield text[i:j], i, j
            i = j


class _Kept(str):
    """A text with parts {start: end} that stay in one piece."""


class WordpieceTokenizer(TensorOperation):
    """Splits words into the longest pieces that a vocabulary has.

    Args:
        vocab: a Vocab. suffix_indicator: stands before pieces within a word. max_bytes_per_token: longer words are
            unknown.
        unknown_token: stands for unknown words; "" leaves them as they are. with_offsets: gives starts and ends as
            columns too."""

    max_bytes_per_token: int

    def __init__(self, vocab: Any, suffix_indicator: str = "##", max_bytes_per_token: int = 100,
                 unknown_token: str = "[UNK]", with_offsets: bool = False) -> None:
        op = "WordpieceTokenizer"
        self.vocab: Any = check.instance(op, "vocab", vocab, Vocab)
        self.suffix_indicator: str | None = check.string(op, "suffix_indicator", suffix_indicator)
        self.max_bytes_per_token = check.integer(op, "max_bytes_per_token", max_bytes_per_token, 0, check.INT32_MAX)
        self.unknown_token: str | None = check.string(op, "unknown_token", unknown_token)
        self.with_offsets: bool = check.boolean(op, "with_offsets", with_offsets)

    _arity = None

    def _run(self, words, starts=None, ends=None):
        words = _strings("WordpieceTokenizer", words).reshape(-1).tolist()
        tokens, begin, end = [], [], []
        for k, word in enumerate(words):
            base = 0 if starts is None else int(np.asarray(starts).reshape(-1)[k])
            for piece, a, b in self._pieces(word):
                tokens.append(piece)
                begin.append(base + a)
                end.append(base + b)
        tokens = np.array(tokens or [""], np.str_)
        return ((tokens, np.array(begin or [0], np.uint32), np.array(end or [0], np.uint32)) if self.with_offsets
                else tokens)

    def _pieces(self, word):
        ids, whole = self.vocab._ids, [(self.unknown_token or word, 0, len(word.encode()))]
        if len(word.encode()) > self.max_bytes_per_token:
            return whole
        out, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = (self.suffix_indicator if start else "") + word[start:end]
                if piece in ids:
                    break
            else:
                return whole
            out.append((piece, len(word[:start].encode()), len(word[:end].encode())))
            start = end
        return out


class BertTokenizer(TensorOperation):
    """BasicTokenizer, then WordpieceTokenizer. Args: those of both."""

    def __init__(self, vocab: Any, suffix_indicator: str = "##", max_bytes_per_token: int = 100,
                 unknown_token: str = "[UNK]", lower_case: bool = False, keep_whitespace: bool = False,
                 normalization_form: NormalizeForm = NormalizeForm.NONE, preserve_unused_token: bool = True,
                 with_offsets: bool = False) -> None:
        self._words = BasicTokenizer(lower_case, keep_whitespace, normalization_form, preserve_unused_token,
                                     with_offsets)
        self._pieces = WordpieceTokenizer(vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets)

    def _run(self, v):
        words = self._words._run(v)
        return self._pieces._run(*(words if isinstance(words, tuple) else (words,)))


class PythonTokenizer(TensorOperation):
    """Tokens by a callable of yours. Args: tokenizer: a callable (str) → list of str."""

    def __init__(self, tokenizer: Any) -> None:
        if not callable(tokenizer):
            raise TypeError(
                f"[PythonTokenizer] tokenizer must be a callable Python function, but got {check.shown(tokenizer)}.")
        self.tokenizer = tokenizer

    def _calls_user(self):
        return True

    def _run(self, v):
        tokens = list(self.tokenizer(_text("PythonTokenizer", v)))
        return np.array(tokens or [""], np.str_)


class Lookup(TensorOperation):
    """The numbers of words.

    Args: vocab: a Vocab. unknown_token: the word whose number unknown ones get; None raises RuntimeError for them.
        data_type: a dtype."""

    def __init__(self, vocab: Any, unknown_token: Any = None, data_type: Any = np.int32) -> None:
        self.vocab: Any = check.instance("Lookup", "vocab", vocab, Vocab)
        self.unknown_token: str | None = check.string("Lookup", "unknown_token", unknown_token, none=True)
        self.data_type: Any = numpy_type("Lookup", data_type)
        if self.data_type.kind not in "biuf":
            raise RuntimeError(f"[Lookup] data_type must be numeric, but got {self.data_type}.")

    def _run(self, v):
        v = _strings("Lookup", v)
        ids, default = self.vocab._ids, None
        if self.unknown_token is not None:
            default = ids.get(self.unknown_token)
            if default is None:
                raise RuntimeError(f"[Lookup] unknown_token {self.unknown_token!r} is not in the vocabulary.")
        out = np.empty(v.size, np.int64)
        for i, w in enumerate(v.reshape(-1).tolist()):
            n = ids.get(w, default)
            if n is None:
                raise RuntimeError(f"[Lookup] the word {w!r} is not in the vocabulary, and there is no unknown_token.")
            out[i] = n
        return out.reshape(v.shape).astype(self.data_type)


class ToNumber(TensorOperation):
    """Strings as numbers.

    Args: data_type: a dtype of numbers. Raises RuntimeError for strings that are none, or are out of range."""

    def __init__(self, data_type: Any) -> None:
        self.data_type: Any = numpy_type("ToNumber", data_type)
        if self.data_type.kind not in "iuf":
            raise TypeError(f"[ToNumber] data_type must be a numeric type, but got {self.data_type}.")

    def _run(self, v):
        v = _strings("ToNumber", v)
        out = [self._number(s) for s in v.reshape(-1).tolist()]
        return np.array(out, self.data_type).reshape(v.shape)

    def _number(self, s):
        try:
            x = (float(s) if self.data_type.kind == "f" else int(s) if re.fullmatch(r"\s*[+-]?\d+\s*", s)
                 else int(float(s)))
        except (ValueError, OverflowError):
            raise RuntimeError(f"[ToNumber] the string {s!r} is no number.") from None
        info = np.finfo(self.data_type) if self.data_type.kind == "f" else np.iinfo(self.data_type)
        if not info.min <= x <= info.max and np.isfinite(x):
            raise RuntimeError(f"[ToNumber] the string {s!r} is out of the range of {self.data_type}.")
        return x


class _PerString(TensorOperation):
    def _run(self, v):
        v = _strings(type(self).__name__, v)
        out = np.array([self._one(s) for s in v.reshape(-1).tolist()], np.str_)
        return out.reshape(v.shape)


class CaseFold(_PerString):
    """Strings with cases folded."""

    def _one(self, s):
        return s.casefold()


class NormalizeUTF8(_PerString):
    """Strings in a normalization form. Args: normalize_form: a NormalizeForm."""

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        self.normalize_form: Any = check.instance("NormalizeUTF8", "normalize_form", normalize_form, NormalizeForm)

    def _one(self, s):
        return unicodedata.normalize(self.normalize_form.name, s) if self.normalize_form else s


class RegexReplace(_PerString):
    """Strings with matches of a pattern (of Python's `re`) replaced.

    Args: pattern, replace: str. replace_all: replaces all matches, not only the first."""

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self._compiled = _pattern("RegexReplace", "pattern", pattern)
        self.replace: str | None = check.string("RegexReplace", "replace", replace)
        self.replace_all: bool = check.boolean("RegexReplace", "replace_all", replace_all)

    def _one(self, s):
        return self._compiled.sub(self.replace, s, 0 if self.replace_all else 1)


_SMALL = {c: c + 32 for c in range(65, 91)}  # of A to Z alone
_DIGITS = dict(zip("0123456789", "zero one two three four five six seven eight nine".split()))


def _without(s, start, end, instead):
    """s without the shortest pieces from `start` to `end`. (A pattern of `re` would take the square of the time.)"""
    out, at = [], 0
    while (a := s.find(start, at)) >= 0 and (b := s.find(end, a)) >= 0:
        out += [s[at:a], instead]
        at = b + 1
    return "".join(out) + s[at:]


class FilterWikipediaXML(_PerString):
    """Strings of Wikipedia's XML as words of the letters a to z with one blank between them.

    Tags and entities are left out, of a line also what stands between two tags, digits are spelled out, and
    redirections are empty."""

    def _one(self, s):
        if "#redirect" in s or "#REDIRECT" in s:
            return ""
        lines = []
        for line in _without(s, "&", ";", " ").split("\n"):
            first, last = line.find("<"), line.rfind(">")
            lines.append(line[:first] + line[last + 1:] if 0 <= first < last else line)
        s = _without("\n".join(lines), "<", ">", "").translate(_SMALL)
        s = "".join(f" {_DIGITS[c]} " if c in _DIGITS else c if "a" <= c <= "z" else " " for c in s)
        return " ".join(s.split())


class TruncateSequencePair(TensorOperation):
    """Cuts two sequences, the longer one first, until they have max_length items together.

    Args: max_length: int ≥ 0."""

    _arity = 2

    def __init__(self, max_length: Any) -> None:
        self.max_length: int = check.integer("TruncateSequencePair", "max_length", max_length, 0, check.INT32_MAX)

    def _run(self, a, b):
        a, b = array("TruncateSequencePair", a), array("TruncateSequencePair", b)
        for v in (a, b):
            if v.ndim != 1:
                raise RuntimeError(
                    f"[TruncateSequencePair] the inputs must have one axis, but one has the shape {v.shape}.")
        n, m = len(a), len(b)
        over = n + m - self.max_length
        while over > 0:
            if n > m:
                n -= 1
            else:
                m -= 1
            over -= 1
        return a[:n].copy(), b[:m].copy()


class Truncate(TensorOperation):
    """Cuts a sequence (or rows of them) to max_seq_len items. Args: max_seq_len: int ≥ 1."""

    def __init__(self, max_seq_len: Any) -> None:
        self.max_seq_len: int = check.integer("Truncate", "max_seq_len", max_seq_len, 1, check.INT32_MAX)

    def _run(self, v):
        v = array("Truncate", v)
        if v.ndim not in (1, 2):
            raise RuntimeError(f"[Truncate] the input must have one or two axes, but has the shape {v.shape}.")
        return v[..., :self.max_seq_len].copy()


class SlidingWindow(TensorOperation):
    """All windows of a sequence, as rows. Args: width: int ≥ 1. axis: 0 or -1."""

    def __init__(self, width: int, axis: Axis = 0) -> None:
        self.width: int = check.integer("SlidingWindow", "width", width, 1, check.INT32_MAX)
        self.axis: int = check.integer("SlidingWindow", "axis", axis)

    def _run(self, v):
        v = array("SlidingWindow", v)
        if v.ndim != 1:
            raise RuntimeError(f"[SlidingWindow] the input must have one axis, but has the shape {v.shape}.")
        if self.axis not in (0, -1):
            raise RuntimeError(f"[SlidingWindow] axis must be 0 or -1 for an input with one axis, but is {self.axis}.")
        if len(v) < self.width:
            return np.zeros((0, self.width), v.dtype)
        return np.lib.stride_tricks.sliding_window_view(v, self.width).copy()


class Ngram(TensorOperation):
    """All n-grams of words.

    Args: n: an int ≥ 1 or a list of them. left_pad, right_pad: (word, how often) put before and after. separator:
        between words."""

    left_pad: Sequence[Any]
    right_pad: Sequence[Any]

    def __init__(self, n: Any, left_pad: Sequence[Any] = ("", 0), right_pad: Sequence[Any] = ("", 0),
                 separator: str = " ") -> None:
        n = [n] if check.is_int(n) else n
        check.instance("Ngram", "n", n, list)
        if not n:
            raise ValueError("[Ngram] n must not be empty.")
        self.n: list[int] = [check.integer("Ngram", f"n[{i}]", x, 1, check.INT32_MAX) for i, x in enumerate(n)]
        for name, p in (("left_pad", left_pad), ("right_pad", right_pad)):
            check.instance("Ngram", name, p, tuple)
            if len(p) != 2:
                raise ValueError(f"[Ngram] {name} must be (word, how often), but got {check.shown(p)}.")
            check.string("Ngram", f"{name}[0]", p[0])
            check.integer("Ngram", f"{name}[1]", p[1], 0, check.INT32_MAX)
        self.left_pad, self.right_pad = left_pad, right_pad
        self.separator: str | None = check.string("Ngram", "separator", separator)

    def _run(self, v):
        v = _strings("Ngram", v)
        if v.ndim != 1:
            raise RuntimeError(f"[Ngram] the input must have one axis, but has the shape {v.shape}.")
        words, out = v.tolist(), []
        for n in self.n:
            padded = ([self.left_pad[0]] * min(self.left_pad[1], n - 1) + words + [self.right_pad[0]] *
                      min(self.right_pad[1], n - 1))
            grams = [self.separator.join(padded[i:i + n]) for i in range(len(padded) - n + 1)]
            out += grams or [""]
        return np.array(out, np.str_)


class AddToken(TensorOperation):
    """Adds a word to a sequence (or to rows of them). Args: token: str. begin: at the front, else at the end."""

    token: str | None
    begin: bool

    def __init__(self, token: Any, begin: bool = True) -> None:
        self.token, self.begin = check.string("AddToken", "token", token), check.boolean("AddToken", "begin", begin)

    def _run(self, v):
        v = _strings("AddToken", v)
        if v.ndim not in (1, 2):
            raise RuntimeError(f"[AddToken] the input must have one or two axes, but has the shape {v.shape}.")
        word = np.full(v.shape[:-1] + (1,), self.token)
        return np.concatenate([word, v] if self.begin else [v, word], -1)


__all__ = ["AddToken", "BasicTokenizer", "BertTokenizer", "CaseFold", "FilterWikipediaXML", "Lookup", "Ngram",
           "NormalizeUTF8", "PythonTokenizer", "RegexReplace",
           "RegexTokenizer", "SlidingWindow", "ToNumber", "Truncate", "TruncateSequencePair", "UnicodeCharTokenizer",
           "UnicodeScriptTokenizer", "WhitespaceTokenizer", "WordpieceTokenizer"]
