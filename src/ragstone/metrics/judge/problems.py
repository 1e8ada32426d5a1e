"""What is wrong with a judge's reply, in English for records and in the language of the prompt for the judge."""

from typing import Any

from ragstone.messages import messages


class Problem(str):
    """A problem in English. `to(language)` is the same problem for a judge whose prompt is in that language."""

    key: str
    values: dict[str, Any]

    def to(self, language: str) -> str:
        return _text(self.key, self.values, language)


def problem(key: str, /, **values: Any) -> Problem:
    """The problem with this key in the messages of this module. A value that is a list is joined by "or", and what
    has a message of its own ("kind_…") is named by it."""
    made = Problem(_text(key, values, "en"))
    made.key, made.values = key, values
    return made


def _text(key: str, values: dict[str, Any], language: str) -> str:
    texts = messages(__name__, language)
    shown = {
        name: texts["or"].join(texts.get(f"kind_{item}", item) for item in value) if isinstance(value, list) else value
        for name, value in values.items()
    }
    return texts[key].format(**shown)
