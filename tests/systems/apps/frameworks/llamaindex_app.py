"""Applications of LlamaIndex: a query engine with a postprocessor, and a chat engine."""

from typing import Any

from llama_index.core import QueryBundle, VectorStoreIndex
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.memory import Memory
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from shop import ITEMS, numbers_of, sentence, vector


class Search(BaseRetriever):
    def __init__(self, similarity_top_k: int = 3) -> None:
        self._similarity_top_k = similarity_top_k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=f"{item}.md", text=sentence(item)), score=1 / (1 + rank))
            for rank, item in enumerate(numbers_of(query_bundle.query_str, self._similarity_top_k))
        ]


class Reversed(BaseNodePostprocessor):
    """The first two nodes, the other way round."""

    top_n: int = 2

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[: self.top_n][::-1]


class Quoting(CustomLLM):
    """Answers with the first line of the prompt that has a price, and counts ten tokens and three."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="quoting")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        lines = [line for line in prompt.splitlines() if "crowns" in line]
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        return CompletionResponse(text=lines[0] if lines else "nothing", additional_kwargs=usage)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        whole = self.complete(prompt).text
        for end in range(1, len(whole) + 1):
            yield CompletionResponse(text=whole[:end], delta=whole[end - 1])


class Failing(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise KeyError("no such index")


engine = RetrieverQueryEngine.from_args(Search(), llm=Quoting(), node_postprocessors=[Reversed()])
streaming = RetrieverQueryEngine.from_args(Search(), llm=Quoting(), streaming=True)
chat = ContextChatEngine.from_defaults(retriever=Search(), llm=MockLLM())
stored = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=Memory.from_defaults())
broken = RetrieverQueryEngine.from_args(Failing(), llm=MockLLM())


class Vectors(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(text)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)


def make_index_engine() -> Any:
    """An engine over LlamaIndex's own vector index."""
    nodes = [TextNode(id_=f"{item}.md", text=sentence(item)) for item in ITEMS]
    return VectorStoreIndex(nodes, embed_model=Vectors()).as_query_engine(llm=Quoting())
