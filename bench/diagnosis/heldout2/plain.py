"""Applications without a framework: a function with stages, a class over SQLite, and a service."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.diagnosis.heldout2.parts import Setup, text_of
from bench.diagnosis.heldout2.world import Chunk

STEPS = {
    "en": "Answer the question of a member from the passages. If they lack it, say that you cannot find it. {rules}\n"
    "{body}\n\n{earlier}Question: {question}\n",
    "zh": "请根据资料回答社员和顾客的问题，资料里没有的就说没有提到。{rules}\n{body}\n\n{earlier}问题：{question}\n",
}
DESK = {
    "en": "{earlier}Sources:\n{body}\n\nUse the sources and nothing else. {rules}\nQuery: {question}",
    "zh": "{earlier}来源：\n{body}\n\n只用上面的来源。{rules}\n提问：{question}",
}


def found_by(setup: Setup, query: str, n: int) -> list[Chunk]:
    """A search that obeys rights and the parts of the index that answer."""
    setup.searches[query] += 1
    hits = setup.bm25(query, len(setup.chunks))
    return [hit for hit in hits if setup.audience(hit.doc) == "everyone" and setup.answering(query, hit.doc)][:n]


def build_steps(setup: Setup) -> Callable[..., Any]:
    """A function of a question that tells its stages as plain dicts."""

    def ask(question: str, passages: Any = None, k: int | None = None, retrieve_only: bool = False) -> Any:
        stages: dict[str, Any] = {}
        if passages is None:
            query = question if retrieve_only else setup.query(question)
            fetched = found_by(setup, query, setup.pool if k is None else 3 * k)
            best = [fetched[at] for at in setup.second(question, [(c.doc, c.text) for c in fetched], k)]
            if retrieve_only:
                return [{"id": c.id, "text": c.text} for c in best]
            stages["query"] = query
            stages["fetch"] = [{"id": c.id, "text": c.text} for c in fetched]
            stages["rank"] = [{"id": c.id, "text": c.text} for c in best]
            texts, contexts = [c.text for c in best], stages["rank"]
            if setup.on("pinned"):
                texts = [setup.notice, *texts]
                contexts = [{"id": "notice", "text": setup.notice}, *contexts]
        else:
            texts, contexts = [text_of(passage) for passage in passages], passages
        shown = setup.shown(texts)
        body = "\n\n".join(f"[{n}] {text}" for n, text in enumerate(shown, 1))
        prompt = STEPS[setup.world.lang].format(
            rules=setup.rules(), body=body, earlier=setup.earlier(), question=question
        )
        stages["prompt"] = prompt
        return {"answer": setup.finish(question, setup.talk(prompt)), "contexts": contexts, "stages": stages}

    return ask


class HelpDesk:
    """A class with a full-text index of SQLite, as somebody writes it in an afternoon."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.lock = setup, threading.Lock()
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create virtual table pages using fts5(id unindexed, doc unindexed, text unindexed, terms)")
        rows = [(c.id, c.doc, c.text, " ".join(setup.tokens(c.text))) for c in setup.chunks]
        self.db.executemany("insert into pages values (?, ?, ?, ?)", rows)

    def search(self, query: str, k: int = 5) -> list[dict[str, str]]:
        """The best pages of a query."""
        terms = dict.fromkeys(self.setup.tokens(query, query=True))
        if not terms:
            return []
        match = " OR ".join(f'"{term}"' for term in terms)
        with self.lock:
            self.setup.searches[query] += 1
            rows = self.db.execute(
                "select id, doc, text from pages where pages match ? order by bm25(pages)", (match,)
            ).fetchall()
        open_to_all = [row for row in rows if self.setup.audience(row[1]) == "everyone"]
        kept = [row for row in open_to_all if self.setup.answering(query, row[1])]
        return [{"id": name, "doc": doc, "text": text} for name, doc, text in kept[:k]]

    def __call__(self, question: str, passages: Any = None, k: int | None = None) -> dict[str, Any]:
        """Answer a question."""
        setup = self.setup
        if passages is None:
            hits = self.search(setup.query(question), setup.pool if k is None else 3 * k)
            passages = [hits[at] for at in setup.second(question, [(hit["doc"], hit["text"]) for hit in hits], k)]
            if setup.on("pinned"):
                passages = [{"id": "notice", "text": setup.notice}, *passages]
        texts = setup.shown([text_of(passage) for passage in passages])
        prompt = DESK[setup.world.lang].format(
            earlier=setup.earlier(),
            body="\n".join(f"-----\n{text}" for text in texts),
            rules=setup.rules(),
            question=question,
        )
        return {"answer": setup.finish(question, setup.talk(prompt)), "contexts": passages}


@contextmanager
def serving(ask: Callable[..., Any]) -> Iterator[str]:
    """The function behind HTTP: /ask takes a question, passages and k, /search a query and n."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/search":
                reply: Any = {"hits": ask(data["q"], k=int(data.get("n") or 5), retrieve_only=True)}
            else:
                k = data.get("top_k")
                made = ask(data["question"], data.get("documents"), int(k) if k else None)
                reply = {"result": {"text": made["answer"]}, "sources": made["contexts"]}
            body = json.dumps(reply, ensure_ascii=False).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(address: str) -> str:
    """The table of a `ragstone.toml` that describes the service."""
    return f"""[systems.desk]
url = "{address}/ask"
body = '{{"question": "{{question}}", "documents": "{{passages}}", "top_k": "{{k}}"}}'
answer = "result.text"
contexts = "sources[].text"
retrieve = {{ url = "{address}/search", body = '{{"q": "{{query}}", "n": "{{k}}"}}', contexts = "hits[].text" }}
"""
