"""LangChain: an ensemble of two retrievers under a compression retriever. LangGraph: a graph over messages."""

from collections.abc import Sequence
from typing import Any

from bench.diagnosis.heldout2.parts import Setup
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, MessagesState, StateGraph

CHAIN = {
    "en": "You answer members of the workshop from its documents.{rules}\n\n{context}",
    "zh": "你根据合作社的资料回答问题。{rules}\n\n{context}",
}
ASKED = {"en": "{earlier}Question: {question}", "zh": "{earlier}问题：{question}"}


class Hashed(Embeddings):  # type: ignore[misc]
    """Vectors of words."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of stored texts."""
        return [self.setup.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.setup.vector(text, query=True)


class Scripted(SimpleChatModel):  # type: ignore[misc]
    """The scripted reader as a chat model."""

    setup: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        return str(self.setup.talk("\n".join(str(message.content) for message in messages)))


class ForReaders(BaseDocumentTransformer):  # type: ignore[misc]
    """Documents that the reader may see."""

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Leave out what is for others."""
        return [document for document in documents if document.metadata["audience"] == "everyone"]


class Closest(BaseDocumentCompressor):  # type: ignore[misc]
    """A reranker over words."""

    setup: Any

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        """The best documents first."""
        found = [(str(d.metadata.get("doc", "")), d.page_content) for d in documents]
        kept = [documents[at] for at in self.setup.second(query, found)]
        notice = [Document(page_content=self.setup.notice, metadata={"doc": "notice"})]
        return notice + kept if self.setup.on("pinned") else kept


def documents_of(setup: Setup) -> list[Document]:
    """The chunks as documents."""
    return [
        Document(id=c.id, page_content=c.text, metadata={"id": c.id, "doc": c.doc, "audience": setup.audience(c.doc)})
        for c in setup.chunks
    ]


def build_chain(setup: Setup) -> Any:
    """Question → answer: two retrievers are fused, filtered and reranked, then the model reads."""
    documents = documents_of(setup)
    words = BM25Retriever.from_documents(documents, preprocess_func=setup.tokens, k=setup.pool)
    store = InMemoryVectorStore(Hashed(setup))
    store.add_documents(documents)
    dense = store.as_retriever(search_kwargs={"k": setup.pool})
    retriever = ContextualCompressionRetriever(
        base_retriever=EnsembleRetriever(retrievers=[words, dense], weights=[0.6, 0.4]),
        base_compressor=DocumentCompressorPipeline(transformers=[ForReaders(), Closest(setup=setup)]),
    )
    prompt = ChatPromptTemplate.from_messages(
        [("system", CHAIN[setup.world.lang]), ("human", ASKED[setup.world.lang])]
    ).partial(rules=setup.rules())

    def as_text(found: list[Document]) -> str:
        return "\n\n".join(f"<source>\n{text}" for text in setup.shown([d.page_content for d in found]))

    answer = prompt | Scripted(setup=setup) | StrOutputParser()
    return (
        {
            "context": RunnableLambda(setup.query) | retriever | as_text,
            "question": RunnablePassthrough(),
            "earlier": RunnableLambda(lambda _: setup.earlier()),
        }
        | RunnablePassthrough.assign(said=answer)
        | RunnableLambda(lambda state: setup.finish(state["question"], state["said"]))
    )


class Talk(MessagesState):  # type: ignore[misc]
    """The state of the graph: the messages, and what was found for the last one."""

    query: str
    sources: list[Document]


def build_graph(setup: Setup) -> Any:
    """A graph that takes and returns messages; its vector store is called directly."""
    store = InMemoryVectorStore(Hashed(setup))
    store.add_documents(documents_of(setup))
    model, reranker = Scripted(setup=setup), Closest(setup=setup)

    def asked(messages: list[AnyMessage]) -> str:
        return str(messages[-1].content)

    def understand(state: Talk) -> dict[str, Any]:
        return {"query": setup.query(asked(state["messages"]))}

    def look_up(state: Talk) -> dict[str, Any]:
        hits = store.similarity_search_with_score(
            state["query"], k=setup.pool, filter=lambda document: document.metadata["audience"] == "everyone"
        )
        return {"sources": [document for document, score in hits if score > 0.02]}

    def grade(state: Talk) -> dict[str, Any]:
        return {"sources": reranker.compress_documents(state["sources"], asked(state["messages"]))}

    def respond(state: Talk) -> dict[str, Any]:
        question = asked(state["messages"])
        shown = setup.shown([document.page_content for document in state["sources"]])
        body = "\n\n".join(f"Passage {n}:\n{text}" for n, text in enumerate(shown, 1))
        system = CHAIN[setup.world.lang].format(rules=setup.rules(), context=body)
        human = ASKED[setup.world.lang].format(earlier=setup.earlier(), question=question)
        reply = model.invoke([SystemMessage(system), HumanMessage(human)])
        reply.content = setup.finish(question, str(reply.content))
        return {"messages": [reply]}

    graph = StateGraph(Talk)
    for node in (understand, look_up, grade, respond):
        graph.add_node(node.__name__, node)
    for one, two in zip(
        (START, "understand", "look_up", "grade", "respond"),
        ("understand", "look_up", "grade", "respond", END),
        strict=True,
    ):
        graph.add_edge(one, two)
    return graph.compile()
