"""Decides which metrics of two runs are comparable. Scores from different judges or prompts are not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragstone.analysis.pair_columns import SideScores
from ragstone.analysis.sides import Side
from ragstone.errors import UsageError
from ragstone.metrics import installed_metric
from ragstone.metrics.traits import traits_of

# A diagnosis asks its questions as a run does, before anything is changed; its view has these answers only.
_SAME_QUESTIONS = {"run", "interventions"}
_COMMANDS = {"interventions": "diagnose"}  # benchmarks that their users know by another name
_JUDGE = ("model", "protocol", "version", "verify", "budget", "language")
# Prompts by prefix → the only metrics, by prefix, that use them; other prompts belong to the matrix.
_OWN_PROMPTS = {"ragas_": "ragas.", "rubric/": "rubric.", "needle/": "needle."}


@dataclass(frozen=True)
class Reason:
    """The reason why a metric is not compared: `what` is `a` in the first run and `b` in the second."""

    kind: Literal["version", "judge", "prompts", "rubrics", "embedder"]
    what: str
    a: str = ""
    b: str = ""

    def __str__(self) -> str:
        return {
            "version": f"its version differs: {self.a} there, {self.b} here",
            "judge": f"the judge's {self.what} differs: {self.a!r} and {self.b!r}",
            "prompts": f"the judge's prompts differ: {self.what}",
            "rubrics": f"the rubric {self.what} differs",
            "embedder": f"the embedder differs: {self.a!r} and {self.b!r}",
        }[self.kind]

    def said(self, texts: Mapping[str, str]) -> str:
        """The reason in the words of a module of this folder."""
        what = texts[f"judge_{self.what}"] if self.kind == "judge" else self.what
        return texts[f"why.{self.kind}"].format(what=what, a=self.a, b=self.b)


def question_of(side: Side) -> Mapping[str, Any]:
    """The recorded settings of the run."""
    question = side.run.meta.get("question", {})
    return question if isinstance(question, Mapping) else {}


def check_same_benchmark(a: Side, b: Side, advice: str) -> None:
    """Raises UsageError for runs of two benchmarks."""
    one, other = (question_of(side).get("benchmark") for side in (a, b))
    if not same_benchmark(one, other):
        kinds = [_COMMANDS.get(str(name), name) for name in (one, other)]
        raise UsageError(f"{a.name} is a run of {kinds[0]!r} and {b.name} one of {kinds[1]!r}: {advice}.")


def same_benchmark(one: object, other: object) -> bool:
    """Whether runs of these benchmarks, as their views show them, have the answers to the same kind of questions."""
    return one == other or {one, other} <= _SAME_QUESTIONS


def is_derived(side: Side, name: str) -> bool:
    """Whether the view of a run derives a metric, such as the causes of a diagnosis, instead of the run measuring
    it."""
    meta = side.run.meta
    return name in meta.get("better", {}) and name not in meta.get("metrics", {})


def only_one_has(a: Side, b: Side, name: str) -> bool:
    """Whether a metric that one side lacks is worth a mention: not what only the kind of the other run derives, such as
    the causes of a diagnosis beside a run."""
    same = question_of(a).get("benchmark") == question_of(b).get("benchmark")
    return same or any(name in side.run.meta.get("metrics", {}) for side in (a, b))


def refused(a: Side, b: Side, scores_a: SideScores, scores_b: SideScores) -> dict[str, Reason]:
    """The metrics of both sides that are not comparable, each with the first reason."""
    versions_a, versions_b = (side.run.meta.get("metrics", {}) for side in (a, b))
    judge_a, judge_b = _judge(a), _judge(b)
    reasons: dict[str, Reason] = {}
    for name in sorted(scores_a.metrics.keys() & scores_b.metrics.keys()):
        if versions := _both(versions_a, versions_b, name):
            reasons[name] = Reason("version", name, *versions)
        elif reason := _judge_reason(name, name in scores_a.judged | scores_b.judged, judge_a, judge_b):
            reasons[name] = reason
    return reasons


def _judge(side: Side) -> Mapping[str, Any]:
    """The judge's settings. A run file records RGB's judge and the matrix judge separately; this merges them."""
    parts = [side.run.meta.get("matrix"), side.run.meta.get("judge"), question_of(side).get("judge")]
    mappings = [part for part in parts if isinstance(part, Mapping)]
    merged: dict[str, Any] = {key: value for part in mappings for key, value in part.items()}
    for key in ("prompts", "rubrics"):
        merged[key] = {
            name: value for part in mappings if isinstance(part.get(key), Mapping) for name, value in part[key].items()
        }
    return merged


def _judge_reason(name: str, judged: bool, a: Mapping[str, Any], b: Mapping[str, Any]) -> Reason | None:
    uses = _uses(name)
    if "embedder" in uses and (pair := _both(a, b, "embedder")):
        return Reason("embedder", name, *pair)
    if not judged and not uses & {"judge", "model"}:
        return None
    for key in _JUDGE:
        if pair := _both(a, b, key):
            return Reason("judge", key, *pair)
    if _both(a["rubrics"], b["rubrics"], name):
        return Reason("rubrics", name)
    prompts = [
        prompt
        for prompt in sorted(a["prompts"].keys() & b["prompts"].keys())
        if a["prompts"][prompt] != b["prompts"][prompt]
        and (name == prompt if name in a["prompts"] else _may_use(name, prompt))
    ]
    return Reason("prompts", ", ".join(prompts[:5])) if prompts else None


def _both(a: Mapping[str, Any], b: Mapping[str, Any], key: str) -> tuple[str, str] | None:
    """Both values if both sides have one and they differ, else None."""
    old, new = a.get(key), b.get(key)
    return None if old is None or new is None or old == new else (str(old), str(new))


def _uses(name: str) -> set[str]:
    if name.startswith("rubric."):
        return {"model"}
    try:
        return {*traits_of(installed_metric(name)).uses}
    except UsageError:  # the user's own metric
        return set()


def _may_use(name: str, prompt: str) -> bool:
    """Whether a metric may use a prompt, judging by their names. RGB's judges each have one prompt with their name."""
    for prompts, metrics in _OWN_PROMPTS.items():
        if prompt.startswith(prompts):
            return name.startswith(metrics)
    return "/" in prompt and not name.startswith(tuple(_OWN_PROMPTS.values()))
