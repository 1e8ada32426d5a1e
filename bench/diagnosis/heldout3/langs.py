"""LangChain: versions of the question, two retrievers, a compressor; LangGraph: grading and a second attempt."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from bench.diagnosis.heldout3.kit import POOL, Kit
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MultiQueryRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import SimpleChatModel
from langchain_core.output_parsers import BaseOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, StateGraph


class Vectors(Embeddings):  # type: ignore[misc,unused-ignore]
    """The kit's vectors."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return [self.kit.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.kit.vector(text, query=True)


class Chat(SimpleChatModel):  # type: ignore[misc,unused-ignore]
    """The scripted model behind LangChain's interface."""

    talk: Callable[[str], str]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> str:
        return self.talk("\n\n".join(str(message.content) for message in messages))


class Lines(BaseOutputParser[list[str]]):  # type: ignore[misc,unused-ignore]
    """The lines of a reply."""

    def parse(self, text: str) -> list[str]:
        """The lines that are not empty."""
        return [line for line in text.split("\n") if line.strip()]


class Reranker(BaseDocumentCompressor):  # type: ignore[misc,unused-ignore]
    """The kit's second stage as a compressor."""

    kit: Any

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        """The best documents."""
        known = [(str(doc.metadata.get("source", "")), doc.page_content) for doc in documents]
        return [documents[at] for at in self.kit.order(query, known)]


def documents(kit: Kit) -> list[Document]:
    """The index as LangChain's documents."""
    made = []
    for chunk in kit.chunks:
        doc = Document(page_content=chunk.text, metadata={"source": chunk.doc})
        if chunk.id:
            doc.id = chunk.id
        made.append(doc)
    return made


def build_chain(kit: Kit) -> Runnable[str, str]:
    """Versions of a question → two retrievers joined by rank → a compressor → prompt → model."""
    docs, chat = documents(kit), Chat(talk=kit.talk)
    store = InMemoryVectorStore.from_documents(docs, Vectors(kit))
    allow = {"filter": lambda doc: kit.open(doc.metadata["source"])}
    near = store.as_retriever(search_kwargs={"k": POOL, **allow})
    allowed = [doc for doc in docs if kit.open(doc.metadata["source"])]
    exact = BM25Retriever.from_documents(allowed, preprocess_func=kit.tokens, k=POOL)
    both = EnsembleRetriever(retrievers=[exact, near], weights=[0.4, 0.6])
    asking = PromptTemplate.from_template(kit.instruction("variants") + "\n{question}")
    search = MultiQueryRetriever(retriever=both, llm_chain=asking | chat | Lines())
    best = ContextualCompressionRetriever(base_compressor=Reranker(kit=kit), base_retriever=search)
    ask = kit.say["question"].format("{question}")
    prompt = ChatPromptTemplate.from_messages([("system", kit.rules()), ("human", "{context}\n\n{earlier}" + ask)])
    return (
        {
            "context": best | (lambda found: kit.context([doc.page_content for doc in found])),
            "question": RunnablePassthrough(),
            "earlier": lambda _: kit.earlier(),
        }
        | RunnablePassthrough.assign(text=prompt | chat | StrOutputParser())
        | RunnableLambda(lambda state: kit.finish(state["question"], state["text"]))
    )


class State(TypedDict, total=False):
    """What the nodes of the graph hand on."""

    question: str
    query: str
    documents: list[Document]
    tries: int
    generation: str


def build_graph(kit: Kit) -> Any:
    """Search, keep the best, grade them, write another query if none helps, then answer."""
    chat = Chat(talk=kit.talk)
    store = InMemoryVectorStore.from_documents(documents(kit), Vectors(kit))

    def retrieve(state: State) -> State:
        query = state.get("query") or chat.invoke(kit.instruction("rewrite") + "\n" + state["question"]).content
        found = store.similarity_search(query, k=POOL, filter=lambda doc: kit.open(doc.metadata["source"]))
        return {"documents": found, "query": query, "tries": state.get("tries", 0) + 1}

    def rerank(state: State) -> State:
        return {"documents": Reranker(kit=kit).compress_documents(state["documents"], state["question"])}

    def graded(state: State) -> str:
        if state["tries"] > 1:
            return "generate"
        asks = [f"{kit.say['grade']}\n{doc.page_content}\n\n{state['question']}" for doc in state["documents"]]
        return "generate" if any(chat.invoke(ask).content in ("yes", "是") for ask in asks) else "again"

    def again(state: State) -> State:
        return {"query": str(chat.invoke(kit.instruction("rewrite") + "\n" + state["question"]).content)}

    def generate(state: State) -> State:
        reply = chat.invoke(kit.prompt(state["question"], [doc.page_content for doc in state["documents"]]))
        return {"generation": kit.finish(state["question"], str(reply.content))}

    graph = StateGraph(State)
    for name, node in {"retrieve": retrieve, "rerank": rerank, "again": again, "generate": generate}.items():
        graph.add_node(name, node)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "rerank")
    graph.add_conditional_edges("rerank", graded, ["generate", "again"])
    graph.add_edge("again", "retrieve")
    graph.add_edge("generate", END)
    return graph.compile()
