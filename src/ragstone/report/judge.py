"""Who judged, and how far that can be trusted: the same words wherever a report names a judge."""

from collections.abc import Mapping
from typing import Any

from ragstone.report.facts import first

__all__ = ["JUDGE_WORDS", "judge_label", "judge_name"]

JUDGE_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "local_judge": "The judge is {name}, a tiny model. Against people it judges no better than chance: take the "
        "judged figures as a test of the pipeline.",
        "unmeasured_judge": "How well the judge, {name}, agrees with people on these data has not been measured.",
    },
    "zh": {
        "local_judge": "评审模型是 {name}，一个极小的模型，与人工判断相比只有随机水平："
        "由它评出的数字只能用来检验流程。",
        "unmeasured_judge": "评审模型 {name} 在这份数据上与人工判断的一致程度尚未测量。",
    },
}


def judge_name(meta: Mapping[str, Any]) -> str:
    """The judge as the run file names it; "" where nobody judged."""
    return first(meta, "judge.id", "judge.model", "judge.name", "judge")


def judge_label(meta: Mapping[str, Any], language: str) -> str:
    """What a reader has to know before believing a judged figure; "" where nobody judged."""
    name = judge_name(meta)
    if not name:
        return ""
    tiny = name.startswith("local/smollm2")
    return JUDGE_WORDS[language]["local_judge" if tiny else "unmeasured_judge"].format(name=name)
