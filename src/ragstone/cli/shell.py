"""The shell of a command that runs cases: how it was called, its progress, and what stops it."""

import contextlib
import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from ragstone.cli.output import say

if TYPE_CHECKING:
    from ragstone.api.cluster import Cluster
    from ragstone.api.execute import Shell

__all__ = ["command_line", "opened_shell"]


@contextlib.asynccontextmanager
async def opened_shell(
    *,
    quiet: bool,
    language: str | None,
    otlp: Any = None,
    arguments: Sequence[str] | None = None,
    cluster: "Cluster | None" = None,
) -> AsyncIterator["Shell"]:
    """The shell while the block runs: a signal finishes what is in flight, a second one leaves. `arguments`: the words
    of the command for the run file, by default those of this process."""
    from ragstone.api.execute import Shell  # noqa: PLC0415
    from ragstone.cli.progress import make_progress  # noqa: PLC0415
    from ragstone.runs import finish_on_interrupt  # noqa: PLC0415

    called = command_line(list(sys.argv[1:] if arguments is None else arguments))
    async with finish_on_interrupt(lambda line: say(line, err=True)) as stop:
        yield Shell(called, make_progress(quiet=quiet, language=language), stop, language, otlp, cluster)


def command_line(arguments: list[str]) -> str:
    """The command as the run file records it, without secrets in URLs."""
    from ragstone.text.redaction import redact, shown_url  # noqa: PLC0415

    redacted: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if redacted and redacted[-1].endswith("-url"):
            redacted.append(shown_url(argument))
        elif equals and name.endswith("-url"):
            redacted.append(f"{name}={shown_url(value)}")
        elif argument != "--debug":
            redacted.append(redact(argument))
    return "ragstone " + shlex.join(redacted)
