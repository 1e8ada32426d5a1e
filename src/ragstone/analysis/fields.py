"""Fields of a case by which cases are selected, grouped and sliced: what the data and the benchmark say (`attributes`),
and what is derived from the question.

Derived: `language`, `question_type` (`question_types.toml`), `question_words` (English) or `question_characters`
(Chinese), `document` of the first passage labelled as relevant, and `topic` (`topics.py`). A column of the data with
the same name takes precedence.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from ragstone.analysis.selection import attributes
from ragstone.text import Wording, detect, words
from ragstone.types import Case, Run

DERIVED = ("language", "question_type", "question_words", "question_characters", "document", "topic")


def fields_of(run: Run, names: Iterable[str]) -> Callable[[Case], dict[str, str]]:
    """Reads the fields of the cases of a run: all that the data and the benchmark say, and those of `names` that are
    derived. A topic is found by reading all questions of the run first."""
    wanted = {*names} & {*DERIVED}
    if not wanted:
        return attributes
    topics: dict[str, str] = {}
    if "topic" in wanted:
        from ragstone.analysis.topics import topics_of  # noqa: PLC0415  (numpy)

        topics = topics_of({record.case.sample.question for record in run.records(texts=False)})

    def read(case: Case) -> dict[str, str]:
        found = derived(case, wanted)
        if topic := topics.get(case.sample.question):
            found["topic"] = topic
        return {**found, **attributes(case)}

    return read


def derived(case: Case, wanted: Collection[str] = DERIVED, *, wording: Wording | None = None) -> dict[str, str]:
    """The derived fields of a case except its topic, as far as they are `wanted` and known. `wording`: for many
    cases, what splits questions faster."""
    question = case.sample.question
    language = case.sample.language or case.query.language or detect(question)
    found = {"language": language} if "language" in wanted else {}
    if "question_type" in wanted:
        found["question_type"] = question_type(question, language)
    if language == "zh" and "question_characters" in wanted:
        found["question_characters"] = str(sum(map(str.isalnum, question)))
    if language != "zh" and "question_words" in wanted:
        # In ASCII there is nothing that only one language reads as a number.
        split = wording(question) if wording is not None and question.isascii() else words(question, language)
        found["question_words"] = str(len(split))
    if "document" in wanted and (document := _document(case)):
        found["document"] = document
    return found


def _document(case: Case) -> str:
    """The document of the first relevant passage: what its chunker recorded, else its id without the part after "#"."""
    passage = next((passage for passage in case.sample.passages if passage.relevant), None)
    if passage is None:
        return ""
    return str(passage.meta.get("document") or passage.id.partition("#")[0])


def question_type(question: str, language: str) -> str:
    """What the question asks for: a name in `question_types.toml`, else "other"."""
    text = question.strip().lower()
    comparison, others = _cues("zh" if language == "zh" else "en")
    found = comparison.first(text) or others.first(text)  # the cue of a comparison is often at the end
    return found or "other"


class _Cues:
    """The cues of some types of questions, tried together."""

    def __init__(self, by_type: Mapping[str, Sequence[str]]) -> None:
        cues = [cue for cues in by_type.values() for cue in cues]
        self._cue = re.compile("|".join(f"(?P<{name}>{'|'.join(cues)})" for name, cues in by_type.items()))
        # Without `\b`, Python skips to the letters with which cues begin. Few questions have a cue at their beginning.
        self._begins = re.compile("|".join(cue for cue in cues if cue[0] == "^") or r"(?!)")
        self._may_have = re.compile("|".join(cue.removeprefix(r"\b") for cue in cues if cue[0] != "^") or r"(?!)")

    def first(self, text: str) -> str | None:
        """The type of the first cue in a text; of cues at the same place, the type that is listed first."""
        if not self._may_have.search(text) and not self._begins.match(text):
            return None
        found = self._cue.search(text)
        return None if found is None else found.lastgroup


@cache
def _cues(language: str) -> tuple[_Cues, _Cues]:
    """The cues of comparisons, and those of all other types."""
    table = tomllib.loads(files("ragstone.analysis").joinpath("question_types.toml").read_text("utf-8"))
    cues = {name: by_language[language] for name, by_language in table.items()}
    return _Cues({"comparison": cues.pop("comparison")}), _Cues(cues)
