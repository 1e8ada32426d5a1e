"""The llama.cpp server in a process of its own. Run by `models/local.py` as a script; nothing imports it.

The first line on standard input is the settings, as JSON. One line goes to standard output: the address, or why there
is none. Then the process serves until standard input ends, which is when the process that started it ends, in whatever
way: the other end of a pipe closes with the last process that holds it. It is a process of its own because llama.cpp
aborts where Python would raise, holds the interpreter while it loads, and writes to standard error as it likes.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
from typing import Any

__all__: list[str] = []

_PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> None:
    """On Linux, have the kernel end this process with the thread that started it, also while it is loading and holds
    the interpreter. Elsewhere the end of standard input does it, a little later."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(0)


def _serve(settings: dict[str, Any]) -> str:
    """Starts the server in threads of its own, and returns its address."""
    import xllamacpp  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # a free one
    params.api_keys = [settings["key"]]
    params.cors_origins = ""  # no web page may ask it
    params.ui = False
    params.offline = True
    params.endpoint_slots = False
    params.endpoint_metrics = True  # what it evaluated, for who knows the key
    params.verbosity = 1
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    # An answer must depend on its prompt alone. What is kept of the last prompt changes how the next one is split
    # into batches, and with it the last bits of the numbers, and now and then a word.
    params.cache_prompt = settings["prefix_cache"]
    params.cache_ram_mib = 0
    params.n_predict = settings["longest_answer"]
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    globals()["_server"] = server  # it stops when nothing refers to it
    return str(server.listening_address)


def main() -> None:
    settings = json.loads(sys.stdin.buffer.readline())
    _die_with(settings["parent"])
    # A signal to the whole group (Ctrl-C, a closed terminal, a service that stops) is for ragstone, which may still
    # want what is being answered, and whose end is the end of this process.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # What llama.cpp prints must not be taken for the address.
    told = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    try:
        answer = {"address": _serve(settings)}
    except Exception as error:  # whatever llama.cpp's binding raises is for the other side to tell
        answer = {"error": f"{type(error).__name__}: {error}"}
    told.write(json.dumps(answer) + "\n")
    told.close()
    if "address" in answer:
        while sys.stdin.buffer.read(4096):
            pass
    # Not sys.exit: the server's threads would be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
