"""The judge's prompts: show them, copy them for editing, check edited copies."""

import json
from collections.abc import Sequence
from pathlib import Path

from ragstone.errors import DataError, UsageError, check_name
from ragstone.metrics.judge.prompts import LANGUAGES, NAMES, Prompt, Prompts, prompt_text, read_prompt, user_files
from ragstone.storage import write_file
from ragstone.structs import Frozen

__all__ = ["CheckedPrompt", "check_prompts", "copy_prompts", "prompt_file", "prompt_text", "show_prompts"]


class CheckedPrompt(Frozen, frozen=True):
    """A file of a user's folder of prompts: its `changed` parts ("instruction", "examples", "again"; none where it says
    what ours says), what it costs in each request beside ours, or the `problem` for which it cannot be used."""

    path: str
    name: str
    language: str
    changed: tuple[str, ...] = ()
    tokens: int = 0
    tokens_of_ours: int = 0
    hash: str = ""
    problem: str = ""


def show_prompts(name: str | None = None, language: str | None = None, *, folder: Path | None = None) -> list[Prompt]:
    """The prompts of this name and language, or all; with those of the user's `folder` in place of ours.

    Raises UnknownName, and DataError where the folder holds something that is no prompt.
    """
    names, languages = _chosen([] if name is None else [name], [] if language is None else [language])
    prompts = Prompts.load(folder)
    return [prompts.get(prompt, code) for prompt in names for code in languages]


def copy_prompts(
    folder: str | Path, *, names: Sequence[str] = (), languages: Sequence[str] = (), force: bool = False
) -> list[Path]:
    """Write our prompts (these, or all) into `folder` as LANGUAGE/NAME.toml, to be edited; returns the paths.

    Raises UsageError, and writes nothing, if one of the files exists and `force` is not given.
    """
    chosen_names, chosen_languages = _chosen(names, languages)
    texts = {
        Path(folder) / language / f"{name}.toml": prompt_text(name, language)
        for language in chosen_languages
        for name in chosen_names
    }
    existing = [path for path in texts if path.exists()]
    if existing and not force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise UsageError(
            f"{existing[0]}{more}: already exists. Use --force to overwrite, or --name to copy one prompt."
        )
    return [write_file(path, text, parents=True) for path, text in texts.items()]


def prompt_file(prompt: Prompt, *, note: str = "") -> str:
    """The text of a file with this prompt, that `read_prompt` reads back as it is. `note`: a comment above it."""
    lines = [f"# {note}"] if note else []
    lines.append(f"version = {prompt.version}")
    lines += [f"{key} = {_toml(getattr(prompt, key))}" for key in ("instruction", "again", "reasons")
              if getattr(prompt, key)]  # fmt: skip
    if not prompt.examples:
        lines.append("examples = []")
    for example in prompt.examples:
        texts = [json.dumps(part, ensure_ascii=False, indent=2) for part in (example.input, example.output)]
        lines += ["", "[[examples]]", *(f"{key} = {_toml(text)}" for key, text in zip(("input", "output"), texts,
                                                                                      strict=True))]  # fmt: skip
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    """A TOML string: of several lines as it is, where nothing in it needs an escape."""
    plain = all(char.isprintable() or char == "\n" for char in text)
    if plain and "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}\n'''"
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped)


def check_prompts(folder: str | Path) -> list[CheckedPrompt]:
    """Every file of a folder of prompts, with what it changes or what is wrong with it.

    Raises UsageError where the folder itself is wrong: it is missing or empty, or a file has a name that no prompt has.
    """
    return [_checked(path, name, language) for name, language, path in user_files(Path(folder))]


def _checked(path: Path, name: str, language: str) -> CheckedPrompt:
    ours = Prompts.load().get(name, language)
    try:
        theirs = read_prompt(path, name, language)
    except DataError as error:
        return CheckedPrompt(str(path), name, language, tokens_of_ours=ours.tokens, problem=str(error))
    parts = ("instruction", "examples", "again")
    changed = tuple(part for part in parts if getattr(theirs, part) != getattr(ours, part))
    return CheckedPrompt(str(path), name, language, changed, theirs.tokens, ours.tokens, theirs.hash)


def _chosen(names: Sequence[str], languages: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    for name in names:
        check_name("prompt", name, NAMES, hint="`ragstone prompts show` lists them.")
    for language in languages:
        check_name("language of prompts", language, LANGUAGES)
    return names or NAMES, languages or LANGUAGES
