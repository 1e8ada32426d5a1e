"""A RAG application of thirty lines, to be evaluated: it answers with the sentence that shares most with the question.

ragstone run examples/handbook/questions.csv --system examples/handbook/app.py:ask
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "docs"
DOCUMENTS = {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.md"))}


def grams(text):
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return set(re.findall(r"[a-z0-9]+", text.lower())) | {chinese[at : at + 2] for at in range(len(chinese) - 1)}


def ask(question, k=3):
    """The answer to a question, and the documents that it was taken from."""
    wanted = grams(question)
    best = sorted(DOCUMENTS, key=lambda name: -len(wanted & grams(DOCUMENTS[name])))[:k]
    sentences = re.split(r"(?<=[.。])\s*", DOCUMENTS[best[0]].partition("\n")[2].strip())
    answer = max(sentences, key=lambda sentence: len(wanted & grams(sentence)))
    return {"answer": answer, "contexts": [{"id": name, "text": DOCUMENTS[name]} for name in best]}
