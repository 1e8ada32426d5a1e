"""Applications of LangChain and LangGraph in which something comes after the first retriever. Each says all lines of
its prompt that have a price."""

from typing import Annotated, Any, TypedDict

from langchain_app import PROMPT, Search, Vectors, joined
from langchain_classic.chains.query_constructor.ir import StructuredQuery
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    SelfQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter
from langchain_classic.storage import InMemoryStore
from langchain_community.document_transformers import EmbeddingsRedundantFilter, LongContextReorder
from langchain_community.query_constructors.chroma import ChromaTranslator
from langchain_community.retrievers import BM25Retriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableBranch, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from shop import ITEMS, sentence


class Saying(BaseChatModel):
    """Says all lines of the prompt that have a price."""

    @property
    def _llm_type(self) -> str:
        return "saying"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        lines = [line for message in messages for line in str(message.content).splitlines() if "crowns" in line]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("\n".join(lines) or "no price"))])


MODEL = Saying()
DOCUMENTS = [Document(sentence(item), id=f"{item}.md", metadata={"number": item}) for item in ITEMS]
STORE = InMemoryVectorStore(Vectors())
STORE.add_documents(DOCUMENTS)
BM25 = BM25Retriever.from_documents(DOCUMENTS, k=3)


def over(search: Any) -> Any:
    """A chain that answers from what a retriever or a function finds."""
    return {"context": search | RunnableLambda(joined), "question": RunnablePassthrough()} | PROMPT | MODEL


def reranked(question: str) -> list[Document]:
    """A reranker that is a second retriever over what the first one found."""
    return BM25Retriever.from_documents(STORE.similarity_search(question, k=8), k=2).invoke(question)


def reranked_store(question: str) -> list[Document]:
    """A vector store that is made of what was found."""
    store = InMemoryVectorStore(Vectors())
    store.add_documents(BM25.invoke(question))
    return [document for document, _ in store.similarity_search_with_score(question, k=2)]


def side_by_side(question: str) -> list[Document]:
    """Two retrievers, whose lists are joined as they are."""
    return [*STORE.similarity_search(question, k=2), *BM25.invoke(question)]


def unlike(question: str) -> list[Document]:
    """Two retrievers, whose lists are joined without repetitions."""
    found = {document.page_content: document for document in side_by_side(question)}
    return list(found.values())


def searched_again(question: str) -> list[Document]:
    """A second search takes the place of the first."""
    found = BM25.invoke(question)
    return STORE.max_marginal_relevance_search(f"{question} {len(found)}", k=2)


async def vectors(question: str) -> list[Document]:
    return await STORE.asimilarity_search_by_vector(Vectors().embed_query(question), k=2)


class Best(BaseDocumentCompressor):
    """A reranker."""

    top_n: int = 2

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return list(documents)[: self.top_n]


class Nothing(BaseDocumentCompressor):
    """A filter that finds nothing relevant."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return []


class Routed(BaseRetriever):
    """Asks one of two retrievers."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        chosen = BM25 if len(query) % 2 else STORE.as_retriever()
        return chosen.invoke(query)


def parents() -> Any:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(Vectors()), docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(chunk_size=40, chunk_overlap=0),
    )  # fmt: skip
    retriever.add_documents(DOCUMENTS)
    return over(retriever)


def compressed(question: str) -> Any:
    return Best().compress_documents(documents=STORE.similarity_search(question, k=8), query=question)


QUERIES = RunnableLambda(lambda values: [values["question"], f"price: {values['question']}"])
PIPELINE = DocumentCompressorPipeline(
    transformers=[EmbeddingsRedundantFilter(embeddings=Vectors()), EmbeddingsFilter(embeddings=Vectors(), k=2)]
)
ENSEMBLE = EnsembleRetriever(retrievers=[BM25, STORE.as_retriever()], weights=[0.5, 0.5])
SELF_QUERY = SelfQueryRetriever(
    vectorstore=STORE, structured_query_translator=ChromaTranslator(),
    query_constructor=RunnableLambda(lambda values: StructuredQuery(query=values["query"], filter=None, limit=None)),
)  # fmt: skip


class Question(TypedDict):
    question: str
    documents: list[Document]
    generation: str


def node_retrieve(state: Any) -> dict[str, Any]:
    return {"documents": BM25.invoke(state["question"])}


def node_rerank(state: Any) -> dict[str, Any]:
    found = state["documents"]
    return {"documents": BM25Retriever.from_documents(found, k=2).invoke(state["question"])}


def node_generate(state: Any) -> dict[str, Any]:
    prompt = PROMPT.invoke({"context": joined(state["documents"]), "question": state["question"]})
    return {"generation": str(MODEL.invoke(prompt).content)}


def graph_of(schema: Any, *nodes: Any, **options: Any) -> Any:
    graph = StateGraph(schema, **{key: value for key, value in options.items() if key != "checkpointer"})
    names = [node.__name__ for node in nodes]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node)
    for start, end in zip((START, *names), (*names, END), strict=True):
        graph.add_edge(start, end)
    return graph.compile(checkpointer=options.get("checkpointer"))


class Asking(TypedDict):
    user_query: str


class Answering(TypedDict):
    response: str
    docs: list[Document]


class Everything(Asking, Answering):
    tries: int


def node_whole(state: Any) -> dict[str, Any]:
    docs = reranked(state["user_query"])
    message = MODEL.invoke(PROMPT.invoke({"context": joined(docs), "question": state["user_query"]}))
    return {"response": message, "docs": docs}


class Counted(TypedDict):
    input: str
    tries: int
    chat_history: list[Any]
    output: str
    draft: str


def node_counts(state: Any) -> dict[str, Any]:
    assert state["tries"] == 0
    prompt = PROMPT.invoke({"context": joined(BM25.invoke(state["input"])), "question": state["input"]})
    return {"output": str(MODEL.invoke(prompt).content), "draft": "a draft", "tries": state["tries"] + 1}


class Talking(TypedDict):
    messages: Annotated[list[Any], add_messages]
    context: str


def node_talks(state: Any) -> dict[str, Any]:
    found = joined(ENSEMBLE.invoke(state["messages"][-1].content))
    return {"context": found, "messages": [MODEL.invoke([("system", found), *state["messages"]])]}


def node_answers(state: Any) -> dict[str, Any]:
    return {"messages": [MODEL.invoke([("system", joined(BM25.invoke(state["messages"][-1].content)))])]}


def plain(question: str) -> str:
    """A function that is given to nobody but uses the framework."""
    return str(over(RunnableLambda(reranked)).invoke(question).content)


APPS: dict[str, Any] = {
    "second retriever": over(RunnableLambda(reranked)),
    "bound methods": over(RunnableLambda(BM25.invoke)),
    "second store": over(RunnableLambda(reranked_store)),
    "joined": over(RunnableLambda(side_by_side)),
    "joined without repetitions": over(RunnableLambda(unlike)),
    "in parallel": over(
        RunnableParallel(a=BM25, b=STORE.as_retriever()) | RunnableLambda(lambda found: [*found["a"], *found["b"]])
    ),
    "searched again": over(RunnableLambda(searched_again)),
    "store by vector": over(RunnableLambda(vectors)),
    "compression": over(ContextualCompressionRetriever(base_retriever=BM25, base_compressor=PIPELINE)),
    "filter": over(ContextualCompressionRetriever(base_retriever=BM25, base_compressor=Nothing())),
    "compressor alone": over(RunnableLambda(compressed)),
    "filter alone": over(BM25 | RunnableLambda(lambda found: Nothing().compress_documents(found, "price"))),
    "transformer alone": over(BM25 | RunnableLambda(lambda found: LongContextReorder().transform_documents(found))),
    "ensemble": over(ENSEMBLE),
    "merger": over(MergerRetriever(retrievers=[BM25, Search()])),
    "multi query": over(MultiQueryRetriever(retriever=BM25, llm_chain=QUERIES)),
    "ensemble, then second retriever": over(
        ENSEMBLE | RunnableLambda(lambda found: BM25Retriever.from_documents(found, k=2).invoke("price"))
    ),
    "parent documents": parents(),
    "self query": over(SELF_QUERY),
    "routing": over(Routed()),
    "branch": over(RunnableBranch((lambda question: len(question) % 2 == 0, BM25), STORE.as_retriever())),
    "graph": graph_of(Question, node_retrieve, node_rerank, node_generate),
    "graph with schemas": graph_of(Everything, node_whole, input_schema=Asking, output_schema=Answering),
    "graph with other entries": graph_of(Counted, node_counts),
    "graph with messages": graph_of(Talking, node_talks, checkpointer=InMemorySaver()),
    "agent": graph_of(MessagesState, node_answers),
    "function": plain,
}
