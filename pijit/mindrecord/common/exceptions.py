"""The exceptions of MindRecord files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class MindRecordException(Exception):
    """Base: what is wrong with a MindRecord file, or with what one is made of."""

    def __init__(self, *detail: Any) -> None:
        super().__init__(*detail)
        self.error_msg: str = self._text(*detail)

    def _text(self, *detail):
        return ", ".join(map(str, detail))

    def __str__(self) -> str:
        return f"[{type(self).__name__}]: {self.error_msg}"


class UnknownError(MindRecordException):
    """Something else."""

    def _text(self, *detail):
        return "Unknown error." + "".join(f" {d}" for d in detail)


class ParamTypeError(MindRecordException):
    """An argument of the wrong type: (name, expected type)."""

    def _text(self, param_name="", expected_type=""):
        return f"Invalid parameter type. '{param_name}' expect {expected_type} type."


class ParamValueError(MindRecordException):
    """An argument of a wrong value."""

    def _text(self, error_detail=""):
        return f"Invalid parameter value. {error_detail}"


class ParamMissError(MindRecordException):
    """An argument that is missing: (name)."""

    def _text(self, param_name=""):
        return f"Param missing. '{param_name}' is required."


class PathNotExistsError(MindRecordException):
    """A path that does not exist: (path)."""

    def _text(self, error_path=""):
        return f"Invalid path. {error_path}"


def _kind(name, doc, text):
    def says(self, *detail):  # noqa: ARG001
        return text + "".join(f" Detail: {d}" for d in detail)
    return type(name, (MindRecordException,), {"__doc__": doc, "_text": says, "__module__": __name__})


DbConnectionError = _kind("DbConnectionError", "The index can't be opened.", "Failed to connect to the index.")
MRMOpenError = _kind("MRMOpenError", "A file can't be opened.", "MindRecord file could not open successfully.")
MRMOpenForAppendError = _kind("MRMOpenForAppendError", "A file can't be opened to append.",
                              "MindRecord file could not open successfully for append.")
MRMInvalidHeaderSizeError = _kind("MRMInvalidHeaderSizeError", "A header size that can't be.",
                                  "Failed to set header size.")
MRMInvalidPageSizeError = _kind("MRMInvalidPageSizeError", "A page size that can't be.", "Failed to set page size.")
MRMSetHeaderError = _kind("MRMSetHeaderError", "A header can't be set.", "Failed to set header.")
MRMWriteDatasetError = _kind("MRMWriteDatasetError", "Rows can't be written.", "Failed to write dataset.")
MRMCommitError = _kind("MRMCommitError", "A file can't be finished.", "Failed to commit.")
MRMLaunchError = _kind("MRMLaunchError", "Reading can't begin.", "Failed to launch.")
MRMFinishError = _kind("MRMFinishError", "Reading can't end.", "Failed to finish.")
MRMCloseError = _kind("MRMCloseError", "A file can't be closed.", "Failed to close.")
MRMAddSchemaError = _kind("MRMAddSchemaError", "A schema can't be added.", "Failed to add schema.")
MRMAddIndexError = _kind("MRMAddIndexError", "An index can't be added.", "Failed to add index field.")
MRMBuildSchemaError = _kind("MRMBuildSchemaError", "A schema can't be made.", "Failed to build schema.")
MRMGetMetaError = _kind("MRMGetMetaError", "A file's description can't be read.", "Failed to get meta info.")
MRMIndexGeneratorError = _kind("MRMIndexGeneratorError", "An index can't be made.", "Failed to create index generator.")
MRMGenerateIndexError = _kind("MRMGenerateIndexError", "An index can't be written.", "Failed to generate index.")
MRMInitSegmentError = _kind("MRMInitSegmentError", "Pages can't be read.", "Failed to initialize segment.")
MRMFetchCandidateFieldsError = _kind("MRMFetchCandidateFieldsError", "Fields of categories can't be read.",
                                     "Failed to fetch candidate category fields.")
MRMReadCategoryInfoError = _kind("MRMReadCategoryInfoError", "Categories can't be read.",
                                 "Failed to read category information.")
MRMFetchDataError = _kind("MRMFetchDataError", "Rows of a category can't be read.", "Failed to fetch data by category.")
MRMInvalidSchemaError = _kind("MRMInvalidSchemaError", "A schema that can't be.", "Schema format is error.")
MRMValidateDataError = _kind("MRMValidateDataError", "Rows that do not fit a schema.",
                             "Raw data do not match the schema.")
MRMDefineIndexError = _kind("MRMDefineIndexError", "An index of a field that can't be.",
                            "Failed to define index field.")
MRMDefineBlobError = _kind("MRMDefineBlobError", "A field of bytes that can't be.", "Failed to define blob field.")
MRMDefineCategoryError = _kind("MRMDefineCategoryError", "A category by a field that can't be.",
                               "Failed to define category field.")
MRMUnsupportedSchemaError = _kind("MRMUnsupportedSchemaError", "A schema that is not supported.",
                                  "Schema is not supported.")

__all__ = ["MindRecordException", "UnknownError", "ParamTypeError", "ParamValueError", "ParamMissError",
           "PathNotExistsError", "DbConnectionError", "MRMOpenError", "MRMOpenForAppendError",
           "MRMInvalidHeaderSizeError", "MRMInvalidPageSizeError", "MRMSetHeaderError", "MRMWriteDatasetError",
           "MRMCommitError", "MRMLaunchError", "MRMFinishError", "MRMCloseError", "MRMAddSchemaError",
           "MRMAddIndexError", "MRMBuildSchemaError", "MRMGetMetaError", "MRMIndexGeneratorError",
           "MRMGenerateIndexError", "MRMInitSegmentError", "MRMFetchCandidateFieldsError", "MRMReadCategoryInfoError",
           "MRMFetchDataError", "MRMInvalidSchemaError", "MRMValidateDataError", "MRMDefineIndexError",
           "MRMDefineBlobError", "MRMDefineCategoryError", "MRMUnsupportedSchemaError"]
