"""The body of a reply, read in pieces and decoded here, so that no reply takes more memory than it may."""

import codecs
import zlib
from typing import TYPE_CHECKING, Protocol

from ragstone.errors import BadReply, ReplyTooLarge

if TYPE_CHECKING:
    import aiohttp

__all__ = ["ENCODINGS", "read_body"]

ENCODINGS = "gzip, deflate"  # what requests say that they take: each is decoded with bounded memory
_PIECE = 1 << 16
_LARGEST_ERROR = 1 << 20  # bytes of an error's body that are looked at
_GZIP_OR_ZLIB, _RAW = 47, -15  # zlib's window bits


class _Decoder(Protocol):
    """Adds the bytes of a piece to what was decoded; at most `room` bytes more than fit are made."""

    def __call__(self, piece: bytes, room: int, /) -> bytes: ...


async def read_body(response: "aiohttp.ClientResponse", limit: int, where: str) -> bytes:
    """The decoded body, without a byte-order mark. The response comes from a session with `auto_decompress=False`.

    Raises `ReplyTooLarge` beyond `limit` bytes (of an error's body the beginning is returned instead), `BadReply` where
    it cannot be decoded, and what aiohttp raises."""
    failed = response.status != 200
    most = min(limit, _LARGEST_ERROR) if failed else limit
    decode = _decoder(response.headers.get("Content-Encoding", ""), where)
    body = bytearray()
    async for piece in response.content.iter_chunked(_PIECE):
        try:
            body += decode(piece, most + 1 - len(body))
        except zlib.error as error:
            raise BadReply(f"{where}: the reply cannot be decompressed ({error}).") from None
        if len(body) > most:
            response.close()
            if failed:
                break
            raise ReplyTooLarge(
                f"{where}: the reply is longer than {limit:,} bytes. If that is no mistake, raise the limit: "
                "RAGSTONE_REPLY_BYTES (or ModelOptions.reply_bytes)."
            )
    return bytes(body[:most]).removeprefix(codecs.BOM_UTF8)


def _decoder(encoding: str, where: str) -> _Decoder:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda piece, room: piece[:room]
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BadReply(f"{where}: the reply is encoded in a way that was not asked for ({name[:40]!r}).")
    inflater = None

    def inflate(piece: bytes, room: int) -> bytes:
        nonlocal inflater
        if inflater is None:  # "deflate" should be zlib's form, and is raw deflate with some servers
            zlib_form = name != "deflate" or piece[0] & 0x0F == 8
            inflater = zlib.decompressobj(_GZIP_OR_ZLIB if zlib_form else _RAW)
        return inflater.decompress(piece, room)

    return inflate
