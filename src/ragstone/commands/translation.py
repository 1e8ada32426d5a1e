"""Help in Chinese: texts of `help_zh.toml`, beside the commands and beside each benchmark, and headings to match.
What several commands have is beside this module."""

import copy
import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import click

from ragstone.messages import help_texts, preferred_language, wrapped

_FIXED = {
    "Options": "选项", "Commands": "命令", "Show this message and exit.": "显示帮助并退出。",
}  # fmt: skip


def translated(command: click.Command, path: str, *beside: str) -> click.Command:
    """The command, and those below it, with help in the language of the environment: the command itself for English,
    otherwise a copy. `path`: its key in the catalogue. `beside`: the modules beside which the texts are. A text that
    the catalogues lack stays English."""
    language = preferred_language()
    return command if language == "en" else _copy(command, path, _texts(beside, language))


def summary_of(path: str, english: str, *beside: str) -> str:
    """The line of a command, or of a benchmark, in a list of them: the first sentence."""
    language = preferred_language()
    text = "" if language == "en" else _texts(beside, language).get(path, "")
    return text.partition("。")[0] + "。" if text else english


def _texts(beside: Iterable[str], language: str) -> Mapping[str, str]:
    return {key: text for module in (__name__, *beside) for key, text in help_texts(module, language).items()}


def _copy(command: click.Command, path: str, texts: Mapping[str, str]) -> click.Command:
    command = copy.copy(command)
    command.context_class = _Context
    command.epilog = command.epilog and texts.get("epilog")
    if path in texts:
        command.help, command.short_help = texts[path], summary_of(path, "") or texts[path]
    command.params = [_parameter(parameter, path, texts) for parameter in command.params]
    if isinstance(command, click.Group):
        command.commands = {name: _copy(below, f"{path} {name}".strip(), texts)
                            for name, below in command.commands.items()}  # fmt: skip
    return command


def _parameter(parameter: click.Parameter, path: str, texts: Mapping[str, str]) -> click.Parameter:
    if not isinstance(parameter, click.Option):
        return parameter
    parameter, flag = copy.copy(parameter), parameter.opts[0]
    text = texts.get(f"{path} {flag}") or texts.get(flag)
    if text is not None:
        default = re.search(r"  \[default: .*\]$", parameter.help or "")
        parameter.help = text if default is None or "[默认" in text else text + default[0]
    return parameter


class _Formatter(click.HelpFormatter):
    """Chinese headings, and lines as wide as they look: a Chinese character takes two columns."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or "用法： ")

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{_FIXED.get(heading, heading)}：\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        paragraphs = [wrapped(paragraph, self.width - len(indent)) for paragraph in re.split(r"\n\s*\n", text)]
        self.write("\n".join("".join(f"{indent}{line}\n" for line in lines) for lines in paragraphs))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        column = min(max((len(first) for first, _ in rows), default=0), col_max) + col_spacing
        indent = " " * self.current_indent
        for first, second in rows:
            text = _FIXED.get(second, second).replace("[default: ", "[默认：").replace("required]", "必填]")
            lines = wrapped(text, max(self.width - column - 2, 10)) or [""]
            terms = [first] if len(first) <= column - col_spacing else [first, ""]  # a long one has a line of its own
            texts = lines if len(terms) == 1 else ["", *lines]
            for term, line in zip_longest(terms, texts, fillvalue=""):
                self.write(f"{indent}{term:<{column}}{line}".rstrip() + "\n")


class _Context(click.Context):
    formatter_class: Any = _Formatter
