"""The body of a reply, read in chunks and decoded here, so that its memory is limited."""

import codecs
import zlib
from typing import TYPE_CHECKING, Protocol

from ragstone.errors import BadReply, ReplyTooLarge

if TYPE_CHECKING:
    import aiohttp

ENCODINGS = "gzip, deflate"  # accepted encodings: each is decoded with bounded memory
_CHUNK = 1 << 16
_LARGEST_ERROR = 1 << 20  # bytes that are read of the body of an error
_GZIP_OR_ZLIB, _RAW = 47, -15  # zlib's window bits


class _Decoder(Protocol):
    """Decodes a chunk, to at most `room` bytes."""

    def __call__(self, chunk: bytes, room: int, /) -> bytes: ...


async def read_body(response: "aiohttp.ClientResponse", limit: int, where: str) -> bytes:
    """The decoded body, without a byte-order mark, of a response from a session with `auto_decompress=False`.

    Raises `ReplyTooLarge` beyond `limit` bytes (the body of an error is truncated instead), `BadReply` if it cannot be
    decoded, and what aiohttp raises."""
    failed = response.status != 200
    max_bytes = min(limit, _LARGEST_ERROR) if failed else limit
    encoding = response.headers.get("Content-Encoding", "")
    if not encoding and (length := response.content_length) is not None and length <= max_bytes:
        return (await response.read()).removeprefix(codecs.BOM_UTF8)
    decode = _decoder(encoding, where)
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        try:
            body += decode(chunk, max_bytes + 1 - len(body))
        except zlib.error as error:
            raise BadReply(f"{where}: the reply cannot be decompressed ({error}).") from None
        if len(body) > max_bytes:
            response.close()
            if failed:
                break
            raise ReplyTooLarge(
                f"{where}: the reply is longer than {limit:,} bytes. If that is intended, raise the limit: "
                "RAGSTONE_REPLY_BYTES (or ModelOptions.reply_bytes)."
            )
    return bytes(body[:max_bytes]).removeprefix(codecs.BOM_UTF8)


def _decoder(encoding: str, where: str) -> _Decoder:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk, room: chunk[:room]
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BadReply(f"{where}: the reply has an encoding that was not requested ({name[:40]!r}).")
    inflater = None

    def inflate(chunk: bytes, room: int) -> bytes:
        nonlocal inflater
        if inflater is None:  # "deflate" should be in zlib format, but some servers send raw deflate
            zlib_form = name != "deflate" or chunk[0] & 0x0F == 8
            inflater = zlib.decompressobj(_GZIP_OR_ZLIB if zlib_form else _RAW)
        return inflater.decompress(chunk, room)

    return inflate
