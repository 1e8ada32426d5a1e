"""Applications of Haystack: pipelines of a retriever, a ranker, a prompt builder and a generator."""

from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder, PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from shop import ITEMS, numbers_of, sentence


@component
class Search:
    def __init__(self, top_k: int = 3) -> None:
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        found = [Document(id=f"{item}.md", content=sentence(item)) for item in numbers_of(query, self.top_k)]
        return {"documents": found}


@component
class Ranker:
    """The first two documents, the other way round."""

    def __init__(self, top_k: int = 2) -> None:
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        return {"documents": documents[: self.top_k][::-1]}


@component
class Embedder:
    """The number that a text names."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": [float(numbers_of(text, 1)[0])]}


@component
class VectorSearch:
    def __init__(self, top_k: int = 3) -> None:
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    async def run_async(self, query_embedding: list[float]) -> dict[str, Any]:
        return self.run(query_embedding)

    @component.output_types(documents=list[Document])
    def run(self, query_embedding: list[float]) -> dict[str, Any]:
        items = numbers_of(str(int(query_embedding[0])), self.top_k)
        return {"documents": [Document(id=f"{item}.md", content=sentence(item)) for item in items]}


def quoted(prompt: str) -> str:
    return next((line for line in prompt.splitlines() if "crowns" in line), "nothing")


@component
class Generator:
    @component.output_types(replies=list[str], meta=list[dict[str, Any]])
    def run(self, prompt: str) -> dict[str, Any]:
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        return {"replies": [quoted(prompt)], "meta": [{"usage": usage}]}


@component
class ChatGenerator:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        return {"replies": [ChatMessage.from_assistant(quoted(messages[-1].text or ""), meta={"usage": usage})]}


@component
class Failing:
    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        raise KeyError("no such index")


TEMPLATE = "{% for document in documents %}{{ document.content }}\n{% endfor %}\nQuestion: {{ question }}"

# Added in another order than that in which they run.
pipeline = Pipeline()
pipeline.add_component("ranker", Ranker())
pipeline.add_component("llm", Generator())
pipeline.add_component("prompt", PromptBuilder(template=TEMPLATE))
pipeline.add_component("search", Search())
pipeline.connect("search", "ranker.documents")
pipeline.connect("ranker", "prompt.documents")
pipeline.connect("prompt", "llm")

chat = Pipeline()
chat.add_component("search", Search())
chat.add_component("prompt", ChatPromptBuilder(template=[ChatMessage.from_user(TEMPLATE)]))
chat.add_component("llm", ChatGenerator())
chat.add_component("answers", AnswerBuilder())
chat.connect("search", "prompt.documents")
chat.connect("prompt.prompt", "llm.messages")
chat.connect("llm.replies", "answers.replies")
chat.connect("search.documents", "answers.documents")

embedded = Pipeline()
embedded.add_component("embedder", Embedder())
embedded.add_component("search", VectorSearch())
embedded.add_component("prompt", PromptBuilder(template=TEMPLATE))
embedded.add_component("llm", Generator())
embedded.connect("embedder.embedding", "search.query_embedding")
embedded.connect("search", "prompt.documents")
embedded.connect("prompt", "llm")

STORE = InMemoryDocumentStore()
STORE.write_documents([Document(id=f"{item}.md", content=sentence(item)) for item in ITEMS])

joining = Pipeline()
joining.add_component("first", InMemoryBM25Retriever(STORE))
joining.add_component("second", InMemoryBM25Retriever(STORE, top_k=2))
joining.add_component("join", DocumentJoiner())
joining.add_component("prompt", PromptBuilder(template=TEMPLATE))
joining.add_component("llm", Generator())
joining.connect("first", "join.documents")
joining.connect("second", "join.documents")
joining.connect("join", "prompt.documents")
joining.connect("prompt", "llm")

broken = Pipeline()
broken.add_component("search", Failing())
