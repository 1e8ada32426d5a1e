"""The HTTP of batch interfaces: JSON documents, uploads, downloads. One attempt per call, typed errors."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragstone.errors import BadReply, Rejected, ReplyTooLarge
from ragstone.models.client import Client
from ragstone.models.http_errors import one_line, transport_error
from ragstone.models.network import endpoint_url
from ragstone.models.reply_body import read_body
from ragstone.text.redaction import secrets_of, shown_url

if TYPE_CHECKING:
    import aiohttp

_TRANSFER_SECONDS = 1800.0  # for a file of hundreds of megabytes
_LARGEST_DOCUMENT = 20_000_000  # bytes of a reply about a batch
_LARGEST_RESULTS = 4_000_000_000
_LONGEST_LINE = 20_000_000
_CHUNK = 1 << 18


class TooLarge(Rejected):
    """413: the file is larger than the provider takes."""


class BatchHttp:
    """The session of one client's endpoint."""

    def __init__(self, client: Client, key: str, session: "aiohttp.ClientSession", options: Mapping[str, Any]) -> None:
        self.client, self._session, self._options = client, session, dict(options)
        self.where = f"{client.id} at {shown_url(client.base_url)}"
        self._secrets = tuple(secret for secret in (key, *secrets_of(client.base_url)) if len(secret) > 5)

    async def json(self, method: str, operation: str, **options: Any) -> tuple[dict[str, Any], Mapping[str, str]]:
        """The JSON object of a reply, and its headers."""
        async with self.reply(method, operation, **options) as response:
            body, headers = await read_body(response, _LARGEST_DOCUMENT, self.where), response.headers
        try:
            document = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise BadReply(f"{self.where}: the reply about a batch is not a JSON object.")
        return document, headers

    @asynccontextmanager
    async def reply(self, method: str, operation: str, **options: Any) -> "AsyncIterator[aiohttp.ClientResponse]":
        """A successful reply; everything else is raised as the typed errors of a model call."""
        import aiohttp  # noqa: PLC0415

        url = endpoint_url(self.client.base_url, operation)
        options = {**self._options, **options}
        options["headers"] = {**self._options.get("headers", {}), **options.get("headers", {})}
        try:
            async with self._session.request(method, url, **options) as response:
                if not 200 <= response.status < 300:
                    body = await read_body(response, _LARGEST_DOCUMENT, self.where)
                    if response.status == 413:
                        raise TooLarge(f"{self.where}: the file of a batch is larger than it takes.")
                    raise self.client.status_error(response.status, response.headers, body)
                yield response
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise transport_error(self.where, error) from None

    def id_in(self, document: Mapping[str, Any], what: str) -> str:
        """The id in a provider's JSON object of a file or a batch (`what`). Raises BadReply if there is none that can
        be part of an address."""
        value = document.get("id")
        if not isinstance(value, str) or not value.isprintable() or "/" in value:
            raise BadReply(f"{self.where}: the reply has no id of the {what}.")
        return value

    def shown(self, text: object) -> str:
        """A text of the provider's as one line without secrets."""
        return one_line(str(text), self._secrets)

    async def download(self, operation: str, file: Path) -> Path:
        """Saves a file of results, which may be larger than memory."""
        async with self.reply("GET", operation, headers={"Accept": "*/*", "Accept-Encoding": "identity"}) as response:
            size = 0
            with file.open("wb") as stream:
                async for chunk in response.content.iter_chunked(_CHUNK):
                    size += len(chunk)
                    if size > _LARGEST_RESULTS:
                        raise ReplyTooLarge(f"{self.where}: the results are longer than {_LARGEST_RESULTS:,} bytes.")
                    stream.write(chunk)
        return file


@asynccontextmanager
async def open_http(client: Client, key: str) -> AsyncIterator[BatchHttp]:
    """A session for batches at the client's endpoint."""
    session, options = client.open_session(4, _TRANSFER_SECONDS)
    async with session:
        yield BatchHttp(client, key, session, options)


def read_lines(file: Path) -> Iterator[bytes]:
    """The lines of a file that are not empty. One of more than 20 MB is left out: its request counts as missing."""
    with file.open("rb") as stream:
        while line := stream.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_LONGEST_LINE)
            elif line.strip():
                yield line


def parsed(line: bytes) -> dict[str, Any]:
    """A line as a JSON object; {} for a damaged one, whose request then counts as missing."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
