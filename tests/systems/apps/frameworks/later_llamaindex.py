"""Applications of LlamaIndex in which something comes after the first retriever. Each says all lines of its prompt that
have a price."""

from typing import Any

from llama_index.core import QueryBundle, Settings, SummaryIndex, VectorStoreIndex, get_response_synthesizer
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import CompletionResponse
from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes
from llama_index.core.postprocessor import (
    LongContextReorder,
    MetadataReplacementPostProcessor,
    SentenceEmbeddingOptimizer,
    SimilarityPostprocessor,
)
from llama_index.core.query_engine import RetrieverQueryEngine, RouterQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    BaseRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
)
from llama_index.core.schema import Document, NodeWithScore, TextNode
from llama_index.core.selectors import EmbeddingSingleSelector
from llama_index.core.storage import StorageContext
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.retrievers.bm25 import BM25Retriever
from llamaindex_app import Quoting, Search, Vectors
from shop import ITEMS, sentence


class Saying(Quoting):
    """Says all lines of the prompt that have a price."""

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        lines = [line.strip() for line in prompt.splitlines() if "crowns" in line]
        return CompletionResponse(text="\n".join(lines) or "no price")


MODEL, VECTORS = Saying(), Vectors()
Settings.llm, Settings.embed_model = MODEL, VECTORS
NODES = [TextNode(id_=f"{item}.md", text=sentence(item)) for item in ITEMS]
INDEX = VectorStoreIndex(NODES, embed_model=VECTORS)
VECTOR = INDEX.as_retriever(similarity_top_k=3)
BM25 = BM25Retriever.from_defaults(nodes=NODES, similarity_top_k=3)


class Reranked(BaseRetriever):
    """Searches what another retriever found, with a retriever that is made of it."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = [item.node for item in INDEX.as_retriever(similarity_top_k=8).retrieve(query_bundle)]
        return BM25Retriever.from_defaults(nodes=found, similarity_top_k=2).retrieve(query_bundle)


class Hybrid(BaseRetriever):
    """Joins what two retrievers find."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [*VECTOR.retrieve(query_bundle), *BM25.retrieve(query_bundle)]


def answered(retriever: Any, *postprocessors: Any) -> Any:
    return RetrieverQueryEngine.from_args(retriever, llm=MODEL, node_postprocessors=list(postprocessors))


def merging() -> Any:
    parsed = HierarchicalNodeParser.from_defaults(chunk_sizes=[256, 32], chunk_overlap=0).get_nodes_from_documents(
        [Document(text=sentence(item), id_=f"{item}.md") for item in ITEMS]
    )
    context = StorageContext.from_defaults()
    context.docstore.add_documents(parsed)
    index = VectorStoreIndex(get_leaf_nodes(parsed), storage_context=context, embed_model=VECTORS)
    return AutoMergingRetriever(index.as_retriever(similarity_top_k=4), context)


def said(found: list[NodeWithScore]) -> str:
    return MODEL.complete("\n".join(item.get_content() for item in found)).text


def second(question: str) -> str:
    """A function whose reranker is a retriever over what the first one found."""
    found = VECTOR.retrieve(question)
    synthesizer = get_response_synthesizer(llm=MODEL)
    best = BM25Retriever.from_defaults(nodes=[item.node for item in found], similarity_top_k=2).retrieve(question)
    return str(synthesizer.synthesize(question, best))


async def side_by_side(question: str) -> str:
    """A function that joins what two retrievers find."""
    found = [*await VECTOR.aretrieve(question), *await BM25.aretrieve(question)]
    return str(await get_response_synthesizer(llm=MODEL).asynthesize(question, found))


TOOLS = [
    RetrieverTool.from_defaults(VECTOR, description="by meaning 1"),
    RetrieverTool.from_defaults(BM25, description="by words 20"),
]
ENGINES = [
    QueryEngineTool.from_defaults(answered(VECTOR), description="by meaning 1"),
    QueryEngineTool.from_defaults(
        SummaryIndex(NODES[:3]).as_query_engine(llm=MODEL, embed_model=VECTORS), description="everything 20"
    ),
]
SELECTOR = EmbeddingSingleSelector.from_defaults(embed_model=VECTORS)
APPS: dict[str, Any] = {
    "second retriever": answered(Reranked()),
    "joined": answered(Hybrid()),
    "postprocessors": answered(
        VECTOR, SimilarityPostprocessor(similarity_cutoff=2.0), LongContextReorder(),
        MetadataReplacementPostProcessor(target_metadata_key="window"),
        SentenceEmbeddingOptimizer(embed_model=VECTORS, percentile_cutoff=0.5),
    ),
    "fusion": answered(QueryFusionRetriever([VECTOR, BM25], llm=MODEL, num_queries=1, use_async=False)),
    "auto merging": answered(merging()),
    "router of retrievers": answered(RouterRetriever(selector=SELECTOR, retriever_tools=TOOLS)),
    "router of engines": RouterQueryEngine(
        selector=SELECTOR, query_engine_tools=ENGINES, summarizer=None, llm=MODEL,
    ),
    "recursive": answered(RecursiveRetriever("vector", retriever_dict={"vector": VECTOR})),
    "rewritten": TransformQueryEngine(answered(Search()), HyDEQueryTransform(llm=MODEL)),
    "chat": CondensePlusContextChatEngine.from_defaults(retriever=BM25, llm=MODEL),
    "function": second,
    "joining function": side_by_side,
}  # fmt: skip
