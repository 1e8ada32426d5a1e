"""Applications of DSPy: a module that retrieves, and one that is given its context."""

from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
from dspy.utils import DummyLM
from shop import ITEMS, numbers_of, sentence, vector

# An answer by the question that the prompt has; the longest number first, so that 12 is not taken for 1.
dspy.configure(lm=DummyLM({f"item {item}?": {"answer": f"{item + 100} crowns"} for item in reversed(ITEMS)}))


class Rag(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.respond = dspy.Predict("context, question -> answer")

    def forward(self, question: str) -> Any:
        found = [sentence(item) for item in numbers_of(question)]
        prediction = self.respond(context=found[:2], question=question)
        return dspy.Prediction(context=found, answer=prediction.answer)


def found(query: str, k: int) -> list[Any]:
    """The retriever that is configured."""
    return [SimpleNamespace(long_text=sentence(item)) for item in numbers_of(query, k)]


class Searching(dspy.Module):
    """Retrieves with the configured retriever, and answers with the first price."""

    def __init__(self) -> None:
        super().__init__()
        self.retrieve = dspy.Retrieve(k=3)
        dspy.configure(rm=found)

    def forward(self, question: str) -> Any:
        passages = self.retrieve(f"price: {question}").passages
        return dspy.Prediction(context=passages, answer=passages[0] if passages else "nothing")


class Embedded(dspy.Module):
    """Retrieves with DSPy's own vectors."""

    def __init__(self) -> None:
        super().__init__()
        embedder = dspy.Embedder(lambda texts: np.array([vector(text) for text in texts], dtype=np.float32))
        self.search = dspy.Embeddings(corpus=[sentence(item) for item in ITEMS], embedder=embedder, k=3)

    def forward(self, question: str) -> Any:
        passages = self.search(question).passages
        return dspy.Prediction(context=passages, answer=passages[0] if passages else "nothing")


class Broken(dspy.Module):
    def forward(self, question: str) -> Any:
        raise KeyError("no such index")


reader = dspy.Predict("context, question -> answer")
