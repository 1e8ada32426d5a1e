"""What metrics may declare besides the protocol: each trait has a default."""

from typing import ClassVar

from ragstone.metrics import METRICS
from ragstone.metrics.answer_correctness import AnswerCorrectness
from ragstone.metrics.traits import Traits, estimate_of, prompt_hash_of, rubric_hash_of, traits_of
from ragstone.types import Case, Query, Response, Sample, Score, Usage


class Plain:
    """A metric with the members of the protocol alone."""

    name = "plain"
    version = 1
    needs: ClassVar[frozenset[str]] = frozenset()

    def score(self, case: Case, response: Response, /) -> Score:
        return Score.of(1.0)


def test_a_metric_of_the_protocol_alone_has_the_defaults() -> None:
    case = Case("c", Sample("q", "Why?"), {}, Query("Why?"))
    assert traits_of(Plain()) == Traits()
    assert estimate_of(Plain(), case, Response("a")) == Usage()  # type: ignore[arg-type]
    assert prompt_hash_of(Plain()) == rubric_hash_of(Plain()) == ""  # type: ignore[arg-type]


def test_what_a_metric_declares_is_read_of_its_class_too() -> None:
    traits = traits_of(AnswerCorrectness)
    assert (traits.uses, traits.scores_refusals, traits.better) == (("judge", "embedder"), True, "higher")
    assert {traits_of(plugin).better for _, plugin in METRICS} == {"higher", "lower", "neither"}
