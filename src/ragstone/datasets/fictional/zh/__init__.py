"""The Chinese half of the fictional data, written for Chinese."""

from ragstone.datasets.fictional.language import Language
from ragstone.datasets.fictional.zh.collect import collect_one, collect_two
from ragstone.datasets.fictional.zh.domains import read_domain, read_news
from ragstone.datasets.fictional.zh.facts import facts
from ragstone.datasets.fictional.zh.items import one_answer, two_answers

__all__ = ["LANGUAGE"]

_DOMAINS = (
    "sport", "award", "product", "company", "disaster", "dig", "transit", "fair", "film", "space", "election",
)  # fmt: skip
LANGUAGE = Language(
    tuple(map(read_domain, _DOMAINS)),
    {
        "public": ("选举", "灾害", "交通"),
        "business": ("产品", "财报", "展会"),
        "culture": ("奖项", "电影"),
        "science": ("航天", "考古"),
        "sport": ("体育",),
    },
    facts(),
    one_answer,
    two_answers,
    collect_one,
    collect_two,
    read_news,
)
