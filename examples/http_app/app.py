"""A RAG application behind HTTP, with Python's own server: POST /ask {"question": "…"}.

python examples/http_app/app.py --port 8000
ragstone run examples/handbook/questions.csv --system http://127.0.0.1:8000/ask
"""

import argparse
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "handbook" / "docs"
DOCUMENTS = {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.md"))}


def grams(text):
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return set(re.findall(r"[a-z0-9]+", text.lower())) | {chinese[at : at + 2] for at in range(len(chinese) - 1)}


def reply_to(question):
    """The answer to a question, and the documents that it was taken from."""
    wanted = grams(question)
    best = sorted(DOCUMENTS, key=lambda name: -len(wanted & grams(DOCUMENTS[name])))[:3]
    sentences = re.split(r"(?<=[.。])\s*", DOCUMENTS[best[0]].partition("\n")[2].strip())
    answer = max(sentences, key=lambda sentence: len(wanted & grams(sentence)))
    return {"answer": answer, "sources": [{"id": name, "text": DOCUMENTS[name]} for name in best]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(reply_to(body["question"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/ask", flush=True)
    server.serve_forever()
