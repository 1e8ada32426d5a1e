"""What a judge is told: data files in `metrics/prompts/{en,zh}/NAME.toml`, and the user's own in their place.

A file holds `version`, `instruction`, `again` (what is said after a reply that could not be used; `{problem}` stands
for what was wrong) and `[[examples]]` with `input` and `output`, both JSON texts of exactly the form that the judge
sends and expects. A folder of the user holds files of the same names; a file there may change the instruction, the
examples or both, and what it does not mention stays ours. `reasons` is added to the instruction where the judge gives
reasons for its verdicts; then the examples show theirs, which are left out otherwise.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from ragstone.errors import DataError, check_name
from ragstone.metrics.judge.envelope import enclosed
from ragstone.metrics.judge.schemas import INPUTS, OUTPUTS, problem_with, with_reasons
from ragstone.storage import FormatError, parse_json, parse_toml, text_of
from ragstone.structs import JSON, Frozen, to_json
from ragstone.text import estimate_tokens
from ragstone.types import Turn

LANGUAGES = ("en", "zh")
NAMES = (
    "decompose", "verify", "verify_passage", "verify_reference", "rubric", "ragas_statements", "ragas_faithfulness",
    "ragas_question", "ragas_context_precision", "ragas_context_recall", "ragas_correctness", "needle",
    "nuggets_create", "nuggets_assign", "umbrela", "match",
)  # fmt: skip
_DELIMITERS = "<judged 0f1e2d3c4b5a6978>\n\n</judged 0f1e2d3c4b5a6978>"  # around each input, when it is sent
_KEYS = ("version", "instruction", "again", "examples", "reasons")
_SIDES = ("answer_claims", "reference_claims")


class Example(Frozen, frozen=True):
    """One demonstration: what the judge is shown, and the reply that is right."""

    input: JSON
    output: JSON


class Prompt(Frozen, frozen=True, dict=True, gc=True):  # `dict`: for what is computed once
    """What is said to the judge in one step, but for the judged text itself.

    `again` is said after a reply that could not be used; it holds `{problem}`. `version` is the edition of the file,
    for people; what decides whether two prompts are the same is `hash`.
    """

    name: str
    language: str
    version: int
    instruction: str
    examples: tuple[Example, ...] = ()
    again: str = ""
    reasons: str = ""
    reasoned: bool = False

    def with_reasons(self) -> "Prompt":
        """The same step with a reason for each verdict; the prompt itself where it asks for none."""
        if not self.reasons:
            return self
        opening, blank, envelope = self.instruction.rpartition("\n\n")
        instruction = f"{opening}\n{self.reasons}{blank}{envelope}"
        return replace(self, instruction=instruction, reasoned=True)

    @property
    def form(self) -> dict[str, Any]:
        """The schema of the reply."""
        return with_reasons(OUTPUTS[self.name]) if self.reasoned else OUTPUTS[self.name]

    @cached_property
    def shown_examples(self) -> tuple[Example, ...]:
        """The examples, with reasons only where they are asked for."""
        return tuple(Example(example.input, _with_form(example.output, self.reasoned)) for example in self.examples)

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it costs in each request: the instruction and the examples, as they are sent."""
        shown = [
            json.dumps(part, ensure_ascii=False)
            for example in self.shown_examples
            for part in (example.input, example.output)
        ]
        texts = [self.instruction, *shown, *[_DELIMITERS] * len(self.examples)]
        return sum(estimate_tokens(text) for text in texts)

    @cached_property
    def opening(self) -> tuple[Turn, ...]:
        """What every request begins with: the instruction, and the examples as a conversation."""
        turns = [Turn("system", self.instruction.strip())]
        for example in self.shown_examples:
            assert isinstance(example.input, dict)
            turns.append(Turn("user", enclosed(example.input)))
            turns.append(Turn("assistant", json.dumps(example.output, ensure_ascii=False)))
        return tuple(turns)

    @cached_property
    def opening_tokens(self) -> int:
        """About the tokens of what every request begins with."""
        return sum(estimate_tokens(turn.content) for turn in self.opening)

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of every text that the judge is told: the instruction, the examples, what follows a reply that
        could not be used. Comments, the version and how the file spells its strings make no difference."""
        return sha256(to_json([self.instruction, self.shown_examples, self.again]).encode()).hexdigest()


@dataclass(frozen=True)
class Prompts:
    """The prompts of every step in both languages: `Prompts.load()` has ours, `Prompts.load(folder)` the user's too."""

    _found: Mapping[tuple[str, str], Prompt] = field(repr=False)

    def __hash__(self) -> int:
        return hash(tuple(self.spec.items()))

    @classmethod
    def load(cls, folder: Path | None = None, *, reasons: bool = False) -> Self:
        """Ours, with what the files of `folder` change; `reasons`: verdicts come with one. Raises UsageError in one
        line: the file, the key, the cause."""
        prompts = dict(_ours())
        for name, language, path in [] if folder is None else user_files(Path(folder)):
            prompts[name, language] = read_prompt(path, name, language)
        return cls({key: prompt.with_reasons() for key, prompt in prompts.items()} if reasons else prompts)

    def get(self, name: str, language: str) -> Prompt:
        """The prompt of a step, in "en" or "zh". Raises UnknownName."""
        check_name("language of prompts", language, LANGUAGES)
        check_name("prompt", name, NAMES, hint="`ragstone prompts show` lists them.")
        return self._found[name, language]

    def names(self) -> tuple[str, ...]:
        """Every name, in the order of the steps. Each is there in both languages."""
        return NAMES

    @property
    def spec(self) -> dict[str, str]:
        """ "decompose/en" → the first 12 digits of its hash, for all: this enters the run file."""
        return {f"{name}/{language}": prompt.hash[:12] for (name, language), prompt in sorted(self._found.items())}


@cache
def _ours() -> Mapping[tuple[str, str], Prompt]:
    prompts = {}
    for name in NAMES:
        for language in LANGUAGES:
            where = f"metrics/prompts/{language}/{name}.toml"
            prompts[name, language] = _prompt(where, prompt_text(name, language), name, language, None)
    return prompts


def prompt_text(name: str, language: str) -> str:
    """The text of our file of a prompt, as it is packaged: what a user copies and changes."""
    return (files("ragstone.metrics") / "prompts" / language / f"{name}.toml").read_text(encoding="utf-8")


def user_files(folder: Path) -> list[tuple[str, str, Path]]:
    """Name, language and path of each file of `folder` that changes a prompt, sorted by path.

    Raises UsageError for a file that cannot be one: a misspelt name is never ignored.
    """
    if not folder.is_dir():
        raise DataError(folder, "no such folder of prompts.", advice="`ragstone prompts copy DIR` makes one.")
    files_found = []
    for path in sorted([*folder.glob("*.toml"), *folder.glob("*/*.toml")]):
        if path.parent == folder or path.parent.name not in LANGUAGES:
            raise DataError(path, f"a prompt lies in {folder / 'en'} or {folder / 'zh'}, as NAME.toml.")
        check_name("prompt", path.stem, NAMES, hint=f"{path} should be called as one of ours.")
        files_found.append((path.stem, path.parent.name, path))
    if not files_found:
        advice = "`ragstone prompts copy DIR` puts ours there."
        raise DataError(folder, "holds no prompt (en/NAME.toml or zh/NAME.toml).", advice=advice)
    return files_found


def read_prompt(path: Path, name: str, language: str) -> Prompt:
    """The prompt in a file of the user; what it does not mention is as in ours. Raises DataError: path, key, cause."""
    try:
        text = text_of(path)
    except UnicodeDecodeError as error:
        raise DataError(path, f"is not UTF-8 (byte {error.start}).", advice="Save it as UTF-8.") from None
    return _prompt(path, text, name, language, _ours()[name, language])


def _prompt(path: Any, text: str, name: str, language: str, base: Prompt | None) -> Prompt:
    """The prompt in `text`; what it does not mention is as in `base`."""
    try:
        read = parse_toml(text)
    except FormatError as error:
        raise DataError(path, f"{error}.") from None
    for key in read:
        if key not in _KEYS:
            raise DataError(path, f"there is no such key; there are {', '.join(_KEYS)}.", field=key)
    fields: dict[str, Any] = {"name": name, "language": language}
    for key in _KEYS:
        if key in read:
            fields[key] = _value(path, name, key, read[key])
        elif base is not None:
            fields[key] = getattr(base, key)
        elif key != "reasons":
            raise DataError(path, "is missing.", field=key)
    return Prompt(**fields)


def _value(path: Any, name: str, key: str, value: object) -> object:
    if key == "examples":
        return _examples(path, name, value)
    if key == "version":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise DataError(path, f"is a whole number from 1, not {value!r}.", field=key)
        return value
    if not isinstance(value, str) or not value.strip():
        raise DataError(path, "is a text with something in it.", field=key)
    if key == "again" and "{problem}" not in value:
        raise DataError(path, "must hold {problem}: what was wrong with the reply is told there.", field=key)
    return value.strip()


def _examples(path: Any, name: str, value: object) -> tuple[Example, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError(path, "are [[examples]] with input and output, or [] for none.", field="examples")
    examples = []
    for number, item in enumerate(value, start=1):
        field = f"examples[{number}]"
        if set(item) != {"input", "output"}:
            raise DataError(path, "has an input and an output, and nothing else.", field=field)
        shown = _json(path, f"{field}.input", item["input"], INPUTS[name])
        output = _json(path, f"{field}.output", item["output"], OUTPUTS[name])
        examples.append(Example(shown, output))
    return tuple(examples)


def _json(path: Any, field: str, value: object, schema: dict[str, Any]) -> JSON:
    """The JSON in the text `value`, of the form that the judge sends or expects in this step."""
    if not isinstance(value, str):
        raise DataError(path, "is JSON written as a text ('''{…}''').", field=field)
    try:
        parsed: JSON = parse_json(value)
    except FormatError as error:
        raise DataError(path, f"{error}.", field=field) from None
    if problem := problem_with(_with_form(parsed, reasoned=False), schema, at=field):
        advice = "`ragstone prompts show NAME` shows the form."
        raise DataError(path, f"{problem}.", field=field.partition(".")[0], advice=advice)
    return parsed


def _with_form(output: JSON, reasoned: bool) -> JSON:
    """The reply of an example with a reason for each claim ("" where it has none), or without any."""
    if not isinstance(output, dict):
        return output
    shown = dict(output)
    for side in _SIDES:
        if isinstance(claims := shown.get(side), list) and all(isinstance(claim, dict) for claim in claims):
            bare = [({key: value for key, value in claim.items() if key != "reason"}, claim) for claim in claims]
            shown[side] = [{**rest, "reason": claim.get("reason", "")} if reasoned else rest for rest, claim in bare]
    return shown
