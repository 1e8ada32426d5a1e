"""A LangChain chain: a vector store's retriever, and a second retriever on what it found as reranker."""

# mypy: allow-subclassing-any, allow-untyped-decorators, no-warn-return-any, disable-error-code="import-not-found"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.search import Embedder, question_version
from bench.diagnosis.strangers.settings import instruction
from bench.diagnosis.strangers.words import words
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

if TYPE_CHECKING:
    from bench.diagnosis.strangers.settings import Settings

TEMPLATES = {
    "en": "Context:\n{context}\n\n{history}Question: {question}",
    "zh": "上下文：\n{context}\n\n{history}问题：{question}",
}
SYSTEM = {"en": "Answer from the context only. {rule}", "zh": "只根据上下文回答。{rule}"}


class HashEmbeddings(Embeddings):
    """The embedding model."""

    def __init__(self, texts: list[str], settings: Settings) -> None:
        self.model, self.settings = Embedder(texts), settings

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of documents."""
        return [self.model.embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.model.embed(text, question_version(self.settings))


class ReaderChat(SimpleChatModel):
    """The chat model."""

    reader: Any

    @property
    def _llm_type(self) -> str:
        return "reader"

    def _call(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        return self.reader.complete("\n".join(str(message.content) for message in messages))


def build(settings: Settings) -> Any:
    """The chain: a question in, an answer out."""
    indexed = rows(settings)
    store = InMemoryVectorStore(HashEmbeddings([row.text for row in indexed], settings))
    store.add_documents(
        [
            Document(id=row.id, page_content=row.text, metadata={"source": row.document, "department": row.department})
            for row in indexed
        ]
    )
    keep = {"filter": lambda doc: doc.metadata["department"] == "hr"} if settings.has("metadata_filter") else {}
    retriever = store.as_retriever(search_kwargs={"k": policy.WIDE, **keep})
    desk = policy.Desk(settings)

    def find(question: str) -> list[Document]:
        docs = retriever.invoke(policy.query(question, settings))
        if not docs:
            return []
        second = BM25Retriever.from_documents(docs, preprocess_func=words, k=len(docs))
        ranked = second.invoke(question)
        if settings.has("reranker_inverted"):
            ranked = ranked[::-1]
        return ranked[: policy.top(settings)]

    def layout(docs: list[Document]) -> str:
        pages = [policy.snippet(doc.page_content, settings) for doc in policy.arranged(docs, settings)]
        return policy.clipped("\n".join(f"Document {at}: {page}" for at, page in enumerate(pages, 1)), settings)

    prompt = ChatPromptTemplate.from_messages(
        [("system", SYSTEM[settings.language]), ("human", TEMPLATES[settings.language])]
    ).partial(rule=instruction(settings))
    answer = (
        RunnablePassthrough.assign(
            context=RunnableLambda(lambda state: layout(find(state["question"]))),
            history=RunnableLambda(lambda _: desk.conversation()),
        )
        | prompt
        | ReaderChat(reader=Reader(settings))
        | StrOutputParser()
    )

    def serve(question: str) -> Any:
        ready = desk.before(question)
        if ready is not None:
            return ready
        return answer | RunnableLambda(lambda said: desk.after(question, said))

    def route(question: str) -> str:
        step = serve(question)
        return step if isinstance(step, str) else step.invoke({"question": question})

    return RunnableLambda(route)
