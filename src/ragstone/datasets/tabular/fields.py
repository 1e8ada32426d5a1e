"""Parses cells into the fields of a sample: passages, references, ids, conversations, languages."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.datasets.tabular.cells import NOTHING, is_missing, listed, plain, scalar, text
from ragstone.datasets.tabular.problems import CellError
from ragstone.types import Passage, Turn

_TEXT_KEYS = (
    "text",
    "page_content",
    "content",
    "document",
    "passage",
    "chunk",
    "body",
    "contents",
    "context",
    "内容",
    "文本",
)
_ID_KEYS = ("id", "doc_id", "_id", "docid", "passage_id", "chunk_id", "document_id", "pid", "编号")
_TITLE_KEYS = ("title", "doc_name", "document_title", "name", "标题")
_META_KEYS = ("metadata", "meta")
_YES, _NO = ("true", "yes", "y", "1", "是", "可以", "能"), ("false", "no", "n", "0", "否", "不可以", "不能")
_EXPECTED = "a list of texts, or of objects with a text"
_SPEAKERS = {
    "user": "user", "human": "user", "humanmessage": "user",
    "assistant": "assistant", "ai": "assistant", "aimessage": "assistant", "bot": "assistant", "model": "assistant",
    "system": "system", "developer": "system",
}  # fmt: skip


def flag(value: Any) -> bool | None:
    """The truth value of a cell; None if it is empty. Raises CellError."""
    value = plain(value)
    if is_missing(value) or isinstance(value, bool):
        return None if is_missing(value) else bool(value)
    written = str(value).strip().lower().removesuffix(".0")
    if written in NOTHING:
        return None
    if written not in (*_YES, *_NO):
        raise CellError(f"found {str(value)[:40]!r}; expected true or false.")
    return written in _YES


def passage_id(passage: str) -> str:
    """The id for a passage without one: a hash of its text, ignoring differences in white space."""
    single = passage.isprintable() and "  " not in passage and passage[:1] != " " != passage[-1:]
    return "c-" + _hash(passage if single else " ".join(passage.split()))


def passages(value: Any, *, sep: str | None = None) -> tuple[list[Passage | None], bool]:
    """The passages of a cell, in order, and whether the cell was a single plain text. A missing element is None.

    A passage without an id gets the id "". Raises CellError.
    """
    value = plain(value)
    as_text = False
    if isinstance(value, str):
        elements = listed(value)
        if isinstance(elements, str):
            if sep:
                elements = [part for piece in elements.split(sep) if (part := piece.strip())]
            else:
                as_text, elements = True, [elements]
        value = elements
    if is_missing(value):
        return [], False
    if isinstance(value, dict):
        value = _of_object(value)
    if not isinstance(value, list):
        raise CellError(f"found {kind_of(value)}; expected {_EXPECTED}.")
    return [_passage(element, place) for place, element in enumerate(value, 1)], as_text


def references(value: Any) -> tuple[tuple[str, ...], ...]:
    """The slots of a reference. A text is one slot with one alias; a list of texts is one slot with these aliases; a
    list that contains lists is a list of slots. Empty texts are left out. Raises CellError."""
    value = plain(value)
    if isinstance(value, str):
        slots = listed(value) if value.strip()[:1] == "[" else value
        # "[1, 2]" is an answer; "['Ann', 'Anne']" is a list of two.
        value = slots if isinstance(slots, list) and _are_texts(slots) else value
    if isinstance(value, dict):
        value = _reference_of(value)
    if is_missing(value):
        return ()
    if not isinstance(value, list):
        return _slots([[value]])
    value = [plain(element) for element in value]
    if any(isinstance(element, list) for element in value):
        return _slots([element if isinstance(element, list) else [element] for element in value])
    return _slots([value])


def ids(value: Any, *, sep: str | None = None) -> list[str | None]:
    """The ids in a cell: a list, or a text split at `sep` (None: at commas, semicolons, bars and line breaks)."""
    value = plain(value)
    if isinstance(value, str):
        values = listed(value)
        if isinstance(values, str):
            parts = values.split(sep) if sep else re.split(r"[,;|\n]", values)
            return [part.strip() for part in parts if part.strip()]
        value = values
    if is_missing(value):
        return []
    elements = value if isinstance(value, list) else [value]
    return [text(element, "a list of ids") for element in elements]


def language(value: Any) -> str | None:
    """ "en" or "zh"; "" for another language; None for an empty cell."""
    name = scalar(value)
    if name is None or not str(name).strip():
        return None
    lowered = str(name).strip().lower().replace("_", "-")
    if lowered.split("-")[0] in ("zh", "cn", "chi", "zho", "cmn", "chinese") or lowered[0] in "中汉简繁":
        return "zh"
    return "en" if lowered.split("-")[0] in ("en", "eng", "english") or lowered[0] == "英" else ""


class Conversation:
    """A question with the messages before it. `reply`: the assistant's reply to it, or None. `tools`: the number of
    tool messages that were left out."""

    __slots__ = ("history", "question", "reply", "tools")

    def __init__(self, question: str | None, history: tuple[Turn, ...] = (), reply: str | None = None, tools: int = 0):
        self.question, self.history, self.reply, self.tools = question, history, reply, tools


_QUESTION = "the question, a text or a list of messages"


def conversation(value: Any) -> Conversation:
    """The question in a cell: a text, or a list of messages whose last user message is the question. Raises
    CellError."""
    value = plain(value)
    if isinstance(value, str) and value.lstrip()[:2] == "[{":
        messages = listed(value)
        value = messages if isinstance(messages, list) and all(isinstance(turn, dict) for turn in messages) else value
    if isinstance(value, bool | int | float) and not is_missing(value):
        raise CellError(f"found {kind_of(value)}; expected {_QUESTION}.")
    if not isinstance(value, list):
        return Conversation(text(value, _QUESTION))
    turns: list[Turn] = []
    tools = 0
    for place, message in enumerate(value, 1):
        role, content = _role_and_content(message, place)
        if role is None:
            tools += 1
        else:
            turns.append(Turn(role, content))  # type: ignore[arg-type]
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=None)
    if last is None:
        raise CellError("no message is the user's; expected a conversation with the question as the user's last.")
    after = [turn.content for turn in turns[last + 1 :] if turn.role == "assistant" and turn.content]
    return Conversation(turns[last].content, tuple(turns[:last]), "\n".join(after) if after else None, tools)


def _role_and_content(message: Any, place: int) -> tuple[str | None, str]:
    """The role (None for a tool) and the content of a message."""
    message = _fields(message)
    if not isinstance(message, dict):
        raise CellError(f"message {place} is {kind_of(message)}; expected an object with a role and a content.")
    role = str(message.get("role") or message.get("type") or "").lower()
    if role in ("tool", "function", "toolmessage"):
        return None, ""
    if role not in _SPEAKERS:
        raise CellError(f"message {place} is of the role {role!r}; expected user, assistant or system.")
    content = message.get("content")
    if isinstance(content, list):  # content parts, as in OpenAI's API
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return _SPEAKERS[role], text(content, f"a text as the content of message {place}") or ""


def _of_object(value: dict[str, Any]) -> list[Any]:
    """The passages in an object: a single passage, columns of passages ({"id": [...], "text": [...]}), or id → text."""
    key = next((key for key in _TEXT_KEYS if key in value), None)
    if key is None:
        if value and all(isinstance(element, str) for element in value.values()):
            return [{"id": name, "text": element} for name, element in value.items()]
        raise CellError(f"found an object without a text; expected {_EXPECTED}.")
    columns = {name: plain(column) for name, column in value.items()}
    texts = columns[key]
    if not isinstance(texts, list):
        return [value]
    if any(isinstance(column, list) and len(column) != len(texts) for column in columns.values()):
        raise CellError(f"found lists of different lengths; expected {_EXPECTED}.")
    same = {name: column for name, column in columns.items() if isinstance(column, list)}
    return [dict(zip(same, element, strict=True)) for element in zip(*same.values(), strict=True)]


def _passage(element: Any, place: int) -> Passage | None:
    if isinstance(element, str):
        return Passage("", element)
    element = _fields(plain(element))
    if is_missing(element):
        return None
    if not isinstance(element, dict):
        written = text(element, f"a text as passage {place}")
        return None if written is None else Passage("", written)
    inner = element.get("document")
    if isinstance(inner, Mapping) or isinstance(element.get("node"), Mapping):  # a hit that contains it
        inner = inner if isinstance(inner, Mapping) else element["node"]
        element = {**{key: value for key, value in element.items() if value is not inner}, **inner}
    key = next((key for key in _TEXT_KEYS if not is_missing(element.get(key))), None)
    if key is None:
        if any(name in element for name in _ID_KEYS):
            return Passage(text(_first(element, _ID_KEYS), f"an id in passage {place}") or "", "")
        raise CellError(f"passage {place} has no text; expected {_EXPECTED}.")
    written = text(element[key], f"a text as passage {place}") or ""
    meta = {
        name: single
        for source in (*(element[name] for name in _META_KEYS if isinstance(element.get(name), Mapping)), element)
        for name, value in source.items()
        if name not in (key, "score") and (single := scalar(value)) is not None
    }
    passage_id_text = text(_first(element, _ID_KEYS), f"an id in passage {place}")
    if passage_id_text is None:
        passage_id_text = text(_first(meta, _ID_KEYS), f"an id in passage {place}")
    title = text(_first(element, _TITLE_KEYS) or _first(meta, _TITLE_KEYS), f"a title in passage {place}") or ""
    meta = {str(name): value for name, value in meta.items() if name not in (*_ID_KEYS, *_TITLE_KEYS)}
    return Passage(passage_id_text or "", written, title, score=_number(element.get("score")), meta=meta)


def _fields(value: Any) -> Any:
    """The fields of another library's object, such as a pydantic model or a LangChain document."""
    if isinstance(value, (dict, str, list)) or value is None:
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if callable(dump := getattr(value, "model_dump", None)):
        return dump()
    if hasattr(value, "page_content") or hasattr(value, "content") or hasattr(value, "text"):
        return {name: getattr(value, name) for name in (*_TEXT_KEYS, "metadata", "id", "title") if hasattr(value, name)}
    return value


def _reference_of(value: dict[str, Any]) -> Any:
    """The answers in an object: {"text": [...]} as in SQuAD, {"value": …, "aliases": [...]} as in TriviaQA."""
    for key in ("text", "value", "answer", "content"):
        if key in value:
            first = plain(value[key])
            aliases = plain(value.get("aliases"))
            firsts = first if isinstance(first, list) else [first]
            return firsts + (aliases if isinstance(aliases, list) else [])
    raise CellError("found an object; expected a text, a list of aliases, or a list of slots.")


def _slots(groups: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], ...]:
    expected = "a text, a list of aliases, or a list of slots"
    slots = []
    for group in groups:
        written = [text(alias, expected) for alias in group]
        aliases = tuple(dict.fromkeys(alias for alias in written if alias and alias.strip()))
        if aliases:
            slots.append(aliases)
    return tuple(slots)


def _are_texts(elements: list[Any]) -> bool:
    return all(
        isinstance(element, str) or (isinstance(element, list) and element and _are_texts(element))
        for element in elements
    )


def _first(element: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((element[name] for name in names if not is_missing(element.get(name))), None)


def _number(value: Any) -> float | None:
    value = scalar(value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _hash(written: str) -> str:
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:10]
