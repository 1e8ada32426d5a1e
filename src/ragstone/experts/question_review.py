"""`review_of`: what experts said of the questions of a test set, and how many of all can be bad."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular import read_eval_data
from ragstone.engine.open_run import is_run_file
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.labels import LabelStore
from ragstone.labels.reviewed import TASK, Verdict, reviews
from ragstone.labels.sampling import NOT_RANDOM
from ragstone.messages import messages
from ragstone.stats import at_most, bad_interval, sample_needed


@dataclass(frozen=True)
class QuestionReview:
    """The questions of a set that experts reviewed. `questions`: of the set; None where the file has several sources.
    Bad are those that were not accepted as they were built: edited, rejected, or undecided (the experts could not tell,
    or differ). `unedited` of the edited ones have no edit. `not_random` reviewed ones were chosen otherwise than at
    random and count for nothing. `wanted`: the share of bad questions that the user wants to exclude."""

    questions: int | None
    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    undecided: int = 0
    unedited: int = 0
    not_random: int = 0
    wanted: float | None = None

    @property
    def reviewed(self) -> int:
        """The questions with a label, of those that were drawn at random."""
        return self.accepted + self.bad

    @property
    def bad(self) -> int:
        """Those of them that were not accepted as they were built."""
        return self.edited + self.rejected + self.undecided

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95% interval of the share of bad questions in the set (docs/decisions/0032)."""
        return bad_interval(self.bad, self.reviewed, self.questions)

    @property
    def at_most(self) -> float:
        """The share of bad questions that is not exceeded, with 95% confidence."""
        return at_most(self.bad, self.reviewed, self.questions)

    @property
    def left(self) -> float | None:
        """The same, of the set that `data export` writes: without the rejected questions, with the edits."""
        if self.questions is None:
            return None
        written = self.questions - self.rejected - self.unedited
        known = self.edited + self.rejected
        return max(0, round(self.at_most * self.questions) - known) / written if written else 0.0

    @property
    def needed(self) -> int | None:
        """Number of questions to review in all for `wanted`, if no more of them are bad; None: there are too
        many bad ones already, or nothing is wanted."""
        return None if self.wanted is None else sample_needed(self.wanted, self.bad, self.questions)

    def as_json(self) -> dict[str, Any]:
        """All figures."""
        low, high = self.interval
        return {
            "questions": self.questions, "reviewed": self.reviewed, "accepted": self.accepted, "edited": self.edited,
            "rejected": self.rejected, "undecided": self.undecided, "unedited": self.unedited,
            "not_random": self.not_random, "bad": self.bad,
            "share": self.bad / self.reviewed if self.reviewed else None, "interval": [low, high],
            "at_most": self.at_most, "left_at_most": self.left, "confidence": 0.95, "wanted": self.wanted,
            "needed": self.needed,
        }  # fmt: skip

    def lines(self, language: str = "en") -> list[str]:
        """The answer in words."""
        words = messages(__name__, language)
        total = words["many"] if self.questions is None else f"{self.questions:,}"
        found = []
        if self.reviewed:
            low, high = self.interval
            counts = vars(self) | {"reviewed": self.reviewed, "bad": self.bad, "total": total}
            found.append(words["counts"].format(**counts))
            share = {"share": _percent(self.bad / self.reviewed), "low": _percent(low), "high": _percent(high)}
            found.append(words["bound"].format(**counts, **share, most=_percent(self.at_most)))
            if self.bad and self.left is not None:
                found.append(words["left"].format(most=_percent(self.left)))
        else:
            found.append(words["nothing"].format(total=total))
        if self.wanted is not None:
            found.append(self._plan(words))
        others = {"unedited": self.unedited, "not_random": self.not_random}
        return [*found, *(words[name].format(count=count) for name, count in others.items() if count)]

    def _plan(self, words: Mapping[str, str]) -> str:
        assert self.wanted is not None
        values = {"wanted": _percent(self.wanted), "needed": self.needed, "bad": self.bad}
        if self.needed is None:
            return words["too_many"].format(**values)
        more = self.needed - self.reviewed
        return words["more" if more > 0 else "enough"].format(**values, more=more)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


@public
def review_of(source: str | Path, *, wanted: float | None = None) -> QuestionReview:
    """The review of a test set by experts. `source`: a file of labels (`ragstone annotate TESTSET`), or the set itself
    before anybody has. `wanted`: the share of bad questions that is to be excluded. Raises UsageError and DataError."""
    if wanted is not None and not 0 < wanted < 1:
        raise UsageError(f"{wanted:g} is not a share of bad questions: give one between 0 and 1, such as 0.05.")
    if not is_run_file(source):
        return QuestionReview(len(read_eval_data(source).items), wanted=wanted)
    with LabelStore.open(source, write=False) as store:
        found = review_of_store(store, wanted=wanted)
    if found is None:
        raise UsageError(f"{source} has no reviewed questions: `ragstone annotate TESTSET` asks for them.")
    return found


def review_of_store(store: LabelStore, *, wanted: float | None = None) -> QuestionReview | None:
    """The review that a file of labels holds; None if its experts are asked something else."""
    if not any(task.name == TASK for task in store.tasks()):
        return None
    asked = {item.id for item in store.items(TASK)}
    origins = {origin.sample_id: origin for item, origin in store.origins().items() if item in asked}
    said = reviews(store)
    drawn = {name: verdict for name, verdict in said.items() if origins[name].drawn not in NOT_RANDOM}
    counts: Counter[Verdict] = Counter(drawn.values())
    sources = {origin.source for origin in origins.values()}
    questions = sum(1 for _ in store.samples()) if len(sources) == 1 else None
    return QuestionReview(
        questions, counts["accepted"], counts["edited"] + counts["unedited"], counts["rejected"], counts["undecided"],
        counts["unedited"], len(said) - len(drawn), wanted,
    )  # fmt: skip
