"""`ragstone`: the group of commands, and how errors become one line and an exit code."""

import codecs
import contextlib
import errno
import importlib
import io
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import click

from ragstone import __version__
from ragstone.capabilities import commands_brought
from ragstone.commands.output import forget, say, say_text, to_stdout
from ragstone.commands.translation import summary_of, translated
from ragstone.error_text import told
from ragstone.errors import NAME_FLAGS, RagstoneError, StorageError, Terminated, Unfinished, UnknownName, UsageError
from ragstone.messages import LANGUAGES, messages, preferred_language

# Exit codes of signals are 128 + the signal's number: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
SIGNALLED = 128
# Name → (module, first line of its help), in the order of their list; None: a capability brings it (`COMMANDS` of its
# folder). The modules are not imported to list them.
_LISTED: dict[str, tuple[str, str] | None] = {
    "init": ("ragstone.cli.init", "Set up the evaluation of your own system, and run it once."),
    "bench": ("ragstone.evaluation.commands.bench", "Run a benchmark."),
    "cases": ("ragstone.evaluation.commands.cases", "Print the cases of a benchmark, without asking any model."),
    "run": ("ragstone.evaluation.commands.run", "Ask a system your own questions, and score its answers."),
    "diagnose": None,
    "batch": ("ragstone.cli.batch", "List and cancel batches at providers."),
    "system": ("ragstone.evaluation.commands.system", "Check a system before it is evaluated."),
    "eval": ("ragstone.evaluation.commands.evaluate", "Score existing answers."),
    "trace": ("ragstone.evaluation.commands.trace", "Receive traces of a running application."),
    "merge": None,
    "compare": None,
    "trend": None,
    "agreement": None,
    "annotate": None,
    "gate": ("ragstone.commands.gates", "Check thresholds on the metrics of a run."),
    "score": ("ragstone.evaluation.commands.score", "Re-score saved predictions in the official formats."),
    "view": None,
    "show": ("ragstone.commands.show", "Print the tables of a run."),
    "report": ("ragstone.cli.report", "Write a run as one self-contained HTML file."),
    "export": ("ragstone.cli.export", "Export a run for other programs (csv, jsonl, xlsx…)."),
    "build": None,
    "data": ("ragstone.cli.data", "List, pull, check, edit and export data sets."),
    "trust": (
        "ragstone.evaluation.commands.trust",
        "Allow the code, variables and addresses that a ragstone.toml names.",
    ),
    "setup": ("ragstone.cli.setup", "Fetch the embedded models: local."),
    "metrics": ("ragstone.cli.metrics", "List the metrics."),
    "prompts": None,
    "rubrics": ("ragstone.evaluation.commands.rubrics", "List, show, copy and check rubrics."),
    "doctor": ("ragstone.cli.doctor", "Check what this installation can do."),
}
COMMANDS: dict[str, tuple[str, str]] = {
    name: command for name, command in {**_LISTED, **dict(commands_brought())}.items() if command is not None
}
# Those that read runs: their small products of matrices take several times the CPU with several threads.
READING = frozenset({"compare", "gate", "report", "show", "trend", "view"})


class Lazy(click.Group):
    """`table` is name → (module, or module:attribute where that is not `command`; first line of its help)."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], kind: str = "command", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table, self.kind = table, kind

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute or "command")
        return translated(command, cmd_name, module)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.table:
            raise UnknownName(self.kind, args[0], self.table, hint=f"`{ctx.command_path} --help` lists them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            rows = [
                (name, summary_of(name, text, place.partition(":")[0])) for name, (place, text) in self.table.items()
            ]
            formatter.write_dl(rows)


@click.command(
    cls=Lazy,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done; 1 a gate failed; 2 the input or usage is wrong; 3 unfinished work remains. "
    "--debug anywhere shows tracebacks.",
)
@click.version_option(__version__, prog_name="ragstone")
def app() -> None:
    """How well a RAG system answers, why it fails, and what fixing each cause would buy."""


@dataclass(frozen=True)
class Program:
    """A command line of its own: its command, its name, and the modules beside which its help in Chinese is."""

    command: click.Command
    name: str = "ragstone"
    beside: tuple[str, ...] = ()


# Replacements for characters of pictures, tables and messages on terminals that do not have them.
_PLAIN = str.maketrans({
    "─": "-", "│": "|", "├": "|", "└": "`", "–": "-", "—": "-", "−": "-", "…": "...", "⋯": "...", "†": "+", "’": "'",
    "‘": "'", "“": '"', "”": '"', "×": "x", "±": "+-", "→": "->", "↓": "v", "≤": "<=", "≥": ">=", "√": "sqrt ",
    "▁": "_", "▂": "_", "▃": ",", "▄": "-", "▅": "-", "▆": "=", "▇": "^", "█": "#", "▓": "=", "▒": "+", "░": ":",
    "·": ".", "•": "*", "╱": "/", "▏": "|", "▶": ">", "●": "o", "○": "o", "▲": "^", "▼": "v", "✓": "yes", "✗": "no",
    "Δ": "d", "Σ": "sum ", "α": "alpha", "κ": "kappa", "λ": "lambda", "β": "beta", "⟨": "<", "⟩": ">",
})  # fmt: skip


def _for_terminal(error: UnicodeError) -> tuple[str, int]:
    """A codec error handler: the nearest ASCII character, otherwise an escape (also of lone surrogates)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _guard_streams() -> None:
    """Makes sure that any text can be printed on terminals of any encoding."""
    if sys.stderr is None:  # `ragstone … 2>&-`: the work is done all the same
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  (to the end of the process)
    codecs.register_error("ragstone.terminal", _for_terminal)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ragstone.terminal")


def language_of(arguments: Sequence[str]) -> str:
    """The language of a command's errors: that of `--language`, else the environment's."""
    for at, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--language":
            named = value if equals else "".join(arguments[at + 1 : at + 2])
            if named in LANGUAGES:
                return named
    try:
        return preferred_language()
    except UnknownName:  # the environment names one that there is not; the command says so
        return "en"


def _say_error(*messages: str) -> None:
    for message in messages:
        say(f"ragstone: {' '.join(message.split())}", err=True)


def run(arguments: Sequence[str], program: Program | None = None) -> int:
    """Run the command line, or that of another package, with these arguments; returns the exit code and never
    raises."""
    _guard_streams()
    if READING.intersection(arguments):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported
    flags = NAME_FLAGS.set(True)
    try:
        if sys.stdout is None:  # `ragstone … >&-`
            _say_error("standard output is closed: redirect it, or use -o FILE where available.")
            return UsageError.exit_code
        with _signals():
            return _flushed(_run(arguments, program or Program(app)))
    except BrokenPipeError:  # `ragstone cases rgb | head`
        forget(sys.stdout)
        return 0
    finally:
        NAME_FLAGS.reset(flags)
        try:
            sys.stderr.flush()
        except OSError:  # full or closed: the exit code still tells the result
            forget(sys.stderr)


def _flushed(code: int) -> int:
    """The exit code once the output is flushed: errors are reported here rather than at Python's exit."""
    try:
        with to_stdout():
            if not sys.stdout.closed:
                sys.stdout.flush()
    except BrokenPipeError:  # the work is done, so its exit code is kept
        forget(sys.stdout)
    except UsageError as error:
        forget(sys.stdout)
        if code == 0:
            _say_error(*error.lines)
            return error.exit_code
    return code


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the command like Ctrl-C, with the same clean-up; process 1 of a container would otherwise
    ignore them. A second one, while the first is being dealt with, kills. Runs install their own handlers
    meanwhile."""

    def end(number: int, _: object) -> None:
        for name, old in before.items():
            signal.signal(name, old)
        raise Terminated(number)

    names = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before: dict[Any, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {name: signal.signal(name, end) for name in names if signal.getsignal(name) == signal.SIG_DFL}
    try:
        yield
    finally:
        for name, old in before.items():
            signal.signal(name, old)


# Loggers whose warnings are for users. Of retrieval, a command that shows its progress tells them among it.
_WARN = (
    "ragstone.registry", "ragstone.evaluation.reachable", "ragstone.models", "ragstone.retrieval",
    "ragstone.benchmarks", "ragstone.systems",
)  # fmt: skip


class _Warnings(logging.Handler):
    """Says what is wrong with plug-ins of other packages or with a cache, that nobody listens at an address, or
    that a path of an option matches nothing, as errors are said: in a line, in the command's language."""

    def __init__(self, language: str) -> None:
        super().__init__(logging.WARNING)
        self.language = language

    def emit(self, record: logging.LogRecord) -> None:
        _say_error(told(record.getMessage(), self.language))


def _run(arguments: Sequence[str], program: Program) -> int:
    handler = _Warnings(language_of(arguments))
    for name in _WARN:
        logging.getLogger(name).addHandler(handler)
    try:
        return _ended(arguments, program, handler.language)
    finally:
        for name in _WARN:
            logging.getLogger(name).removeHandler(handler)


# Options of which an empty value is an answer, as their help says.
_EMPTY = {("init", "--system"), ("init", "--judge")}


def _check_values(arguments: Sequence[str]) -> None:
    """Raises UsageError for an empty value of an option or an argument: mostly a variable of a script that is not set,
    in place of which each option would do something else."""
    for before, word in pairwise(("", *arguments)):
        option = _empty_option(before, word)
        if option is None or (arguments[0], option) in _EMPTY:
            continue
        if option:
            raise UsageError(f"{option} is empty: give a value, or leave the option out.")
        raise UsageError("An argument is empty: give a value, or leave it out.")


def _empty_option(before: str, word: str) -> str | None:
    """The option whose value is empty, "" for an empty argument, None if the word is neither."""
    if not word:
        return before if before.startswith("-") and before.strip("-") else ""
    option, equals, value = word.partition("=")
    return option if equals and not value and option.startswith("--") else None


def _ended(arguments: Sequence[str], program: Program, language: str) -> int:
    debug = "--debug" in arguments
    try:
        _check_values(arguments)
        path = "" if program.command is app else program.name
        result = translated(program.command, path, *program.beside).main(
            args=[argument for argument in arguments if argument != "--debug"],
            prog_name=program.name,
            standalone_mode=False,
        )
    except click.exceptions.Exit as error:
        return error.exit_code
    except SystemExit as error:  # how click ends when a pipe was closed
        if error.code == 1:
            raise BrokenPipeError from None
        return error.code if isinstance(error.code, int) else 2
    except click.exceptions.NoArgsIsHelpError as error:
        say_text(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        where = f" `{error.ctx.command_path} --help` shows more." if error.ctx else ""
        _say_error(told(f"{error.format_message()}{where}", language))
        return 2
    except click.ClickException as error:
        _say_error(told(error.format_message(), language))
        return 2
    except (KeyboardInterrupt, click.Abort) as error:
        notes = getattr(error.__cause__ or error, "__notes__", None)  # of a command that says what it keeps
        _say_error(*notes or [messages(__name__, language)["stopped"]])
        by = error if isinstance(error, Terminated) else error.__cause__  # click converts it to Abort
        return SIGNALLED + (by.number if isinstance(by, Terminated) else signal.SIGINT)
    except RagstoneError as error:
        if debug:
            say_text(traceback.format_exc(), err=True)
        _say_error(*(told(line, language) for line in error.lines))
        return error.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:  # anything unexpected becomes one line, too
        if debug:
            say_text(traceback.format_exc(), err=True)
        code, message = _unexpected(error)
        _say_error(told(message, language))
        return code
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception) -> tuple[int, str]:
    """The exit code, and the line that names the item, the cause and the next step."""
    if isinstance(error, FileNotFoundError) and _folder_is_gone():
        return UsageError.exit_code, "The current folder was deleted: change to one that exists."
    if loop := _LOOP.fullmatch(str(error)):  # of `Path.resolve`, before Python 3.13
        error = OSError(errno.ELOOP, os.strerror(errno.ELOOP), loop[1])
    if isinstance(error, OSError):
        what = "A file" if error.filename is None else os.fsdecode(error.filename)
        refused = f"{what}: cannot be used ({error.strerror or error})."
        if error.errno == errno.ENAMETOOLONG:
            return UsageError.exit_code, f"{refused} Choose a shorter name."
        if error.errno in _OF_PATHS:
            return UsageError.exit_code, f"{refused} Check the path and its permissions."
        return (
            StorageError.exit_code,
            f"{refused} Check the path and the free space, then run the same command again.",
        )
    bug = "This is a bug in ragstone: --debug shows where; please report it."
    return Unfinished.exit_code, f"{type(error).__name__}: {error}. {bug}"


_LOOP = re.compile("Symlink loop from '(.+)'")
_OF_PATHS = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.EINVAL)


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False
