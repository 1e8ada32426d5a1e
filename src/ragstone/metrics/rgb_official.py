"""RGB as its own program scores it, to the count. Chen et al. 2024, "Benchmarking Large Language Models in
Retrieval-Augmented Generation", and the program published with it.

The rules have known flaws (a refusal in other words counts as wrong, a negated answer as right); they are kept here
exactly, so that published figures can be compared with. ragstone's own rules are `answer_match`, `refusal` and
`error_detection`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.types import Case, Need, Response, Score

REFUSALS = ("信息不足", "insufficient information")
ERRORS = ("事实性错误", "factual errors")


def official_prediction(prediction: str, *, chinese: bool) -> str:
    """The prediction as the official program keeps it: for Chinese data sets without spaces (U+0020 only)."""
    return prediction.replace(" ", "") if chinese else prediction


def official_labels(
    prediction: str, slots: str | Sequence[str | Sequence[str]], *, chinese: bool = False
) -> tuple[list[int], int]:
    """The official `label` and `factlabel` of one prediction.

    `slots` is the official `answer`: a string (one slot), or a list of slots that are all required, each a string or
    a list of aliases of which any will do. `chinese` removes spaces first, as for the zh data sets.

    The label is [-1] where a refusal phrase occurs (case-sensitive, before anything else); otherwise one number a
    slot, 1 where an alias, lower-cased, is a substring of the lower-cased prediction. `factlabel` is 1 where a
    phrase of error detection occurs, whatever the label says.
    """
    prediction = official_prediction(prediction, chinese=chinese)
    factlabel = int(any(phrase in prediction for phrase in ERRORS))
    if any(phrase in prediction for phrase in REFUSALS):
        return [-1], factlabel
    lowered = prediction.lower()
    required = (slots,) if isinstance(slots, str) else slots
    labels = [
        int(any(alias.lower() in lowered for alias in ((slot,) if isinstance(slot, str) else slot)))
        for slot in required
    ]
    return labels, factlabel


def official_counts(labels: Sequence[int], noise_ratio: float) -> bool:
    """Whether a row with these labels counts in the official `tt`: at a noise ratio of 1 every refusal does, and at
    any ratio (1 too: a lucky answer) a row with every slot found."""
    return (noise_ratio == 1 and list(labels[:1]) == [-1]) or (0 not in labels and 1 in labels)


@dataclass(frozen=True)
class RgbOfficial:
    """`rgb.official`: 1.0 if the row counts in the official `tt`, else 0.0.

    Formula: 1 if of each slot an alias is a substring of the prediction, case aside, or if at a noise ratio of 1 a
    refusal phrase is; else 0. The mean over the rows of one data set and one noise ratio is the official `all_rate`;
    the counterfactual rates are made of the labels.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference. `noise_ratio` (default 0) and `language` of the case's condition are read.
    Evidence: {"label": [..], "factlabel": 0 or 1}.
    Source: the program of Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation".

    | case | result |
    |---|---|
    | the answer declines | 1 at a noise ratio of 1 if it is worded officially, else 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: str = "rgb.official"
    version: int = 1
    needs: frozenset[Need] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        if not case.sample.references:
            return Score.not_applicable("the sample has no reference answers")
        labels, factlabel = official_labels(response.answer, case.sample.references, chinese=_is_chinese(case))
        value = official_counts(labels, float(case.condition.get("noise_ratio", 0)))
        return Score.of(value, evidence={"label": list[Any](labels), "factlabel": factlabel})


def _is_chinese(case: Case) -> bool:
    """The official test is `"zh" in dataset`; the language decides where no data set is named."""
    dataset = case.condition.get("dataset")
    if isinstance(dataset, str) and dataset:
        return "zh" in dataset
    return (case.condition.get("language") or case.query.language or case.sample.language) == "zh"


PLUGINS = {"rgb.official": RgbOfficial()}
