"""The test double: a chat model that answers from a function or a recorded file, and records its requests.

A recorded file is JSON lines, each one of

    {"request": {…}, "completion": {…}}     exactly this request gets this completion
    {"request": {…}, "error": {"kind": "rate_limited", "message": "…"}}     or this error
    {"contains": "…", "text": "…"}          a request whose messages contain these words gets this text
    {"default": "…"}                        any other request gets this text

The first matching line of the last two kinds is used. `recording` writes the first two kinds.
"""

import contextlib
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

from ragstone import errors
from ragstone.errors import DataError, ModelError, Rejected, UsageError
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Source
from ragstone.storage import FormatError, check_regular, parse_json
from ragstone.structs import from_json, to_json
from ragstone.text import estimate_tokens
from ragstone.types import Completion, Embedder, Model, Request, Usage

ScriptedReply: TypeAlias = "str | Completion | ModelError"
Script: TypeAlias = Callable[[Request], "ScriptedReply | Awaitable[ScriptedReply]"]


class Scripted:
    """A chat model that answers by `script`: a function of the request (plain or asynchronous), or a mapping from the
    last message's text to the reply. A reply is a text, a completion, or an error to raise.

    `requests` holds its requests in order. Its token counts are estimates (`estimate_tokens`), which depend only on the
    texts and are also what `--dry-run` uses.
    """

    def __init__(self, script: Script | Mapping[str, ScriptedReply], *, id: str = "scripted/function") -> None:  # noqa: A002
        self.id = id
        self._script = script
        self.requests: list[Request] = []

    def __repr__(self) -> str:
        return f"Scripted({self.id!r}, {len(self.requests)} requests)"

    async def generate(self, request: Request, /) -> Completion:
        self.requests.append(request)
        if callable(self._script):
            reply = self._script(request)
            if inspect.isawaitable(reply):
                reply = await reply
        else:
            last = request.messages[-1].content if request.messages else ""
            if last not in self._script:
                raise Rejected(f"{self.id}: the script has no reply to {last[:200]!r}.")
            reply = self._script[last]
        if isinstance(reply, ModelError):
            raise reply
        return reply if isinstance(reply, Completion) else self._completion(request, reply)

    def _completion(self, request: Request, text: str) -> Completion:
        prompt_tokens = sum(estimate_tokens(turn.content) for turn in request.messages)
        usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=estimate_tokens(text), requests=1)
        return Completion(text=text, finish_reason="stop", usage=usage, model=self.id)


def _kinds() -> dict[str, type[ModelError]]:
    classes = (getattr(errors, name) for name in errors.__all__)
    return {kind.kind: kind for kind in classes if isinstance(kind, type) and issubclass(kind, ModelError)}


def _reply(line: Mapping[str, Any]) -> ScriptedReply:
    """The reply in a line that has a request."""
    if "error" in line:
        return _kinds()[line["error"]["kind"]](line["error"]["message"])
    return from_json(json.dumps(line["completion"]), Completion)


def load_script(path: str | Path) -> Script:
    """A function that answers from the recorded file at `path`. Raises `DataError` with the number of a bad line."""
    exact: dict[str, ScriptedReply] = {}
    contains: list[tuple[str, str]] = []
    default: str | None = None
    for number, text in enumerate(_lines(path), start=1):
        if not text.strip():
            continue
        try:
            line = parse_json(text)
        except FormatError as error:
            raise DataError(path, f"{error}.", line=number, advice="Correct or delete the line.") from None
        match line:
            case {"request": asked, **outcome} if not isinstance(asked, str):
                try:
                    exact[to_json(from_json(json.dumps(asked), Request))] = _reply(
                        {str(key): value for key, value in outcome.items()}
                    )
                except (ValueError, TypeError, KeyError, RecursionError):  # of a recording that was changed
                    problem = "the recorded call cannot be read: it was changed or cut off."
                    raise DataError(path, problem, line=number, advice="Record it again, or delete the line.") from None
            case {"contains": str(words), "text": str(answer)}:
                contains.append((words, answer))
            case {"default": str(default)}:
                pass
            case _:
                problem = (
                    f"found {_shown(line)}; expected an object with the texts contains and text, with the text "
                    "default, or with request and completion."
                )
                raise DataError(path, problem, line=number, advice="Correct or delete the line.")

    if not exact and not contains and default is None:
        raise UsageError(
            f"scripted/{path} has no recorded answers. Add a line with `contains` and `text`, or a `default`."
        )

    def script(request: Request) -> ScriptedReply:
        if (reply := exact.get(to_json(request))) is not None:
            return reply
        everything = "\n".join(turn.content for turn in request.messages)
        for words, answer in contains:
            if words in everything:
                return answer
        if default is not None:
            return default
        last = request.messages[-1].content if request.messages else ""
        return Rejected(
            f"{path} has no reply to {last[:200]!r}. Add a line with `contains` and `text`, or a `default`."
        )

    return script


def _shown(line: Any) -> str:
    return f"the keys {', '.join(map(repr, line)) or 'none'}" if isinstance(line, dict) else "no object"


def _lines(path: str | Path) -> list[str]:
    try:
        file = Path(path).expanduser()
        check_regular(file)
        if file.is_dir():
            raise UsageError(
                f"scripted/{path} is a folder. Name a file of recorded answers in it: scripted/FILE.jsonl."
            )
        return file.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise UsageError(
            f"scripted/{path}: no such file. Name a file of recorded answers: scripted/FILE.jsonl."
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"scripted/{path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"scripted/{path} cannot be read ({reason}). Check the path and its permissions.") from None


@contextlib.asynccontextmanager
async def recording(model: Model, path: Path) -> AsyncIterator[Model]:
    """`model`, with every call appended to `path`: a script for `scripted/PATH`."""
    with path.open("a", encoding="ascii") as file:
        yield _Recording(model, file)


class _Recording:
    def __init__(self, model: Model, file: IO[str]) -> None:
        self._model, self._file = model, file

    @property
    def id(self) -> str:
        return self._model.id

    async def generate(self, request: Request, /) -> Completion:
        try:
            completion = await self._model.generate(request)
        except ModelError as error:
            self._write(request, f'"error":{to_json({"kind": error.kind, "message": str(error)})}')
            raise
        self._write(request, f'"completion":{to_json(completion)}')
        return completion

    def _write(self, request: Request, outcome: str) -> None:
        self._file.write(f'{{"request":{to_json(request)},{outcome}}}\n')
        self._file.flush()


class _ScriptedFiles:
    """The source of the names `scripted/FILE.jsonl`."""

    @contextlib.asynccontextmanager
    async def model(self, name: str, options: ModelOptions) -> AsyncIterator[Model]:
        yield Scripted(load_script(name), id=f"scripted/{name}")

    def embedder(self, name: str, options: ModelOptions) -> contextlib.AbstractAsyncContextManager[Embedder]:
        raise UsageError(f"scripted/{name} is not an embedder: use local/e5-small.")


PLUGINS: dict[str, Source] = {"scripted": _ScriptedFiles()}
