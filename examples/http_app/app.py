"""A RAG application behind HTTP, with Python's own server: POST /ask {"question": "…"}, POST /search {"query": "…"}.

python examples/http_app/app.py --port 8000
ragstone run examples/handbook/questions.csv --system http://127.0.0.1:8000/ask

`/ask` also takes `passages` to answer from, instead of its own, and both take `k`: `ragstone diagnose` needs no more.
HTTP_APP_FAULT=retriever breaks its search, so that there is a cause to name.
"""

import argparse
import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "handbook" / "docs"
DOCUMENTS = {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.md"))}
FAULT = os.environ.get("HTTP_APP_FAULT", "")


def grams(text):
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return set(re.findall(r"[a-z0-9]+", text.lower())) | {chinese[at : at + 2] for at in range(len(chinese) - 1)}


def search(query, k=3):
    """The k documents that share most with a query; the faulty search ranks by length."""
    wanted = grams(query)
    best = sorted(DOCUMENTS, key=lambda name: -len(wanted & grams(DOCUMENTS[name])))
    if FAULT == "retriever":
        best = sorted(DOCUMENTS, key=lambda name: len(DOCUMENTS[name]))
    return [{"id": name, "text": DOCUMENTS[name]} for name in best[:k]]


def ask(question, k=3, passages=None):
    """The answer to a question, and the documents that it was taken from: the given ones, else those it finds."""
    sources = search(question, k) if passages is None else [{"text": text} for text in passages]
    wanted = grams(question)
    best = max(sources, key=lambda source: len(wanted & grams(source["text"])), default={"text": ""})
    sentences = re.split(r"(?<=[.。])\s*", best["text"].partition("\n")[2].strip())
    return {"answer": max(sentences, key=lambda sentence: len(wanted & grams(sentence))), "sources": sources}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps({"sources": search(**body)} if self.path == "/search" else ask(**body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # by default 5 connections wait; the next ones are dropped, and try again for seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    server = Server(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/ask", flush=True)
    server.serve_forever()
