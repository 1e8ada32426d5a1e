"""What the Chinese half of the fictional data promises, over many seeds."""

import ast
import hashlib
import inspect
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ragstone.datasets.fictional.parts import Document, GeneratedItem, seeded
from ragstone.datasets.fictional.zh import LANGUAGE as ZH

ROWS = 250
POSITIVE_KINDS = {"plain", "far", "brief"}
NEGATIVE_KINDS = {"rumour", "other_year", "other_category", "related"}
Make = Callable[[random.Random], GeneratedItem]


@pytest.fixture(scope="module")
def base() -> list[GeneratedItem]:
    return [ZH.base(seeded("test", "base", number), "easy") for number in range(ROWS)]


@pytest.fixture(scope="module")
def integration() -> list[GeneratedItem]:
    return [ZH.integration(seeded("test", "integration", number), "easy") for number in range(ROWS)]


@pytest.fixture(scope="module")
def items(base: list[GeneratedItem], integration: list[GeneratedItem]) -> list[GeneratedItem]:
    return base + integration


def documents(item: GeneratedItem) -> Iterator[Document]:
    for group in item.positive:
        yield from group
    yield from item.negative


def holds(text: str, aliases: Sequence[str]) -> bool:
    return any(alias in text for alias in aliases)


def test_every_positive_states_its_slot(items: list[GeneratedItem]) -> None:
    for item in items:
        assert len(item.slots) == len(item.positive)
        for aliases, group in zip(item.slots, item.positive, strict=True):
            for document in group:
                assert holds(document.text, aliases), (item.query, aliases, document)


def test_no_negative_holds_any_alias_of_any_slot(items: list[GeneratedItem]) -> None:
    for item in items:
        for aliases in item.slots:
            for document in item.negative:
                assert not holds(document.text, aliases), (item.query, aliases, document)


def test_no_document_of_a_group_holds_the_answer_of_the_other(integration: list[GeneratedItem]) -> None:
    for item in integration:
        assert len(item.slots) == 2
        for own, other in ((0, 1), (1, 0)):
            for document in item.positive[own]:
                assert not holds(document.text, item.slots[other]), (item.query, document)


def test_no_question_gives_its_answer_away(items: list[GeneratedItem]) -> None:
    for item in items:
        for aliases in item.slots:
            assert all(aliases)
            assert not holds(item.query, aliases), item


def test_there_are_enough_documents_of_each_kind(base: list[GeneratedItem], integration: list[GeneratedItem]) -> None:
    for item in base:
        assert len(item.positive) == 1
        assert len(item.positive[0]) >= 5
    for item in integration:
        assert all(len(group) >= 3 for group in item.positive)
    for item in base + integration:
        assert len(item.negative) >= 8
        for group in item.positive:
            assert {document.kind for document in group} == POSITIVE_KINDS
        kinds = Counter(document.kind for document in item.negative)
        assert set(kinds) == NEGATIVE_KINDS
        assert min(kinds.values()) >= 2


def test_lengths_are_those_of_news_and_vary(items: list[GeneratedItem]) -> None:
    lengths = sorted(len(document.text) for item in items for document in documents(item))
    assert lengths[0] >= 60
    assert lengths[-1] <= 450
    assert lengths[len(lengths) // 10] < 130
    assert lengths[len(lengths) * 9 // 10] > 280


def test_a_far_passage_answers_in_its_second_half(base: list[GeneratedItem]) -> None:
    for item in base:
        for document in item.positive[0]:
            if document.kind == "far":
                first = min(at for alias in item.slots[0] if (at := document.text.find(alias)) >= 0)
                assert first > len(document.text) * 0.45, (item.slots, document.text)


def test_passages_of_a_question_differ_from_each_other(items: list[GeneratedItem]) -> None:
    shares = []
    for item in items[::3]:
        grams = [{text[i : i + 5] for i in range(len(text) - 4)} for text in (d.text for d in documents(item))]
        for i, one in enumerate(grams):
            shares += [len(one & other) / min(len(one), len(other)) for other in grams[:i]]
    assert max(shares) < 0.65
    assert sum(share > 0.4 for share in shares) / len(shares) < 0.01


def test_the_same_seed_gives_the_same_items_whatever_was_made_before() -> None:
    for make in (ZH.base, ZH.integration):
        first = make(seeded("again", 7), "easy")
        for number in range(5):
            make(seeded("between", number), "easy")
        assert make(seeded("again", 7), "easy") == first


def test_bytes_do_not_depend_on_the_process() -> None:
    code = (
        "import hashlib;from ragstone.datasets.fictional.zh import LANGUAGE as zh;"
        "from ragstone.datasets.fictional.parts import seeded;"
        "rows=[make(seeded('p',i),'easy') for i in range(12) for make in (zh.base,zh.integration)];"
        "print(hashlib.sha256(repr(rows).encode()).hexdigest())"
    )
    source = Path(inspect.getfile(type(ZH))).parents[3]
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hashing, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("0", "4242")
    }
    rows = [make(seeded("p", i), "easy") for i in range(12) for make in (ZH.base, ZH.integration)]
    assert printed == {hashlib.sha256(repr(rows).encode()).hexdigest() + "\n"}


def test_chance_comes_from_random_alone() -> None:
    class OnlyRandom(random.Random):
        def getrandbits(self, k: int, /) -> int:
            raise AssertionError("only random() is the same in every version of Python")

    for number in range(20):
        assert ZH.base(OnlyRandom(number), "easy") == ZH.base(random.Random(number), "easy")


def test_two_thousand_questions_are_two_thousand_different_ones() -> None:
    for make in (ZH.base, ZH.integration):
        assert len({make(seeded("unique", number), "easy").query for number in range(1000)}) == 1000


def test_every_domain_is_asked_about(items: list[GeneratedItem]) -> None:
    assert len(ZH.names) >= 8
    assert len(set(ZH.names)) == len(ZH.names)
    counts = Counter(item.domain for item in items)
    assert set(counts) == set(ZH.names)
    assert min(counts.values()) > len(items) / len(ZH.names) / 2


def test_texts_are_filled_and_punctuated_the_chinese_way(items: list[GeneratedItem]) -> None:
    for item in items:
        for text in [item.query, *(document.text for document in documents(item))]:
            assert not re.search(r"[{}<>|]", text), text
            assert not re.search(r"[,;!?()\"\n\t]|[。，、；：！？]{2}|　　　", text), text
            assert not re.search(r"\.(?!\d)", text), text
            for opening, closing in ("“”", "（）", "《》", "【】"):
                assert text.count(opening) == text.count(closing), text


def test_passages_end_as_sentences_do(items: list[GeneratedItem]) -> None:
    for item in items:
        for document in documents(item):
            assert document.text[-1] in "。！？”）…", document.text


def test_the_world_does_not_name_two_things_alike(base: list[GeneratedItem]) -> None:
    """An answer that occurs in the name of the event would be found in every passage about it."""
    for item in base:
        for aliases in item.slots:
            assert not holds(item.query, aliases)
            assert len(set(aliases)) == len(aliases)


def test_no_source_of_the_generator_uses_hash_or_the_global_random() -> None:
    folder = Path(inspect.getfile(type(ZH))).parent
    shared = (folder / f"{name}.py" for name in ("collector", "facts", "language", "parts", "worlds"))
    for path in (*folder.glob("zh/**/*.py"), *shared):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                assert getattr(node.func, "id", "") not in {"hash", "id", "set"}, path
                called = ast.unparse(node.func)
                assert not re.match(r"random\.(random|choice|shuffle|sample|randint|seed)$", called), (path, called)
