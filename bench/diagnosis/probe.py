"""What a diagnosis is compared with: always the same verdict, and a probe of where the reference's words get lost."""

from bench.diagnosis.measures import Verdict
from bench.diagnosis.trials import Case, Trial

__all__ = ["always_not_fetched", "word_probe"]


def always_not_fetched(trial: Trial) -> list[Verdict]:
    """Every wrong answer is blamed on the search. It is told which answers are wrong."""
    return [
        Verdict(trial, case, "healthy") if case.right else Verdict(trial, case, "not_retrieved", frozenset({"search"}))
        for case in trial.cases
    ]


def word_probe(trial: Trial) -> list[Verdict]:
    """Where the reference's words get lost on their way from the corpus to the answer."""
    corpus = " ".join(passage.text for passage in trial.corpus.passages)
    references = [row.get("reference", []) for row in trial.rows]
    return [_probed(trial, case, slots, corpus) for case, slots in zip(trial.cases, references, strict=True)]


def _probed(trial: Trial, case: Case, slots: list[list[str]], corpus: str) -> Verdict:
    response = case.response
    steps = {} if response is None else {step.name: step.output for step in response.steps}
    places = {
        "index": corpus,
        "search": " ".join(passage["text"] for passage in steps.get("fetch") or ()),
        "ranking": "" if response is None else " ".join(passage.text for passage in response.passages),
        "answer": "" if response is None else response.answer,
    }
    if not slots:
        right = trial.world.refuses(places["answer"])
        return Verdict(trial, case, "healthy" if right else "should_have_refused", frozenset({"refusal"}))
    for stage, text in places.items():
        if not all(any(alias in text for alias in slot) for slot in slots):
            return Verdict(trial, case, stage, frozenset({stage}))
    return Verdict(trial, case, "healthy")
