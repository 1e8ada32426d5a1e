"""Counts the tokens of logged prompts as GPT-4o's vocabulary has them, run by the Python of ragas' environment.

    PYTHON count_tokens.py prompts.jsonl

The vocabulary comes with litellm's files; without a network tiktoken finds it nowhere else. Each line is a request: the
texts of its messages count, and the form it asks for (schema or tools), as written. Prints one line of JSON.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

found = importlib.util.find_spec("litellm")
if found and found.submodule_search_locations:
    folder = Path(found.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))

import tiktoken

__all__ = ["main"]


def main() -> None:
    encoding = tiktoken.get_encoding("o200k_base")
    messages = forms = 0
    for line in Path(sys.argv[1]).read_text(encoding="ascii").splitlines():
        asked = json.loads(line)
        for turn in asked["messages"]:
            content = turn["content"]
            text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
            messages += len(encoding.encode(text, disallowed_special=()))
        if asked["form"]:
            forms += len(encoding.encode(json.dumps(asked["form"]), disallowed_special=()))
    print(json.dumps({"messages": messages, "forms": forms}))


if __name__ == "__main__":
    main()
