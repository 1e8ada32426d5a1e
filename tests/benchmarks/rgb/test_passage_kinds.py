"""The kinds of documents that misled an answer, where the data do not say: as in the authors' files."""

import json
from collections import Counter
from typing import Any

import pytest
from tests.benchmarks.rgb.handmade import record
from tests.metrics.test_rgb_binding import _scores as record_with

from ragstone.benchmarks.rgb.diagnosis import explain
from ragstone.benchmarks.rgb.passage_kinds import is_far, kind_of
from ragstone.benchmarks.source_attribution import misleading
from ragstone.datasets.fictional import fictional_rgb
from ragstone.metrics.rgb_judge import RgbConfusionJudge
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Completion, Passage, Query, Request, Response, Sample


def document(text: str, place: int = 0) -> Passage:
    return Passage(f"negative:{place}", text, relevant=False)


@pytest.mark.parametrize(
    ("question", "answer", "text", "kind"),
    [
        ("Who won the 2021 Arda Prize?", "Bo Kern", "The Arda Prize of 2019 went to Bo Kern.", "other_year"),
        ("Who won the 2021 Arda Prize?", "Bo Kern", "In 2021 Bo Kern is expected to take the Arda Prize.", "rumour"),
        ("Who won the 2021 Arda Prize?", "Bo Kern", "Bo Kern won the Arda Prize for verse in 2021.", ""),
        ("Who won the Arda Prize?", "Bo Kern", "Bo Kern won it in 2019.", ""),  # no year is asked for
        ("2021年阿达奖得主是谁？", "柏克恩", "2019年阿达奖由柏克恩获得。", "other_year"),
        ("2021年阿达奖得主是谁？", "柏克恩", "外界预计柏克恩将夺得2021年阿达奖。", "rumour"),
        ("2021年阿达奖得主是谁？", "柏克恩", "柏克恩获得2021年阿达诗歌奖。", ""),
    ],
)
def test_the_sentence_with_the_answer_tells_the_kind(question: str, answer: str, text: str, kind: str) -> None:
    language = "en" if question.isascii() else "zh"
    padded = document(f"{text} Nothing else was said." if language == "en" else f"{text}其他没有说。")
    source = misleading(question, answer, [padded], language)
    assert source is not None
    assert kind_of(source, question, language) == kind


def test_a_label_of_the_data_comes_first() -> None:
    labelled = Passage("negative:0", "Bo Kern won in 2019.", relevant=False, meta={"kind": "related"})
    source = misleading("Who won in 2021?", "Bo Kern", [labelled], "en")
    assert source is not None
    assert kind_of(source, "Who won in 2021?", "en") == "related"
    assert is_far(Passage("p", "x", meta={"kind": "far"}), "Who?", ["y"], "en")


@pytest.mark.parametrize(("language", "precision", "recall"), [("en", 0.98, 0.85), ("zh", 0.8, 0.85)])
def test_far_passages_are_found_by_rule(language: str, precision: float, recall: float) -> None:
    """Beside the labels of passages that hold one report each."""
    counts = Counter[tuple[bool, bool]]()
    for row in fictional_rgb(f"{language}_refine", size=60, difficulty="easy"):
        answer = row["answer"][0] if isinstance(row["answer"], list) else row["answer"]
        aliases = [answer] if isinstance(answer, str) else answer
        for place, text in enumerate(row["positive"]):
            labelled = row["kinds"][f"positive:{place}"] == "far"
            counts[labelled, is_far(Passage("p", text), row["query"], aliases, language)] += 1
    assert counts[True, True] / (counts[True, True] + counts[False, True]) >= precision
    assert counts[True, True] / (counts[True, True] + counts[True, False]) >= recall


def test_a_diagnosis_of_the_authors_data_names_the_kind() -> None:
    one = record(
        "rejection", answer="Bo Kern", right=False, rejected=False, question="Who won the 2021 Arda Prize?",
        references=(("Ada Lind",),), given=(document("The Arda Prize of 2019 went to Bo Kern."),),
    )  # fmt: skip
    found = explain(one)
    assert found.cause == "misled_other_year"
    assert "another year" in found.label


def asked(*documents: Passage, ability: str = "noise") -> Case:
    sample = Sample("s", "Who won the Arda Prize?", (("Ada Lind",),), language="en")
    condition: dict[str, Any] = {"ability": ability, "language": "en"}
    return Case("x", sample, condition, Query(sample.question, documents, language="en"))


SIMILAR = document("Bo Kern won the Arda Prize for verse.")


@pytest.mark.parametrize(("verdict", "value", "kind"), [("confused", 1.0, "_other_category"), ("other", 0.0, "")])
async def test_a_judge_finds_confused_concepts(verdict: str, value: float, kind: str) -> None:
    async def reply(_: Request) -> Completion:
        return Completion(json.dumps({"verdict": verdict}), finish_reason="stop")

    judge = RgbConfusionJudge(Scripted(reply))
    score = await judge.score(asked(SIMILAR), Response("Bo Kern won."))
    assert score.value == value
    shown = judge.judge.requests[0].messages[-1].content  # type: ignore[attr-defined]
    assert "Ada Lind" in shown
    assert SIMILAR.text in shown
    assert (
        explain(record_with(asked(SIMILAR), "Bo Kern won.", **{"rgb.judge.confusion": score})).cause
        == f"wrong_passage{kind}"
    )


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        (asked(SIMILAR), "Ada Lind won."),
        (asked(SIMILAR), "The documents do not contain enough information to answer the question."),
        (asked(), "Bo Kern won."),
        (asked(SIMILAR, ability="integration"), "Bo Kern won."),
        (asked(Passage("negative:0", "Bo Kern won.", relevant=False, meta={"kind": "rumour"})), "Bo Kern won."),
    ],
)
async def test_the_judge_is_not_asked_where_the_kind_is_known_or_there_is_no_error(case: Case, answer: str) -> None:
    score = await RgbConfusionJudge(Scripted({})).score(case, Response(answer))
    assert score.status == "not_applicable"
