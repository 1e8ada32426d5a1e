"""Writes the tables of docs/diagnosis.md and docs/diagnosis.zh-CN.md from the code: python docs/diagnosis_tables.py"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ragstone.diagnosis.interventions.causes import TABLE
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.diagnosis.interventions.evidence import FIELDS
from ragstone.diagnosis.interventions.observations import SOURCES
from ragstone.messages import messages

__all__ = ["DOCUMENTS", "with_tables"]

DOCUMENTS = {"en": "diagnosis.md", "zh": "diagnosis.zh-CN.md"}
_HEADS = {
    "en": {
        "causes": ("Row", "Cause", "Holds where", "Meaning"),
        "fields": ("Field", "Question that it answers", "Values", "Asked by"),
        "conditions": ("Condition", "What is asked", "The system must take"),
    },
    "zh": {
        "causes": ("行", "原因", "成立条件", "含义"),
        "fields": ("字段", "回答的问题", "取值", "由何条件得知"),
        "conditions": ("条件", "询问的内容", "系统须能接受"),
    },
}


def with_tables(text: str, language: str) -> str:
    """The document with its tables as the code has them."""
    words = messages("ragstone.diagnosis.interventions.tables", language)
    rows = {"causes": _causes(words), "fields": _fields(language), "conditions": _conditions(words)}
    for name, lines in rows.items():
        head = _HEADS[language][name]
        table = "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *lines])
        block = f"<!-- {name} -->\n{table}\n<!-- /{name} -->"
        text, count = re.subn(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _, block=block: block, text, flags=re.S)
        assert count == 1, name
    return text


def _causes(words: Mapping[str, str]) -> Iterator[str]:
    for number, row in enumerate(TABLE, 1):
        holds = ", ".join(f"`{name}`: {' / '.join(values)}" for name, values in row.fields.items()) or "–"
        name, meaning = words[f"cause_{row.cause}"], words[f"means_{row.cause}"]
        yield f"| {number} | `{row.cause}`, {name} | {holds} | {meaning} |"


def _fields(language: str) -> Iterator[str]:
    words = messages("ragstone.diagnosis.interventions.evidence", language)
    for name, values in FIELDS.items():
        asked = ", ".join(f"`{condition}`" for condition in SOURCES.get(name, ())) or "–"
        yield f"| `{name}` | {words[f'field_{name}']} | {', '.join(values)} | {asked} |"


def _conditions(words: Mapping[str, str]) -> Iterator[str]:
    for name, condition in CONDITIONS.items():
        takes = f"`{condition.takes}`" if condition.takes else "–"
        yield f"| `{name}` | {words[f'condition_{name}']} | {takes} |"


if __name__ == "__main__":
    for language, name in DOCUMENTS.items():
        path = Path(__file__).with_name(name)
        path.write_text(with_tables(path.read_text("utf-8"), language), "utf-8")
