"""What a project starts with: example documents, and example questions made by rule from the user's documents."""

import re
from collections.abc import Iterator, Sequence

from ragstone.structs import Frozen
from ragstone.text import detect, sentences
from ragstone.types import Passage

_PER_QUESTION = 3  # example documents: one that answers, and two about something similar
# What is asked for, likeliest first: a number of things (no year, time or date), a person, any number, a name.
_COUNT = {
    "en": re.compile(r"(?<![\w.,:])(?!(?:1\d|20)\d\d\b)\d[\d,]*(?= (?!January|February|March|April|May|June|July|August"
                     r"|September|October|November|December|of\b|and\b|to\b|or\b)[A-Za-z]+)"),
    "zh": re.compile(r"(?<![\w.,:第年月])\d[\d,]*(?= ?[\u4e00-\u9fff])(?! ?[年月日号点时届期版])"),
}  # fmt: skip
_NUMBER = re.compile(r"(?<![A-Za-z\d.,])\d(?:[\d,.:]*\d)?(?![A-Za-z\d])")
_PERSON = {
    "en": re.compile(r"(?<=\bby )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)+(?=[ ,.])"),
    "zh": re.compile(r"(?<=由)[\u4e00-\u9fff·]{2,8}?(?=创办|创立|创建|负责|领导|管理|主持|编写|设计)"),
}
_CALLED = {
    "en": re.compile(r"(?<=[a-z,] )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*(?![\w’'-])"),
    "zh": re.compile(r"(?<=[“《「])[^”》」\d]{2,12}(?=[”》」])"),
}
_NAME = re.compile(r"[A-Z]\w*\s$")  # "Heron 2" is no number of things
_WHOM = {"en": ("whom", "{sentence}?"), "zh": ("谁", "{sentence}？")}
_HOW_MANY = {"en": ("how many", "{sentence}?"), "zh": ("多少", "{sentence}？")}
_LENGTH = {"en": (30, 200), "zh": (8, 90)}  # characters of a sentence to ask about
_GAP = {
    "en": ("___", "Which words are missing here: “{sentence}”"),
    "zh": ("___", "填空：“{sentence}”"),
}
_BULLET = re.compile(r"[-*•–]\s+")
_SPEAKER = re.compile(r"(?:[QA]|[问答])[:：]\s*")
# No statement about anything: a question, what surrounds a text, and what only the sentence before explains.
_NOT_ASKED = re.compile(
    r".*[?？:：]$|.*(?:©|\(c\)|\bcopyright\b|all rights reserved|last (?:updated|modified)|https?:|@)"
    r"|.*(?:版权所有|更新于|更新日期)"
    r"|(?:It|Its|They|Their|He|His|She|Her|This|That|These|Those|There)\b|[它他她其该这那此]",
    re.IGNORECASE,
)
# The places are invented, so no document knows them.
_UNANSWERABLE = {
    "en": ("What is the telephone number of the branch in Quenworth?", "Who ran the office in Zelvny before 1994?"),
    "zh": ("渌塬市分部的电话号码是多少？", "1994年以前由谁负责绛堰办事处？"),
}


class ExampleQuestion(Frozen, frozen=True):
    """A question with its answer and the id of the document that states it; both "" if no document does."""

    question: str
    reference: str = ""
    document: str = ""


def example_documents(language: str, count: int = 6) -> tuple[dict[str, str], list[ExampleQuestion]]:
    """Invented news as Markdown files (name → text), and `count` questions about them."""
    from ragstone.datasets.fictional.pools import make_pool  # noqa: PLC0415  (an invented world takes half a second)

    data = make_pool(count, language=language, chunks_per_query=_PER_QUESTION)
    documents: dict[str, str] = {}
    answering: dict[str, str] = {}
    for number, chunk in enumerate(data.pool, 1):
        name = f"{number:02}.md"
        documents[name] = f"# {chunk.doc_name}\n\n{chunk.doc_chunk}\n"
        if chunk.support:
            answering.setdefault(chunk.mapped_id, name)
    questions = [
        ExampleQuestion(question.query, question.answer[0], answering[question.query_id]) for question in data.questions
    ]
    return documents, questions


def example_questions(passages: Sequence[Passage], language: str, count: int = 6) -> list[ExampleQuestion]:
    """At most `count` questions by rule, at most one for each document, spread over them: a sentence of it that asks
    "how many" or "whom" instead of stating a number or a person, else one with a gap for a number or a name. Sentences
    that only their neighbours explain, questions, and lines around a text are left out."""
    step = max(1, len(passages) // count)
    found: list[ExampleQuestion] = []
    for passage in [*passages[::step], *(item for at, item in enumerate(passages) if at % step)]:
        if len(found) == count:
            break
        found += list(_gaps(passage, language))[:1]
    return found


def unanswerable_questions(language: str) -> list[ExampleQuestion]:
    """Questions that no document answers: the right answer is to decline."""
    return [ExampleQuestion(question) for question in _UNANSWERABLE[language]]


def _gaps(passage: Passage, language: str) -> Iterator[ExampleQuestion]:
    lines = [line.strip() for line in passage.text.splitlines() if line.strip() and line.lstrip()[0] not in "#|`<>"]
    lines = [_SPEAKER.sub("", _BULLET.sub("", line, count=1), count=1) for line in lines]
    candidates = [
        sentence.strip() for line in lines for sentence in sentences(line, language)
        if detect(sentence) == language and not _NOT_ASKED.match(sentence.strip())
    ]  # fmt: skip
    shortest, longest = _LENGTH[language]
    candidates = [sentence for sentence in candidates if shortest <= len(sentence) <= longest]
    asked = (
        (_COUNT[language], _HOW_MANY), (_PERSON[language], _WHOM), (_NUMBER, _GAP), (_CALLED[language], _GAP)
    )  # fmt: skip
    for pattern, forms in asked:
        instead, form = forms[language]
        for sentence in candidates:
            match = pattern.search(sentence)
            if match is None or sentence.count(match[0]) != 1:
                continue
            before, after = sentence[: match.start()], sentence[match.end() :]
            if forms is _HOW_MANY and _NAME.search(before):
                continue
            if forms is not _GAP:
                after = after.rstrip(".。；;! ！")
                before, after = (before.rstrip(), after.lstrip()) if language == "zh" else (before, after)
            yield ExampleQuestion(form.format(sentence=before + instead + after), match[0], passage.id)
