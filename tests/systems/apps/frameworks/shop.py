"""What the applications of every framework sell: forty items, in English and Chinese, each with a price of its own."""

import math
import re

__all__ = ["ITEMS", "numbers_of", "sentence", "vector"]

ITEMS = range(1, 41)


def sentence(item: int) -> str:
    """The document of an item."""
    return f"Item {item} costs {item + 100} crowns. 第{item}号商品的价格是{item + 100}克朗。"


def numbers_of(question: str, k: int = 3) -> list[int]:
    """The items that a search for this question finds, best first: the one that it names and the following ones."""
    found = re.search(r"\d+", question)
    first = int(found.group()) if found else 1
    return [(first + step - 1) % len(ITEMS) + 1 for step in range(k)]


def vector(text: str) -> list[float]:
    """An embedding by the first item that a text names: items of near numbers are near."""
    angle = numbers_of(text, 1)[0] / len(ITEMS)
    return [math.cos(angle), math.sin(angle)]
