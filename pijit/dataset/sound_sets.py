"""Datasets of sound files: waveforms (float32 [1, samples], from -1 to 1) with what is said in them."""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.files import Listed, UsageSet, WholeSet, _taken, files_below, folders_in, read_bytes, read_lines
from pijit.dataset.image_folders import fields, inside, whole_number
from pijit.dataset.pipeline import Chunk, Column

if TYPE_CHECKING:
    from typing import Any


def read_wave(op: str, path: str) -> tuple[np.ndarray, int]:
    """The waveform (float32 [1, samples]) and the sample rate of a WAV file.

    RuntimeError for files that are no WAV, and for WAV with anything but one channel of 16-bit numbers."""
    import wave
    data = read_bytes(op, path)
    try:
        with wave.open(io.BytesIO(data)) as f:
            channels, width, rate, frames = f.getparams()[:4]
            if (channels, width) != (1, 2):
                raise RuntimeError(f"[{op}] {path!r} should have one channel of 16 bits, but has {channels} of "
                                   f"{8 * width}.")
            if 2 * frames > len(data):
                raise RuntimeError(f"[{op}] {path!r} should have {frames} samples, but has only {len(data)} bytes.")
            values = np.frombuffer(f.readframes(frames), "<i2")
    except (wave.Error, EOFError, ValueError) as e:
        raise RuntimeError(f"[{op}] {path!r} is no WAV file that can be read: {e}") from e
    return (values / np.float32(32767)).astype(np.float32)[None], rate


class Sounds(Listed):
    """A dataset of sound files. Kinds define `_rows()`, which gives (path of the file, values of the other columns) of
    each, and `_others`, the names and dtypes (str for strings) of those columns."""

    _others: dict[str, Any] = {}
    _rate: Any = np.int32

    def _rows(self):
        raise NotImplementedError

    def _list(self):
        rows = list(self._rows())
        columns = {"waveform": [path for path, *_ in rows]}
        for k, (name, dtype) in enumerate(self._others.items(), 1):
            values = [row[k] for row in rows]
            columns[name] = values if dtype in (str, list) else np.array(values, np.int64).astype(dtype)
        return columns

    def _columns(self):
        return ["waveform", "sample_rate", *self._others]

    def _sound(self, path):
        return read_wave(type(self).__name__, path)

    def _read(self, indices):
        data = self._data()
        waves, rates = Column(len(indices)), []
        for i in indices.tolist():
            values, rate = self._sound(data["waveform"][i])
            waves.add(values)
            rates.append(rate)
        rates = np.array(rates, np.int64).astype(self._rate)
        return Chunk(len(indices), {"waveform": waves.done(), "sample_rate": rates,
                                    **{n: _taken(data[n], indices) for n in self._others}})


class CMUArcticDataset(Sounds):
    """CMU Arctic: columns waveform (float32 [1, samples]), sample_rate (uint32), transcript and utterance_id (strings).

    Args:
        dataset_dir: the folder with cmu_us_aew_arctic and the folders beside it.
        name: the speaker: "aew" (None), "ahw", "aup", "awb", "axb", "bdl", "clb", "eey", "fem", "gka", "jmk", "ksp",
            "ljm", "lnh", "rms", "rxr", "slp" or "slt".
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others, _rate = {"transcript": str, "utterance_id": str}, np.uint32
    _speakers = ("aew", "ahw", "aup", "awb", "axb", "bdl", "clb", "eey", "fem", "gka", "jmk", "ksp", "ljm", "lnh",
                 "rms", "rxr", "slp", "slt")

    def __init__(self, dataset_dir: str, name: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        self.name = check.choice("CMUArcticDataset", "name", name, self._speakers, none=True) or "aew"
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)

    def _rows(self):
        op, folder = "CMUArcticDataset", f"cmu_us_{self.name}_arctic"
        path = self._path(folder, "etc", "txt.done.data")
        for line in read_lines(op, path):
            found = re.match(r'\(\s*(\S+)\s+"([^"]*)"', line)
            if found is None:
                raise RuntimeError(f"[{op}] {path!r} should have lines (name \"words\"), but has {line[:60]!r}.")
            name, words = found.groups()
            yield inside(self, folder, "wav", f"{name}.wav"), words, name.removeprefix("arctic_")


class GTZANDataset(Sounds, UsageSet):
    """GTZAN: columns waveform (float32 [1, samples]), sample_rate (uint32) and label (a string).

    Args:
        dataset_dir: the folder with blues and the folders of the other nine genres.
        usage: "train", "valid" or "test", without the recordings that are known to be faulty or doubled, or "all"
            (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others, _rate, _usages = {"label": str}, np.uint32, ("train", "valid", "test", "all")

    def _rows(self):
        for genre in _GTZAN["train"] if self.usage != "all" else folders_in(self.dataset_dir):
            if self.usage == "all":
                for path in files_below(self._path(genre), (".wav",), deep=False):
                    yield path, genre
                continue
            for number in _numbers(_GTZAN[self.usage][genre]):
                path = self._path(genre, f"{genre}.{number:05}.wav")
                if os.path.isfile(path):
                    yield path, genre

    def _sound(self, path):
        values, rate = super()._sound(path)
        if rate != 22050:
            raise RuntimeError(f"[GTZANDataset] {path!r} should have 22050 samples in a second, but has {rate}.")
        return values, rate


def _numbers(text):
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


class LJSpeechDataset(Sounds, WholeSet):
    """LJ Speech.

    Columns waveform (float32 [1, samples]), sample_rate (int32), transcription and normalized_transcription (strings).

    Args:
        dataset_dir: the folder with metadata.csv and wavs.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others = {"transcription": str, "normalized_transcription": str}

    def _rows(self):
        op, path = "LJSpeechDataset", self._path("metadata.csv")
        for line in read_lines(op, path):
            name, words, normalized = fields(op, path, line, 3, "|")
            yield inside(self, "wavs", f"{name}.wav"), words, normalized


class LibriTTSDataset(Sounds, UsageSet):
    """LibriTTS.

    Columns waveform (float32 [1, samples]), sample_rate (uint32), original_text, normalized_text (strings), speaker_id,
    chapter_id (uint32) and utterance_id (a string).

    Args:
        dataset_dir: the folder with dev-clean and the folders of the other parts.
        usage: "dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100", "train-clean-360",
            "train-other-500" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others = {"original_text": str, "normalized_text": str, "speaker_id": np.uint32, "chapter_id": np.uint32,
               "utterance_id": str}
    _rate = np.uint32
    _usages = ("dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100", "train-clean-360",
               "train-other-500", "all")

    def _rows(self):
        op = "LibriTTSDataset"
        for part in self._usages[:-1] if self.usage == "all" else [self.usage]:
            for path in files_below(self._path(part), (".tsv",)):
                if not path.endswith(".trans.tsv"):
                    continue
                for line in read_lines(op, path):
                    name, original, normalized = fields(op, path, line, 3, "\t")
                    speaker, chapter, *_ = *name.split("_"), "", ""
                    sound = inside(self, os.path.relpath(os.path.dirname(path), self.dataset_dir), f"{name}.wav")
                    numbers = whole_number(op, path, speaker, 0), whole_number(op, path, chapter, 0)
                    yield sound, original, normalized, *numbers, name


class SpeechCommandsDataset(Sounds, UsageSet):
    """Speech Commands.

    Columns waveform (float32 [1, samples]), sample_rate (int32), label, speaker_id (strings) and utterance_number
    (int32).

    Args:
        dataset_dir: the folder with cat, dog and the folders of the other words, validation_list.txt and
            testing_list.txt.
        usage: "train", "test", "valid" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others = {"label": str, "speaker_id": str, "utterance_number": np.int32}
    _usages = ("train", "test", "valid", "all")
    _lists = {"valid": "validation_list.txt", "test": "testing_list.txt"}

    def _listed_in(self, usage):
        return {inside(self, n.strip()) for n in read_lines("SpeechCommandsDataset", self._path(self._lists[usage]))}

    def _paths(self):
        if self.usage in self._lists:
            return sorted(self._listed_in(self.usage))
        words = [n for n in folders_in(self.dataset_dir) if n != "_background_noise_"]
        paths = [p for n in words for p in files_below(self._path(n), (".wav",), deep=False)]
        if self.usage == "all":
            return paths
        others = self._listed_in("valid") | self._listed_in("test")
        return [p for p in paths if p not in others]

    def _rows(self):
        op = "SpeechCommandsDataset"
        for path in self._paths():
            stem = os.path.splitext(os.path.basename(path))[0]
            speaker, mark, number = stem.partition("_nohash_")
            if not mark:
                raise RuntimeError(f"[{op}] {path!r} should be named SPEAKER_nohash_NUMBER.wav.")
            yield path, os.path.basename(os.path.dirname(path)), speaker, whole_number(op, path, number)


class YesNoDataset(Sounds, WholeSet):
    """YesNo: columns waveform (float32 [1, samples]), sample_rate (int32) and label (int32 [8]: 1 for yes).

    Rows are in the order of the files' names.

    Args:
        dataset_dir: the folder with 0_0_0_0_1_1_1_1.wav and the files beside it.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others = {"label": list}

    def _rows(self):
        for path in files_below(self.dataset_dir, (".wav",), deep=False):
            stem = os.path.splitext(os.path.basename(path))[0]
            numbers = [whole_number("YesNoDataset", path, n) for n in stem.split("_")]
            yield path, np.array(numbers, np.int32)


class TedliumDataset(Sounds):
    """TED-LIUM.

    Columns waveform (float32 [1, samples]), sample_rate (int32), transcript, talk_id, speaker_id and identifier
    (strings). Rows are in the order of their places in the talks, then of the talks' names.

    Args:
        dataset_dir: the folder with train, test and dev (release1, release2) or data (release3), each with sph and stm.
        release: "release1", "release2" or "release3".
        usage: "train", "test", "dev" or "all" (None), of release3 "all" alone.
        extensions: the extension of the sound files, ".sph" (None), whose samples are 16-bit numbers.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _others = {"transcript": str, "talk_id": str, "speaker_id": str, "identifier": str}

    def __init__(self, dataset_dir: str, release: str, usage: str | None = None, extensions: str | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        op = "TedliumDataset"
        self.release = check.choice(op, "release", release, ("release1", "release2", "release3"))
        self.extensions = check.choice(op, "extensions", extensions, (".sph",), none=True) or ".sph"
        self._usages = ("all",) if release == "release3" else ("train", "test", "dev", "all")
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self._kept: tuple[Any, Any] = (None, None)

    def _parts(self):
        if self.release == "release3":
            return ["data"]
        return ["dev", "test", "train"] if self.usage == "all" else [self.usage]

    def _rows(self):
        rows = []
        for part in self._parts():
            for path in files_below(self._path(part, "stm"), (".stm",), deep=False):
                rows += self._talk(part, path)
        return [row for *_, row in sorted(rows, key=lambda r: r[:2])]

    def _talk(self, part, path):
        """(place, name of the file, row) of the lines of a talk."""
        op, name = "TedliumDataset", os.path.basename(path)
        for place, line in enumerate(read_lines(op, path)):
            found = line.split(" ", 6)
            if line.startswith(";;"):
                continue
            try:
                start, end = float(found[3]), float(found[4])
            except (ValueError, IndexError) as e:
                raise RuntimeError(f"[{op}] {path!r} should have a talk, a channel, a speaker, two times, an "
                                   f"identifier and words in each line, but has {line[:60]!r}.") from e
            if len(found) < 6 or not 0 <= start <= end < 1e6:
                raise RuntimeError(f"[{op}] {path!r} has a line from {start} to {end}: {line[:60]!r}.")
            talk, _, speaker, _, _, identifier, *words = found
            sound = inside(self, part, "sph", f"{talk}{self.extensions}")
            yield place, name, ((sound, start, end), " ".join(words), talk, speaker, identifier)

    def _sound(self, path):
        path, start, end = path
        kept, found = self._kept
        if kept != path:
            found = read_sphere("TedliumDataset", path)
            self._kept = path, found
        values, rate = found
        part = values[int(start * rate):int(end * rate)]
        return (part / np.float32(32767)).astype(np.float32)[None], rate


def read_sphere(op: str, path: str) -> tuple[np.ndarray, int]:
    """The samples (int16) and the sample rate of a NIST SPHERE file of one channel of 16-bit numbers that are not
    compressed. RuntimeError for other files."""
    data = read_bytes(op, path)
    first, size, *_ = *data[:16].split(b"\n"), b"", b""
    if first != b"NIST_1A" or not size.strip().isdigit() or not 16 < int(size) <= len(data):
        raise RuntimeError(f"[{op}] {path!r} is no NIST SPHERE file.")
    told = {}
    for line in data[16:int(size)].split(b"\n"):
        key, _, rest = line.partition(b" ")
        told[key.decode("latin-1")] = rest.partition(b" ")[2].strip().decode("latin-1")
    coding = told.get("sample_coding", "pcm")
    if (told.get("channel_count", "1"), told.get("sample_n_bytes", "2"), coding) != ("1", "2", "pcm"):
        raise RuntimeError(f"[{op}] {path!r} should have one channel of 16-bit numbers, not compressed, but has "
                           f"{told.get('channel_count')} channels, {told.get('sample_n_bytes')} bytes, {coding!r}.")
    rate = whole_number(op, path, told.get("sample_rate", ""))
    if rate < 1:
        raise RuntimeError(f"[{op}] {path!r} has the sample rate {rate}.")
    body = data[int(size):]
    order = ">i2" if told.get("sample_byte_format") == "10" else "<i2"
    return np.frombuffer(body[:len(body) // 2 * 2], order), rate


# The parts that leave out faulty and doubled recordings, as published with GTZAN's analyses: numbers of recordings.
_GTZAN = {
    "train": {
        "blues": "29-49 73-97",
        "classical": "30-33 43-48 50-67 80-99",
        "country": "19-26 28-29 65-99",
        "disco": "5 15-20 22-37 39-45 47 49 53-54 56-57 59 61 70 73-74 89",
        "hiphop": "2-25 28-29 31-38 41-42 55-61 77-80",
        "jazz": "0-1 11-24 41 47-72",
        "metal": "2-3 5 21 24 35 46-57 59-66 69 71-72 79-80 84 86 89-99",
        "pop": "2-9 11-12 16-20 23-29 31-36 38-42 44 46 49-50 80 97-99",
        "reggae": "0-2 4 6 9 11-12 14-32 42-45 49-51 54-60 63 69",
        "rock": "0-9 16-26 57-70 91-99",
    },
    "valid": {
        "blues": "0-11 50-60",
        "classical": "0-10 68-76",
        "country": "0-7 9-18 27 41-42 45 49",
        "disco": "0 2-4 6-14 46 48 52 67-68 72 75 90 95",
        "hiphop": "81-98",
        "jazz": "2-10 25-32",
        "metal": "0-1 6-11 16-20 36-37 68 76-77 81-82",
        "pop": "10 53 55 58-62 81 83-86",
        "reggae": "61-62 70 72 74 76-78 85 92-99",
        "rock": "38 49-56 71-85",
    },
    "test": {
        "blues": "12-28 61-72 98-99",
        "classical": "11-29 34-41 49 77-79",
        "country": "30-40 43-44 46-48 50-51 53-64",
        "disco": "1 21 58 62-66 69 76-88 91-94 96-97 99",
        "hiphop": "0 26-27 30 40 43-45 51-54 62-75 99",
        "jazz": "73-99",
        "metal": "12-15 22-23 25-33 38-39 67 70 73-75 78 83 85 87-88",
        "pop": "0-1 13-14 43 63-66 69-79 82 88-96",
        "reggae": "34-40 46-48 52-53 64-68 71 79 82-84 87-90",
        "rock": "10-15 27-37 39-48 86-90",
    },
}
