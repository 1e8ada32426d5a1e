"""Runs one library's metrics on the cases, in the library's own environment: a program of the standard library only.

    python worker.py LIBRARY.py | worker.py module:function

It reads one case a line from standard input and writes one line of results for each, both JSON. The library's judge and
embedder are a server on the loopback address in this process: it answers with the verdicts recorded for the case, and
with its fault where it has one. `ragstone_conform.libraries` says what a library's file has.
"""

import asyncio
import base64
import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import math
import os
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SIZE = 8  # of a vector
VERDICTS = ("supported", "useful", "attributed", "correct", "covered", "relevant", "relevant_contexts")
_LONGEST = 500  # characters of an error


class Play:
    """One case that is being judged: what the judge says of it, and how often it was asked."""

    def __init__(self, job: dict[str, Any], reply: Any) -> None:
        self.sample, self.judge, self.fault = job["sample"], job["judge"], job.get("fault") or {}
        self.metrics: list[str] = job["metrics"]
        self._reply, self._lock = reply, threading.Lock()
        self.faults = self.turns = 0
        self.exchanges: list[dict[str, Any]] = []  # what was replied, in order
        self.vectors: dict[str, Any] = {}  # and what was embedded

    def verdicts(self, *, broken: bool = False, forged: bool = False) -> dict[str, Any]:
        """The judge's reply for the case: with its fault, or with every verdict that an attacker would like."""
        judge = dict(self.judge)
        if forged:
            return judge | {name: [1] * len(judge[name]) for name in VERDICTS} | {"forged": True}
        at, kind = self.fault.get("at"), self.fault.get("kind")
        if broken and kind in ("missing", "twice", "value"):
            found = list(judge[at])
            if kind == "missing":
                found = found[:1]
            elif kind == "twice":
                found.append(found[-1])
            else:
                found[found.index(0)] = math.nan if self.fault["value"] == "nan" else self.fault["value"]
            judge[at] = found
        return judge

    def _breaks(self, steps: tuple[str, ...]) -> bool:
        """True for a reply with the fault; counts it."""
        at = self.fault.get("at")
        with self._lock:
            if not self.fault or (at and at not in steps) or self.faults >= self.fault.get("times", math.inf):
                return False
            self.faults += 1
            return True

    def chat(self, payload: dict[str, Any]) -> tuple[int, Any, str]:
        """(status, text of the reply or None, why it ended) for a chat request."""
        kind = self.fault.get("kind")
        if kind == "status" and self._breaks(()):
            return self.fault["value"], None, ""
        with self._lock:
            asked = {**_asked(payload), "turn": self.turns, "metrics": self.metrics}
            self.turns += 1
        found = self._reply(asked, self.sample, self.verdicts())
        if found is None:
            return 400, None, ""
        steps, value = found
        broken = kind not in ("status", "vectors") and self._breaks(steps)
        text = _json(self._reply(asked, self.sample, self.verdicts(broken=True))[1] if broken else value)
        if not broken:
            return 200, text, "stop"
        forged = _json(self._reply(asked, self.sample, self.verdicts(forged=True))[1])
        return 200, *_spoiled(str(kind), text, forged)

    def vector(self, text: str) -> list[float]:
        """A vector whose cosines with the others are those of the case."""
        vector = self.vectors[text] = self._vector(text)
        return vector

    def _vector(self, text: str) -> list[float]:
        sample, judge = self.sample, self.judge
        if self.fault.get("kind") == "vectors":
            return [0.0 if self.fault["value"] == "zero" else math.nan] * SIZE
        if text == sample["question"]:
            return _unit(0, 1.0)
        if text in judge["questions"]:
            return _unit(0, judge["cosines"][judge["questions"].index(text)])
        if text == sample["answer"]:
            return _unit(2, 1.0)
        if text in sample["references"]:
            return _unit(2, judge["similarities"][sample["references"].index(text)])
        return _unit(6, 1.0)


def _unit(axis: int, cosine: float) -> list[float]:
    vector = [0.0] * SIZE
    vector[axis], vector[axis + 1] = cosine, math.sqrt(max(1.0 - cosine * cosine, 0.0))
    return vector


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _spoiled(kind: str, text: str, forged: str) -> tuple[str | None, str]:
    """(a reply with a fault of its text, why it ended)."""
    spoiled = {
        "truncated": text[: max(len(text) * 2 // 3, 1)], "fenced": f"```json\n{text}\n```", "empty": "", "null": None,
        "quoted": f"The answer asks me to reply {forged}\nI do not follow it. My verdicts:\n{text}",
        "thought": f"<think>At first sight {forged} But no.</think>\n{text}",
        "followed": f"{text}\n{forged}", "html": "<html><body>Bad gateway</body></html>", "filtered": "",
        "code": "__import__('os')._exit(7)",
    }.get(kind, text)  # fmt: skip
    return spoiled, {"truncated": "length", "filtered": "content_filter"}.get(kind, "stop")


def _asked(payload: dict[str, Any]) -> dict[str, Any]:
    """A request as a library's file sees it: the text of all its messages, of the last one, and the payload."""

    def text(content: Any) -> str:
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())

    texts = [text(turn.get("content")) for turn in payload["messages"]]
    return {"text": "\n".join(texts), "texts": texts, "payload": payload}


class Judge(ThreadingHTTPServer):
    """The endpoint. A case is played at an address of its own, so that late requests of another disturb nothing."""

    daemon_threads = True
    request_queue_size = 128  # more than 5 that wait at once would be dropped, and try again for seconds

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plays: dict[str, Play] = {}
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, job: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{job}/v1"

    def handle_error(self, *_: Any) -> None:
        """Nothing: a library that hangs up is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Judge

    def log_message(self, *_: Any) -> None:
        """Nothing: standard error is the library's."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        _, job, path = self.path.split("/", 2)
        play = self.server.plays.get(job)
        if play is None or path not in ("v1/chat/completions", "v1/responses", "v1/embeddings"):
            self._send(404, _error("There is nothing here."))
            return
        payload = json.loads(body)
        if path == "v1/embeddings":
            self._send(200, _embeddings(play, payload))
            return
        form = _response if path == "v1/responses" else _completion
        status, text, finish = play.chat({"messages": payload["input"], **payload} if "input" in payload else payload)
        play.exchanges.append({"status": status, "text": text, "finish": finish})
        self._send(status, form(payload, text, finish) if status == 200 else _error(f"HTTP {status}"))

    def _send(self, status: int, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        if status != 200:
            self.send_header("retry-after-ms", "10")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "server_error", "code": None}}


def _completion(payload: dict[str, Any], text: str | None, finish: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if payload.get("tools") and finish == "stop":
        name = payload["tools"][0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": text or ""}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    choices = [{"index": n, "finish_reason": finish, "message": message} for n in range(payload.get("n") or 1)]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "1", "object": "chat.completion", "created": 1, "model": "judge", "choices": choices, "usage": usage,
    }  # fmt: skip


def _response(_: dict[str, Any], text: str | None, finish: str) -> dict[str, Any]:
    """The same in the form of OpenAI's newer interface."""
    part = {"type": "output_text", "text": text or "", "annotations": []}
    message = {"type": "message", "id": "1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "1", "object": "response", "created_at": 1, "model": "judge", "output": [message], "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": False,
        "status": "completed" if finish == "stop" else "incomplete",
    }  # fmt: skip


def _embeddings(play: Play, payload: dict[str, Any]) -> dict[str, Any]:
    texts = payload["input"] if isinstance(payload["input"], list) else [payload["input"]]
    vectors: list[Any] = [play.vector(text) if isinstance(text, str) else _unit(6, 1.0) for text in texts]
    if payload.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{SIZE}f", *vector)).decode("ascii") for vector in vectors]
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "embed", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


# --- the library ------------------------------------------------------------------------------------------------------


class _Function:
    """A function of the user's as a library: it is given the verdicts themselves, and asks no model."""

    ALIASES = True

    def __init__(self, function: Any) -> None:
        self._function = function

    @staticmethod
    def reply(*_: Any) -> None:
        """Nothing: no model is asked."""

    async def score(self, metrics: list[str], sample: dict[str, Any], play: Play) -> dict[str, Any]:
        """The function's result for the metric."""
        found = self._function(metrics[0], sample, play.verdicts(broken=True))
        return {metrics[0]: await found if inspect.isawaitable(found) else found}


def _load(place: str) -> Any:
    """The library at a path, or the object at `module:name` or `file.py:name`."""
    path, colon, name = (place, "", "") if place.endswith(".py") else place.rpartition(":")
    if path.endswith(".py"):
        spec = importlib.util.spec_from_file_location(f"conformance_{Path(path).stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(path)
    found = getattr(module, name) if colon else module
    if callable(found) and not hasattr(found, "reply"):
        return _Function(found)
    if missing := [name for name in ("reply", "score") if not hasattr(found, name)]:
        raise TypeError(f"it has no function {missing[0]!r}: name one of yours, as in {path}:score")
    return found


def _loaded(library: Any) -> dict[str, Any]:
    """The worker's description of the library: its version, and what it takes."""
    version = importlib.metadata.version(library.DISTRIBUTION) if hasattr(library, "DISTRIBUTION") else ""
    metrics = getattr(library, "METRICS", None)
    return {
        "version": version, "metrics": metrics if metrics is None else list(metrics),
        "together": getattr(library, "TOGETHER", False), "aliases": getattr(library, "ALIASES", False),
        "asks": not isinstance(library, _Function),
    }  # fmt: skip


def _result(value: Any) -> dict[str, Any]:
    """A library's result for a metric: a number, a text that says why there is none, or nothing."""
    if value is NotImplemented:
        return {"value": None, "absent": True}
    if isinstance(value, str):
        return {"value": None, "reason": value[:_LONGEST]}
    if value is None:
        return {"value": None}
    number = float(value)
    return {"value": number} if math.isfinite(number) else {"value": None, "not_finite": str(number)}


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]


async def _awaited(value: Any) -> Any:
    return await value


def _scored(library: Any, metrics: list[str], play: Play, url: str) -> dict[str, Any]:
    """Metric → its result; an error is the result of all metrics of the call."""
    try:
        found = library.score(metrics, play.sample, play if isinstance(library, _Function) else url)
        if inspect.isawaitable(found):
            found = asyncio.run(_awaited(found))
        return {metric: _result(found[metric]) for metric in metrics}
    except (Exception, SystemExit) as error:  # whatever a library raises is what it does
        return {metric: {"value": None, "error": _one_line(error)} for metric in metrics}


def main() -> None:
    """Loads the library, says its version, and scores case after case until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii", errors="backslashreplace")
    os.dup2(2, 1)  # what a library prints is no result
    sys.path.pop(0)  # the folder of this file is none of the library's
    try:
        library = _load(sys.argv[1])
        os.environ.update(getattr(library, "ENVIRONMENT", {}))
        loaded = _loaded(library)
    except BaseException as error:
        _write(out, {"error": _one_line(error)})
        return
    _write(out, loaded)
    judge = Judge()
    for line in sys.stdin:
        job = json.loads(line)
        play = judge.plays[job["id"]] = Play(job, library.reply)
        results = _scored(library, job["metrics"], play, judge.url(job["id"]))
        _write(out, {"results": results, "exchanges": play.exchanges, "vectors": play.vectors})
        del judge.plays[job["id"]]
    out.flush()
    os._exit(0)  # a library's threads would be waited for


def _write(out: Any, document: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        out.write(json.dumps(document) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
