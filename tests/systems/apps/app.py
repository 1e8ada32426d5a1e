"""A user's application, with all the ways in which one may go wrong. Its tests name its functions by `app.py:NAME`."""

import asyncio
import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import helper  # type: ignore[import-not-found]  # beside this file, as users have it

print("loading the application")
NEVER = threading.Event()
DOCUMENTS = ["Paris is the capital of France.", "Berlin is the capital of Germany."]


def ask(question: str) -> dict[str, Any]:
    print("asked", question)
    return {"answer": helper.shout(question), "contexts": DOCUMENTS, "usage": {"prompt_tokens": 3, "output_tokens": 4}}


async def wait(question: str, k: int = 3) -> str:
    await asyncio.sleep(0)
    return f"{question} {k}"


def stream(question: str) -> Iterator[Any]:
    for word in question.split():
        yield word + " "
    yield {"contexts": DOCUMENTS}


async def astream(question: str) -> AsyncIterator[str]:
    for word in question.split():
        yield word + " "


def read(question: str, passages: list[str], history: list[dict[str, str]]) -> str:
    return " | ".join([question, *passages, *(turn["content"] for turn in history)])


def search(question: str, k: int = 3) -> list[str]:
    return [f"{question} {number}" for number in range(k)]


class Finder:
    """Answers with what it finds, or only finds."""

    def __call__(self, question: str, k: int = 3) -> str:
        return " | ".join(search(question, k))

    retrieve = staticmethod(search)


def make() -> Any:
    return ask


class Bot:
    def __call__(self, question: str) -> str:
        return "bot: " + question


class Whole:
    """An object of ragstone's protocol."""

    id = "whole"
    spec: ClassVar[dict[str, Any]] = {"kind": "mine", "version": 2}

    async def answer(self, query: Any) -> Any:
        from ragstone.types import Response

        return Response("whole: " + query.question)


def unknown_parameter(question: str, tenant: str) -> str:
    return question + tenant


def nothing_to_ask(passages: list[str]) -> str:
    return ""


text = "not a system"


def bad(question: str) -> Any:
    kind = question.split(maxsplit=1)[0]
    if kind == "raise":
        return 1 / 0
    if kind == "hang":
        NEVER.wait()
    if kind == "exit":
        sys.exit(4)
    if kind == "crash":
        os._exit(3)
    if kind == "segfault":
        ctypes.string_at(0)
    if kind == "detached":
        child = subprocess.Popen(
            [sys.executable, "-c", "import threading; threading.Event().wait(60)"], start_new_session=True
        )
        Path(question.split()[1]).write_text(str(child.pid), "utf-8")
        os._exit(3)
    if kind == "fork":
        return f"parent: {os.fork() > 0}"
    if kind == "print":
        print("y" * 5_000_000)
        sys.stderr.write("z" * 1_000_000)
        return "printed"
    if kind == "input":
        return "input: " + sys.stdin.read()
    if kind == "slow":
        NEVER.wait(0.2)
    return {"none": None, "number": 42, "flag": True, "empty": {}, "big": "x" * 10_000_000}.get(kind, "fine")


def double(number: int) -> int:
    return 2 * number


def processes(question: str) -> str:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return str(pool.map(double, [1, 2]))


def close(question: str) -> str:
    os.closerange(3, 100)
    NEVER.wait(5)
    return "closed"


async def hang(question: str) -> str:
    if question == "block":
        NEVER.wait()  # a mistake that users make
    if question == "wait":
        await asyncio.Event().wait()
    return "fine"
