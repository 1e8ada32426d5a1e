"""A LangGraph graph: rewrite, retrieve, grade, generate, on a state that is a TypedDict. Its nodes are coroutines."""

# mypy: allow-subclassing-any, allow-untyped-decorators, no-warn-return-any, disable-error-code="import-not-found"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.search import Index
from bench.diagnosis.strangers.settings import Settings, instruction
from langchain_core.documents import Document
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langgraph.graph import END, START, StateGraph

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = {
    "en": "{rule}\nUse these excerpts of our manuals:\n{context}\n\n{history}Q: {question}\nA:",
    "zh": "{rule}\n使用以下手册摘录：\n{context}\n\n{history}问题：{question}\n答：",
}


class State(TypedDict, total=False):
    """What the nodes hand on."""

    question: str
    query: str
    documents: list[Document]
    generation: str


class ManualsRetriever(BaseRetriever):
    """The company's own search as a retriever."""

    index: Any
    k: int = policy.TOP

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(page_content=row.text, metadata={"id": row.id, "title": row.title, "score": score})
            for row, score in self.index.search(query, self.k)
        ]


class GatewayChat(BaseChatModel):
    """The chat model behind the company's gateway."""

    reader: Any

    @property
    def _llm_type(self) -> str:
        return "gateway"

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        said = self.reader.complete(str(messages[-1].content))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=said))])


class _Unrewritten:
    """Search without the rewriting that other teams have in theirs; here the graph does it."""

    def __init__(self, settings: Settings) -> None:
        plain = Settings(settings.language, settings.chunking, settings.ids, seed=settings.seed, app=settings.app)
        rewrites = settings.has("rewriter_drops_subject", "query_truncated")
        self.index = Index(rows(settings), plain if rewrites else settings)
        self.search: Callable[[str, int], Any] = self.index.search


def build(settings: Settings) -> Any:
    """The compiled graph."""
    retriever = ManualsRetriever(index=_Unrewritten(settings), k=policy.top(settings))
    model, desk = GatewayChat(reader=Reader(settings)), policy.Desk(settings)

    async def rewrite(state: State) -> dict[str, Any]:
        return {"query": policy.query(state["question"], settings)}

    async def retrieve(state: State) -> dict[str, Any]:
        return {"documents": await retriever.ainvoke(state["query"])}

    async def grade(state: State) -> dict[str, Any]:
        kept = [doc for doc in state["documents"] if policy.relevant(state["question"], doc.page_content, settings)]
        return {"documents": kept}

    async def generate(state: State) -> dict[str, Any]:
        ready = desk.before(state["question"])
        if ready is not None:
            return {"generation": ready}
        pages = [policy.snippet(doc.page_content, settings) for doc in policy.arranged(state["documents"], settings)]
        context = policy.clipped("\n".join(f"[{at}] {page}" for at, page in enumerate(pages, 1)), settings)
        text = PROMPT[settings.language].format(
            rule=instruction(settings), context=context, history=desk.conversation(), question=state["question"]
        )
        reply = await model.ainvoke([HumanMessage(text)])
        return {"generation": desk.after(state["question"], str(reply.content))}

    graph: Any = StateGraph(State)
    steps: dict[str, Any] = {"rewrite": rewrite, "retrieve": retrieve, "grade": grade, "generate": generate}
    for name, step in steps.items():
        graph.add_node(name, step)
    for before, after in zip([START, *steps], [*steps, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile()
