"""How a context and its question become messages: the published templates of needle tests, in both languages, and the
user's own.

The English texts of `simple`, `anthropic-original`, `anthropic-rev2` and `earlier` are those of Aparna Dhinakaran, "The
Needle in a Haystack Test" (2024), without indentation. Where they have `Human:` and `Assistant:`, as the models of that
time expected, ragstone sends chat turns: the text after `Assistant:` begins the assistant's reply, which the model
continues. The original `earlier` always asks about San Francisco; here it asks the needle's own question. The Chinese
texts are ragstone's.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ragstone.errors import DataError, UnknownName
from ragstone.text import detect
from ragstone.types import Frozen, Query, Sampling, Turn

__all__ = ["TEMPLATES", "NeedleTemplate", "find_template"]

_FIELDS = re.compile(r"\{(context|question)\}")
_SAMPLING = Sampling(temperature=0.0, max_tokens=128)


class NeedleTemplate(Frozen, frozen=True):
    """The user's turn by language, with `{context}` and `{question}`, and an optional beginning of the assistant's
    reply."""

    name: str
    user: dict[str, str]
    prefill: dict[str, str] = msgspec.field(default_factory=dict)
    sampling: Sampling = _SAMPLING

    @property
    def spec(self) -> Mapping[str, Any]:
        """Everything that determines the messages, as JSON values."""
        return {"name": self.name, "user": self.user, "prefill": self.prefill}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        """The user's turn with the context (the query's passages) and the question, and the beginning of the reply."""
        language = query.language or detect(query.question)
        if language not in self.user:
            language = next(iter(self.user))
        values = {
            "context": "\n\n".join(passage.text for passage in query.passages or ()), "question": query.question
        }  # fmt: skip
        # A single pass leaves a "{question}" inside the context unchanged.
        text = _FIELDS.sub(lambda match: values[match[1]], self.user[language])
        reply_start = self.prefill.get(language, "")
        return (*query.history, Turn("user", text), *((Turn("assistant", reply_start),) if reply_start else ()))


_CLOSE_READING = """You are a close-reading bot with a great memory who answers questions for users. I'm going to give you the text of some essays. Amidst the essays ("the haystack") I've inserted a sentence ("the needle") that contains an answer to the user's question.
Here's the question:
<question>{question}</question>
Here's the text of the essays. The answer appears in it somewhere.
<haystack>
{context}
</haystack>
Now that you've read the context, please answer the user's question, repeated one more time for reference:
<question>{question}</question>

To do so, first find the sentence from the haystack that contains the answer (there is such a sentence, I promise!) and put it inside <most_relevant_sentence> XML tags. Then, put your answer in <answer> tags. Base your answer strictly on the context, without reference to outside information. Thank you.
If you can't find the answer return the single word UNANSWERABLE"""  # noqa: E501
# The original has typographic quotes where the revision has plain ones, except in the line with the question.
_CLOSE_READING_ORIGINAL = (
    _CLOSE_READING.replace("I'm going", "I’m going")
    .replace('("the haystack") I\'ve', "(“the haystack”) I’ve")
    .replace('("the needle")', "(“the needle”)")
    .replace("user's question", "user’s question", 1)
    .replace("Here's the text", "Here’s the text")
    .replace("Now that you've", "Now that you’ve")
    .replace("can't find", "can’t find")
)
_CLOSE_READING_ZH = """你是一个记忆力极好、阅读极细致的机器人，负责回答用户的问题。我会给你几篇文章的全文。在这些文章（“干草堆”）之中，我插入了一句话（“针”），它包含用户所提问题的答案。
问题如下：
<question>{question}</question>
以下是文章的全文，答案就在其中某处。
<haystack>
{context}
</haystack>
你已经读完全文，现在请回答用户的问题。为便于参照，再重复一遍：
<question>{question}</question>

请先从干草堆中找出包含答案的那句话（我保证有这样一句话），放在 <most_relevant_sentence> 标签内；再把你的答案放在 <answer> 标签内。答案必须严格依据上文，不得参考外部信息。谢谢。
如果找不到答案，只回复一个词：UNANSWERABLE"""  # noqa: E501

TEMPLATES: Mapping[str, NeedleTemplate] = {
    template.name: template
    for template in (
        NeedleTemplate(
            "simple",
            {
                "en": (
                    "You are a helpful AI bot that answers questions for a user. Keep your responses short and "
                    "direct.\nThe following is a set of context and a question that will relate to the context.\n"
                    "#CONTEXT\n{context}\n#ENDCONTEXT\n\n"
                    "#QUESTION\n{question} Don’t give information outside the document or repeat your findings. If the "
                    "information is not available in the context respond UNANSWERABLE"
                ),
                "zh": (
                    "你是一个乐于助人的人工智能机器人，负责回答用户的问题。回答要简短、直接。\n"
                    "下面是一段上下文，以及一个与它有关的问题。\n"
                    "#上下文\n{context}\n#上下文结束\n\n"
                    "#问题\n{question}不要给出文档之外的信息，也不要重复你的发现。如果上下文中没有这一信息，请回复 "
                    "UNANSWERABLE"
                ),
            },
        ),
        NeedleTemplate("anthropic-original", {"en": _CLOSE_READING_ORIGINAL, "zh": _CLOSE_READING_ZH}),
        NeedleTemplate(
            "anthropic-rev2",
            {"en": _CLOSE_READING, "zh": _CLOSE_READING_ZH},
            {"en": "Here is the most relevant sentence in the context:", "zh": "上下文中最相关的句子是："},
        ),
        NeedleTemplate(
            "earlier",
            {
                "en": (
                    "<context>\n{context}\n</context>\n\n{question} Don't give information outside the document or "
                    "repeat our findings"
                ),
                "zh": "<context>\n{context}\n</context>\n\n{question}不要给出文档之外的信息，也不要重复我们的发现",
            },
            {"en": "here is the most relevant sentence in the context:", "zh": "上下文中最相关的句子是："},
        ),
    )
}


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
            fields = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DataError(path, f"not TOML ({error}).") from None
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
