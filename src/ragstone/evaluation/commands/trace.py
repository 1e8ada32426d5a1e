"""`ragstone trace`."""

import asyncio
import os
import shlex
from pathlib import Path

import click

from ragstone.commands.output import say
from ragstone.errors import UsageError
from ragstone.messages import messages, preferred_language


@click.group()
def command() -> None:
    """Receive traces of a running application."""


@command.command()
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("traces.jsonl"),
              show_default=True, help="File to append the spans to.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--token", default="", metavar="TOKEN",
              help="Accept only requests with this bearer token; $NAME reads an environment variable.")  # fmt: skip
def serve(output: Path, port: int, host: str, token: str) -> int:
    """Receive spans over OTLP/HTTP and append them to a file, until Ctrl-C.

    Point the exporter of the application here: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318. Then
    `ragstone eval traces.jsonl` evaluates the answers."""
    return asyncio.run(_serve(output, port, host, _read_token(token)))


def _read_token(token: str) -> str:
    """The token itself, or the value of the variable that it names."""
    if not token.startswith("$"):
        return token
    value = os.environ.get(token[1:].strip("{}"), "")
    if not value:
        raise UsageError(f"--token {token}: the environment variable {token[1:]} is not set.")
    return value


async def _serve(output: Path, port: int, host: str, token: str) -> int:
    from ragstone.datasets.tabular.traces.protobuf import has_protobuf  # noqa: PLC0415
    from ragstone.datasets.tabular.traces.receiver import TraceFile, receiving  # noqa: PLC0415
    from ragstone.runs import finish_on_interrupt  # noqa: PLC0415

    texts = messages(__name__, preferred_language())
    file = TraceFile(output)
    try:
        async with finish_on_interrupt() as stop, receiving(file, host=host, port=port, token=token) as address:
            say(texts["receiving"].format(address=address, file=output), err=True)
            if not has_protobuf():
                say(texts["only_json"], err=True)
            await stop.wait()
    finally:
        file.close()
    if file.spans:
        say(texts["written"].format(spans=file.spans, traces=file.traces, file=output))
        say(texts["next"].format(command=f"ragstone eval {shlex.quote(str(output))}"))
    else:
        say(texts["nothing"].format(file=output))
    return 0
