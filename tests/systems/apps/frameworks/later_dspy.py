"""Applications of DSPy in which something comes after the first retriever. Each says all passages of its prompt that
have a price."""

import re
import threading
from typing import Any

import dspy
import numpy as np
from dspy.utils import DummyLM
from dspy_app import found
from shop import ITEMS, numbers_of, sentence, vector


class Saying(DummyLM):
    """Says all passages of the prompt that have a price."""

    def __init__(self) -> None:
        super().__init__([])
        self.one_at_a_time = threading.Lock()  # DSPy keeps the next answer in the model

    def forward(self, prompt: Any = None, messages: Any = None, **options: Any) -> Any:
        text = re.split("context|question", str(messages[-1]["content"]), maxsplit=1)[1]
        lines = re.findall(r"«(.*crowns.*)»", text)
        with self.one_at_a_time:
            self.answers = iter([{"answer": "\n".join(lines) or "no price"}])
            return super().forward(prompt=prompt, messages=messages, **options)


dspy.configure(lm=Saying(), rm=found)
EMBEDDER = dspy.Embedder(lambda texts: np.array([vector(text) for text in texts], dtype=np.float32))
VECTORS = dspy.Embeddings(corpus=[sentence(item) for item in ITEMS], embedder=EMBEDDER, k=3)


class Answering(dspy.Module):
    """Answers from what its `search` finds."""

    def __init__(self) -> None:
        super().__init__()
        self.retrieve = dspy.Retrieve(k=3)
        self.respond = dspy.Predict("context, question -> answer")

    def forward(self, question: str) -> Any:
        return self.respond(context=self.search(question), question=question)

    def search(self, question: str) -> list[str]:
        return list(self.retrieve(question).passages)


class Joining(Answering):
    """Joins what two retrievers find."""

    def search(self, question: str) -> list[str]:
        return [*super().search(question), *VECTORS(question).passages]


class Hopping(Answering):
    """Collects what two searches find, without repetitions."""

    def search(self, question: str) -> list[str]:
        first = super().search(question)
        return list(dict.fromkeys([*first, *super().search(f"{question} {first[:1]}")]))


class Again(Answering):
    """A second retriever takes the place of the first."""

    def search(self, question: str) -> list[str]:
        return list(VECTORS(f"{question} {len(super().search(question))}").passages)


class Reranked(Answering):
    """A retriever over what the first one found."""

    def search(self, question: str) -> list[str]:
        return list(dspy.Embeddings(corpus=super().search(question), embedder=EMBEDDER, k=2)(question).passages)


class Own(Answering):
    """A search that is a function of its own, with the parameter that lets it take given passages."""

    def forward(self, question: str, passages: list[str] | None = None) -> Any:
        texts = [sentence(item) for item in numbers_of(question)] if passages is None else passages
        return self.respond(context=texts, question=question)


def function(question: str) -> str:
    """A function that asks a module."""
    return str(APPS["retriever"](question=question).answer)


APPS: dict[str, Any] = {
    "retriever": Answering(),
    "joined": Joining(),
    "two hops": Hopping(),
    "searched again": Again(),
    "reranked": Reranked(),
    "own search": Own(),
    "function": function,
}
