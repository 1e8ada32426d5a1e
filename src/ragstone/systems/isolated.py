"""A system that is named by file or module, asked in a process of its own (`user_code.isolated`)."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from ragstone.types import Query, Response
from ragstone.user_code.isolated import IsolatedCode, open_isolated_code, source_hash


class IsolatedSystem:
    """The system at a location, asked in a process of its own. Made by `open_isolated`."""

    def __init__(self, place: str, code: IsolatedCode) -> None:
        self.code = code
        self.timeout = code.timeout
        self.accepts = frozenset(code.about["accepts"])
        self.id: str = code.about["id"]
        self.kind: str = code.about["kind"]
        self._spec = {"kind": "python", "place": place, "sha256": source_hash(place), **code.about["spec"]}

    @property
    def spec(self) -> Mapping[str, Any]:
        return self._spec

    def printed(self) -> str:
        """The last line that the code printed; "" if none."""
        return self.code.printed()

    async def answer(self, query: Query, /) -> Response:
        """Raises SystemFailed; "crashed" if the question ended the process."""
        return msgspec.convert(await self.code.call(query), Response)


@contextlib.asynccontextmanager
async def open_isolated(place: str, *, timeout: float, threads: int) -> AsyncIterator[IsolatedSystem]:
    """Loads the system at `place` (`file.py:name`, `package.module:name`) in a process that ends with the context.

    timeout: seconds for one answer. threads: how many blocking calls run at once. Raises UsageError."""
    opening = open_isolated_code(
        place, "system", "ragstone.systems.python:serve_system", timeout=timeout, threads=threads
    )
    async with opening as code:
        yield IsolatedSystem(place, code)
