"""Errors of grammar and spelling in the fictional Chinese news, found by rules over its sentences.

    python -m bench.grammar_zh [--sentences 5000] [--difficulty news] [--seed 0]

The rules know what a proof-reader looks for: particles and units said twice, measure words that do not go with their
nouns, half-width punctuation, quotes that do not close, paragraphs without an end, dates and times that are none,
numbers that run into each other. `tests/datasets/fictional/test_zh_grammar.py` holds each rule with an error that it
finds, and a sample of the data without any.
"""

import argparse
import calendar
import re
from collections.abc import Callable, Iterator
from itertools import islice

from ragstone.datasets.fictional import fictional_rgb
from ragstone.text import sentences

HAN = "\u4e00-\u9fff"
PAIRS = {"“": "”", "‘": "’", "《": "》", "（": "）", "【": "】", "「": "」"}
ENDS = "。！？”）…"
CLAUSE = re.compile(r"[^，。：；、！？“”《》（）【】\s｜]+")
# Where a pattern is found, the text is wrong.
WRONG = {
    "a particle twice": r"([的了于是在和为由把被与及对从])\1",
    "three 的 in a clause": r"的[^，。：；、！？“”《》（）【】\s｜]{1,12}的[^，。：；、！？“”《》（）【】\s｜]{1,12}的",
    "在 twice": rf"在[{HAN}]{{1,8}}在[{HAN}]{{1,8}}(?:举行|举办|召开|进行)",
    "a unit twice": r"\d(人人|元元|家家|件件|克克|米米|个个|名名|天天|岁岁|%%|届届|%人)",
    "第 twice": "第第|第[^，。]{0,3}第",
    "half-width punctuation": rf"[{HAN}”》）][,;:!?()\"'.]|[,;:!?()\"'][{HAN}“《（]",
    "a space between": rf"[{HAN}\d%] +[{HAN}\d]",
    "punctuation twice": "[。，、；：！？]{2}",
    "an empty value": r"《》|“”|（）|【】|(?<!认)[为是：][，。；]|[{}<>~]|None|nan|^[，。；：、]",
    "a phrase twice": rf"([{HAN}]{{4,}})\1",
    "numbers that run together": r"\d{5,}年|\d(?:19|20)\d\d年|\d[〇零一二三四五六七八九十]|[二三四五六七八九十]\d",
    "more or less twice": "约[^，。]{1,9}(?:左右|上下)|超过[^，。]{1,9}以上|不足[^，。]{1,9}以下",
    "a time that is none": r"上午1[2-9]时|下午(?:1[2-9]|0)时|晚上(?:[1-5]|1[3-9])时|时[6-9]\d分(?!钟)|时\d分(?!钟)",
    "nothing counted": r"(?<![\d.])0(?:\.0+)?(?:个|名|人|家|件|座|天|%)",
    "a share above the whole": r"(?:占|率为|达到|率)(?:1[0-9]{2,}|[2-9]\d{2,})(?:\.\d+)?%",
}
# The measure words that go with a noun.
MEASURES = {
    "大桥": "座", "城市": "座个", "遗址": "处座", "墓葬": "座", "房址": "座", "帐篷": "顶", "照片": "张", "图纸": "张",
    "探方": "个", "专利": "项", "球队": "支", "志愿者": "名位个", "记者": "名位个", "评委": "名位个", "作品": "部件",
    "影院": "家", "企业": "家个", "门店": "家", "车辆": "辆", "大巴": "辆", "论文": "篇", "合同": "份", "订单": "份",
    "仪器": "台件套", "设备": "台套", "样品": "个份克件号", "影片": "部", "长片": "部", "投票站": "个", "展位": "个",
    "房屋": "间户栋", "学生": "名个位", "工人": "名个位",
}  # fmt: skip
COUNTED = re.compile(rf"[\d一二三四五六七八九十百千万两]([{HAN}])({'|'.join(MEASURES)})")
DAY = re.compile(r"(?:(?<!\d)(\d{4})年)?(\d{1,2})月(\d{1,2})日")
NUMBERED = re.compile(r"^(?:·|[一二三四五六]、|（[一二三四五六]）)")


def errors(text: str) -> Iterator[str]:
    """What is wrong with a text, each with where it stands."""
    for name, wrong in WRONG.items():
        for found in re.finditer(wrong, text, re.MULTILINE):
            yield f"{name}: …{text[max(0, found.start() - 12) : found.end() + 12]}…"
    for check in CHECKS:
        yield from check(text)


def _unpaired(text: str) -> Iterator[str]:
    for paragraph in re.split("\n\n", text):
        open_marks: list[str] = []
        for character in paragraph:
            if character in PAIRS:
                open_marks.append(PAIRS[character])
            elif character in PAIRS.values() and (not open_marks or open_marks.pop() != character):
                yield f"a mark that was not opened: {character} in {paragraph!r}"
                return
        if open_marks:
            yield f"a mark that does not close: {open_marks[-1]} missing in {paragraph!r}"


def _unended(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if "。" in line and line[-1] not in ENDS and "｜" not in line:
            yield f"a paragraph without an end: {line!r}"


def _measured(text: str) -> Iterator[str]:
    for found in COUNTED.finditer(text):
        measure, noun = found.groups()
        if measure not in MEASURES[noun] and measure not in "百千万多余几十":
            yield f"a measure word of another noun: {found.group()}"


def _dated(text: str) -> Iterator[str]:
    for found in DAY.finditer(text):
        year, month, day = (int(part) if part else 2024 for part in found.groups())
        if not 1 <= month <= 12 or not 1 <= day <= calendar.monthrange(year, month)[1]:
            yield f"a day that is none: {found.group()}"


CHECKS: tuple[Callable[[str], Iterator[str]], ...] = (_unpaired, _unended, _measured, _dated)


def texts(difficulty: str, seed: int) -> Iterator[str]:
    """Passages and questions of both sets, without end."""
    sets = [fictional_rgb(name, seed=seed, size=10**6, difficulty=difficulty) for name in ("zh", "zh_int")]
    while True:
        for rows in sets:
            row = next(rows)
            groups = row["positive"] if isinstance(row["positive"][0], list) else [row["positive"]]
            yield row["query"]
            for group in (*groups, row["negative"]):
                yield from group


def sample(count: int, difficulty: str, seed: int) -> tuple[int, list[str]]:
    """The sentences looked at (at least `count`), and the errors in them."""
    looked, found = 0, list[str]()
    for text in islice(texts(difficulty, seed), 10**6):
        looked += len(sentences(text))
        found += errors(text)
        if looked >= count:
            break
    return looked, found


def main() -> None:
    """Prints the errors, and how many sentences have none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--difficulty", default="news")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    looked, found = sample(args.sentences, args.difficulty, args.seed)
    for error in found:
        print(error)
    print(f"{looked} sentences, {len(found)} errors")


if __name__ == "__main__":
    main()
