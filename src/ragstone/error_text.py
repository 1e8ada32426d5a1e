"""Errors for readers: kinds of failures in words, and sentences in Chinese of each package's `errors_zh.toml`, found by
the English ones that the code says."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from ragstone.messages import error_texts, messages

_PLACE = re.compile(r"\{(\w+)(?:![rs])?\}")
# What these places hold is translated, too; all others hold names, paths and numbers, which stay as they are.
_TEXTUAL = re.compile("(advice|kind|problem|purpose|reason|what)[0-9]?")
_WHERE = re.compile(r"(^|, )(?:(line|row|item|entry|byte)s? (\d+(?:, \d+)*)(?: and (\d+) more)?|(field) '([^']*)')")
_AT = re.compile(r"(?P<model>\S+) at (?P<address>https?://\S+)")
_ONE_WORD = r"\S+?"  # with a place for any text before its space, a long message takes seconds
_CHANGE = re.compile(r"(?P<key>[^:]+): (?P<old>.+) in the file, (?P<new>.+) now", re.DOTALL)
_CHANGE_BETWEEN = re.compile(r"(?P<key>[^:]+): (?P<old>.+) in (?P<there>.+), (?P<new>.+) in (?P<here>.+)", re.DOTALL)
_MORE = re.compile(r"and (\d+) more")
_EXCEPTION = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*_(?:error|exception|failed|failure|timeout|warning)")
# The places of a kind that we wrote within a message: "openai/m: timed_out: …" and "the system failed (timed_out)".
_BEFORE_KIND = r"(?:The embedder|the score cannot be stored|rubric:[^\s:;]+|[^\s:;]+/[^\s;]+): "
_AROUND_KIND = r"(?:the system failed|the response cannot be written as JSON) \("
_KIND_WITHIN = re.compile(rf"((?:^|; ){_BEFORE_KIND}|^{_AROUND_KIND})([a-z_]+)(?=: |\)$)")
_COLONS = {"en": ": ", "zh": "："}
_LONGEST = 2_000  # characters: a longer message holds somebody's text, and finding sentences in it takes long
_MOST_HEADS = 4  # as in `FILE, line 3: NAME: sentence`


def told(message: str, language: str) -> str:
    """The message in this language, sentence by sentence. One that has no translation stays English; a message
    that has none at all says so."""
    if language == "en":
        return message
    pieces = list(_pieces(message, language)) if len(message) <= _LONGEST else []
    if not any(found for _, found in pieces):
        return error_texts(language)["frame"]["untranslated"].format(text=message)
    return _joined(pieces)


def _joined(pieces: Sequence[tuple[str, bool]]) -> str:
    """The sentences as one text: a space stands beside one that is not translated."""
    text = ""
    for at, (piece, found) in enumerate(pieces):
        text += piece if not at or (found and pieces[at - 1][1]) else f" {piece}"
    return text


@lru_cache(4_096)  # pages show the same failure of many cases
def failure_in(failure: str, language: str) -> str:
    """A failure or a reason as run files keep it (`kind: message`, or a message alone) for a reader of this language.
    What others wrote stays as it is: what looks like a kind in it is none."""
    kinds = error_texts(language)["failures"]
    kind, colon, message = failure.partition(": ")
    if colon and (kind in kinds or _EXCEPTION.fullmatch(kind)):
        ours = kind in kinds and kind != "raised"
        rest = (failure_in if ours else _message_in)(message, language)
        return f"{kind_in(kind, language)}{_COLONS[language]}{rest}"
    if language != "en" and (problem := _problem_of_reply(failure, language)):
        return problem
    return _KIND_WITHIN.sub(lambda match: match[1] + kinds.get(match[2], match[2]), _message_in(failure, language))


def _message_in(message: str, language: str) -> str:
    """The sentences of ours in a message in this language."""
    pieces = list(_pieces(message, language)) if language != "en" and len(message) <= _LONGEST else []
    return _joined(pieces) if any(found for _, found in pieces) else message


def kind_in(kind: str, language: str) -> str:
    """A kind of failure in words of this language. Somebody's exception keeps its name, in words: "value error"."""
    named = error_texts(language)["failures"].get(kind)
    return named or (kind.replace("_", " ") if _EXCEPTION.fullmatch(kind) else kind)


def untranslated(message: str, language: str) -> list[str]:
    """The sentences of a message that have no translation."""
    return [piece for piece, found in _pieces(message, language) if not found]


def _pieces(message: str, language: str) -> Iterator[tuple[str, bool]]:
    """The sentences, and whether each is a translated one."""
    while message:
        if found := _first(message, language):
            message = found[1]
            yield found[0], True
        else:
            sentence, stop, message = message.partition(". ")
            yield sentence + stop.strip(), False


def _first(message: str, language: str, heads: int = 0) -> tuple[str, str] | None:
    """The translation of the message's first sentence, and what follows it; None if there is none. Places and names
    before it (`FILE, line 3: sentence`) stay."""
    for english, text in _sentences(language):
        if _literal(english) in message and (match := _pattern(english, option=_ONE_WORD).match(message)):
            values = {name: _value(name, value, language) for name, value in match.groupdict().items()}
            return text.format(**values), message[match.end() :]
    head, colon, tail = message.partition(": ")
    if colon and heads < _MOST_HEADS and ". " not in head and (found := _first(tail, language, heads + 1)):
        return f"{_value('place', head, language)}：{found[0]}", found[1]
    return None


def _value(name: str, value: str, language: str) -> str:
    texts = error_texts(language)
    if name == "changes":
        return _changes(value, texts["frame"])
    if name in ("place", "path", "where"):
        if at := _AT.fullmatch(value):
            return texts["places"]["at"].format(**at.groupdict())
        return _WHERE.sub(lambda match: _where(match, texts["places"]), value)
    if not _TEXTUAL.fullmatch(name):
        return value
    if named := texts["words"].get(value) or texts["failures"].get(value):
        return named
    if name == "problem" and (problem := _problem_of_reply(value, language)):
        return problem
    for text in dict.fromkeys((value, f"{value.removesuffix('.')}.")):  # a sentence may stand there without its stop
        pieces = list(_pieces(text, language))
        if all(found for _, found in pieces):
            translated = "".join(piece for piece, _ in pieces)
            return translated if value.endswith(".") else translated.rstrip("。")
    return failure_in(value, language) if value.partition(": ")[0] in texts["failures"] else value


def _where(match: re.Match[str], texts: Mapping[str, str]) -> str:
    """A line or a field in another language."""
    text = texts[match[2] or match[5]].format((match[3] or match[6]).replace(", ", texts["join"]))
    return ("，" if match[1] else "") + text + (texts["more"].format(match[4]) if match[4] else "")


def _changes(english: str, texts: Mapping[str, str]) -> str:
    """The settings that differ, as `RunMismatch` lists them, in another language."""

    def told_one(part: str) -> str:
        if change := _CHANGE.fullmatch(part):
            return texts["change"].format(**change.groupdict())
        if change := _CHANGE_BETWEEN.fullmatch(part):
            return texts["change_between"].format(**change.groupdict())
        more = _MORE.fullmatch(part)
        return texts["changes_more"].format(n=more[1]) if more else part

    return texts["changes_join"].join(map(told_one, english.split("; ")))


@cache
def _sentences(language: str) -> list[tuple[str, str]]:
    """English sentences and their translations, the most specific first."""
    pairs = error_texts(language)["sentences"]
    return sorted(pairs.items(), key=lambda pair: -len(_PLACE.sub("", pair[0])))


def _problem_of_reply(text: str, language: str) -> str | None:
    """What is wrong with a judge's reply, where the whole text says that."""
    texts, others = (messages("ragstone.metrics.judge.problems", one) for one in ("en", language))
    for key, pattern in _problems_of_replies():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            if "types" in values:
                kinds = {word: others[name] for name, word in texts.items() if name.startswith("kind_")}
                values["types"] = others["or"].join(kinds.get(one, one) for one in values["types"].split(texts["or"]))
            if "choices" in values:
                values["choices"] = values["choices"].replace(texts["or"], others["or"])
            if values.get("at") == texts["kind_reply"]:
                values["at"] = others["kind_reply"]
            return others[key].format(**values)
    return None


@cache
def _problems_of_replies() -> list[tuple[str, re.Pattern[str]]]:
    """The keys and patterns of these problems, the most specific first."""
    texts, inherited = messages("ragstone.metrics.judge.problems", "en"), messages("ragstone.metrics.judge", "en")
    keys = [key for key in texts if key not in inherited and key != "or" and not key.startswith("kind_")]
    keys.sort(key=lambda key: -len(_PLACE.sub("", texts[key])))
    # With any text in these places, what is said of other things would match.
    place, kinds = rf"{texts['kind_reply']}|\S+", "|".join(texts[key] for key in texts if key.startswith("kind_"))
    types = rf"(?:{kinds})(?:{texts['or']}(?:{kinds}))*"
    places = {"at": place, "types": types, "name": "NaN|-?Infinity"}
    return [(key, _pattern(texts[key], **places | ({"at": "[^:]+"} if key == "extra" else {}))) for key in keys]


@cache
def _literal(english: str) -> str:
    """The longest part of a sentence that every message with this sentence has."""
    return max(re.split(rf"{_PLACE.pattern.replace('(', '(?:', 1)}|['\"]", english), key=len)


@cache
def _pattern(english: str, **places: str) -> re.Pattern[str]:
    """The regular expression of a sentence with {places}. A place at its beginning ends with the sentence it is in; one
    at its end, with the message. `places`: patterns of what some of them hold."""
    parts = _PLACE.split(english)
    parts[::2] = [re.escape(part).replace("'", "['\"]") for part in parts[::2]]
    parts[1::2] = [f"(?P<{name}>{places.get(name, '.+?')})" for name in parts[1::2]]
    if not parts[0]:
        parts[1] = parts[1].replace(".+?", r"(?:\.{1,2}(?= )|(?:(?![.:] ).)+?)")
    return re.compile("".join(parts) + (r"(?:\s+|$)" if parts[-1] else "$"), re.DOTALL)
