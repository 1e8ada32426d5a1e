"""The llama.cpp server as a separate process. `models/local.py` runs this file as a script; nothing imports it.

The first line on standard input has the settings as JSON. The process writes one line to standard output: the address,
or why there is none. Then it serves until standard input ends, which happens when the process that started it ends in
any way, because that closes the other end of the pipe. It is a separate process because llama.cpp aborts where Python
would raise, blocks the interpreter while it loads, and writes to standard error.
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
    """On Linux, makes the kernel end this process with the thread that started it, even while loading blocks the
    interpreter. Elsewhere the end of standard input does so, a little later."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before this call
        os._exit(0)


def _serve(settings: dict[str, Any]) -> str:
    """Starts the server in its own threads and returns its address."""
    import xllamacpp  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # a free one
    params.api_keys = [settings["key"]]
    params.cors_origins = ""  # no web page may use it
    params.ui = False
    params.offline = True
    params.endpoint_slots = False
    params.endpoint_metrics = True  # counts of evaluated tokens, for requests with the key
    params.verbosity = 1
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    # An answer must depend only on its prompt. A cached prefix changes how the next prompt is split into batches, and
    # so the last bits of the numbers and occasionally a word.
    params.cache_prompt = settings["prefix_cache"]
    params.cache_ram_mib = 0
    params.n_predict = settings["longest_answer"]
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    globals()["_server"] = server  # it stops when it is garbage-collected
    return str(server.listening_address)


def main() -> None:
    settings = json.loads(sys.stdin.buffer.readline())
    _die_with(settings["parent"])
    # A signal to the whole group (Ctrl-C, a closing terminal, a stopping service) is for ragstone, which may still need
    # the answers in progress, and whose end ends this process.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # Output of llama.cpp must not be mistaken for the address.
    address_pipe = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    try:
        answer = {"address": _serve(settings)}
    except Exception as error:  # the parent reports whatever llama.cpp's binding raises
        answer = {"error": f"{type(error).__name__}: {error}"}
    address_pipe.write(json.dumps(answer) + "\n")
    address_pipe.close()
    if "address" in answer:
        while sys.stdin.buffer.read(4096):
            pass
    # Not sys.exit, which would wait for the server's threads.
    os._exit(0)


if __name__ == "__main__":
    main()
