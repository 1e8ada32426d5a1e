"""RGB's data sets from news, in both languages: labels, false answers and joined questions are checked."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.construction.test_questions import changed
from tests.retrieval.test_corpus import warc_record

from ragstone.construction.build_rgb import BuiltRGB, build_rgb
from ragstone.datasets.rgb import read_rgb
from ragstone.datasets.rgb_check import check_rgb
from ragstone.models.scripted import Scripted
from ragstone.runs import open_run


@dataclass(frozen=True)
class News:
    """Articles about openings: each states a figure, and a later one repeats it."""

    language: str
    towns: tuple[str, ...]
    title: str
    intros: tuple[str, str]
    fact: str
    answer: str

    def __str__(self) -> str:
        return self.language

    def rows(self) -> list[dict[str, str]]:
        return [
            {"id": f"{town}-{n}", "title": self.title.format(town),
             "text": intro + self.fact.format(town, self.lamps(place))}
            for place, town in enumerate(self.towns)
            for n, intro in enumerate(self.intros)
        ]  # fmt: skip

    def lamps(self, place: int) -> str:
        return self.answer.format(310 + 7 * place)

    def knowing(self, shown: Mapping[str, Any], reply: Any) -> Any:
        """A reader who knows all the lamps by heart."""
        if shown["passages"]:
            return reply
        place = next((place for place, town in enumerate(self.towns) if town in shown["question"]), None)
        return {"answer": "" if place is None else self.lamps(place), "found": place is not None}

    def other(self, answer: str) -> str:
        """The lamps of another town."""
        return self.lamps(1 if answer == self.lamps(0) else 0)


ENGLISH = News(
    "en", ("Arden", "Brill", "Corvin", "Dunmore"), "Bridge at {}",
    ("It rained on Friday, and many guests stayed at home. ", "A year has passed since. "),
    "The bridge at {} has {} of cable and was opened by the mayor.", "{} metres",
)  # fmt: skip
CHINESE = News(
    "zh", ("临溪", "沙河", "白塔", "青石"), "{}大桥通车", ("周五下雨，许多来宾留在家中。", "转眼一年过去了。"),
    "{}大桥的桥面长{}，由市长宣布通车。", "{}米",
)  # fmt: skip
both_languages = pytest.mark.parametrize("news", [ENGLISH, CHINESE], ids=str)


def articles(folder: Path, *news: News) -> Path:
    """A file of these articles."""
    path = folder / "news.jsonl"
    path.write_text("\n".join(json.dumps(row) for one in news for row in one.rows()), "utf-8")
    return path


def built(tmp_path: Path, news: News, *, model: Scripted | None = None, **rules: Any) -> BuiltRGB:
    """What a scripted model makes of the articles; a step that no rule changes is done by `local/template`."""
    model = model or changed(**{"read": news.knowing, **rules})
    return build_rgb(articles(tmp_path, news), tmp_path / "rgb", model, retriever="bm25")


def rejections(tmp_path: Path) -> list[str]:
    lines = (tmp_path / "rgb" / "rejected.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["reason"] for line in lines]


@both_languages
def test_news_become_the_official_files(news: News, tmp_path: Path) -> None:
    language = news.language
    assert built(tmp_path, news).files == {f"{language}_refine": 4, f"{language}_int": 2, f"{language}_fact": 4}
    folder = tmp_path / "rgb"
    for path in folder.glob("*_*.json"):
        assert not [problem for problem in check_rgb([path]) if problem.severity == "error"]
    base = read_rgb(folder / f"{language}_refine.json").rows
    assert {row.slots[0][0] for row in base} == {news.lamps(place) for place in range(4)}
    for row in base:
        (answer,) = row.slots[0]
        assert len(row.positive[0]) == 2
        assert all(answer in text for text in row.positive[0])
        assert row.negative
        assert not any(answer in text for text in row.negative)
    for row in read_rgb(folder / f"{language}_fact.json").rows:
        (answer,), (fake,) = row.slots[0], row.fake
        assert fake != answer
        assert [text.replace(fake, answer) for text in row.positive_wrong] == list(row.positive[0])
        assert not any(answer in text or fake in text for text in row.negative)
    for row in read_rgb(folder / f"{language}_int.json").rows:
        for slot, group in zip(row.slots, row.positive, strict=True):
            others = {one[0] for one in row.slots if one != slot}
            assert all(slot[0] in text and not any(other in text for other in others) for text in group)
        assert not any(slot[0] in text for slot in row.slots for text in row.negative)


@both_languages
def test_the_official_fields_have_the_official_shape(news: News, tmp_path: Path) -> None:
    built(tmp_path, news)

    def first(kind: str) -> dict[str, Any]:
        lines = (tmp_path / "rgb" / f"{news.language}_{kind}.json").read_text("utf-8").splitlines()
        row: dict[str, Any] = json.loads(lines[0])
        return row

    base, joined, fact = first("refine"), first("int"), first("fact")
    assert list(base) == ["id", "query", "answer", "positive", "negative"]
    assert isinstance(base["answer"][0], str)
    assert list(joined) == ["id", "query", "answer", "answer1", "answer2", "positive", "negative"]
    assert joined["answer"] == [joined["answer1"][0], joined["answer2"][0]]
    assert [type(group) for group in joined["positive"]] == [list, list]
    assert list(fact) == ["id", "query", "answer", "fakeanswer", "positive_wrong", "positive", "negative"]
    assert isinstance(fact["answer"], str)
    assert isinstance(fact["fakeanswer"], str)


def test_articles_in_two_languages_become_files_of_each(tmp_path: Path) -> None:
    def knowing(shown: Mapping[str, Any], reply: Any) -> Any:
        return CHINESE.knowing(shown, ENGLISH.knowing(shown, reply) if "lamps" in shown["question"] else reply)

    path = articles(tmp_path, ENGLISH, CHINESE)
    files = build_rgb(path, tmp_path / "rgb", changed(read=knowing), retriever="bm25").files
    assert files is not None
    assert {name: files[name] for name in ("en_refine", "zh_refine", "en_int", "zh_int")} == {
        "en_refine": 4, "zh_refine": 4, "en_int": 2, "zh_int": 2,
    }  # fmt: skip


@both_languages
def test_the_files_run_in_the_benchmark_in_all_four_abilities(news: News, tmp_path: Path) -> None:
    import ragstone

    built(tmp_path, news)
    result = ragstone.bench("rgb", model="local/extractive", data=tmp_path / "rgb", run=tmp_path / "rgb.run")
    assert result.outcome.complete
    with open_run(result.run) as run:
        abilities = {record.case.condition["ability"] for record in run.records()}
    assert abilities == {"noise", "rejection", "integration", "counterfactual"}


def _each(**fields: Any) -> Any:
    return lambda _, reply: {"events": [{**event, **fields} for event in reply["events"]]}


def _spoiled(news: News) -> Mapping[str, Mapping[str, Any]]:
    """Reason → the replies that make items of its kind."""
    every = [news.lamps(place) for place in range(4)]
    return {
        "evidence_not_in_text": {"event": _each(evidence="No" if news is ENGLISH else "没有这句话")},
        "answer_not_in_evidence": {"event": _each(answer="9")},
        "incomplete_fact": {"event": _each(answer=" ")},
        "answer_in_question": {"event": lambda _, r: {"events": [e | {"question": e["event"]} for e in r["events"]]}},
        "near_duplicate": {"event": lambda _, r: {"events": [*r["events"], *r["events"]]}},
        "no_usable_reply": {"event": lambda _, r: {"events": "none"}},
        "not_answerable_from_gold": {"read": lambda s, r: {"answer": "", "found": False}},
        "too_few_positive": {"answering": lambda s, r: {"passages": []}},
        "not_known_without_documents": {"read": lambda s, r: r},
        "false_answer_in_passages": {"fake": lambda s, r: {"fake": news.other(s["answers"][0])}},
        "false_answer_of_another_kind": {"replaced": lambda s, r: {**r, "same_kind": False}},
        "answer_cannot_be_replaced": {"replaced": lambda s, r: {**r, "passages": []}},
        "no_partner": {"event": _same_answer},
        "answers_of_other_parts": {"read": lambda s, r: _turned(r) if len(s["passages"]) == 2 else news.knowing(s, r)},
        "answers in the joined question": {"join": lambda s, r: {"question": " ".join(every)}},
    }  # fmt: skip


def _same_answer(shown: Mapping[str, Any], reply: Any) -> Any:
    """All answers have an alias in common, so no two of them can be told apart."""
    return {"events": [{**event, "aliases": ["plenty", "若干"]} for event in reply["events"]]}


def _turned(reply: Any) -> Any:
    return {**reply, "answer": "; ".join(reversed(reply["answer"].split("; ")))}


@both_languages
@pytest.mark.parametrize("kind", list(_spoiled(ENGLISH)))
def test_bad_items_are_rejected_with_their_reason(news: News, tmp_path: Path, kind: str) -> None:
    made = built(tmp_path, news, **_spoiled(news)[kind])
    found = rejections(tmp_path)
    reason = kind if " " not in kind else "answer_in_question"
    assert found.count(reason) >= 2, found
    parts = {"false": "fact", "answer_cannot": "fact", "not_known": "fact", "no_partner": "int", "answers": "int"}
    part = next((part for begin, part in parts.items() if kind.startswith(begin)), "refine")
    if kind != "near_duplicate":
        assert f"{news.language}_{part}" not in (made.files or {})


@both_languages
def test_a_false_answer_of_another_kind_is_asked_for_again_and_then_rejected(news: News, tmp_path: Path) -> None:
    model = changed(read=news.knowing, fake=lambda s, r: {"fake": "41 miles" if news is ENGLISH else "41公斤"})
    built(tmp_path, news, model=model)
    fakes = [request for request in model.requests if request.schema_name == "fake"]
    assert len(fakes) == 2 * 4
    assert "of another kind" in fakes[1].messages[-1].content
    assert rejections(tmp_path).count("no_usable_reply") == 4


@both_languages
def test_a_chunk_that_still_tells_the_true_answer_leaves_the_counterfactual_set(news: News, tmp_path: Path) -> None:
    built(tmp_path, news, replaced=lambda s, r: {**r, "passages": [1]})
    rows = read_rgb(tmp_path / "rgb" / f"{news.language}_fact.json").rows
    assert [len(row.positive_wrong) for row in rows] == [len(row.positive[0]) for row in rows] == [1] * 4


@both_languages
def test_a_checker_that_disagrees_with_the_answer_leaves_a_chunk_out(news: News, tmp_path: Path) -> None:
    built(tmp_path, news, answering=lambda s, r: {"passages": r["passages"][:1]})
    for row in read_rgb(tmp_path / "rgb" / f"{news.language}_refine.json").rows:
        assert len(row.positive[0]) == 1
        assert not any(row.slots[0][0] in text for text in row.negative)


def _page(row: Mapping[str, str]) -> str:
    return f"<html><head><title>{row['title']}</title></head><body><nav>menu</nav><p>{row['text']}</p></body></html>"


def _folder(path: Path, rows: list[dict[str, str]]) -> Path:
    """A folder of text and HTML files."""
    path.mkdir()
    for place, row in enumerate(rows):
        name, text = ("txt", f"# {row['title']}\n\n{row['text']}") if place % 2 else ("html", _page(row))
        (path / f"{row['id']}.{name}").write_text(text, "utf-8")
    return path


def _rss(path: Path, rows: list[dict[str, str]]) -> Path:
    items = "".join(
        f"<item><title>{row['title']}</title><link>https://x.test/{row['id']}</link><pubDate>Fri, 10 May 2024 09:00:00 "
        f"GMT</pubDate><description>&lt;p&gt;{row['text']}&lt;/p&gt;</description></item>"
        for row in rows
    )
    path = path.with_suffix(".rss")
    path.write_text(f"<rss version='2.0'><channel><title>News</title>{items}</channel></rss>", "utf-8")
    return path


def _warc(path: Path, rows: list[dict[str, str]]) -> Path:
    path = path.with_suffix(".warc.gz")
    records = [warc_record(f"https://x.test/{row['id']}", "text/html", _page(row).encode()) for row in rows]
    path.write_bytes(b"".join(map(gzip.compress, records)))
    return path


def _lines(path: Path, rows: list[dict[str, str]]) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("\n".join(json.dumps({**row, "date": "2024-05-10"}) for row in rows), "utf-8")
    return path


@both_languages
@pytest.mark.parametrize("written", [_folder, _lines, _rss, _warc])
def test_articles_come_in_every_form_in_which_news_are_kept(written: Any, news: News, tmp_path: Path) -> None:
    model = changed(read=news.knowing)
    files = build_rgb(written(tmp_path / "news", news.rows()), tmp_path / "rgb", model, retriever="bm25").files
    assert files == {f"{news.language}_refine": 4, f"{news.language}_int": 2, f"{news.language}_fact": 4}
    shown = [json.loads(one.messages[-1].content) for one in model.requests if one.schema_name == "event"]
    assert {one["title"] for one in shown} == {row["title"] for row in news.rows()}
    assert all(("2024" in one["date"]) == (written is not _folder) for one in shown)
    assert not any("menu" in one["article"] for one in shown)


@both_languages
def test_a_built_set_is_diagnosed_at_once(news: News, tmp_path: Path) -> None:
    import ragstone

    built(tmp_path, news)
    system = "rag(retriever=bm25,model=local/extractive,k=3)"
    questions, corpus = (tmp_path / "rgb" / f"{name}.jsonl" for name in ("questions", "corpus"))
    result = ragstone.diagnose(questions, system, corpus=corpus, run=tmp_path / "d.run")
    assert result.outcome.complete
    assert [one.found for one in result.questions] == ["labels"] * 6
