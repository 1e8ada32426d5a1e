"""An HTTP service in a process of its own, with plain JSON.

`/answer` takes a question, passages and a number of hits; `/chat` takes nothing but a question.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.search import Index
from bench.diagnosis.strangers.settings import Settings, instruction


class Service:
    """What the service does with a request."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.index, self.reader, self.desk = Index(rows(settings), settings), Reader(settings), policy.Desk(settings)

    def search(self, question: str, k: int | None = None) -> list[dict[str, Any]]:
        """The hits of a question."""
        found = self.index.search(question, policy.WIDE)
        hits = [{"ref": row.id, "snippet": row.text, "rank": at} for at, (row, _) in enumerate(found, 1)]
        if self.settings.has("reranker_inverted"):
            hits = policy.reranked(question, [(str(hit["snippet"]), hit) for hit in hits], self.settings)
        return hits[: k or policy.top(self.settings)]

    def answer(self, question: str, passages: list[str] | None = None, k: int | None = None) -> dict[str, Any]:
        """The reply to a question."""
        settings = self.settings
        hits = self.search(question, k) if passages is None else [{"ref": "", "snippet": text} for text in passages]
        reply = self.desk.before(question)
        if reply is None:
            shown = policy.arranged(hits, settings)
            context = "\n".join(
                f'<passage n="{at}">\n{policy.snippet(str(hit["snippet"]), settings)}\n</passage>'
                for at, hit in enumerate(shown, 1)
            )
            asked = "Q: " if settings.language == "en" else "问题："
            head = f"{instruction(settings)}\n{self.desk.conversation()}"
            prompt = f"{head}{policy.clipped(context, settings)}\n\n{asked}{question}"
            reply = self.desk.after(question, self.reader.complete(prompt))
        return {"data": {"reply": reply, "hits": hits}, "status": "ok"}


def handler(service: Service) -> type[BaseHTTPRequestHandler]:
    """The handler of requests."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            try:
                if self.path == "/search":
                    reply: Any = {"hits": service.search(body["q"], body.get("n"))}
                elif self.path == "/chat":
                    reply = service.answer(body["question"])["data"]
                    reply = {"answer": reply["reply"], "sources": reply["hits"]}
                else:
                    reply = service.answer(body["question"], body.get("passages"), body.get("top"))
                status = 200
            except policy.Unavailable as error:
                reply, status = {"error": str(error)}, 502
            data = json.dumps(reply, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

    return Handler


def main() -> None:
    """Serve on a free port of the loopback interface, and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("settings", help="JSON of the settings")
    service = Service(Settings(**json.loads(parser.parse_args().settings)))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(service))
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
