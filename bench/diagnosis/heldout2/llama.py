"""LlamaIndex: a router over two query engines, each with retrievers that are fused."""

from collections.abc import Sequence
from typing import Any

from bench.diagnosis.heldout2.parts import Setup
from llama_index.core import PromptTemplate, VectorStoreIndex
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine, RouterQueryEngine
from llama_index.core.response_synthesizers import CompactAndRefine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool, ToolMetadata

TEMPLATE = {
    "en": "Sources of the handbook:\n{context_str}\n\n{rules}Answer from the sources.\nQuestion: {query_str}\nAnswer: ",
    "zh": "手册的资料：\n{context_str}\n\n{rules}请根据资料回答。\n问题：{query_str}\n回答：",
}


class HashedWords(BaseEmbedding):  # type: ignore[misc]
    """Vectors of words."""

    setup: Any

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self.setup.vector(self.setup.query(query), query=True))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self.setup.vector(text))


class ScriptedModel(CustomLLM):  # type: ignore[misc]
    """The scripted reader."""

    setup: Any

    @property
    def metadata(self) -> LLMMetadata:
        """Its window."""
        return LLMMetadata(context_window=32000, num_output=256, model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Its answer."""
        return CompletionResponse(text=self.setup.talk(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Its answer at once."""
        yield CompletionResponse(text=self.setup.talk(prompt), delta="")


class ByWords(BaseRetriever):  # type: ignore[misc]
    """A retriever of one's own, over words."""

    def __init__(self, setup: Setup, nodes: dict[str, TextNode]) -> None:
        self.setup, self.nodes = setup, nodes
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.setup.bm25(self.setup.query(query_bundle.query_str), self.setup.pool)
        return [NodeWithScore(node=self.nodes[c.id], score=1 / (n + 1)) for n, c in enumerate(hits)]


class Nearest(BaseNodePostprocessor):  # type: ignore[misc]
    """A second stage that puts the closest first."""

    setup: Any

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        question = query_bundle.query_str if query_bundle else ""
        found = [(str(n.node.metadata.get("doc", "")), n.node.get_content()) for n in nodes]
        kept = [nodes[at] for at in self.setup.second(question, found)]
        notice = NodeWithScore(node=TextNode(text=self.setup.notice, id_="notice"), score=9.0)
        return [notice, *kept] if self.setup.on("pinned") else kept


class ByLength(BaseSelector):  # type: ignore[misc]
    """Chooses the thorough engine for questions that ask for two things."""

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        long = " and " in query.query_str or "，" in query.query_str
        return SelectorResult(selections=[SingleSelection(index=int(long), reason="length")])

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return self._select(choices, query)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """It has none."""


def build_router(setup: Setup) -> Any:
    """A router over an engine for simple questions and one for those that ask for two things."""
    nodes = {c.id: TextNode(text=c.text, id_=c.id, metadata={"doc": c.doc}) for c in setup.chunks}
    for node in nodes.values():
        node.excluded_embed_metadata_keys = node.excluded_llm_metadata_keys = ["doc"]
    index = VectorStoreIndex(list(nodes.values()), embed_model=HashedWords(setup=setup))
    model = ScriptedModel(setup=setup)
    template = PromptTemplate(TEMPLATE[setup.world.lang].replace("{rules}", setup.rules()))
    tools = []
    for n, name in enumerate(("simple", "thorough")):
        many = setup.pool * (n + 1)
        fused = QueryFusionRetriever(
            [index.as_retriever(similarity_top_k=many), ByWords(setup, nodes)],
            llm=model,
            num_queries=1,
            mode="reciprocal_rerank",
            similarity_top_k=many,
            use_async=False,
        )
        engine = RetrieverQueryEngine(
            fused,
            CompactAndRefine(llm=model, text_qa_template=template),
            node_postprocessors=[Nearest(setup=setup)],
        )
        tools.append(QueryEngineTool.from_defaults(engine, name=name, description=f"For {name} questions."))
    return RouterQueryEngine.from_defaults(tools, llm=model, selector=ByLength())
