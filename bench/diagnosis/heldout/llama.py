"""A query engine of LlamaIndex with a node postprocessor."""

from typing import Any

from bench.diagnosis.heldout.parts import Setup, overlap
from llama_index.core import PromptTemplate, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

TEMPLATE = {
    "en": "Information from our files is below. Use nothing else; if it is not there, say so.\n\n{context_str}\n\n"
    "Question: {query_str}\nAnswer: ",
    "zh": "下面是馆内文件。只用这些内容；没有的就说没有。\n\n{context_str}\n\n问题：{query_str}\n回答：",
}


class HashedEmbedding(BaseEmbedding):  # type: ignore[misc]
    """Vectors of words for LlamaIndex."""

    vectors: Any

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self.vectors.embed(query))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self.vectors.embed(text, stored=True))


class ScriptedLLM(CustomLLM):  # type: ignore[misc]
    """A reader as an LLM."""

    reader: Any

    @property
    def metadata(self) -> LLMMetadata:
        """Its limits."""
        return LLMMetadata(model_name="scripted", context_window=32000, num_output=256)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The answer to a prompt."""
        return CompletionResponse(text=self.reader(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Not needed."""
        raise NotImplementedError


class WordOverlap(BaseNodePostprocessor):  # type: ignore[misc]
    """Keeps the passages that share most words with the question, or, sorted the wrong way, the fewest."""

    keep: int
    upside_down: bool = False

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        asked = query_bundle.query_str if query_bundle else ""
        ranked = sorted(
            nodes, key=lambda n: (overlap(asked, n.node.get_content()), n.score or 0), reverse=not self.upside_down
        )
        return ranked[: self.keep]


def build_engine(setup: Setup) -> Any:
    """The query engine."""
    nodes = [TextNode(id_=c.id, text=c.text, metadata={"season": setup.season(c.doc)}) for c in setup.chunks]
    for node in nodes:
        node.excluded_embed_metadata_keys = node.excluded_llm_metadata_keys = ["season"]
    index = VectorStoreIndex(nodes, embed_model=HashedEmbedding(vectors=setup.vectors))
    live = MetadataFilters(filters=[MetadataFilter(key="season", operator=FilterOperator.EQ, value="2026")])
    return RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=max(12, 2 * setup.k), filters=live),
        llm=ScriptedLLM(reader=setup.reader),
        text_qa_template=PromptTemplate(TEMPLATE[setup.world.lang]),
        node_postprocessors=[WordOverlap(keep=setup.k, upside_down=setup.on("reranker"))],
    )
