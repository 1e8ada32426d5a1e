"""The shell of a command that runs cases: how it was called, its progress, and what stops it."""

import contextlib
import shlex
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragstone.commands.options import cluster_of, shard_of
from ragstone.commands.output import say
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.engine.execute import Shell


@contextlib.asynccontextmanager
async def opened_shell(values: Mapping[str, Any], arguments: Sequence[str] | None = None) -> AsyncIterator["Shell"]:
    """The shell of a command with these options while the block runs: a signal finishes what is in flight, a second one
    leaves. `arguments`: the words of the command for the run file, by default those of this process."""
    from ragstone.commands.progress import make_progress  # noqa: PLC0415
    from ragstone.engine.execute import Shell  # noqa: PLC0415
    from ragstone.runs import finish_on_interrupt  # noqa: PLC0415

    called = command_line(list(sys.argv[1:] if arguments is None else arguments))
    language, cluster, shard = values["language"], cluster_of(values), shard_of(values)
    with keeping(language):
        async with finish_on_interrupt(
            lambda line: say(line, err=True), language=language or preferred_language()
        ) as stop:
            progress = make_progress(quiet=values["quiet"], language=language)
            yield Shell(called, progress, stop, language, values.get("otlp", ""), cluster, shard)


@contextlib.contextmanager
def keeping(language: str | None) -> Iterator[None]:
    """For work that is kept as it is done: a command that is stopped meanwhile says so."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.add_note(messages(__name__, language or preferred_language())["kept"])
        raise


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
