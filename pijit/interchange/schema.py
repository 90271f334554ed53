"""Messages of protocol buffers from a description beside this file, without a compiler of them."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_SCALARS = {"double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_FIELD = re.compile(r"(optional|repeated) (\w+) (\w+) = (\d+);")


@functools.lru_cache(4)
def messages(name: str) -> dict[str, Any]:
    """Name -> class of the messages in `name`.proto. ImportError says what to install where protobuf is missing."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as e:
        raise ImportError("Files of MindIR are protocol buffers, which need the package protobuf: "
                          "pip install 'protobuf>=4.22'.") from e
    with open(os.path.join(os.path.dirname(__file__), name + ".proto"), encoding="utf-8") as f:
        text = f.read()
    package = re.search(r"package (\w+);", text)[1]
    file = descriptor_pb2.FileDescriptorProto(name=f"pijit/{name}.proto", package=package)
    for found in re.finditer(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
        message = file.message_type.add(name=found[1])
        for label, kind, field, number in _FIELD.findall(found[2]):
            made = message.field.add(name=field, number=int(number), label=1 if label == "optional" else 3)
            if kind in _SCALARS:
                made.type = _SCALARS[kind]
            else:
                made.type, made.type_name = 11, f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()  # of its own: other packages register the same names
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    return {m.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{m.name}"))
            for m in file.message_type}
