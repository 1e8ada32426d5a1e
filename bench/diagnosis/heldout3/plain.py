"""Without a framework: a class over SQLite's full-text search, a service over HTTP, a function with OpenAI's client."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from bench.diagnosis.heldout2.parts import text_of
from bench.diagnosis.heldout3.kit import POOL, Kit
from bench.diagnosis.heldout3.world import Chunk
from openai import OpenAI


class Desk:
    """A help desk over a table of SQLite."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.lock = threading.Lock()
        self.db.execute("CREATE TABLE pages (key TEXT, file TEXT, body TEXT, open INTEGER)")
        self.db.execute("CREATE VIRTUAL TABLE terms USING fts5(line, tokenize='unicode61')")
        for row, c in enumerate(kit.chunks):
            page = (row, c.id, c.doc, c.text, int(kit.open(c.doc)))
            self.db.execute("INSERT INTO pages (rowid, key, file, body, open) VALUES (?, ?, ?, ?, ?)", page)
            self.db.execute("INSERT INTO terms (rowid, line) VALUES (?, ?)", (row, " ".join(kit.tokens(c.text))))

    def fetch(self, query: str, n: int) -> list[dict[str, str]]:
        """The pages that share words with a query."""
        match = " OR ".join(f'"{word}"' for word in self.kit.tokens(query, query=True)) or '"?"'
        sql = "SELECT key, file, body FROM terms JOIN pages ON pages.rowid = terms.rowid WHERE line MATCH ? AND open "
        with self.lock:
            rows = self.db.execute(sql + "ORDER BY bm25(terms) LIMIT ?", (match, n)).fetchall()
        return [{"file": file, "text": body, **({"id": key} if key else {})} for key, file, body in rows]

    def best(self, question: str, pages: list[dict[str, str]], k: int | None) -> list[dict[str, str]]:
        """The pages that are kept."""
        return [pages[at] for at in self.kit.order(question, [(page["file"], page["text"]) for page in pages], k)]

    def search(self, question: str, k: int | None = None) -> list[dict[str, str]]:
        """The best pages for a question as it stands."""
        return self.best(question, self.fetch(question, max(POOL, 3 * (k or 0))), k)

    def __call__(self, question: str, passages: Any = None, k: int | None = None) -> dict[str, Any]:
        """An answer with its passages and what each stage made of them."""
        stages: dict[str, Any] = {}
        if passages is None:
            stages["query"] = self.kit.rewrite(question)
            stages["fetch"] = self.fetch(stages["query"], max(POOL, 3 * (k or 0)))
            stages["rerank"] = passages = self.best(question, stages["fetch"], k)
        prompt = stages["prompt"] = self.kit.prompt(question, [text_of(page) for page in passages])
        answer = self.kit.finish(question, self.kit.cache(question, lambda: self.kit.talk(prompt)))
        return {"answer": answer, "contexts": passages, "stages": stages}


def hybrid(kit: Kit, query: str, n: int) -> list[Chunk]:
    """Words and vectors, joined by their ranks."""
    vector = np.array(kit.vector(query, query=True))
    rows = [at for at, chunk in enumerate(kit.chunks) if kit.open(chunk.doc)]
    near = sorted(rows, key=lambda at: -float(vector @ np.array(kit.vector(kit.chunks[at].text))))[: 2 * n]
    places = {id(chunk): at for at, chunk in enumerate(kit.chunks)}
    exact = [places[id(chunk)] for chunk in kit.lexical(query, 2 * n)]
    score = {at: sum(1 / (20 + ranked.index(at)) for ranked in (near, exact) if at in ranked) for at in {*near, *exact}}
    return [kit.chunks[at] for at in sorted(score, key=lambda at: (-score[at], at))[:n]]


@contextmanager
def serving(kit: Kit) -> Iterator[str]:
    """The service: POST /reply answers, POST /lookup searches."""

    def look(question: str, n: int, query: str) -> list[dict[str, str]]:
        found = hybrid(kit, query, max(POOL, 3 * n))
        kept = [found[at] for at in kit.order(question, [(c.doc, c.text) for c in found], n)]
        return [{"snippet": c.text, **({"key": c.id} if c.id else {})} for c in kept]

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        question, limit = body["utterance"], int(body.get("limit") or kit.k)
        evidence = body.get("evidence")
        if evidence is None:
            based = look(question, limit, kit.rewrite(question))
        else:
            based = [{"snippet": text_of(passage)} for passage in evidence]
        prompt = kit.prompt(question, [page["snippet"] for page in based])
        text = kit.finish(question, kit.cache(question, lambda: kit.talk(prompt)))
        return {"result": {"say": text, "based_on": based}, "ok": True}

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def do_POST(self) -> None:
            """Answer it as JSON."""
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            needle, limit = body.get("needle"), int(body.get("limit") or kit.k)
            text = json.dumps({"hits": look(needle, limit, needle)} if needle else reply(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def settings(address: str, ids: bool) -> str:
    """A `ragstone.toml` for the service."""
    found = 'ids = "result.based_on[].key"' if ids else ""
    body = """{"utterance": "{question}", "evidence": "{passages}", "limit": "{k}"}"""
    search = """{"needle": "{query}", "limit": "{k}"}"""
    return f"""[systems.front]
url = "{address}/reply"
body = '{body}'
answer = "result.say"
contexts = "result.based_on[].snippet"
{found}
retrieve = {{ url = "{address}/lookup", body = '{search}', contexts = "hits[].snippet" }}
"""


def build_script(kit: Kit, address: str) -> Callable[..., Any]:
    """A function that searches by words, and asks a model behind OpenAI's protocol."""
    client = OpenAI(base_url=address, api_key="none", max_retries=0)

    def ask(question: str, passages: Any = None, retrieve_only: bool = False) -> Any:
        """An answer with the texts it was made from, or what the search finds for the question as it stands."""
        if passages is None:
            found = kit.lexical(question if retrieve_only else kit.rewrite(question), POOL)
            passages = [found[at].text for at in kit.order(question, [(c.doc, c.text) for c in found])]
        if retrieve_only:
            return passages
        texts = [text_of(passage) for passage in passages]
        system = {"role": "system", "content": kit.rules()}
        user = f"{kit.context(texts)}\n\n{kit.earlier()}{kit.say['question'].format(question)}"
        made: Any = client.chat.completions.create(
            model="scripted",
            messages=[system, {"role": "user", "content": user}],
        )
        return {"answer": kit.finish(question, made.choices[0].message.content), "contexts": texts}

    return ask
