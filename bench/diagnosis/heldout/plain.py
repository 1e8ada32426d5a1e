"""A function without a framework, and the same behind HTTP."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from bench.diagnosis.heldout.parts import Setup, overlap
from bench.diagnosis.heldout.world import Chunk

PROMPTS = {
    "en": "You help passengers. Use the passages only; say so if they do not say it.{brief}\n\n{passages}\n\n"
    "{earlier}Question: {question}\nAnswer:",
    "zh": "你是博物馆的助手。资料里没有就说没有。{brief}\n\n{passages}\n\n{earlier}问题：{question}\n回答：",
}
BRIEF = {"en": " Answer with yes or no.", "zh": "只回答是或否。"}


def text_of(passage: Any) -> str:
    """The text of a passage: a dict, an object, or a plain text."""
    if isinstance(passage, dict):
        return str(passage["text"])
    return str(getattr(passage, "text", passage))


def build_plain(setup: Setup) -> Callable[..., Any]:
    """The application: a function that takes a question."""
    live = [c for c in setup.chunks if setup.season(c.doc) == "2026"]
    matrix = np.array([setup.vectors.embed(c.text, stored=True) for c in live])

    def search(query: str, n: int) -> list[Chunk]:
        scores = matrix @ np.array(setup.vectors.embed(query))
        return [live[at] for at in np.argsort(-scores, kind="stable")[:n]]

    def rerank(question: str, found: list[Chunk], k: int) -> list[Chunk]:
        best = sorted(found, key=lambda c: overlap(question, c.text), reverse=not setup.on("reranker"))
        return best[:k]

    def answer(question: str, passages: Any = None, k: int = setup.k) -> dict[str, Any]:
        stages: dict[str, Any] = {}
        if passages is None:
            stages["query"] = setup.rewrite(question)
            fetched = search(stages["query"], 12 if setup.on("reranker") else k)
            stages["fetch"] = [{"id": c.id, "text": c.text} for c in fetched]
            kept = rerank(question, fetched, k) if setup.on("reranker") else fetched
            contexts = stages["rerank"] = [{"id": c.id, "text": c.text} for c in kept]
        else:
            contexts = [{"id": str(getattr(p, "id", n)), "text": text_of(p)} for n, p in enumerate(passages)]
        ready = setup.cached(question)
        if ready is not None:
            return {"answer": ready, "contexts": contexts, "stages": stages}
        lang = setup.world.lang
        stages["prompt"] = PROMPTS[lang].format(
            passages=setup.cut("\n\n".join(setup.order([c["text"] for c in contexts]))),
            question=question,
            earlier=setup.earlier(),
            brief=BRIEF[lang] if setup.brief(question) else "",
        )
        if setup.overloaded(question):
            return {"answer": "Error code: 429 - rate limit reached", "contexts": contexts, "stages": stages}
        text = setup.reader(stages["prompt"])
        setup.log.append((question, text))
        return {"answer": setup.guarded(text), "contexts": contexts, "stages": stages}

    return answer


@contextmanager
def serving(answer: Callable[..., Any]) -> Iterator[str]:
    """The address of a service that takes a question and returns an answer with its contexts."""

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def do_POST(self) -> None:
            """Answer a question."""
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made = answer(body["question"])
            reply = json.dumps({"answer": made["answer"], "contexts": made["contexts"]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/ask"
    finally:
        server.shutdown()
        server.server_close()
