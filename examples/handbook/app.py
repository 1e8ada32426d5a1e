"""A RAG application of forty lines, to be evaluated: it answers with the sentence that shares most with the question.

ragstone run examples/handbook/questions.csv --system examples/handbook/app.py:ask

HANDBOOK_FAULT=rewriter or HANDBOOK_FAULT=retriever breaks it, so that `ragstone diagnose` has a cause to name.
"""

import os
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "docs"
DOCUMENTS = {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.md"))}
FAULT = os.environ.get("HANDBOOK_FAULT", "")


def grams(text):
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return set(re.findall(r"[a-z0-9]+", text.lower())) | {chinese[at : at + 2] for at in range(len(chinese) - 1)}


def rewrite(question):
    """The query to search for; the faulty rewriter keeps only the first third of the question."""
    return question[: len(question) // 3] if FAULT == "rewriter" else question


def search(question, k=3):
    """The k documents that share most with a query; the faulty retriever ranks by length."""
    wanted = grams(question)
    names = sorted(DOCUMENTS, key=lambda name: -len(wanted & grams(DOCUMENTS[name])))
    if FAULT == "retriever":
        names = sorted(DOCUMENTS, key=lambda name: len(DOCUMENTS[name]))
    return [{"id": name, "text": DOCUMENTS[name]} for name in names[:k]]


def ask(question, k=3, passages=None):
    """The answer to a question, and the documents that it was taken from: the given ones, else those it finds."""
    found = search(rewrite(question), k) if passages is None else [{"text": text} for text in passages]
    wanted = grams(question)
    best = max(found, key=lambda document: len(wanted & grams(document["text"])), default={"text": ""})
    sentences = re.split(r"(?<=[.。])\s*", best["text"].partition("\n")[2].strip())
    return {"answer": max(sentences, key=lambda sentence: len(wanted & grams(sentence))), "contexts": found}
