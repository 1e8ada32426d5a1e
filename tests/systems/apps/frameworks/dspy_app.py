"""Applications of DSPy: a module that retrieves, and one that is given its context."""

from typing import Any

import dspy
from dspy.utils import DummyLM
from shop import ITEMS, numbers_of, sentence

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


class Broken(dspy.Module):
    def forward(self, question: str) -> Any:
        raise KeyError("no such index")


reader = dspy.Predict("context, question -> answer")
