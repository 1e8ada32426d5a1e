"""Applications of LangChain and LangGraph: chains over a retriever, with a reranker, a history, an agent."""

from operator import itemgetter
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, MessagesState, StateGraph
from shop import ITEMS, numbers_of, sentence, vector


class Search(BaseRetriever):
    k: int = 3

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(sentence(item), metadata={"source": f"{item}.md"}) for item in numbers_of(query, self.k)]


class Reranked(BaseRetriever):
    """The first two of what another retriever finds, the other way round."""

    inner: BaseRetriever

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.inner.invoke(query, config={"callbacks": run_manager.get_child()})
        return found[1::-1]


class Quoting(BaseChatModel):
    """Answers with the last line of the prompt that is no question, and counts ten tokens and three."""

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        lines = [line for message in messages for line in str(message.content).splitlines() if "crowns" in line]
        usage = UsageMetadata(input_tokens=10, output_tokens=3, total_tokens=13)
        message = AIMessage(lines[0] if lines else f"{len(messages)} messages", usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


def joined(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


PROMPT = ChatPromptTemplate.from_template("Answer from these documents:\n{context}\n\nQuestion: {question}")

chain = {"context": Search() | joined, "question": RunnablePassthrough()} | PROMPT | Quoting() | StrOutputParser()

mapped = (
    {"context": itemgetter("question") | Reranked(inner=Search()) | joined, "question": itemgetter("question")}
    | PROMPT
    | Quoting()
)

# As create_retrieval_chain makes it, with a history and a search for a question that stands alone.
rag = RunnablePassthrough.assign(context=itemgetter("input") | RunnableLambda(lambda text: f"price: {text}") | Search())
rag = rag.assign(
    answer=RunnablePassthrough.assign(context=lambda state: joined(state["context"][:2]))
    | ChatPromptTemplate.from_messages(
        [("system", "Documents:\n{context}"), MessagesPlaceholder("chat_history"), ("human", "{input}")]
    )
    | Quoting()
    | StrOutputParser()
)

remembering = ChatPromptTemplate.from_messages(
    [MessagesPlaceholder("chat_history"), ("human", "{input}")]
) | RunnableLambda(lambda prompt: " / ".join(f"{message.type}: {message.content}" for message in prompt.messages))

fake = ChatPromptTemplate.from_template("{question}") | FakeListChatModel(responses=["It is 101 crowns."])


def look_up(state: MessagesState) -> dict[str, Any]:
    found = Search().invoke(input=str(state["messages"][-1].content))
    return {"messages": [AIMessage(joined(found))]}


def reply(state: MessagesState) -> dict[str, Any]:
    return {"messages": [Quoting().invoke(state["messages"])]}


def make_agent() -> Any:
    """A graph of two steps, compiled: what `create_agent` makes, too."""
    graph = StateGraph(MessagesState)
    graph.add_node("look_up", look_up)
    graph.add_node("reply", reply)
    graph.add_edge(START, "look_up")
    graph.add_edge("look_up", "reply")
    graph.add_edge("reply", END)
    return graph.compile()


def fail(question: str) -> str:
    raise KeyError(f"no tenant for {question[:4]}")


broken = RunnableLambda(fail) | StrOutputParser()


class Both(BaseRetriever):
    """Another retriever in the same chain, which has no number of passages."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(sentence(item), metadata={"source": f"{item}.md"}) for item in numbers_of(query, 2)]


def searched(question: str) -> str:
    """Searches in threads of LangChain's, with two retrievers that the function names."""
    found = RunnableParallel(a=FIRST, b=SECOND).invoke(question)
    return joined([*found["a"], *found["b"]])


FIRST, SECOND = Search(), Both()
threads = {"context": RunnableLambda(searched), "question": RunnablePassthrough()} | PROMPT | Quoting()
undecided = RunnableLambda(lambda question: joined(FIRST.invoke(question)) if "?" not in question else "It depends.")


class Vectors(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return vector(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector(text) for text in texts]


def make_store_chain() -> Any:
    """A chain over LangChain's own vector store; its retriever has no k yet."""
    store = InMemoryVectorStore(Vectors())
    store.add_documents([Document(sentence(item), id=f"{item}.md") for item in ITEMS])
    return {"context": store.as_retriever() | joined, "question": RunnablePassthrough()} | PROMPT | Quoting()
