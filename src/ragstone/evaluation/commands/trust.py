"""`ragstone trust`: the consent to what a found `ragstone.toml` names."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from ragstone.commands.options import json_option
from ragstone.commands.output import say, say_json
from ragstone.errors import NotTrusted, UsageError
from ragstone.messages import messages, preferred_language

T = TypeVar("T")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("ragstone.toml"))
@click.option("--revoke", is_flag=True, help="Take the consent back.")
@click.option("--list", "listed", is_flag=True, help="List the files that you have allowed.")
@json_option
def command(file: Path, *, revoke: bool, listed: bool, as_json: bool) -> int:
    """Allow what FILE names: code that it runs, variables and addresses that it uses. Nothing of it is run.

    A ragstone.toml that a command finds may be a stranger's, so it is asked for once, and again when the file names
    something new. In CI set RAGSTONE_TRUST=ragstone.toml instead. FILE is ragstone.toml by default."""
    from ragstone.engine import trust  # noqa: PLC0415
    from ragstone.engine.project_config import consent_tables  # noqa: PLC0415

    texts = messages(__name__, preferred_language())
    if listed:
        files = sorted(trust.consents())
        say_json({"files": files}) if as_json else say("\n".join(files) or texts["none"])
        return 0
    if revoke:
        had = trust.revoke(file)
        say_json({"file": str(file), "revoked": had}) if as_json else say(
            texts["revoked" if had else "not_trusted"].format(file=file)
        )
        return 0
    if not file.is_file():
        raise UsageError(f"There is no file {file}: name the ragstone.toml to allow.")
    names = trust.trust(file, consent_tables(file))
    if as_json:
        say_json({"file": str(file), "names": list(names)})
        return 0
    say(texts["trusted" if names else "nothing"].format(file=file))
    for name in names:
        say(f"  {name}")
    return 0


def with_consent(read: Callable[[], T]) -> T:
    """What `read` returns; where it needs a consent and somebody sits at the terminal, they are asked for it first."""
    from ragstone.engine.project_config import consent_tables  # noqa: PLC0415
    from ragstone.engine.trust import named_in, trust  # noqa: PLC0415

    try:
        return read()
    except NotTrusted as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        path = Path(str(error.path))
        texts = messages(__name__, preferred_language())
        say(texts["asks"].format(file=path), err=True)
        for name in named_in(consent_tables(path), path.parent):
            say(f"  {name}", err=True)
        if not click.confirm(texts["question"], err=True):
            raise
        trust(path, consent_tables(path))
        return read()
