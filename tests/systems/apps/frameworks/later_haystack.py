"""Applications of Haystack in which something comes after the first retriever. Each says all lines of its prompt that
have a price."""

from typing import Any

from haystack import Document, Pipeline, SuperComponent, component
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import BranchJoiner, DocumentJoiner, ListJoiner
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldRanker
from haystack.components.retrievers import AutoMergingRetriever, MultiRetriever, SentenceWindowRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.routers import ConditionalRouter, DocumentLengthRouter, MetadataRouter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_app import TEMPLATE, Ranker, Search
from shop import ITEMS, sentence

STORE = InMemoryDocumentStore()
STORE.write_documents(
    [
        Document(
            id=f"{item}.md",
            content=sentence(item),
            meta={"n": item, "split_id": item, "source_id": "a", "split_idx_start": 0},
        )
        for item in ITEMS
    ]
)
WINDOWS = "{% for text in windows %}{{ text }}\n{% endfor %}\nQuestion: {{ question }}"


@component
class Saying:
    """Says all lines of the prompt that have a price."""

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        lines = [line for line in prompt.splitlines() if "crowns" in line]
        return {"replies": ["\n".join(lines) or "no price"]}


@component
class Again:
    """Searches in a store that it makes of the documents."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        store = InMemoryDocumentStore()
        store.write_documents(documents)
        return {"documents": InMemoryBM25Retriever(store, top_k=2).run(query=query)["documents"]}


def bm25(k: int = 3) -> Any:
    return InMemoryBM25Retriever(STORE, top_k=k)


def pipeline(parts: dict[str, Any], *connections: str, template: str = TEMPLATE) -> Pipeline:
    """A pipeline of these parts, a prompt and a model. `connections`: `first > second`."""
    made = Pipeline()
    for name, part in {**parts, "prompt": PromptBuilder(template=template), "llm": Saying()}.items():
        made.add_component(name, part)
    for connection in (*connections, "prompt > llm"):
        made.connect(*connection.split(" > "))
    return made


def after(part: Any, taken: str = "documents", given: str = "documents") -> Pipeline:
    """A pipeline with this part between its retriever and its prompt."""
    return pipeline({"search": bm25(8), "part": part}, f"search > part.{taken}", f"part.{given} > prompt.documents")


def joining(joiner: Any, taken: str, given: str) -> Pipeline:
    connections = (f"a > join.{taken}", f"b > join.{taken}", f"join.{given} > prompt.documents")
    return pipeline({"a": bm25(), "b": bm25(5), "join": joiner}, *connections)


SEARCHING = SuperComponent(
    pipeline=joining(DocumentJoiner(), "documents", "documents"),
    input_mapping={"query": ["a.query", "b.query"], "question": ["prompt.question"]},
    output_mapping={"llm.replies": "replies", "join.documents": "documents"},
)
NESTED = Pipeline()
NESTED.add_component("rag", SEARCHING)

ROUTES = [
    {"condition": "{{documents|length > 3}}", "output": "{{documents}}", "output_name": "many",
     "output_type": list[Document]},
    {"condition": "{{documents|length <= 3}}", "output": "{{documents}}", "output_name": "few",
     "output_type": list[Document]},
]  # fmt: skip


def routed() -> Pipeline:
    parts = {"search": bm25(), "router": ConditionalRouter(ROUTES, unsafe=True), "join": DocumentJoiner()}
    return pipeline(
        parts, "search.documents > router.documents", "router.many > join.documents", "router.few > join.documents",
        "join > prompt.documents",
    )  # fmt: skip


def by_field(router: Any, *outputs: str) -> Pipeline:
    parts = {"search": bm25(), "router": router, "join": DocumentJoiner()}
    connections = [f"router.{name} > join.documents" for name in outputs]
    return pipeline(parts, "search > router.documents", *connections, "join > prompt.documents")


LOW = {"field": "meta.n", "operator": "<", "value": 20}


def answered(question: str) -> str:
    """A function that runs a pipeline."""
    made = APPS["joined"].run({name: {"query": question} for name in ("a", "b")} | {"prompt": {"question": question}})
    return str(made["llm"]["replies"][0])


APPS: dict[str, Any] = {
    "second retriever": after(Again()),
    "ranker": after(Ranker()),
    "lost in the middle": after(LostInTheMiddleRanker()),
    "meta field": after(MetaFieldRanker(meta_field="n", top_k=2)),
    "auto merging": after(AutoMergingRetriever(STORE)),
    "sentence window": pipeline(
        {"search": bm25(), "window": SentenceWindowRetriever(STORE)},
        "search > window.retrieved_documents", "window.context_windows > prompt.windows", template=WINDOWS,
    ),
    "joined": joining(DocumentJoiner(), "documents", "documents"),
    "fused": joining(DocumentJoiner(join_mode="reciprocal_rank_fusion"), "documents", "documents"),
    "lists": joining(ListJoiner(list[Document]), "values", "values"),
    "branch": pipeline(
        {"search": Search(), "join": BranchJoiner(list[Document])}, "search > join.value", "join > prompt.documents"
    ),
    "multi retriever": pipeline(
        {"search": MultiRetriever(retrievers={"a": bm25(), "b": bm25(5)})}, "search > prompt.documents"
    ),
    "conditional router": routed(),
    "metadata router": by_field(MetadataRouter({"low": LOW}), "low", "unmatched"),
    "length router": by_field(DocumentLengthRouter(threshold=10), "short_documents", "long_documents"),
    "pipeline in a pipeline": NESTED,
    "function": answered,
}  # fmt: skip
