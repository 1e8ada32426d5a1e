"""The same verdicts, given to ragas 0.4.3 and to ours: the same scores wherever ragas is right, and where it is not.

ragas runs in an environment of its own (`bench/peers`), made at the first run; both are given prepared replies, so that
only the formulas and what is made of strange replies can differ.
"""

import asyncio
import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import platformdirs
import pytest
from bench.peers.environment import environment

from ragstone.metrics import Tools, make_metrics
from ragstone.metrics.judge import MatrixJudge
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.schemas import OUTPUTS
from ragstone.models.cache import Cached, ReplyCache
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Request, Response, Sample, Score, Turn

pytestmark = pytest.mark.slow

FIVE = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")
SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "peers" / "ragas_scores.py"

Verdicts = Mapping[str, Any]


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of ragas' environment."""
    folder = Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers"
    found, reason = environment("ragas", folder)
    if found is None:
        pytest.skip(reason)
    return found


def by_ragas(python: Path, cases: Sequence[Verdicts]) -> list[dict[str, dict[str, float | None]]]:
    """What both generations of its metrics give: {"old": …, "new": …} for each case."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([str(python), str(SCRIPT)], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def verdicts(seed: int = 0, **changes: Any) -> dict[str, Any]:
    """A sample with the verdicts of a judge that does what it is asked."""
    rng = random.Random(seed)

    def some(low: int, high: int) -> list[int]:
        return [rng.randint(0, 1) for _ in range(rng.randint(low, high))]

    faithful, attributed, useful = some(1, 6), some(1, 5), some(1, 5)
    said, wanted = len(faithful), len(attributed)
    tp = rng.randint(0, said)
    questions = [f"Question {number} of {seed}?" for number in range(3)]
    made = {
        "question": f"The question {seed}?", "answer": f"The answer {seed}.", "reference": f"The reference {seed}.",
        "contexts": [f"Context {number} of {seed}." for number in range(len(useful))],
        "statements": [f"Statement {number} of {seed}." for number in range(said)], "verdicts": faithful,
        "questions": questions, "noncommittal": [rng.choice([0, 0, 0, 1])] * 3,
        "useful": useful, "attributed": attributed,
        "reference_statements": [f"Reference statement {number} of {seed}." for number in range(wanted)],
        "tp": tp, "fp": said - tp, "fn": rng.randint(0, wanted) if tp else wanted,
    } | changes  # fmt: skip
    texts = [str(made["question"]), str(made["answer"]), str(made["reference"]), *questions]
    vectors = {text: [rng.random() for _ in range(4)] for text in texts}
    return {**made, "vectors": vectors} | changes


class Vectors:
    """An embedder that gives prepared vectors."""

    id = "prepared"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors

    async def embed(
        self, texts: Sequence[str], /, *, kind: Literal["query", "passage"] = "passage"
    ) -> "np.ndarray[Any, Any]":
        rows = np.array([self._vectors[text] for text in texts], dtype=np.float64)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float64)


class Judge:
    """A model that replies to every step of ours with the prepared verdicts."""

    def __init__(self, given: Verdicts) -> None:
        self._given = given
        self._asked = 0

    def __call__(self, request: Request) -> str:
        step = next(name for name, schema in OUTPUTS.items() if schema == request.schema)
        return json.dumps(getattr(self, step)(request))

    def decompose(self, _: Request) -> Any:
        given = self._given
        claims = [{"sentence": 1, "text": text, "relevant": True} for text in given["statements"]]
        reference = [{"text": text} for text in given["reference_statements"]]
        declines = all(given["noncommittal"])
        return {
            "answer_claims": claims, "reference_claims": reference, "questions": given["questions"],
            "noncommittal": declines,
        }  # fmt: skip

    def verify(self, _: Request) -> Any:
        given = self._given

        def claim(number: int, *, supported: int, other: str, there: bool) -> dict[str, Any]:
            places = [1] if supported else []
            return {"id": number, "supported_by": places, "contradicted_by": [], other: there, "quote": ""}

        answer = [
            claim(number, supported=verdict, other="in_reference", there=number <= given["tp"])
            for number, verdict in enumerate(given["verdicts"], start=1)
        ]
        reference = [
            claim(number, supported=verdict, other="in_answer", there=number > given["fn"])
            for number, verdict in enumerate(given["attributed"], start=1)
        ]
        if not answer:
            reference = [{**one, "in_answer": None} for one in reference]
        passages = [
            {"id": number, "relevant": bool(verdict), "useful": bool(verdict)}
            for number, verdict in enumerate(given["useful"], start=1)
        ]
        return {"answer_claims": answer, "reference_claims": reference, "passages": passages}

    def ragas_statements(self, request: Request) -> Any:
        shown = request.messages[-1].content
        which = "reference_statements" if self._given["reference"] in shown else "statements"
        return {"statements": self._given[which]}

    def ragas_faithfulness(self, _: Request) -> Any:
        return {"verdicts": _numbered(self._given["verdicts"])}

    def ragas_question(self, request: Request) -> Any:
        place = self._asked % 3
        self._asked += 1
        return {"question": self._given["questions"][place], "noncommittal": self._given["noncommittal"][place]}

    def ragas_context_precision(self, request: Request) -> Any:
        shown = request.messages[-1].content
        place = next(number for number, text in enumerate(self._given["contexts"]) if json.dumps(text) in shown)
        return {"reason": "", "verdict": self._given["useful"][place]}

    def ragas_context_recall(self, _: Request) -> Any:
        said = [{"statement": "s", "reason": "", "attributed": one} for one in self._given["attributed"]]
        return {"classification": said}

    def ragas_correctness(self, _: Request) -> Any:
        given = self._given
        found = len(given["reference_statements"]) - given["fn"]
        return {
            "answer": _numbered(["TP"] * given["tp"] + ["FP"] * given["fp"]),
            "ground_truth": _numbered(["FN"] * given["fn"] + ["found"] * found),
        }


def _numbered(all_verdicts: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": number, "reason": "", "verdict": one} for number, one in enumerate(all_verdicts, start=1)]


async def by_us(given: Verdicts, group: str) -> dict[str, Score]:
    """Our scores by the names of ragas. `group`: "five", from the matrix, or "ragas", metric by metric."""
    model, embedder, prompts = Scripted(Judge(given)), Vectors(given["vectors"]), Prompts.load()
    judge = MatrixJudge(model, embedder=embedder, prompts=prompts)
    metrics = make_metrics([group], Tools(judge=judge, model=model, embedder=embedder, prompts=prompts))
    references = ((given["reference"],),) if given["reference"] else ()
    sample = Sample(id="s", question=given["question"], references=references, language="en")
    case = Case("c", sample, {}, Query(given["question"]))
    passages = tuple(Passage(f"p{number}", text) for number, text in enumerate(given["contexts"]))
    response = Response(given["answer"], passages)
    found = {}
    for metric in metrics:
        score = metric.score(case, response)
        found[metric.name.removeprefix("ragas.")] = score if isinstance(score, Score) else await score
    return found


@pytest.mark.parametrize("group", ["five", "ragas"])
async def test_scores_are_those_of_ragas_wherever_it_is_right(python: Path, group: str) -> None:
    cases = [verdicts(seed) for seed in range(150)]
    theirs = await asyncio.to_thread(by_ragas, python, cases)
    assert len(theirs) == len(cases)
    compared = 0
    for case, scores in zip(cases, theirs, strict=True):
        ours = await by_us(case, group)
        assert set(ours) == set(FIVE)
        for metric, score in ours.items():
            declines = group == "five" and metric == "answer_correctness" and all(case["noncommittal"])
            if declines:  # a difference of intent, below
                continue
            for generation in ("old", "new"):
                assert score.value == pytest.approx(scores[generation][metric], abs=1e-6), (metric, case)
                compared += 1
    assert compared >= len(cases) * len(FIVE) * 2 * 0.9


async def test_the_seeds_worked_examples_agree_with_ragas_too(python: Path) -> None:
    """Two claims, one of them true and one of the reference's missing: F1 0.5; contexts useful at place 2 of 2: 0.5."""
    two = verdicts(
        1, statements=["It is large.", "It is red."], verdicts=[1, 0], attributed=[1, 1],
        reference_statements=["It is large.", "It is old."], tp=1, fp=1, fn=1, noncommittal=[0, 0, 0],
        contexts=["One.", "Two."], useful=[0, 1],
    )  # fmt: skip
    (theirs,) = by_ragas(python, [two])
    cosine = float(np.dot(*(np.array(two["vectors"][two[name]]) for name in ("answer", "reference"))))
    cosine /= float(np.prod([np.linalg.norm(two["vectors"][two[name]]) for name in ("answer", "reference")]))
    expected = {"context_recall": 1.0, "context_precision": 0.5, "answer_correctness": 0.75 * 0.5 + 0.25 * cosine}
    for group in ("five", "ragas"):
        ours = await by_us(two, group)
        for metric, value in expected.items():
            assert ours[metric].value == pytest.approx(value, abs=1e-6)
            assert theirs["old"][metric] == pytest.approx(value, abs=1e-6)


# What ragas 0.4.3 gives for a reply, and what we give: by its older metrics, by its newer ones, by the `ragas` protocol
# and by the matrix. A score is a number; None is no score; a word is the status of ours, with a word of the reason.
NO_STATEMENT: dict[str, Any] = {"statements": [], "verdicts": [], "tp": 0, "fp": 0}
FOUR = {"statements": ["a.", "b.", "c.", "d."]}
ORTHOGONAL = {"The question?": [1, 0], "The answer.": [1, 0], "The reference.": [0, 1], "q?": [-1, 0]}
PLAIN: dict[str, Any] = {
    "question": "The question?", "answer": "The answer.", "reference": "The reference.", "vectors": ORTHOGONAL,
    "contexts": ["One."], "useful": [1], "questions": ["q?"] * 3, "noncommittal": [0, 0, 0],
    "reference_statements": ["x.", "y."], "attributed": [1, 1], "fn": 2,
    "statements": ["a."], "verdicts": [1], "tp": 0, "fp": 1,
}  # fmt: skip
DIFFERENCES = {
    "a refusal without a statement gets a perfect F1 (newer) or none where the judge found nothing missing": (
        "answer_correctness", {**NO_STATEMENT, "fn": 0}, 0.0, 0.75, 0.0, 0.0,
    ),
    "a refusal of what the reference refuses too is perfect": (
        "answer_correctness", {**NO_STATEMENT, "reference_statements": [], "attributed": [], "fn": 0}, 0.75, 0.75,
        "not_applicable: no statement", "not_applicable: no claim",
    ),
    "one verdict for four claims is 1.0": (
        "faithfulness", {**FOUR, "verdicts": [1]}, 1.0, 1.0, "failed: 2, 3", "failed: 2",
    ),
    "a verdict of 5 is a faithfulness of 1": (
        "faithfulness", {"verdicts": [5]}, 1.0, 1.0, "failed: 5", None,
    ),
    "a verdict of 5 is a recall of 5": (
        "context_recall", {"attributed": [5]}, 1.0, 5.0, "failed: 5", None,
    ),
    "verdicts on statements that are not there count": (
        "answer_correctness", {"tp": 4, "fp": 0, "fn": 0}, 0.75, 0.75, "failed: ", None,
    ),
    "a question that points away gives a score below 0": (
        "answer_relevancy", {}, -1.0, -1.0, 0.0, 0.0,
    ),
    "no statement is no score, and no reason": (
        "faithfulness", NO_STATEMENT, None, None, "not_applicable: statement", "not_applicable: claim",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
async def test_where_ragas_is_wrong_we_are_not(python: Path, name: str) -> None:
    metric, changes, old, new, by_protocol, by_matrix = DIFFERENCES[name]
    case = {**PLAIN, **changes}
    (theirs,) = await asyncio.to_thread(by_ragas, python, [{**case, "metrics": [metric]}])
    assert theirs["old"][metric] == pytest.approx(old, abs=1e-6)
    assert theirs["new"][metric] == pytest.approx(new, abs=1e-6)
    for group, expected in (("ragas", by_protocol), ("five", by_matrix)):
        if expected is None:  # no such reply exists there
            continue
        score = (await by_us(case, group))[metric]
        if isinstance(expected, str):
            status, _, words = expected.partition(": ")
            assert (score.status, score.value) == (status, None)
            assert words in score.reason
        else:
            assert score.value == pytest.approx(expected, abs=1e-6)


async def test_an_answer_that_declines_is_not_correct_here(python: Path) -> None:
    """The judge calls it noncommittal and finds its statements in the reference all the same."""
    case = {**PLAIN, "noncommittal": [1, 1, 1], "tp": 1, "fp": 0, "fn": 0}
    (theirs,) = await asyncio.to_thread(by_ragas, python, [{**case, "metrics": ["answer_correctness"]}])
    assert theirs["old"]["answer_correctness"] == theirs["new"]["answer_correctness"] == pytest.approx(0.75)
    assert (await by_us(case, "five"))["answer_correctness"].value == 0.0


async def test_its_cache_answers_for_another_model_and_ours_does_not(python: Path, tmp_path: Path) -> None:
    command = [str(python), str(SCRIPT), "--cache", str(tmp_path / "theirs")]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert theirs["first"] == theirs["second"] == "the reply of the first model"
    ours = []
    for name in ("first", "second"):
        model = Scripted(lambda _, said=f"the reply of the {name} model": said)  # type: ignore[misc]
        async with Cached(model, ReplyCache(tmp_path / "ours"), identity={"model": name}) as front:
            ours.append((await front.generate(Request(messages=(Turn("user", "Who?"),)))).text)
    assert ours == ["the reply of the first model", "the reply of the second model"]
