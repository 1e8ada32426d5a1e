"""The report's own words, a table a language. Sections bring theirs along; what they share is here."""

from collections.abc import Mapping

from ragstone.errors import UnknownName

__all__ = ["HTML_LANG", "SHARED", "checked"]

HTML_LANG = {"en": "en", "zh": "zh-CN"}

SHARED: Mapping[str, Mapping[str, str]] = {
    "en": {
        "report": "report",
        "contents": "Contents",
        "published": "published",
        "published_note": "published, not measured here",
        "in_percent": "in %",
        "interval_below": "below, the 95% interval",
        "scored_of_total": "scored / total",
        "left_out": "… {n} characters left out …",
        "table_scrolls": "Table: {title}",
        "figures": "The figures of this chart",
        "series": "Series",
        "no_alt": "Chart: {title}.",
        "match": "answer",
        "wrong": "false or misleading",
        "refusal": "refusal",
        "made_by": "Made by ragstone {version}. One file: no scripts, nothing is fetched from anywhere.",
        "skip": "Skip to the report",
    },
    "zh": {
        "report": "报告",
        "contents": "目录",
        "published": "论文数据",
        "published_note": "论文公布的数据，并非在此测得",
        "in_percent": "单位：%",
        "interval_below": "下方为 95% 置信区间",
        "scored_of_total": "已评分 / 总数",
        "left_out": "……此处省略 {n} 个字符……",
        "table_scrolls": "表格：{title}",
        "figures": "本图的数据",
        "series": "系列",
        "no_alt": "图：{title}。",
        "match": "答案",
        "wrong": "错误或误导",
        "refusal": "拒答",
        "made_by": "由 ragstone {version} 生成。单一文件：不含脚本，不从任何地方加载内容。",
        "skip": "跳到报告正文",
    },
}


def checked(language: str) -> str:
    """The language, or `UnknownName` where the report has no words in it."""
    if language not in SHARED:
        raise UnknownName("report language", language, SHARED)
    return language
