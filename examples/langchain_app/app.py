"""A RAG application of LangChain over the handbook: a retriever, a prompt and a model in one chain.

ragstone run examples/handbook/questions.csv --system examples/langchain_app/app.py:chain
"""

import re
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import SimpleChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough

UNKNOWN = "The documents do not contain the answer."
FOLDER = Path(__file__).parent.parent / "handbook" / "docs"
DOCUMENTS = [
    Document(path.read_text("utf-8"), metadata={"source": path.relative_to(FOLDER).as_posix()})
    for path in sorted(FOLDER.rglob("*.md"))
]


def grams(text):
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return set(re.findall(r"[a-z0-9]+", text.lower())) | {chinese[at : at + 2] for at in range(len(chinese) - 1)}


class Search(BaseRetriever):
    """Stands for a vector store: the documents that share most words with the question."""

    k: int = 3

    def _get_relevant_documents(self, query, *, run_manager):
        wanted = grams(query)
        return sorted(DOCUMENTS, key=lambda document: -len(wanted & grams(document.page_content)))[: self.k]


class Sentence(SimpleChatModel):
    """Stands for a chat model, so that no key is needed: the sentence of the prompt that is nearest to its question."""

    @property
    def _llm_type(self):
        return "sentence"

    def _call(self, messages, stop=None, run_manager=None, **kwargs):
        documents, _, question = messages[-1].content.partition("\n\nQuestion: ")
        first = documents.partition("\n---\n")[0].partition("\n\n")[2]
        lines = [line for line in first.splitlines() if not line.startswith("#")]
        sentences = [part for part in re.split(r"(?<=[.。])\s*", "\n".join(lines)) if part.strip()]
        best = max(sentences, key=lambda sentence: len(grams(question) & grams(sentence)), default=UNKNOWN)
        return best.strip()


def joined(documents):
    return "\n---\n".join(document.page_content for document in documents)


chain = (
    {"context": Search() | joined, "question": RunnablePassthrough()}
    | ChatPromptTemplate.from_template("Answer from these documents:\n\n{context}\n\nQuestion: {question}")
    | Sentence()
    | StrOutputParser()
)
