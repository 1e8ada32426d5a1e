"""The endpoint of `bench/judge.py`, in a process of its own: chat and embeddings, answered after a delay.

    python -m bench.peers.server --delay 0.05

prints its port and serves until its standard input ends. As little of HTTP as it takes, so that its own time does not
count as a tool's. It keeps a book: what it was asked, what it answered and when, and what came again although it had
been answered. `GET /stats` shows it and `POST /reset` opens a new page, with faults as its JSON body says:

    {"faults": 0.05, "doomed": 0.05, "log": "prompts.jsonl"}

`faults`: share of requests that are answered 429 or 500, at random; `doomed`: share that fails for ever, chosen by what
they ask; `log`: a file for the prompts, to count their tokens.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import random
import struct
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from bench.peers.plausible import answer

__all__ = ["main"]

HEAD = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
DIMENSIONS = 64
# 500s and 429s in turn; Retry-After 0 would be unfair to nobody, and no endpoint sends it.
FAULTS = (429, 500)


class Book:
    """What was asked and answered since the last reset."""

    def __init__(self, faults: float = 0.0, doomed: float = 0.0, log: str = "") -> None:
        self.faults, self.doomed = faults, doomed
        self.counts: Counter[str] = Counter()
        self.answered: dict[bytes, float] = {}
        self.again: list[float] = []
        self.lost: set[str] = set()
        self.most = self.now = 0
        self.random = random.Random(5)
        self.log: IO[str] | None = Path(log).open("a", encoding="ascii") if log else None  # noqa: SIM115

    def status(self, key: bytes, text: str) -> int:
        """The status of a request. `key` is the hash of all of it, `text` its beginning and end for the book."""
        if key in self.answered:
            self.again.append(self.answered[key])
        if self.doomed and int.from_bytes(key[:4], "big") < self.doomed * 2**32:
            self.lost.add(text)
            return 500
        if self.faults and self.random.random() < self.faults:
            return FAULTS[self.counts["faults"] % 2]
        return 200

    def stats(self) -> dict[str, Any]:
        """The page as JSON; times are of the monotonic clock, which processes of one machine share."""
        if self.log:
            self.log.flush()
        return {
            "counts": self.counts, "most_at_once": self.most, "again": self.again, "lost": sorted(self.lost),
            "answered": len(self.answered),
        }  # fmt: skip


def embedding(text: str) -> list[float]:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=DIMENSIONS).digest()
    return [byte - 100.5 for byte in digest]


def embeddings(payload: dict[str, Any]) -> dict[str, Any]:
    texts = payload["input"] if isinstance(payload["input"], list) else [payload["input"]]
    coded = payload.get("encoding_format") == "base64"
    data = []
    for index, text in enumerate(texts):
        vector: Any = embedding(text if isinstance(text, str) else json.dumps(text))
        if coded:
            vector = base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *vector)).decode("ascii")
        data.append({"object": "embedding", "index": index, "embedding": vector})
    return {"object": "list", "data": data, "model": "embed-1", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def completion(payload: dict[str, Any]) -> dict[str, Any]:
    text = answer(payload)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    finish = "stop"
    if "tools" in payload:
        name = payload["tools"][0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": text}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    choices = [{"index": n, "finish_reason": finish, "message": message} for n in range(payload.get("n") or 1)]
    asked = sum(len(str(turn["content"])) for turn in payload["messages"]) // 4
    usage = {"prompt_tokens": asked, "completion_tokens": len(text) // 4, "total_tokens": asked + len(text) // 4}
    return {
        "id": "1", "object": "chat.completion", "created": 1, "model": "judge-1", "choices": choices, "usage": usage,
    }  # fmt: skip


class Endpoint(asyncio.Protocol):
    """One connection."""

    book = Book()

    def __init__(self, delay: float) -> None:
        self.delay, self.received = delay, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.received[:end])
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        if len(self.received) < end + 4 + length:
            return
        body = bytes(self.received[end + 4 : end + 4 + length])
        del self.received[: end + 4 + length]
        self._serve(head.split(b" ", 2)[1].decode("ascii"), body)

    def _serve(self, path: str, body: bytes) -> None:
        book = Endpoint.book
        if path == "/stats":
            self._send(200, book.stats())
            return
        if path == "/reset":
            Endpoint.book = Book(**json.loads(body or b"{}"))
            self._send(200, {})
            return
        payload = msgspec.json.decode(body)
        key = hashlib.sha256(path.encode() + body).digest()
        chat = path.endswith("/chat/completions")
        book.counts["chat" if chat else "embeddings"] += 1
        book.now += 1
        book.most = max(book.most, book.now)
        status = book.status(key, _about(payload, chat=chat))
        if book.log and chat:
            asked = {"messages": payload["messages"], "form": payload.get("response_format") or payload.get("tools")}
            book.log.write(json.dumps(asked) + "\n")
        loop = asyncio.get_running_loop()
        due = loop.time() + self.delay
        if status == 200:
            reply = completion(payload) if chat else embeddings(payload)
        else:
            book.counts["faults"] += 1
            reply = {"error": {"message": "Please try again.", "type": "server_error", "code": None}}
        loop.call_at(due, self._finish, book, key, status, reply)

    def _finish(self, book: Book, key: bytes, status: int, reply: Any) -> None:
        book.now -= 1
        if self.transport.is_closing():
            book.counts["hung up"] += 1
            return
        if status == 200:
            book.counts["answered"] += 1
            book.answered[key] = time.monotonic()
        self._send(status, reply)

    def _send(self, status: int, reply: Any) -> None:
        data = msgspec.json.encode(reply)
        self.transport.write(HEAD % (status, len(data)) + data)


def _about(payload: Any, *, chat: bool) -> str:
    """What a request is about, for the book: its kind and the number of its sample."""
    text = str(payload["messages"][-1]["content"] if chat else payload["input"])
    found = text.find("(case ")
    kind = "verify" if '"passages"' in text else "decompose" if chat else "embed"
    return f"{kind} {text[found + 6 : found + 10] if found >= 0 else '?'}"


async def serve(delay: float) -> None:
    """Prints its port, and answers until its standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Endpoint(delay), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--delay", type=float, default=0.05)
    asyncio.run(serve(parser.parse_args().delay))


if __name__ == "__main__":
    main()
