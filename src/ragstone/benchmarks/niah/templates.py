"""How a context and its question become messages: the published templates of needle tests, in both languages, and the
user's own.

`templates.toml` has the published ones. Where they have `Human:` and `Assistant:`, as the models of that time expected,
ragstone sends chat turns: the text after `Assistant:` begins the assistant's reply, which the model continues.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ragstone.errors import DataError, UnknownName
from ragstone.storage import FormatError, parse_toml
from ragstone.structs import Frozen
from ragstone.text import detect
from ragstone.types import Query, Sampling, Turn

_FIELDS = re.compile(r"\{(before|context|question)\}")
_SAMPLING = Sampling(temperature=0.0, max_tokens=128)


class NeedleTemplate(Frozen, frozen=True):
    """The user's turn by language, with `{context}` and `{question}`, and an optional beginning of the assistant's
    reply. Those of a suite may have `{before}`; what stands there, and a beginning of the reply that is the question's
    own, are in the first passage's `meta`."""

    name: str
    user: dict[str, str]
    prefill: dict[str, str] = msgspec.field(default_factory=dict)
    sampling: Sampling = _SAMPLING

    @property
    def spec(self) -> Mapping[str, Any]:
        """Everything that determines the messages, as JSON values."""
        return {"name": self.name, "user": self.user, "prefill": self.prefill}

    def asks_first(self, language: str) -> bool:
        """Whether the question stands before the context, so that prompts share nothing of it."""
        text = self.user.get(language) or next(iter(self.user.values()))
        return text.index("{question}") < text.index("{context}")

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        """The user's turn with the context (the query's passages) and the question, and the beginning of the reply."""
        language = query.language or detect(query.question)
        if language not in self.user:
            language = next(iter(self.user))
        passages = query.passages or ()
        meta = passages[0].meta if passages else {}
        values = {
            "context": "\n\n".join(passage.text for passage in passages), "question": query.question,
            "before": str(meta.get("before", "")),
        }  # fmt: skip
        # A single pass leaves a "{question}" inside the context unchanged.
        text = _FIELDS.sub(lambda match: values[match[1]], self.user[language])
        reply_start = str(meta.get("reply", "")) or self.prefill.get(language, "")
        return (*query.history, Turn("user", text), *((Turn("assistant", reply_start),) if reply_start else ()))


def _read_templates() -> dict[str, NeedleTemplate]:
    text = (files("ragstone.benchmarks.niah") / "templates.toml").read_text(encoding="utf-8")
    return {name: NeedleTemplate(name, **fields) for name, fields in tomllib.loads(text).items()}


TEMPLATES: Mapping[str, NeedleTemplate] = _read_templates()
_HINT = f"There are: {', '.join(TEMPLATES)}; or name a file that contains {{context}} and {{question}}."


def find_template(name: str) -> NeedleTemplate:
    """A built-in template by name, or the user's from a file: TOML with `name`, `user` and optionally `prefill`, each a
    text or a table by language; or plain text with `{context}` and `{question}`. Raises UsageError."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    path = Path(name)
    if not path.suffix or not path.is_file():
        raise UnknownName("template", name, TEMPLATES, hint=_HINT)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read ({error}).") from None
    fields: dict[str, Any] = {"user": text}
    if path.suffix == ".toml":
        try:
            fields = parse_toml(text)
        except FormatError as error:
            raise DataError(path, f"{error}.") from None
    if unknown := sorted(set(fields) - {"name", "user", "prefill"}):
        raise DataError(path, "expected name, user and prefill.", field=unknown[0])
    user, prefill = _by_language(path, fields, "user"), _by_language(path, fields, "prefill")
    for language, text in user.items():
        if missing := {"{context}", "{question}"} - set(re.findall(r"\{\w+\}", text)):
            raise DataError(path, f"the text ({language}) needs {' and '.join(sorted(missing))}.", field="user")
    template_name = str(fields.get("name", path.stem))
    if (
        not template_name.strip() or not template_name.isprintable() or "/" in template_name
    ):  # it becomes part of case ids
        raise DataError(
            path, f"{template_name!r} is not a valid name; expected a line of text without a slash.", field="name"
        )
    return NeedleTemplate(template_name, user, prefill)


def _by_language(path: Path, fields: Mapping[str, Any], field: str) -> dict[str, str]:
    value = fields.get(field, {} if field == "prefill" else None)
    if isinstance(value, str) and value.strip():
        return {"en": value, "zh": value}
    known = isinstance(value, dict) and all(
        key in ("en", "zh") and isinstance(template, str) for key, template in value.items()
    )
    if isinstance(value, dict) and known and (value or field == "prefill"):
        return dict(value)
    raise DataError(path, "expected a text, or texts by language (en, zh).", field=field)
