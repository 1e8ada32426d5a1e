"""Yearly reports of water works, in Chinese: a first search, a query rewritten by what it found, a second search."""

import math
import re
from collections import Counter
from typing import Any

PLACES = {
    "青河水厂": "老水塔", "白石泵站": "石头房", "云岭水库": "月亮湖", "南浦污水厂": "绿池子", "东岸净水站": "蓝屋顶",
    "松坪水厂": "松树院", "柳湾泵站": "柳树屋", "金沟水库": "金盆子", "北关污水厂": "红烟囱", "长堤净水站": "长廊",
    "梅溪水厂": "梅花楼", "龙潭水库": "龙眼睛",
}  # fmt: skip
YEARS = (2020, 2021, 2022, 2023)
TOPICS = {"水量": "处理水量", "职工": "职工人数", "电": "用电量", "负责": "负责人"}
ASKED = (
    ("处理水量是多少？", "{supply}万立方米"),
    ("职工人数是多少？", "{staff}人"),
    ("用电量是多少？", "{power}万千瓦时"),
    ("负责人是谁？", "{head}"),
)
MINIMUM = 26.0  # of a score, with the fault "threshold", which was added when another stranger's was not named
ALIAS = re.compile(r"居民常说的“(.+?)”就是(.+?)。")


def facts(place: int, year: int) -> dict[str, Any]:
    n = place * 4 + year - YEARS[0]
    head = "陈李王赵孙周吴郑"[n * 3 % 8] + "明文海春雪林"[n % 6] + "安平远之"[n * 5 % 4]
    return {"supply": 1013 + n * 37, "staff": 41 + n * 3, "power": 205 + n * 11, "head": head}


def documents() -> dict[str, str]:
    found = {}
    for n, (name, alias) in enumerate(PLACES.items()):
        found[f"alias{n:02}"] = f"名称说明：居民常说的“{alias}”就是{name}。两个名字指同一个地方，公文里只写正式名称。"
        for year in YEARS:
            known = facts(n, year)
            found[f"rep{n:02}-{year}"] = (
                f"{name}{year}年度报告。{year}年，{name}全年处理水量为{known['supply']}万立方米，各月之间差别不大。{year}年底，{name}在册"
                f"职工人数为{known['staff']}人，其中多数是技术人员。{year}年，{name}生产用电量为{known['power']}万千瓦时，主要用于"
                f"水泵和风机。{year}年，{name}的负责人是{known['head']}，任期到年底为止。"
            )
    return found


def questions() -> list[dict[str, Any]]:
    rows = []
    for n in range(24):
        place, year = n // 2 * 5 % 12, YEARS[(n // 2 + 1 + n // 8) % 4]
        name = [*PLACES.values()][place] if n // 2 % 2 else [*PLACES][place]
        question, reference = ASKED[(n + n // 4) % 4]
        rows.append({"id": f"b{n:02}", "question": f"{name}{year}年的{question}",
                     "reference": reference.format(**facts(place, year))})  # fmt: skip
    return rows


def grams(text: str) -> list[str]:
    found = []
    for run in re.findall(r"[\u4e00-\u9fff]+|\d+", text):
        whole = run[0].isdigit() or len(run) == 1
        found += [run] if whole else [run[at : at + 2] for at in range(len(run) - 1)]
    return found


class WaterReports:
    def __init__(self, fault: str = "") -> None:
        self.fault, self.cache = fault, dict[str, Any]()
        size = 34 if fault == "chunk" else 1000
        self.chunks = [
            {"id": f"{name}#{n}" if fault == "chunk" else name, "text": text[start : start + size]}
            for name, text in documents().items()
            for n, start in enumerate(range(0, len(text), size))
        ]
        self.index = [(chunk, Counter(grams(chunk["text"]))) for chunk in self.chunks]
        self.spread = Counter(word for _, words in self.index for word in words)
        self.length = sum(words.total() for _, words in self.index) / len(self.index)

    def search(self, query: str, k: int = 2) -> list[dict[str, str]]:
        """BM25."""
        ranked = []
        for n, (_, words) in enumerate(self.index):
            norm = 1.2 * (0.25 + 0.75 * words.total() / self.length)
            score = sum(
                math.log(1 + (len(self.index) - self.spread[word] + 0.5) / (self.spread[word] + 0.5))
                * words[word] * 2.2 / (words[word] + norm)
                for word in {*grams(query)} if word in words
            )  # fmt: skip
            if score > (MINIMUM if self.fault == "threshold" else 0):
                ranked.append((-score, n))
        return [self.index[n][0] for _, n in sorted(ranked)[:k]]

    def rewritten(self, question: str, first: list[dict[str, str]]) -> str:
        for passage in first:
            if found := ALIAS.search(passage["text"]):
                question = question.replace(found[1], found[2])
        question = re.sub(r"请问|是多少|多少|是谁|有|吗|？|呢", "", question)
        return re.sub(r"\d{4}年?底?", "", question) if self.fault == "rewrite" else question

    def read(self, question: str, texts: list[str]) -> str:
        year = re.search(r"\d{4}", question)
        for text in texts:
            if found := ALIAS.search(text):
                question = question.replace(found[1], found[2])
        for name, alias in PLACES.items():
            question = question.replace(alias, name)
        topic = next((value for word, value in TOPICS.items() if word in question), None)
        place = next((name for name in PLACES if name in question), None)
        best, most = "", 0
        for sentence in (part for text in texts for part in re.findall(r"[^。]+。?", text)):
            if topic and place and topic in sentence and place in sentence:
                score = 3 if year and year[0] in sentence else 1
                if score > most:
                    best, most = sentence, score
        return best or "我不知道。"

    def ask(self, question: str, passages: list[Any] | None = None, k: int = 2) -> dict[str, Any]:
        key = question[:8]
        if self.fault == "cache" and key in self.cache:
            return dict(self.cache[key])
        stages, found = {}, passages
        if found is None:
            first = self.search(question, k)
            query = self.rewritten(question, first)
            known = {one["id"] for one in first}
            found = [*first, *(one for one in self.search(query, k) if one["id"] not in known)]
            stages = {"stages": {"query": query, "fetch": found}}
        answer = self.read(question, [one if isinstance(one, str) else one["text"] for one in found])
        self.cache[key] = {
            "answer": answer[:19] if self.fault == "trunc" else answer, "contexts": found, **stages,
        }  # fmt: skip
        return dict(self.cache[key])
