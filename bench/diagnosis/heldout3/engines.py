"""LlamaIndex: a query engine with postprocessors; Haystack: a pipeline with two retrievers; DSPy: a module."""

from collections.abc import Callable
from types import SimpleNamespace as Part
from typing import Any

import dspy
import numpy as np
from bench.diagnosis.heldout3.kit import POOL, Kit
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from llama_index.core import PromptTemplate, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters


class Model(CustomLLM):  # type: ignore[misc,unused-ignore]
    """The scripted model behind LlamaIndex's interface."""

    talk: Callable[[str], str]

    @property
    def metadata(self) -> LLMMetadata:
        """A window that holds every prompt."""
        return LLMMetadata(context_window=60_000, num_output=512, model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The reply to a prompt."""
        return CompletionResponse(text=self.talk(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """The reply in one piece."""
        yield CompletionResponse(text=self.talk(prompt))


class Embedding(BaseEmbedding):  # type: ignore[misc,unused-ignore]
    """The kit's vectors."""

    kit: Any

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self.kit.vector(query, query=True))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self.kit.vector(text))


class Best(BaseNodePostprocessor):  # type: ignore[misc,unused-ignore]
    """The kit's second stage."""

    kit: Any

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> Any:
        known = [(node.metadata.get("path", ""), node.get_content()) for node in nodes]
        return [nodes[at] for at in self.kit.order(query_bundle.query_str if query_bundle else "", known)]


class Numbered(BaseNodePostprocessor):  # type: ignore[misc,unused-ignore]
    """Puts a number before each text and keeps to the space that the prompt has."""

    kit: Any

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> Any:
        texts = self.kit.context([node.get_content() for node in nodes]).split("\n\n[")
        shown = []
        for n, (node, text) in enumerate(zip(nodes, texts, strict=False)):
            new = TextNode(text=("[" if n else "") + text, id_=node.node_id)
            shown.append(NodeWithScore(node=new, score=node.score))
        return shown


def build_engine(kit: Kit) -> Any:
    """A query engine; the application adds only what follows the answer."""
    docs, nodes = list(kit.world.docs), []
    for chunk in kit.chunks:
        meta = {"path": chunk.doc, "tenant": "staff" if docs.index(chunk.doc) % 3 == 2 else "public"}
        node = TextNode(text=chunk.text, metadata=meta, excluded_embed_metadata_keys=list(meta))
        node.excluded_llm_metadata_keys = list(meta)
        if chunk.id:
            node.id_ = chunk.id
        nodes.append(node)
    index = VectorStoreIndex(nodes, embed_model=Embedding(kit=kit))
    rule = MetadataFilter(key="tenant", value="staff", operator=FilterOperator.NE)
    filters = MetadataFilters(filters=[rule]) if kit.on("tenant") else None
    frame = f"{kit.rules()}\n\n{{context_str}}\n\n{{earlier}}{kit.say['question'].format('{query_str}')}"
    template = PromptTemplate(frame, function_mappings={"earlier": lambda **_: kit.earlier()})
    llm = Model(talk=kit.talk)
    return RetrieverQueryEngine(
        retriever=index.as_retriever(similarity_top_k=POOL, filters=filters),
        node_postprocessors=[Best(kit=kit), Numbered(kit=kit)],
        response_synthesizer=get_response_synthesizer(llm=llm, response_mode="compact", text_qa_template=template),
    )


@component
class Embed:
    """The vector of a query."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator,unused-ignore]
    def run(self, text: str) -> dict[str, Any]:
        """Embed it."""
        return {"embedding": self.kit.vector(text, query=True)}


@component
class Rewrite:
    """The query for a question, by the model."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit

    @component.output_types(query=str)  # type: ignore[untyped-decorator,unused-ignore]
    def run(self, question: str) -> dict[str, str]:
        """Ask for it."""
        return {"query": self.kit.rewrite(question)}


@component
class Ranker:
    """The kit's second stage."""

    def __init__(self, kit: Kit, top_k: int) -> None:
        self.kit, self.top_k = kit, top_k

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator,unused-ignore]
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """Keep the best."""
        known = [(str(doc.meta.get("path", "")), str(doc.content)) for doc in documents]
        return {"documents": [documents[at] for at in self.kit.order(query, known, self.top_k)]}


@component
class Generator:
    """The scripted model."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit

    @component.output_types(replies=list[str])  # type: ignore[untyped-decorator,unused-ignore]
    def run(self, prompt: str) -> dict[str, Any]:
        """Answer a prompt."""
        return {"replies": [self.kit.talk(prompt)]}


def build_pipeline(kit: Kit) -> Callable[[str], str]:
    """A function that runs a pipeline: rewriting, BM25 and vectors, a join, a ranker, a prompt, a model."""
    store = InMemoryDocumentStore(bm25_tokenization_regex=r"(?u)[a-z]{3,}|\d+|[\u4e00-\u9fff]")
    docs = []
    for chunk in kit.chunks:
        meta = {"path": chunk.doc, "open": kit.open(chunk.doc)}
        extra = {"id": chunk.id} if chunk.id else {}
        docs.append(Document(content=chunk.text, meta=meta, embedding=kit.vector(chunk.text), **extra))
    store.write_documents(docs)
    only = {"field": "meta.open", "operator": "==", "value": True} if kit.on("tenant") else None
    pipe = Pipeline()
    pipe.add_component("rewrite", Rewrite(kit))
    pipe.add_component("embed", Embed(kit))
    pipe.add_component("words", InMemoryBM25Retriever(store, top_k=POOL, filters=only))
    pipe.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=POOL, filters=only))
    pipe.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipe.add_component("ranker", Ranker(kit, kit.k))
    frame = "{{ rules }}\n\n{% for doc in documents %}[{{ loop.index }}] {{ doc.content }}\n\n{% endfor %}{{ ask }}"
    if kit.on("budget"):
        frame = frame.replace("doc.content", f"doc.content[:{'90' if kit.lang == 'en' else '32'}]")
    pipe.add_component("prompt", PromptBuilder(frame, required_variables="*"))
    pipe.add_component("llm", Generator(kit))
    for source, target in (
        ("rewrite.query", "embed.text"),
        ("rewrite.query", "words.query"),
        ("embed.embedding", "vectors.query_embedding"),
        ("words.documents", "join.documents"),
        ("vectors.documents", "join.documents"),
        ("join.documents", "ranker.documents"),
        ("ranker.documents", "prompt.documents"),
        ("prompt.prompt", "llm.prompt"),
    ):
        pipe.connect(source, target)

    def answer(question: str) -> str:
        ask = kit.earlier() + kit.say["question"].format(question)
        entry = {"rewrite": {"question": question}, "ranker": {"query": question}}
        out = pipe.run({**entry, "prompt": {"rules": kit.rules(), "ask": ask}})
        return kit.finish(question, str(out["llm"]["replies"][0]))

    return answer


class Talk(dspy.BaseLM):  # type: ignore[misc,unused-ignore]
    """The scripted model behind DSPy's interface."""

    def __init__(self, kit: Kit) -> None:
        super().__init__(model="scripted", cache=False)
        self.kit = kit

    def forward(self, prompt: str | None = None, messages: Any = None, **_: Any) -> Any:
        """The reply, in the fields that DSPy asks for."""
        text = self.kit.talk("\n\n".join(m["content"] for m in messages or [{"content": prompt}]))
        message = Part(content=f"[[ ## answer ## ]]\n{text}\n\n[[ ## completed ## ]]", tool_calls=None)
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return Part(choices=[Part(message=message, finish_reason="stop", logprobs=None)], usage=usage, model="scripted")


class Guide(dspy.Module):  # type: ignore[misc,unused-ignore]
    """Retrieve passages, then predict an answer."""

    def __init__(self, kit: Kit) -> None:
        super().__init__()
        self.kit = kit
        asking = [False]

        def embed(texts: list[str]) -> Any:
            return np.array([kit.vector(text, query=asking[0]) for text in texts], dtype=np.float32)

        corpus = [chunk.text for chunk in kit.chunks]
        self.search = dspy.Embeddings(corpus=corpus, embedder=dspy.Embedder(embed, caching=False), k=kit.k + 1)
        asking[0] = True
        self.respond = dspy.Predict(dspy.Signature("context, question -> answer", kit.rules()))
        self.respond.lm = Talk(kit)

    def forward(self, question: str) -> Any:
        """The prediction for a question."""
        found = self.search(question).passages
        made = self.respond(context=self.kit.earlier() + self.kit.context(found), question=question)
        return dspy.Prediction(answer=self.kit.finish(question, made.answer), context=found)
