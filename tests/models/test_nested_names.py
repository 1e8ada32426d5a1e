"""Names of retrievers compose, and what cannot be read is said in one line."""

import pytest

from ragstone.errors import UsageError
from ragstone.models.nested_names import Spec, parse


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("bm25", Spec("bm25")),
        (" bm25 ", Spec("bm25")),
        ("bm25()", Spec("bm25")),
        ("mine.py:search", Spec("file.py:NAME", ("mine.py:search",))),
        ("http://127.0.0.1:8000/s", Spec("http", ("http://127.0.0.1:8000/s",))),
        (
            'hybrid(bm25,http(http://h/s,body={"q": 1, "n": [1, 2]},contexts=hits[].{id: a, text: b}))',
            Spec("hybrid", ("bm25", 'http(http://h/s,body={"q": 1, "n": [1, 2]},contexts=hits[].{id: a, text: b})')),
        ),
        (
            'http(http://h/s,body={"q": "{query}", "n": [1, 2]},ids=a[].b)',
            Spec("http", ("http://h/s",), {"body": '{"q": "{query}", "n": [1, 2]}', "ids": "a[].b"}),
        ),
        ("dense(mine.py:embed)", Spec("dense", ("mine.py:embed",))),
        ("bm25(k1=1.2,b=0.75)", Spec("bm25", (), {"k1": "1.2", "b": "0.75"})),
        ("local/e5-small", Spec("dense", ("local/e5-small",))),
        ("openrouter/baai/bge-m3:free", Spec("dense", ("openrouter/baai/bge-m3:free",))),
        ("run:results/my run.trec", Spec("run", ("results/my run.trec",))),
        ("run:/runs/a(1).trec", Spec("run", ("/runs/a(1).trec",))),
        ("hybrid(bm25,local/e5-small)", Spec("hybrid", ("bm25", "local/e5-small"))),
        ("hybrid( bm25 , local/e5-small , method=rrf )", Spec("hybrid", ("bm25", "local/e5-small"), {"method": "rrf"})),
        (
            "rerank(hybrid(bm25,local/e5-small,k=60),openai/gpt-4o-mini,depth=50)",
            Spec("rerank", ("hybrid(bm25,local/e5-small,k=60)", "openai/gpt-4o-mini"), {"depth": "50"}),
        ),
    ],
)  # fmt: skip
def test_a_name_is_read(name: str, spec: Spec) -> None:
    assert parse(name) == spec


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "no name"),
        ("run:", "needs a file"),
        ("hybrid(bm25", "not closed"),
        ("hybrid(bm25))", "has no opening one"),
        ("hybrid((bm25)", "not closed"),
        ("hybrid(bm25,)", "empty part"),
        ("hybrid(,bm25)", "empty part"),
        ("hybrid(bm25,k=1,k=2)", "twice"),
        ("bm25,local/e5-small", "cannot be parsed"),
        ("bm25)", "cannot be parsed"),
        ("/e5", "lacks a provider or model"),
        ("local/", "lacks a provider or model"),
        ("混合", "cannot be parsed"),
        ("(bm25)", "cannot be parsed"),
        ("hybrid(" * 400 + "bm25" + ")" * 400, "is nested too deeply: at most 20"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_options_are_checked() -> None:
    spec = parse("bm25(k1=1.5,b=x,depth=2.5)")
    assert spec.number("k1", 1.2, least=0) == 1.5
    assert spec.number("other", 0.4, least=0) == 0.4
    with pytest.raises(UsageError, match="b=x should be a number from 0 to 1"):
        spec.number("b", 0.75, least=0, most=1)
    with pytest.raises(UsageError, match="k1=inf should be a number of 0 or more"):
        parse("bm25(k1=inf)").number("k1", 1.2, least=0)
    with pytest.raises(UsageError, match=r"depth=2\.5 should be a whole number"):
        spec.count("depth", 20)
    with pytest.raises(UsageError, match=r"has no option .depth.\. It takes k1, b"):
        spec.only("k1", "b")


def test_errors_in_the_name_of_an_embedder_speak_of_no_retriever() -> None:
    for name in ("http(http://h/e,vectors=a,vectors=b)", "http(http://h/e"):
        with pytest.raises(UsageError) as caught:
            parse(name)
        assert "retriever" not in str(caught.value)
    with pytest.raises(UsageError, match=r"^http has no option 'vectros'\. It takes vectors\.$"):
        parse("http(http://h/e,vectros=a)").only("vectors")


@pytest.mark.parametrize(
    "name",
    ["bm25", "local/e5-small", "hybrid(bm25,rerank(local/e5-small,openai/a,depth=5),k=60)", "run:a b.trec",
     "dense(local/e5-small,index=hnsw)", "dense(mine.py:embed)", "dense(http(http://h/e,vectors=a.b))",
     "mine.py:search", "qdrant(./db,collection=docs,embedder=local/e5-small)"],
)  # fmt: skip
def test_a_spec_tells_its_name(name: str) -> None:
    assert parse(name).name == name
    assert parse(parse(name).name) == parse(name)
