"""The judge of a reproduction: it gives the recorded replies in their order, and the recorded vectors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


def served(replies: list[dict[str, Any]], vectors: dict[str, list[float]]) -> str:
    """The address of an OpenAI-compatible endpoint that gives these replies, and after all the last one again."""
    left = list(replies)

    class Judge(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("/embeddings"):
                texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
                data = [{"index": n, "embedding": vectors[text]} for n, text in enumerate(texts)]
                self.say(200, {"data": data, "model": "embed", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
                return
            reply = left.pop(0) if len(left) > 1 else left[0]
            message: dict[str, Any] = {"role": "assistant", "content": reply["text"]}
            if asked.get("tools"):
                function = {"name": asked["tools"][0]["function"]["name"], "arguments": reply["text"]}
                message["tool_calls"] = [{"id": "1", "type": "function", "function": function}]
            if self.path.endswith("/responses"):
                part: dict[str, Any] = {"type": "output_text", "text": reply["text"] or "", "annotations": []}
                output = {"type": "message", "id": "1", "role": "assistant", "status": "completed", "content": [part]}
                self.say(reply["status"], {"id": "1", "object": "response", "created_at": 1, "model": "judge",
                                           "output": [output], "tools": [], "tool_choice": "auto",
                                           "parallel_tool_calls": False})  # fmt: skip
                return
            choice = {"index": 0, "message": message, "finish_reason": reply["finish"]}
            self.say(
                reply["status"],
                {"id": "1", "object": "chat.completion", "created": 1, "model": "judge", "choices": [choice]},
            )

        def say(self, status: int, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Judge)
    server.socket.listen(128)  # more than 5 that wait at once would be dropped, and try again for seconds
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
