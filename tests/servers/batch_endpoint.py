"""A real local endpoint with OpenAI's `/files` and `/batches`, as their reference describes them. No test of its own.

    async with BatchEndpoint(answer=lambda body: "yes") as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)

It validates a file as OpenAI does, takes a batch through its states, one at each look, and makes an output and an error
file. `/v1/chat/completions` answers single requests in the same words, and `/v1/messages` as Anthropic does. As a
process beside the test (it prints its address as JSON, keeps what it has over the kills of others, and tells what it
did at `GET /stats`):

    python -m tests.servers.batch_endpoint --looks 3
"""

import argparse
import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.servers.fake_endpoint import asked_form, chat_reply, example_answer
from tests.servers.messages_endpoint import MessagesOf

__all__ = ["BatchEndpoint", "Fault"]

STATES = ("validating", "in_progress", "finalizing", "completed")
OVER = ("completed", "failed", "expired", "cancelled")


@dataclass
class Fault:
    """What goes wrong. status: the HTTP status of a line (by its body). unasked: lines that expire.
    damage: what becomes of a file that is fetched. ends: the last
    state of the n-th batch instead of "completed". errors: the validation errors of the n-th batch."""

    status: Callable[[Any], int] = lambda body: 200
    unasked: Callable[[int, Any], bool] = lambda number, body: False
    damage: Callable[[bytes], bytes] = lambda data: data
    ends: Mapping[int, str] = field(default_factory=dict)
    errors: Mapping[int, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass
class _Batch:
    id: str
    body: dict[str, Any]
    number: int
    looks: int = 0
    state: str = "validating"
    output: str | None = None
    error: str | None = None
    errors: Any = None
    counts: dict[str, int] = field(default_factory=lambda: {"total": 0, "completed": 0, "failed": 0})


class BatchEndpoint:
    """The server. `files` and `batches` are what it has, `lines` every line that it was given in a batch."""

    def __init__(
        self, answer: Callable[[Any], Any] = example_answer, *, key: str = "", looks: int = 0,
        fault: Fault | None = None, most_lines: int = 50_000, most_bytes: int = 200_000_000,
        endpoint: str = "/v1/chat/completions",
        window: bool = True, batches: bool = True,
    ) -> None:  # fmt: skip
        """looks: how often a batch is looked at in each state. batches: whether there are any."""
        self._answer, self._key, self.looks, self.fault = answer, key, looks, fault or Fault()
        self._most_lines, self.most_bytes, self._endpoint, self._window = most_lines, most_bytes, endpoint, window
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, _Batch] = {}
        self.lines: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()
        self.single: list[Any] = []
        self._runner: web.AppRunner | None = None
        self._came = asyncio.Event()
        self.port = 0
        app = web.Application(client_max_size=1 << 30, middlewares=[self._guard])
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/stats", self._stats)
        self.messages = messages = MessagesOf(self)
        app.router.add_post("/v1/messages", messages.single)
        if batches:
            app.router.add_post("/v1/files", self._upload)
            app.router.add_get("/v1/files/{id}/content", self._content)
            app.router.add_post("/v1/batches", self._create)
            app.router.add_get("/v1/batches", self._list)
            app.router.add_get("/v1/batches/{id}", self._look)
            app.router.add_post("/v1/batches/{id}/cancel", self._cancel)
            app.router.add_post("/v1/messages/batches", messages.create)
            app.router.add_get("/v1/messages/batches", messages.listed)
            app.router.add_get("/v1/messages/batches/{id}", messages.look)
            app.router.add_get("/v1/messages/batches/{id}/results", messages.results)
            app.router.add_post("/v1/messages/batches/{id}/cancel", messages.cancel)
        self._app = app

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> "BatchEndpoint":
        await self.start()
        return self

    async def start(self, port: int = 0) -> None:
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits, request by request, until the condition holds."""
        while not condition():
            self._came.clear()
            await self._came.wait()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.counts[f"{request.method} {request.path.split('/')[2] if '/v1/' in request.path else request.path}"] += 1
        self._came.set()
        given = request.headers.get("Authorization", "Bearer " + request.headers.get("x-api-key", ""))
        if self._key and given != f"Bearer {self._key}":
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        response: web.StreamResponse = await handler(request)
        return response

    async def _stats(self, request: web.Request) -> web.Response:
        ids = Counter(line["custom_id"] for line in self.lines)
        return web.json_response(
            {"counts": dict(self.counts), "lines": len(self.lines), "batches": len(self.batches),
             "twice": sum(count > 1 for count in ids.values())}
        )  # fmt: skip

    # --- single requests ---------------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.single.append(body)
        status, reply = self.reply(body)
        return web.json_response(reply, status=status)

    def reply(self, body: Any) -> tuple[int, Any]:
        """Status and body of the reply to a request, alone or in a batch."""
        status = self.fault.status(body)
        if status != 200:
            return status, {"error": {"message": f"it failed with {status}", "code": None, "type": "server_error"}}
        said = self._answer(body)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        if asked_form(body) == "tools":
            call = {"name": body["tool_choice"]["function"]["name"], "arguments": text}
            return 200, chat_reply("", tool_calls=[{"id": "call_1", "type": "function", "function": call}])
        return 200, chat_reply(text)

    def run_batch(self, file: Path, replies: Path) -> None:
        """What `vllm run-batch -i FILE -o REPLIES` does."""
        lines = []
        for row in file.read_text("utf-8").splitlines():
            line = json.loads(row)
            assert line["url"] == self._endpoint
            self.lines.append(line)
            status, reply = self.reply(line["body"])
            response = {"status_code": status, "request_id": "vllm-batch-1", "body": reply}
            lines.append({"id": "vllm-1", "custom_id": line["custom_id"], "response": response, "error": None})
        replies.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    def cancel(self, name: str) -> None:
        """Somebody cancels a batch at the provider's console."""
        self.batches[name].state, self.batches[name].looks = "cancelling", 0

    # --- files -------------------------------------------------------------------------------------------------

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        data = file.file.read()
        if form.get("purpose") != "batch" or not file.filename.endswith(".jsonl"):
            return _error(400, "Invalid file format for Batch API. Must be .jsonl", "invalid_request_error")
        if len(data) > self.most_bytes:
            return _error(413, "File is too large.", "file_too_large")
        name = f"file-{len(self.files)}"
        self.files[name] = data
        return web.json_response({"id": name, "object": "file", "bytes": len(data), "filename": file.filename,
                                  "purpose": "batch", "status": "processed"})  # fmt: skip

    async def _content(self, request: web.Request) -> web.Response:
        data = self.files.get(request.match_info["id"])
        return (
            _error(404, "No such File object", "invalid")
            if data is None
            else web.Response(body=self.fault.damage(data))
        )

    # --- batches -----------------------------------------------------------------------------------------------

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body.get("input_file_id") not in self.files:
            return _error(400, f"Invalid 'input_file_id': {body.get('input_file_id')}", "invalid_request_error")
        if body.get("endpoint") != self._endpoint or (body.get("completion_window") != "24h") == self._window:
            return _error(400, "Invalid value for 'endpoint' or 'completion_window'.", "invalid_value")
        batch = _Batch(f"batch_{len(self.batches)}", body, len(self.batches))
        self.batches[batch.id] = batch
        batch.errors = self._validated(batch)
        return web.json_response(self._shown(batch))

    def _validated(self, batch: _Batch) -> Any:
        """The errors of the batch's file, as OpenAI finds them; None if there are none."""
        errors: list[dict[str, Any]] = list(self.fault.errors.get(batch.number, []))
        ids: set[str] = set()
        rows = self.files[batch.body["input_file_id"]].splitlines()
        if not rows:
            errors.append({"code": "empty_file", "message": "The input file is empty.", "line": None})
        if len(rows) > self._most_lines:
            errors.append({"code": "too_many_tasks", "message": f"At most {self._most_lines} lines.", "line": None})
        for number, row in enumerate(rows, start=1):
            line = json.loads(row)
            wrong = ""
            if set(line) != {"custom_id", "method", "url", "body"} or line["method"] != "POST":
                wrong = "invalid_json_line"
            elif line["custom_id"] in ids or not 0 < len(line["custom_id"]) <= 64:
                wrong = "duplicate_custom_id"
            elif line["url"] != self._endpoint:
                wrong = "mismatched_url"
            elif line["body"].get("model") != json.loads(rows[0])["body"]["model"]:
                wrong = "mismatched_model"
            ids.add(line["custom_id"])
            if wrong:
                errors.append(
                    {"code": wrong, "message": f"This line is wrong: {wrong}.", "param": None, "line": number}
                )
        if not errors:
            self.lines += [json.loads(row) for row in rows]
            batch.counts["total"] = len(rows)
        return {"object": "list", "data": errors} if errors else None

    async def _list(self, request: web.Request) -> web.Response:
        newest = list(self.batches.values())[::-1]
        if after := request.query.get("after"):
            newest = newest[[batch.id for batch in newest].index(after) + 1 :]
        page = newest[: int(request.query.get("limit", "20"))]
        return web.json_response(
            {"object": "list", "data": [self._shown(batch) for batch in page], "has_more": len(page) < len(newest)}
        )

    async def _look(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return _error(404, "No batch found with this id.", "invalid_request_error")
        self._step(batch)
        return web.json_response(self._shown(batch), headers={"Retry-After": "0.02"})

    def _step(self, batch: _Batch) -> None:
        if batch.state in OVER:
            return
        if batch.errors:
            batch.state = "failed"
            return
        batch.looks += 1
        if batch.looks <= self.looks:
            return
        batch.looks = 0
        if batch.state == "cancelling":
            self._finish(batch, "cancelled")
            return
        following = STATES[STATES.index(batch.state) + 1]
        if following == "completed":
            self._finish(batch, self.fault.ends.get(batch.number, "completed"))
        else:
            batch.state = following

    def _finish(self, batch: _Batch, state: str) -> None:
        good: list[Any] = []
        bad: list[Any] = []
        for number, row in enumerate(self.files[batch.body["input_file_id"]].splitlines()):
            line = json.loads(row)
            item: dict[str, Any] = {"id": f"batch_req_{number}", "custom_id": line["custom_id"], "error": None}
            if state in ("expired", "cancelled") and self.fault.unasked(batch.number, line["body"]):
                code = f"batch_{state}"
                message = "This request could not be executed before the completion window expired."
                bad.append({**item, "response": None, "error": {"code": code, "message": message}})
                continue
            status, reply = self.reply(line["body"])
            item["response"] = {"status_code": status, "request_id": f"req_{number}", "body": reply}
            (good if status == 200 else bad).append(item)
        batch.state = state
        batch.counts |= {"completed": len(good), "failed": len(bad)}
        for lines, name in ((good, "output"), (bad, "error")):
            if lines:
                place = f"file-{len(self.files)}"
                # In another order than asked, as OpenAI says.
                self.files[place] = "".join(json.dumps(line) + "\n" for line in lines[::-1]).encode()
                setattr(batch, name, place)

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["id"]]
        if batch.state in OVER:
            return _error(409, f"Cannot cancel a batch with status '{batch.state}'.", "invalid_request_error")
        self.cancel(batch.id)
        return web.json_response(self._shown(batch))

    def _shown(self, batch: _Batch) -> dict[str, Any]:
        return {
            "id": batch.id, "object": "batch", "endpoint": batch.body["endpoint"], "errors": batch.errors,
            "input_file_id": batch.body["input_file_id"], "completion_window": "24h", "status": batch.state,
            "output_file_id": batch.output, "error_file_id": batch.error, "created_at": 1714508499,
            "request_counts": batch.counts, "metadata": batch.body.get("metadata"),
        }  # fmt: skip


def _error(status: int, message: str, code: str) -> web.Response:
    return web.json_response(
        {"error": {"message": message, "type": "invalid_request_error", "code": code}}, status=status
    )


async def _serve(arguments: argparse.Namespace) -> None:
    endpoint = BatchEndpoint(looks=arguments.looks)
    await endpoint.start()
    sys.stdout.write(json.dumps({"base_url": endpoint.base_url}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A local endpoint with OpenAI's batches.")
    parser.add_argument("--looks", type=int, default=0, help="looks at a batch in each state")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
