"""A LlamaIndex query engine with a postprocessor that reranks."""

# mypy: allow-subclassing-any, allow-untyped-decorators, no-warn-return-any

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.search import Embedder, question_version
from bench.diagnosis.strangers.settings import Settings, instruction
from llama_index.core import PromptTemplate, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

if TYPE_CHECKING:
    from collections.abc import Sequence

TEMPLATES = {
    "en": "{rule}\nContext information is below.\n{{context_str}}\n\nQuestion: {{query_str}}\nAnswer: ",
    "zh": "{rule}\n以下是上下文信息。\n{{context_str}}\n\n问题：{{query_str}}\n答案：",
}


class HashEmbedding(BaseEmbedding):
    """The embedding model."""

    model: Any
    version: str = "v1"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.model.embed(query, self.version)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.model.embed(text)


class Rerank(BaseNodePostprocessor):
    """Reorders nodes by the words that they share with the question, and keeps the best."""

    settings: Any
    top_n: int = policy.TOP

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        asked = query_bundle.query_str if query_bundle else ""
        pairs = [(node.get_content(), node) for node in nodes]
        return policy.reranked(asked, pairs, self.settings)[: self.top_n]


class Layout(BaseNodePostprocessor):
    """Puts the nodes into the order of the prompt."""

    settings: Any

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return policy.arranged(nodes, self.settings)


class ReaderLLM(CustomLLM):
    """The language model."""

    reader: Any
    limit: int = 4096

    @property
    def metadata(self) -> LLMMetadata:
        """Its window."""
        return LLMMetadata(context_window=32_000, num_output=256, model_name="reader")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The reply to a prompt."""
        return CompletionResponse(text=self.reader.complete(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """The reply in one piece."""
        yield self.complete(prompt, formatted=formatted, **kwargs)


def _nodes(settings: Settings) -> Sequence[TextNode]:
    return [
        TextNode(
            id_=row.id,
            text=row.text,
            metadata={"file_name": row.document, "department": row.department},
            excluded_embed_metadata_keys=["file_name", "department"],
            excluded_llm_metadata_keys=["department"],
            text_template="### Source\n{content}",
        )
        for row in rows(settings)
    ]


def build(settings: Settings) -> RetrieverQueryEngine:
    """The query engine."""
    nodes = _nodes(settings)
    embedding = HashEmbedding(model=Embedder([node.text for node in nodes]), version=question_version(settings))
    filters = MetadataFilters(filters=[MetadataFilter(key="department", value="hr")])
    retriever = VectorStoreIndex(list(nodes), embed_model=embedding).as_retriever(
        similarity_top_k=policy.WIDE, filters=filters if settings.has("metadata_filter") else None
    )
    template = PromptTemplate(TEMPLATES[settings.language].format(rule=instruction(settings)))
    synthesizer = get_response_synthesizer(
        llm=ReaderLLM(reader=Reader(settings)), text_qa_template=template, response_mode=ResponseMode.COMPACT
    )
    return RetrieverQueryEngine(
        retriever=retriever,
        response_synthesizer=synthesizer,
        node_postprocessors=[Rerank(settings=settings, top_n=policy.top(settings)), Layout(settings=settings)],
    )
