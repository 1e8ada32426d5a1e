"""`ragstone cases rgb` on the authors' files: one case a row, in their order, to the byte."""

import json
import random
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import RGB_DATA, Told

Ragstone = Callable[..., Told]

pytestmark = pytest.mark.skipif(not RGB_DATA.is_dir(), reason="the authors' files are not beside the repository")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RGB_DATA / name).read_text(encoding="utf-8").splitlines() if line.strip()]


def cases(ragstone: Ragstone, *arguments: object) -> list[dict[str, Any]]:
    told = ragstone("cases", "rgb", "--data", RGB_DATA, *arguments)
    assert told.code == 0, told.err
    return [json.loads(line) for line in told.out.splitlines()]


@pytest.mark.parametrize("noise", [0.0, 0.4, 1.0])
def test_official_choice_of_a_base_set(ragstone: Ragstone, noise: float) -> None:
    options = ("--selection", "official", "--template", "official")
    found = cases(ragstone, "--dataset", "zh_refine", "--noise", noise, *options)
    data = rows("zh_refine.json")
    assert [case["sample_id"] for case in found] == [f"zh_refine:{row['id']}" for row in data]
    for case, row in zip(found, data, strict=True):
        assert set(case) == {"case_id", "sample_id", "condition", "messages", "passages", "answers"}
        wanted = ceil(5 * noise)
        positive, negative = row["positive"], row["negative"]
        if noise == 1:
            right, wrong = 0, min(5, len(negative))
        elif wanted > len(negative):
            wrong = len(negative)
            right = 5 - wrong
        else:
            right = 5 - wanted
            right = min(right, len(positive))
            wrong = 5 - right
        texts = positive[:right] + negative[:wrong]
        names = [f"positive:{place}" for place in range(len(positive[:right]))]
        names += [f"negative:{place}" for place in range(len(negative[:wrong]))]
        chosen = list(zip(names, texts, strict=True))
        random.Random(2333).shuffle(chosen)
        assert [(passage["id"], passage["text"]) for passage in case["passages"]] == chosen
        documents = "\n".join(text for _, text in chosen)
        assert case["messages"][-1] == {"role": "user", "content": f"文档：\n{documents} \n\n问题：\n{row['query']}"}
        assert case["messages"][0]["content"].startswith(
            "你是一个准确和可靠的人工智能助手，能够借助外部文档回答问题，请注意"
        )


def test_a_part_of_a_file_has_the_name_before_the_dot(ragstone: Ragstone) -> None:
    found = cases(ragstone, "--dataset", "zh_int", "--noise", "0.2", "--selection", "official")
    data = rows("zh_int.head30.json")
    assert len(found) == len(data) == 30
    for case, row in zip(found, data, strict=True):
        for passage in case["passages"]:
            source, *places = passage["id"].split(":")
            text: Any = row[source]
            for place in places:
                text = text[int(place)]
            assert text == passage["text"]
            assert len(places) == (2 if source == "positive" else 1)


@pytest.mark.parametrize("noise", ["0", "0.13", "1"])
def test_counterfactual_has_one_case_a_row_and_nothing_closed_book(ragstone: Ragstone, noise: str) -> None:
    found = cases(ragstone, "--dataset", "en_fact", "--noise", noise)
    assert [case["sample_id"] for case in found] == [f"en_fact:{row['id']}" for row in rows("en_fact.json")]
    assert not any(case["condition"]["closed_book"] for case in found)


def test_a_set_that_is_not_there_is_told(ragstone: Ragstone) -> None:
    told = ragstone("cases", "rgb", "--data", RGB_DATA, "--dataset", "zh_fact")
    assert (told.code, told.out) == (2, "")
    assert "Did you mean" in told.err
    assert "en_fact, zh_int, zh_refine" in told.err


def test_one_file_may_be_named_alone(ragstone: Ragstone, tmp_path: Path) -> None:
    path = RGB_DATA / "en_fact.json"
    told = ragstone("cases", "rgb", "--data", path, "--dataset", "en_fact")
    assert told.out == ragstone("cases", "rgb", "--data", RGB_DATA, "--dataset", "en_fact").out
