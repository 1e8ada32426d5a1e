"""Haystack: a pipeline with two retrievers, a joiner, a ranker, and components of one's own."""

from typing import Any

from bench.diagnosis.heldout2.parts import Setup
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

PROMPT = {
    "en": "Documents:\n{% for d in documents %}\n[{{ loop.index }}] {{ d.content }}\n{% endfor %}\n"
    "{{ rules }} Answer from the documents above.\nQuestion: {{ question }}\n",
    "zh": "资料如下：\n{% for d in documents %}\n[{{ loop.index }}] {{ d.content }}\n{% endfor %}\n"
    "{{ rules }}请根据上面的资料回答。\n问题：{{ question }}\n",
}


def build_pipeline(setup: Setup) -> Any:
    """The pipeline; it takes one text, the question."""

    @component
    class Entry:
        """Hands the question on, and the query that is made of it."""

        @component.output_types(question=str, query=str)  # type: ignore[untyped-decorator]
        def run(self, question: str) -> dict[str, str]:
            """Prepare a question."""
            return {"question": question, "query": setup.query(question)}

    @component
    class HashEmbedder:
        """The vector of a query."""

        @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
        def run(self, text: str) -> dict[str, list[float]]:
            """Embed a text."""
            return {"embedding": setup.vector(text, query=True)}

    @component
    class WordRanker:
        """Puts the closest documents first."""

        @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
        def run(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
            """Rank documents."""
            found = [(str(d.meta.get("doc", "")), d.content or "") for d in documents]
            return {"documents": [documents[at] for at in setup.second(query, found)]}

    @component
    class Shortener:
        """Fits documents into the prompt."""

        @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
        def run(self, documents: list[Document]) -> dict[str, list[Document]]:
            """Shorten documents."""
            texts = setup.shown([d.content or "" for d in documents])
            pairs = zip(documents, texts, strict=True)
            return {"documents": [Document(id=d.id, content=text, meta=d.meta) for d, text in pairs]}

    @component
    class ScriptedGenerator:
        """The scripted reader."""

        @component.output_types(replies=list[str])  # type: ignore[untyped-decorator]
        def run(self, prompt: str) -> dict[str, list[str]]:
            """Answer a prompt."""
            return {"replies": [setup.finish("", setup.talk(prompt))]}

    store = InMemoryDocumentStore(bm25_tokenization_regex=r"[\u4e00-\u9fff]|[a-zA-Z0-9]+")
    store.write_documents(
        [Document(id=c.id, content=c.text, meta={"doc": c.doc}, embedding=setup.vector(c.text)) for c in setup.chunks]
    )
    line = Pipeline()
    line.add_component("entry", Entry())
    line.add_component("embedder", HashEmbedder())
    line.add_component("words", InMemoryBM25Retriever(store, top_k=setup.pool))
    line.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=setup.pool))
    line.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    line.add_component("ranker", WordRanker())
    line.add_component("shortener", Shortener())
    line.add_component(
        "prompt", PromptBuilder(PROMPT[setup.world.lang].replace("{{ rules }}", setup.rules()), required_variables="*")
    )
    line.add_component("model", ScriptedGenerator())
    for sender, receiver in (
        ("entry.query", "words.query"),
        ("entry.query", "embedder.text"),
        ("embedder.embedding", "vectors.query_embedding"),
        ("words.documents", "joiner.documents"),
        ("vectors.documents", "joiner.documents"),
        ("entry.question", "ranker.query"),
        ("joiner.documents", "ranker.documents"),
        ("ranker.documents", "shortener.documents"),
        ("shortener.documents", "prompt.documents"),
        ("entry.question", "prompt.question"),
        ("prompt.prompt", "model.prompt"),
    ):
        line.connect(sender, receiver)
    return line
