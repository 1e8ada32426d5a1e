"""Maps questions to articles of a Wikipedia dump: by the title that their set names, else by a title that stands in the
question, checked by the passage that it comes with."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragstone.construction.builders.mirage.items import MappedQuestion
from ragstone.construction.builders.mirage.qa_sets import SourceQuestion
from ragstone.construction.builders.pipeline import Rejected, rejected
from ragstone.datasets.wikipedia import folded_title, read_articles
from ragstone.text.wording import Wording
from ragstone.types import Passage

_LONGEST = 8  # words of a title that is looked for in a question
_SHARED = 0.5  # share of the words of a question's passage that its article must have
_WORD = re.compile(r"\S+")


def map_questions(
    questions: Sequence[SourceQuestion], dump: Path, *, changed_after: str = ""
) -> tuple[list[MappedQuestion], list[Rejected]]:
    """The questions with their articles, one question for an article, and those that have none. `changed_after`: only
    articles whose revision is later (an ISO date), which no older model can have read. Raises DataError."""
    candidates = {question.id: list(_titles(question)) for question in questions}
    articles = read_articles(dump, {title for titles in candidates.values() for title in titles})
    mapped: list[MappedQuestion] = []
    dropped: list[Rejected] = []
    taken: set[str] = set()
    for question in questions:
        article = _fitting(question, [articles[title] for title in candidates[question.id] if title in articles])
        if article is None:
            dropped.append(rejected(question, "map", "no_article"))
        elif article.id in taken:
            dropped.append(rejected(question, "map", "article_taken", article.id))
        elif changed_after and str(article.meta.get("changed", ""))[:10] <= changed_after:
            dropped.append(rejected(question, "map", "article_too_old", str(article.meta.get("changed", ""))))
        else:
            taken.add(article.id)
            mapped.append(MappedQuestion(question, article))
    return mapped, dropped


def _titles(question: SourceQuestion) -> Iterator[str]:
    """Possible titles, folded: the named one, else runs of words of the question, the longest first."""
    if question.title:
        yield folded_title(question.title)
        return
    words = [word.strip("?.,!:;\"'“”‘’()") for word in _WORD.findall(question.question)]
    for length in range(min(_LONGEST, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if any(word[:1].isupper() for word in run[:1]):
                yield folded_title(" ".join(run))


def _fitting(question: SourceQuestion, articles: Sequence[Passage]) -> Passage | None:
    """The first article that has most words of the question's passage, if it comes with one."""
    if not question.passage:
        return articles[0] if articles else None
    wanted = frozenset(Wording()(question.passage))
    for article in articles:
        if len(wanted & frozenset(Wording()(article.text))) >= _SHARED * len(wanted):
            return article
    return None
