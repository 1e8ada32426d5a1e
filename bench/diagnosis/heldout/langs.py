"""A chain of LangChain whose second stage is a retriever over the first's output, and a graph of LangGraph."""

from typing import Any, TypedDict

from bench.diagnosis.heldout.parts import Setup, overlap, words
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, StateGraph

CHAIN = {
    "en": "You are the help desk. Answer from these passages, or say that they do not say.{brief}\n\n{context}\n\n"
    "{earlier}Q: {question}",
    "zh": "请依据下列资料回答游客；资料没有写的，请直说。{brief}\n\n{context}\n\n{earlier}用户问：{question}",
}
GRAPH = {
    "en": "Context:{brief}\n\n{context}\n\n{earlier}If the context has no answer, say so.\nQuestion: {question}",
    "zh": "以下是背景资料。{brief}\n\n{context}\n\n{earlier}背景资料没有答案时请说明。\n问题：{question}",
}
BRIEF = {"en": " Reply with yes or no.", "zh": "只回答是或否。"}


class HashedEmbeddings(Embeddings):  # type: ignore[misc]
    """Vectors of words for LangChain's stores."""

    def __init__(self, setup: Setup) -> None:
        self.vectors = setup.vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of stored texts."""
        return [self.vectors.embed(text, stored=True) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.vectors.embed(text)


class ScriptedChat(SimpleChatModel):  # type: ignore[misc]
    """A reader as a chat model."""

    reader: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        return str(self.reader("\n".join(str(message.content) for message in messages)))


def store_of(setup: Setup) -> InMemoryVectorStore:
    """The vector store of an application."""
    store = InMemoryVectorStore(HashedEmbeddings(setup))
    fields = [{"id": c.id, "season": setup.season(c.doc)} for c in setup.chunks]
    store.add_texts([c.text for c in setup.chunks], fields, ids=[c.id for c in setup.chunks])
    return store


def in_season(document: Document) -> bool:
    """The filter of the search."""
    return bool(document.metadata.get("season") == "2026")


def build_chain(setup: Setup) -> Any:
    """A runnable that takes a question and returns a text."""
    lang = setup.world.lang
    first = store_of(setup).as_retriever(search_kwargs={"k": max(12, 2 * setup.k), "filter": in_season})
    llm = ScriptedChat(reader=setup.reader)
    prompt = ChatPromptTemplate.from_messages([("human", CHAIN[lang])])

    def closer_look(state: dict[str, Any]) -> list[Document]:
        found = first.invoke(state["query"])
        if not found:
            return []
        wide = len(found) if setup.on("reranker") else setup.k
        best = BM25Retriever.from_documents(found, preprocess_func=words, k=wide).invoke(state["question"])
        return list(best[::-1][: setup.k] if setup.on("reranker") else best)

    def fill(state: dict[str, Any]) -> dict[str, Any]:
        texts = setup.order([d.page_content for d in state["docs"]])
        brief = BRIEF[lang] if setup.brief(state["question"]) else ""
        context = setup.cut("\n\n".join(texts))
        return {"context": context, "question": state["question"], "brief": brief, "earlier": setup.earlier()}

    model = RunnableLambda(fill) | prompt | llm | StrOutputParser()

    def reply(state: dict[str, Any]) -> str:
        ready = setup.cached(state["question"])
        if ready is not None:
            return ready
        if setup.overloaded(state["question"]):
            return "Service temporarily unavailable (503), please try again later."
        text = str(model.invoke(state))
        setup.log.append((state["question"], text))
        return setup.guarded(text)

    return (
        {"question": RunnablePassthrough()}
        | RunnablePassthrough.assign(query=lambda state: setup.rewrite(state["question"]))
        | RunnablePassthrough.assign(docs=closer_look)
        | RunnableLambda(reply)
    )


class Desk(TypedDict, total=False):
    """The state of the graph."""

    question: str
    search_text: str
    documents: list[Any]
    answer: str


def build_graph(setup: Setup) -> Any:
    """A compiled graph: rewrite, retrieve, rank, answer, check."""
    lang = setup.world.lang
    store = store_of(setup)
    llm = ScriptedChat(reader=setup.reader)

    def rewrite(state: Desk) -> Desk:
        return {"search_text": setup.rewrite(state["question"])}

    def retrieve(state: Desk) -> Desk:
        wide = 12 if setup.on("reranker") else setup.k
        return {"documents": store.similarity_search(state["search_text"], k=wide, filter=in_season)}

    def rank(state: Desk) -> Desk:
        if not setup.on("reranker"):
            return {}
        best = sorted(state["documents"], key=lambda d: overlap(state["question"], d.page_content))
        return {"documents": best[: setup.k]}

    def generate(state: Desk) -> Desk:
        question = state["question"]
        ready = setup.cached(question)
        if ready is not None:
            return {"answer": ready}
        if setup.overloaded(question):
            return {"answer": "Sorry, something went wrong: upstream timed out after 30 s"}
        context = setup.cut("\n\n".join(setup.order([d.page_content for d in state["documents"]])))
        brief = BRIEF[lang] if setup.brief(question) else ""
        filled = GRAPH[lang].format(context=context, question=question, brief=brief, earlier=setup.earlier())
        text = str(llm.invoke(filled).content)
        setup.log.append((question, text))
        return {"answer": text}

    def check(state: Desk) -> Desk:
        return {"answer": setup.guarded(state["answer"])}

    graph = StateGraph(Desk)
    steps = {"rewrite": rewrite, "retrieve": retrieve, "rank": rank, "generate": generate, "check": check}
    before = START
    for name, step in steps.items():
        graph.add_node(name, step)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph.compile()
