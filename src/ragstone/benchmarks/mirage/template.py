"""The prompts of MIRAGE's program, and their counterparts in Chinese. Park et al. 2025, `config.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.errors import UnknownName
from ragstone.text import detect
from ragstone.types import Passage, Query, Sampling, Turn

ALONE = "alone"
"""In the `meta` of a passage: it is shown without a number, like the oracle's single chunk."""

_SYSTEM = {"en": "You are a helpful assistant.\n", "zh": "你是一个乐于助人的助手。\n"}
_BASE = {"en": "Question: {query}\n\nAnswer : \n", "zh": "问题：{query}\n\n答案：\n"}
_CONTEXT = {
    "en": "Question : {query}\n\nContext : {context}\n\nAnswer :\n",
    "zh": "问题：{query}\n\n上下文：{context}\n\n答案：\n",
}


@dataclass(frozen=True)
class MirageTemplate:
    """System, base and context prompt, each with its final newline. Chunks are joined as `1. …2. …` without a separator
    and numbered even if there is only one, unless it is `ALONE`."""

    name: ClassVar[str] = "official"
    refuses: ClassVar[bool] = False  # it does not mention unanswerable questions
    sampling: ClassVar[Sampling] = Sampling(temperature=0.1, top_p=0.1, max_tokens=256)

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"name": self.name, "version": 1, "system": _SYSTEM, "base": _BASE, "context": _CONTEXT}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        language = query.language or detect(query.question)
        language = language if language in _SYSTEM else "en"
        form = (_CONTEXT if query.passages else _BASE)[language]
        filled = form.replace("{context}", "\x00").replace("{query}", query.question)
        filled = filled.replace("\x00", _joined(query.passages or ()))
        return (Turn("system", _SYSTEM[language]), *query.history, Turn("user", filled))


def _joined(passages: tuple[Passage, ...]) -> str:
    if len(passages) == 1 and passages[0].meta.get(ALONE):
        return passages[0].text
    return "".join(f"{place}. {passage.text}" for place, passage in enumerate(passages, 1))


def mirage_template(name: str) -> MirageTemplate:
    """The template by its name. Raises UnknownName for any other."""
    if name != MirageTemplate.name:
        raise UnknownName("template", name, (MirageTemplate.name,))
    return MirageTemplate()
