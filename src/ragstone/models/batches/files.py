"""OpenAI's `/files` and `/batches`, which many providers and gateways have, too."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ragstone.models.batches.http import BatchHttp, parsed, read_lines
from ragstone.models.batches.remote import Line, Status, count, known_state
from ragstone.models.batches.store import Batch
from ragstone.models.http_errors import retry_after_seconds
from ragstone.models.providers import BatchInterface
from ragstone.models.wire import encode

_PAGE, _PAGES = 100, 5  # of the provider's list, newest first
_UNASKED = ("batch_expired", "batch_cancelled")  # codes of requests that were never asked


class FileBatches:
    """OpenAI's `/files` and `/batches`; DashScope, Zhipu, Groq and many gateways have them, too."""

    def __init__(self, http: BatchHttp, interface: BatchInterface) -> None:
        self._http, self._interface = http, interface
        self.download = http.download

    def line(self, key: str, payload: Mapping[str, Any]) -> bytes:
        return line_of(key, payload, self._interface)

    async def upload(self, file: Path) -> str:
        import aiohttp  # noqa: PLC0415

        with file.open("rb") as stream:
            form = aiohttp.FormData()
            form.add_field("purpose", "batch")
            form.add_field("file", stream, filename=file.name, content_type="application/jsonl")
            body = form()
            headers = {"Content-Type": body.headers["Content-Type"]}
            document, _ = await self._http.json("POST", "files", data=body, headers=headers)
        return self._http.id_in(document, "file")

    async def create(self, batch: Batch) -> str:
        body = {
            "input_file_id": batch.uploaded, "endpoint": self._interface.endpoint, "metadata": {"ragstone": batch.name}
        }  # fmt: skip
        if self._interface.window:
            body["completion_window"] = self._interface.window
        document, _ = await self._http.json("POST", "batches", data=encode(body))
        return self._http.id_in(document, "batch")

    async def find(self, batch: Batch, held: Collection[str], *, rivals: bool) -> str:
        after: dict[str, str] = {}
        for _ in range(_PAGES):
            document, _ = await self._http.json("GET", "batches", params={"limit": str(_PAGE), **after})
            listed = [item for item in document.get("data") or [] if isinstance(item, dict)]
            for item in listed:
                metadata = item.get("metadata")
                named = isinstance(metadata, dict) and metadata.get("ragstone") == batch.name
                if named or item.get("input_file_id") == batch.uploaded:
                    return self._http.id_in(item, "batch")
            if not (listed and document.get("has_more")):
                break
            after = {"after": str(listed[-1].get("id"))}
        return ""

    async def status(self, batch: Batch) -> Status:
        document, headers = await self._http.json("GET", f"batches/{batch.remote}")
        counts = document.get("request_counts")
        counts = counts if isinstance(counts, dict) else document  # Zhipu's reference shows them beside it
        found = document.get("errors")
        found = found.get("data") if isinstance(found, dict) else found
        errors = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        files = (document.get("output_file_id"), document.get("error_file_id"))
        return Status(
            known_state(document.get("status")), count(counts.get("completed")), count(counts.get("failed")),
            tuple(f"files/{quote(str(file), safe='')}/content" for file in files if file),
            tuple(map(self._said, errors)),
            str(errors[0].get("code") or "") if errors else "",
            retry_after_seconds(headers),
        )  # fmt: skip

    def _said(self, error: Mapping[str, Any]) -> str:
        line = f"line {error['line']}: " if isinstance(error.get("line"), int) else ""
        return self._http.shown(f"{line}{error.get('message') or error.get('code') or 'no reason given'}")

    def lines(self, file: Path) -> Iterator[Line]:
        return results_in(file)

    async def cancel(self, batch: Batch) -> None:
        await self._http.json("POST", f"batches/{batch.remote}/cancel", data=b"{}")


def line_of(key: str, payload: Mapping[str, Any], interface: BatchInterface) -> bytes:
    """A chat request as a line of OpenAI's batch files."""
    return encode({"custom_id": key, "method": "POST", "url": interface.endpoint, "body": payload})


def results_in(file: Path) -> Iterator[Line]:
    """The results in one of OpenAI's output or error files."""
    return map(_result, map(parsed, read_lines(file)))


def _result(item: Mapping[str, Any]) -> Line:
    """A line of an output or error file. One that was never asked, or is damaged, has the status 0."""
    name, response, error = str(item.get("custom_id") or ""), item.get("response"), item.get("error")
    if isinstance(response, dict) and response.get("body") is not None:
        status = response.get("status_code", 200)
        return Line(name, status if isinstance(status, int) else 502, encode(response["body"]))
    if isinstance(error, dict) and error.get("code") not in _UNASKED:
        return Line(name, 400, encode({"error": error}))
    return Line(name, 0, str(error.get("message") or "").encode() if isinstance(error, dict) else b"")
