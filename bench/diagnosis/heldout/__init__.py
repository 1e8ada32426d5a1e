"""Held-out faults for `ragstone diagnose`: written without knowledge of its code, and before it was run on them."""

import sys
from pathlib import Path

# LangChain, LangGraph and LlamaIndex live in an environment of their own, which comes behind everything else.
for _found in sorted((Path.home() / ".cache/ragstone/peers").glob("frameworks*/lib/python3.11/site-packages")):
    if (_found / "langchain_community").is_dir():
        sys.path.append(str(_found))
