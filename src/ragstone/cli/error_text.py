"""Errors in Chinese: sentences of `errors_zh.toml`, by the English ones that the code says."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from ragstone.errors import UnknownName
from ragstone.messages import LANGUAGES, error_texts, messages, preferred_language

_CHANGE = re.compile(r"(?P<key>[^:]+): (?P<old>.+) in the file, (?P<new>.+) now", re.DOTALL)
_MORE = re.compile(r"and (\d+) more")
_PLACE = re.compile(r"\{(\w+)(?:![rs])?\}")


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


def told(message: str, language: str) -> str:
    """The message in this language, sentence by sentence. One that has no translation stays English; a message
    that has none at all says so."""
    if language == "en":
        return message
    words, parts, rest, any_found = error_texts(__name__, language)["words"], [""], message, False
    while rest:
        for pattern, text in _patterns(language):
            if match := pattern.match(rest):
                places = {name: words.get(value, value) for name, value in match.groupdict().items()}
                if "changes" in places:
                    places["changes"] = _changes(places["changes"], messages(__name__, language))
                parts[-1] += text.format(**places)
                rest, any_found = rest[match.end() :], True
                break
        else:
            sentence, stop, rest = rest.partition(". ")
            parts += [sentence + stop.strip(), ""]
    text = " ".join(part for part in parts if part)
    return text if any_found else messages(__name__, language)["untranslated"].format(text=message)


def _changes(english: str, texts: Mapping[str, str]) -> str:
    """The settings that differ, as `RunMismatch` lists them, in another language."""
    found = [(_CHANGE.fullmatch(part), _MORE.fullmatch(part), part) for part in english.split("; ")]
    return texts["changes_join"].join(
        texts["change"].format(**change.groupdict()) if change
        else texts["changes_more"].format(n=more[1]) if more else part
        for change, more, part in found
    )  # fmt: skip


@cache
def _patterns(language: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """What an English sentence looks like, and its translation, the most specific first."""
    texts = error_texts(__name__, language)["sentences"]
    ordered = sorted(texts.items(), key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return [(re.compile(_expression(english) + r"(?:\s+|$)", re.DOTALL), text) for english, text in ordered]


def _expression(english: str) -> str:
    """The regular expression of a sentence with {places}."""
    parts = _PLACE.split(english)
    return "".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
