"""A chat model with only its first layers: it reads as many tokens as the whole one, in a fraction of the time.

What it writes means nothing. It serves where only the work of the server counts, such as in `bench/prompt_cache.py`.
GGUF: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import re
import struct
from pathlib import Path
from typing import BinaryIO

__all__ = ["shortened"]

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of the types of values, in bytes
_TEXT, _LIST = 8, 9
_ALIGNMENT = 32
_LAYER = re.compile(rb"blk\.(\d+)\.")


def _number(file: BinaryIO, form: str) -> int:
    return int(struct.unpack(f"<{form}", file.read(struct.calcsize(form)))[0])


def _skip_value(file: BinaryIO, kind: int) -> None:
    if kind == _TEXT:
        file.seek(_number(file, "Q"), 1)
    elif kind == _LIST:
        inner, count = _number(file, "I"), _number(file, "Q")
        if inner in _SIZES:
            file.seek(_SIZES[inner] * count, 1)
            return
        for _ in range(count):
            _skip_value(file, inner)
    else:
        file.seek(_SIZES[kind], 1)


def shortened(source: Path, target: Path, layers: int = 1) -> Path:
    """Writes the model of `source` with its first `layers` layers to `target`."""
    with source.open("rb") as file:
        start = file.read(8)
        tensors, values = _number(file, "Q"), _number(file, "Q")
        settings = bytearray()
        for _ in range(values):
            before = file.tell()
            name = file.read(_number(file, "Q"))
            kind = _number(file, "I")
            at = file.tell()
            _skip_value(file, kind)
            end = file.tell()
            file.seek(before)
            entry = bytearray(file.read(end - before))
            if name.endswith(b".block_count"):
                entry[at - before :] = struct.pack("<I", layers)
            settings += entry
        infos = []
        for _ in range(tensors):
            name = file.read(_number(file, "Q"))
            dimensions = _number(file, "I")
            shape = file.read(8 * dimensions + 4)  # and the type
            infos.append((name, dimensions, shape, _number(file, "Q")))
        data = -(-file.tell() // _ALIGNMENT) * _ALIGNMENT
        ends = sorted([offset for *_, offset in infos] + [source.stat().st_size - data])
        kept = [info for info in infos if not (match := _LAYER.match(info[0])) or int(match[1]) < layers]
        head, blocks = bytearray(), bytearray()
        for name, dimensions, shape, place in kept:
            head += struct.pack("<Q", len(name)) + name + struct.pack("<I", dimensions) + shape
            head += struct.pack("<Q", len(blocks))
            file.seek(data + place)
            blocks += file.read(ends[ends.index(place) + 1] - place)
            blocks += b"\0" * (-len(blocks) % _ALIGNMENT)
    whole = start + struct.pack("<QQ", len(kept), values) + settings + head
    target.write_bytes(whole + b"\0" * (-len(whole) % _ALIGNMENT) + blocks)
    return target
