"""ragstone itself: `ragstone.evaluate` with the metrics of its claim matrix."""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

DISTRIBUTION = "ragstone"
ENVIRONMENT = {"COMPAT_API_KEY": "none"}
METRICS = (
    "faithfulness", "answer_relevancy", "answer_relevance", "context_precision", "context_recall", "answer_correctness",
    "context_relevance",
)  # fmt: skip
TOGETHER = ALIASES = True
_JUDGED = re.compile(r"<judged (?P<code>\w+)>\n(?P<content>.*?)\n</judged (?P=code)>", re.DOTALL)


async def score(metrics: list[str], sample: dict[str, Any], url: str) -> dict[str, Any]:
    """As `ragstone.evaluate` gives them, with a reason where there is no score."""
    from ragstone import evaluate_async
    from ragstone.models import ModelOptions

    row = {
        "question": sample["question"], "answer": sample["answer"], "contexts": sample["contexts"],
        "reference": sample["references"],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        result = await evaluate_async(
            [row], metrics=metrics, judge="compat/judge", judge_base_url=url, embedder="compat/embed",
            embedder_base_url=url, run=Path(folder) / "eval.run", model_options=ModelOptions(cache=None, attempts=3),
        )  # fmt: skip
        (scores,) = result.scores
    return {metric: scores.get(f"{metric}.reason", scores[metric]) for metric in metrics}


def reply(
    asked: dict[str, Any], sample: dict[str, Any], verdicts: dict[str, Any]
) -> tuple[tuple[str, ...], Any] | None:
    """ragstone shows what is to be judged as JSON between two lines."""
    shown = _JUDGED.findall(asked["text"])
    if not shown:
        return None
    judged = json.loads(shown[-1][1])
    if len(sample["references"]) > 1:  # the claims of the first one, of which nothing is true, stand before the others
        verdicts = verdicts | {name: [0, *verdicts[name]] for name in ("attributed", "attributed_by", "covered")}
    if "answer_claims" not in judged:
        if judged.get("reference") in sample["references"][:-1]:
            verdicts = verdicts | {"reference_statements": [judged["reference"]]}
        return ("statements", "questions", "relevant"), _decomposed(judged, verdicts)
    return ("supported", "useful", "attributed", "correct", "covered"), _verified(judged, verdicts)


def _decomposed(judged: dict[str, Any], verdicts: dict[str, Any]) -> Any:
    answered, reference = bool(judged["answer"]), judged.get("reference")
    pairs = zip(verdicts["statements"], verdicts["relevant"], strict=False)
    return {
        "answer_claims": [
            {"sentence": None, "text": text, "relevant": _yes(relevant)} for text, relevant in pairs if answered
        ],
        "reference_claims": [{"text": text} for text in verdicts["reference_statements"] if reference],
        "questions": verdicts["questions"] if answered else [],
        "noncommittal": bool(verdicts["noncommittal"]),
    }


def _yes(verdict: Any) -> Any:
    """true or false for 1 or 0; what is neither stays as it is."""
    return bool(verdict) if verdict in (0, 1) and not isinstance(verdict, bool) else verdict


def _verified(judged: dict[str, Any], verdicts: dict[str, Any]) -> Any:
    claims, reference = list(judged["answer_claims"]), list(judged["reference_claims"])
    both = bool(claims and reference)
    said = {
        "answer_claims": _claims(judged, claims, ("supported", "by", "in_reference", "correct"), verdicts, both=both),
        "reference_claims": _claims(
            judged, reference, ("attributed", "attributed_by", "in_answer", "covered"), verdicts, both=both
        ),
    }
    if "passages" not in judged:  # the claims are only compared with each other
        return {
            side: [{name: item[name] for name in ("id", beside)} for item in said[side]]
            for side, beside in (("answer_claims", "in_reference"), ("reference_claims", "in_answer"))
        }
    pairs = zip(judged["passages"], verdicts["relevant_contexts"], verdicts["useful"], strict=False)
    useful = bool(judged.get("reference"))
    return said | {
        "passages": [
            {"id": int(place), "relevant": _yes(relevant), "useful": _yes(helps) if useful else None}
            for place, relevant, helps in pairs
        ]
    }


def _claims(
    judged: dict[str, Any], ids: list[str], names: tuple[str, str, str, str], verdicts: dict[str, Any], *, both: bool
) -> list[dict[str, Any]]:
    """The verdicts on the claims of one side, by the names of its lists of verdicts."""
    found, places, beside, others = (verdicts.get(name, name) for name in names)
    said = []
    for number in range(min(len(found), len(others)) if both and names[0] != "supported" else len(found)):
        same = min(number, len(ids) - 1)  # a verdict too many is one more on the last claim
        verdict, place = found[number], places[same] or 1
        support = ([place] if verdict else []) if verdict in (0, 1) else [verdict]
        quote = judged.get("passages", {}).get(str(support[0]), "") if support else ""
        said.append({
            "id": int(ids[same]), "quote": quote, "supported_by": support, "together": None, "contradicted_by": [],
            str(beside): _yes(others[same]) if both else None,
        })  # fmt: skip
    return said


PLUGINS = {"ragstone": sys.modules[__name__]}
