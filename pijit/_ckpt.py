"""MindSpore's checkpoint files: a protobuf message (https://protobuf.dev/programming-guides/encoding) of three kinds,
read and written here by hand, as they are few and files are untrusted.

    checkpoint: 1 = value, repeated        value: 1 = name, 2 = tensor        tensor: 1 = dim, repeated; 2 = type's
                                           name; 3 = content, little-endian

Values of one name are parts of one content. A text has the type "str" and four bytes per character. A file may end in
"crc_num" and ten bytes with the CRC-32, big-endian, of what is before."""

import zlib

TYPES = {"bool": "Bool", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64", "uint8": "UInt8",
         "uint16": "UInt16", "uint32": "UInt32",
         "uint64": "UInt64", "float16": "Float16", "bfloat16": "BFloat16", "float32": "Float32", "float64": "Float64",
         "complex64": "Complex64",
         "complex128": "Complex128"}
_OURS = {v: k for k, v in TYPES.items()}
_CRC, _CRC_BYTES = b"crc_num", 10


def _varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _counted(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def parts(values, crc):
    """The pieces of a file. values: (name, dtype, shape, bytes), or (name, text); crc: whether a checksum follows."""
    out = []
    for name, *value in values:
        if len(value) == 1:
            head, raw = b"\x08\x00" + _counted(2, b"str"), value[0].encode("utf-32-le")
        else:
            dtype, shape, raw = value
            head = b"".join(b"\x08" + _varint(d) for d in shape) + _counted(2, TYPES[dtype].encode())
        head += b"\x1a" + _varint(len(raw))
        head = _counted(1, name.encode()) + b"\x12" + _varint(len(head) + len(raw)) + head
        out += [b"\x0a" + _varint(len(head) + len(raw)) + head, raw]
    if crc:
        check = 0
        for part in out:
            check = zlib.crc32(part, check)
        out.append(_CRC + check.to_bytes(_CRC_BYTES, "big"))
    return out


def _number(data, at, end):
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise ValueError("a number goes beyond its place")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data, at, end):
    """(field, number or (begin, end)) of a message."""
    while at < end:
        key, at = _number(data, at, end)
        kind = key & 7
        if kind == 0:
            value, at = _number(data, at, end)
            yield key >> 3, value
        elif kind == 2:
            size, at = _number(data, at, end)
            if size > end - at:
                raise ValueError("a part is longer than what contains it (file cut short?)")
            yield key >> 3, (at, at + size)
            at += size
        else:
            raise ValueError(f"a field has the kind {kind}")


def _place(value):
    if not isinstance(value, tuple):
        raise ValueError("a number stands for a part")
    return value


def read(raw, check_crc):
    """name → (dtype, shape, bytes) or text, of a file. ValueError for what is none, or where check_crc is set and the
    checksum is another one."""
    data = memoryview(raw)
    end = len(data)
    tail = len(_CRC) + _CRC_BYTES
    if end >= tail and data[end - tail:end - _CRC_BYTES] == _CRC:
        if check_crc and zlib.crc32(data[:end - tail]) != int.from_bytes(data[end - _CRC_BYTES:], "big"):
            raise ValueError("its checksum does not agree: it was changed")
        end -= tail
    found = {}
    for field, value in _fields(data, 0, end):
        if field != 1:
            raise ValueError(f"it has an unknown field {field}")
        name, tensor = None, None
        for f, v in _fields(data, *_place(value)):
            if f == 1:
                name = bytes(data[slice(*_place(v))]).decode()
            elif f == 2:
                tensor = _place(v)
        if name is None or tensor is None:
            raise ValueError("a value has no name or no tensor")
        shape, kind, content = [], None, b""
        for f, v in _fields(data, *tensor):
            if f == 1 and isinstance(v, tuple):  # packed
                at, stop = v
                while at < stop:
                    d, at = _number(data, at, stop)
                    shape.append(d)
            elif f == 1:
                shape.append(v)
            elif f == 2:
                kind = bytes(data[slice(*_place(v))]).decode()
            elif f == 3:
                content = data[slice(*_place(v))]
        if kind == "str":
            found[name] = bytes(content).decode("utf-32-le")
        elif kind in _OURS:
            before = found.get(name)
            if before is not None and before[:2] == (_OURS[kind], tuple(shape)):
                content = b"".join([before[2], content])
            found[name] = _OURS[kind], tuple(shape), content
        else:
            raise ValueError(f"{name!r} has the type {kind!r}, which is not supported")
    return found
