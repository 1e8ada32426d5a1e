"""A RAG application of LlamaIndex over the handbook: a retriever, a postprocessor and a model in one query engine.

ragstone run examples/handbook/questions.csv --system examples/llamaindex_app/app.py:engine
"""

import re
from pathlib import Path

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

FOLDER = Path(__file__).parent.parent / "handbook" / "docs"
NODES = [
    TextNode(id_=path.relative_to(FOLDER).as_posix(), text=path.read_text("utf-8"))
    for path in sorted(FOLDER.rglob("*.md"))
]


def grams(text):
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return set(re.findall(r"[a-z0-9]+", text.lower())) | {chinese[at : at + 2] for at in range(len(chinese) - 1)}


class Search(BaseRetriever):
    """Stands for a vector index: the documents that share most words with the question."""

    def __init__(self, similarity_top_k=5):
        self.similarity_top_k = similarity_top_k
        super().__init__()

    def _retrieve(self, query_bundle):
        wanted = grams(query_bundle.query_str)
        found = [NodeWithScore(node=node, score=len(wanted & grams(node.text)) / len(wanted)) for node in NODES]
        return sorted(found, key=lambda node: -node.score)[: self.similarity_top_k]


class Sentence(CustomLLM):
    """Stands for a model, so that no key is needed: the sentence of the prompt that is nearest to its question."""

    @property
    def metadata(self):
        return LLMMetadata(model_name="sentence", context_window=100_000)

    def complete(self, prompt, formatted=False, **kwargs):
        documents, _, question = prompt.partition("\n\nQuestion: ")
        sentences = [part for part in re.split(r"(?<=[.。])\s*", documents) if part.strip()]
        return CompletionResponse(text=max(sentences, key=lambda part: len(grams(question) & grams(part))))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


engine = RetrieverQueryEngine.from_args(
    Search(),
    llm=Sentence(),
    node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.4)],
    text_qa_template=PromptTemplate("{context_str}\n\nQuestion: {query_str}"),
)
