"""A Haystack pipeline: two retrievers, a joiner, a ranker, a prompt builder and a generator."""

# mypy: allow-subclassing-any, allow-untyped-decorators, no-warn-return-any

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.search import Embedder, question_version
from bench.diagnosis.strangers.settings import instruction
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

if TYPE_CHECKING:
    from bench.diagnosis.strangers.ingest import Row
    from bench.diagnosis.strangers.settings import Settings

TEMPLATES = {
    "en": (
        "{{rule}}\nDocuments:\n{% for doc in documents %}Document {{loop.index}}: {{doc.content}}\n{% endfor %}\n"
        "Question: {{question}}\nAnswer:"
    ),
    "zh": (
        "{{rule}}\n文档：\n{% for doc in documents %}文档{{loop.index}}：{{doc.content}}\n{% endfor %}\n"
        "问题：{{question}}\n回答："
    ),
}


@component
class QuestionEmbedder:
    """Embeds a question."""

    def __init__(self, model: Embedder, settings: Settings) -> None:
        self.model, self.settings = model, settings

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """The vector."""
        return {"embedding": self.model.embed(text, question_version(self.settings))}


@component
class WordRanker:
    """Ranks documents by the words that they share with the question."""

    def __init__(self, settings: Settings, top_k: int) -> None:
        self.settings, self.top_k = settings, top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, Any]:
        """The best documents."""
        found = [doc for doc in documents if policy.relevant(query, doc.content or "", self.settings)]
        ranked = policy.reranked(query, [(doc.content or "", doc) for doc in found], self.settings)
        return {"documents": policy.arranged(ranked[: top_k or self.top_k], self.settings)}


@component
class ReaderGenerator:
    """The model."""

    def __init__(self, settings: Settings) -> None:
        self.reader = Reader(settings)

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        """Its reply."""
        return {"replies": [self.reader.complete(prompt)]}


def _store(indexed: list[Row], model: Embedder) -> InMemoryDocumentStore:
    store = InMemoryDocumentStore(bm25_tokenization_regex=r"[a-zA-Z0-9][a-zA-Z0-9-]*|[\u4e00-\u9fff]")
    store.write_documents(
        [
            Document(
                id=row.id,
                content=row.text,
                embedding=model.embed(row.text),
                meta={"file": row.document, "part": row.number, "department": row.department},
            )
            for row in indexed
        ]
    )
    return store


def build(settings: Settings) -> Pipeline:
    """The pipeline."""
    indexed = rows(settings)
    model = Embedder([row.text for row in indexed])
    store = _store(indexed, model)
    keep: dict[str, Any] | None = None
    if settings.has("metadata_filter"):
        keep = {"field": "meta.department", "operator": "==", "value": "hr"}
    pipe = Pipeline()
    pipe.add_component("embedder", QuestionEmbedder(model, settings))
    pipe.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=policy.WIDE, filters=keep))
    if not settings.has("embedder_broken"):  # the team with the broken embedder has vectors alone
        pipe.add_component("sparse", InMemoryBM25Retriever(store, top_k=policy.WIDE, filters=keep))
    pipe.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipe.add_component("ranker", WordRanker(settings, policy.top(settings)))
    pipe.add_component(
        "prompt",
        PromptBuilder(
            TEMPLATES[settings.language].replace("{{rule}}", instruction(settings)), required_variables=["question"]
        ),
    )
    pipe.add_component("model", ReaderGenerator(settings))
    pipe.connect("embedder.embedding", "dense.query_embedding")
    pipe.connect("dense", "joiner")
    if not settings.has("embedder_broken"):
        pipe.connect("sparse", "joiner")
    pipe.connect("joiner.documents", "ranker.documents")
    pipe.connect("ranker.documents", "prompt.documents")
    pipe.connect("prompt.prompt", "model.prompt")
    return pipe
