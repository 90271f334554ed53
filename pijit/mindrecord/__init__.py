"""MindRecord: files of rows, of numbers, strings, bytes and arrays, which `dataset.MindDataset` reads as well.

They are MindSpore's format: files are read and written both ways. What a file holds is checked completely, and none of
it is run."""

from __future__ import annotations

import enum

from pijit import _check
from pijit import compat as _compat
from pijit.mindrecord.common.exceptions import (DbConnectionError, MRMAddIndexError, MRMAddSchemaError,
                                                MRMBuildSchemaError, MRMCloseError, MRMCommitError,
                                                MRMDefineBlobError, MRMDefineCategoryError, MRMDefineIndexError,
                                                MRMFetchCandidateFieldsError, MRMFetchDataError, MRMFinishError,
                                                MRMGenerateIndexError, MRMGetMetaError, MRMIndexGeneratorError,
                                                MRMInitSegmentError, MRMInvalidHeaderSizeError,
                                                MRMInvalidPageSizeError, MRMInvalidSchemaError, MRMLaunchError,
                                                MRMOpenError, MRMOpenForAppendError, MRMReadCategoryInfoError,
                                                MRMSetHeaderError, MRMUnsupportedSchemaError, MRMValidateDataError,
                                                MRMWriteDatasetError, MindRecordException, ParamMissError,
                                                ParamTypeError, ParamValueError, PathNotExistsError, UnknownError)
from pijit.mindrecord.filereader import FileReader
from pijit.mindrecord.filewriter import FileWriter
from pijit.mindrecord.mindpage import MindPage
from pijit.mindrecord.tools import Cifar10ToMR, Cifar100ToMR, CsvToMR, ImageNetToMR, MnistToMR, TFRecordToMR


class _Status(enum.Enum):
    SUCCESS = 0
    FAILED = 1


SUCCESS, FAILED = _Status.SUCCESS, _Status.FAILED


def set_enc_key(enc_key: str | None) -> None:
    """Files are not encrypted here: NotImplementedError for any key but None."""
    if enc_key is not None:
        raise NotImplementedError("mindspore.mindrecord.set_enc_key: MindRecord files are not encrypted here; encrypt "
                                  "the disk that they lie on.")


def _mode(name, mode):
    if mode not in ("AES-GCM", "AES-CBC", "SM4-CBC") and not callable(mode):
        raise _check.refused(name, "the mode", _check.one_of("AES-GCM", "AES-CBC", "SM4-CBC"), mode)


def set_enc_mode(enc_mode: str = "AES-GCM") -> None:
    """Accepted: without a key nothing is encrypted."""
    _mode("set_enc_mode", enc_mode)


def set_dec_mode(dec_mode: str = "AES-GCM") -> None:
    """Accepted: without a key nothing is decrypted."""
    _mode("set_dec_mode", dec_mode)


__all__ = ["Cifar100ToMR", "Cifar10ToMR", "CsvToMR", "DbConnectionError", "FAILED", "FileReader", "FileWriter",
           "ImageNetToMR", "MRMAddIndexError", "MRMAddSchemaError", "MRMBuildSchemaError", "MRMCloseError",
           "MRMCommitError", "MRMDefineBlobError", "MRMDefineCategoryError", "MRMDefineIndexError",
           "MRMFetchCandidateFieldsError", "MRMFetchDataError", "MRMFinishError", "MRMGenerateIndexError",
           "MRMGetMetaError", "MRMIndexGeneratorError", "MRMInitSegmentError", "MRMInvalidHeaderSizeError",
           "MRMInvalidPageSizeError", "MRMInvalidSchemaError", "MRMLaunchError", "MRMOpenError",
           "MRMOpenForAppendError", "MRMReadCategoryInfoError", "MRMSetHeaderError", "MRMUnsupportedSchemaError",
           "MRMValidateDataError", "MRMWriteDatasetError", "MindPage", "MindRecordException", "MnistToMR",
           "ParamMissError", "ParamTypeError", "ParamValueError", "PathNotExistsError", "SUCCESS", "TFRecordToMR",
           "UnknownError", "set_dec_mode", "set_enc_key", "set_enc_mode"]

__getattr__, __dir__ = _compat.names(__name__)
