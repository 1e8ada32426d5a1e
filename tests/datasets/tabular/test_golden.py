"""What is read of files as people have them, value by value: one list of inputs, every reader, and what is told."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden import figures, golden

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.errors import RagstoneError

Q, A = "Who won?", "Norway."


def lines(column: str, cells: list[Any], **more: Any) -> str:
    """A row for each of these cells."""
    head = {} if column == "user_input" else {"question": Q}
    return "\n".join(json.dumps({**head, **more, column: one}) for one in cells)


TABLES = {
    "comma.csv": "question,answer,contexts\nWho won?,Norway.,\"['One.', 'Two.']\"\nWhen?,2018,One.\n",
    "semicolon.csv": "question;answer;reference\nWho, exactly?;Norway;Norway, of course\nWhen?;;2018\n",
    "tab.tsv": "id\tquestion\tanswer\n7\tWho won?\tNorway\n8\tWhen?\t2018\n",
    "pipe.csv": "question|answer\nWho won?|Norway\n",
    "bom.csv": "\ufeffquestion,answer\nWho won?,Norway\n",
    "blank-first.csv": "\n\nquestion,answer\n\nWho won?,Norway\n\n",
    "quoted.csv": 'question,answer\n"Who\nwon, ""then""?","Nor\nway"\n',
    "crlf.csv": "question,answer\r\nWho won?,Norway\r\nWhen?,2018\r\n",
    "short-row.csv": "question,answer,reference\nWho won?,Norway\nWhen?,2018,2018,more\n",
    "long-row.csv": "question,answer\nWho won?,Norway,too,many\n",
    "twice.csv": "question,answer,answer\nWho won?,Norway,Sweden\n",
    "no-question.csv": "prompt text,thing\nWho won?,Norway\n",
    "only-heads.csv": "question,answer\n",
    "empty.csv": "",
    "spaces.csv": " Question , ANSWER ,Language,score\n Who won? , Norway ,en,0.5\nWann?,2018,de,x\n",
    "unnamed.csv": ",question,answer\n0,Who won?,Norway\n1,When?,2018\n",
    "open-quote.csv": 'question,answer\n"Who won?,Norway\n',
    "same-ids.csv": "id,question\na,One?\na,Two?\na-2,Three?\n,One?\n,One?\n",
    "missing.csv": "question,answer\n,Norway\nnan,None\nWho?,NaN\n",
    "plain.txt": "Who won?\n\nWhen?\n",
    "lines.jsonl": '\n{"question": "Who?", "answer": "A"}\n\n{"question": "Q", "answer": 2018, "contexts": ["", "x"]}',
    "bad-line.jsonl": '{"question": "Who?"}\n{"question": \n[1]\n{"question": 5}\n"text"\n',
    "mixed.jsonl": '{"question": "Who?", "answer": "A"}\n{"user_input": "When?", "response": "B"}\n',
    "list.json": '[{"question": "Who?", "answer": "A", "contexts": "one"}, {"question": "When?", "answer": null}]',
    "one.json": '{"question": "Who?", "answer": "A"}',
    "columns.json": '{"question": ["Who?", "When?"], "answer": ["A", "B"]}',
    "uneven.json": '{"question": ["Who?", "When?"], "answer": ["A"]}',
    "records.json": '{"data": [{"question": "Who?", "answer": "A"}], "version": 2}',
    "frame.json": '{"columns": ["question", "answer"], "index": [0], "data": [["Who?", "A"]]}',
    "split.json": '{"question": {"0": "Who?", "1": "When?"}, "answer": {"0": "A", "1": "B"}}',
    "passages.jsonl": lines("contexts", [
        ["a", "b"], "a", [{"text": "t", "id": 3, "score": 0.5, "title": "T"}],
        [{"page_content": "p", "metadata": {"k": 1}}], [], None, [None, "z"], '["l", "m"]', {"text": "alone"},
        [5, 2.5, True], "[1] not a list",
    ], answer=A),
    "deep.jsonl": '{"question": "Who?", "contexts": [["x", "y"]]}',
    "references.jsonl": lines("reference", ["a", ["a", "b"], [["a", "b"], ["c"]], [], "", None, 5, True]),
    "chat.jsonl": lines("user_input", [
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "?"}, {"role": "user", "content": "Who?"}],
        [{"type": "human", "content": "Who?"}],
    ], response="R"),
    "no-chat.jsonl": '{"user_input": []}\n{"user_input": [{"role": "user"}]}\n',
    "ids.jsonl": lines("retrieved_context_ids", [["a", "b"], [1, 2], "a", [], ["a"]], reference_context_ids=["a", 2.0]),
}  # fmt: skip
OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("comma.csv", {"sep": "."}), ("comma.csv", {"limit": 1}), ("comma.csv", {"sample": 1, "seed": 3}),
    ("comma.csv", {"mapping": {"question": "answer", "answer": "question"}}),
    ("comma.csv", {"mapping": {"question": "x"}}), ("comma.csv", {"sep": ""}), ("comma.csv", {"limit": 0}),
    ("comma.csv", {"sample": 5}), ("no-question.csv", {"mapping": {"question": "prompt text"}}),
    ("comma.csv", {"sheet": "x"}), ("comma.csv", {"split": "x"}),
)  # fmt: skip
RUBBISH = {"latin.csv": "question,answer\nWer gewann?,Österreich\n".encode("latin-1"),
           "utf16.csv": "question,answer\nWho?,A\n".encode("utf-16"), "nul.csv": b"question,answer\n\0,\0\n",
           "zip.xlsx": b"PK\3\4", "odd.parquet": b"PAR1", "name.xyz": b"question,answer\nWho?,A\n"}  # fmt: skip


def told(path: Path, **how: Any) -> str:
    try:
        data = read_eval_data(path, **how)
    except RagstoneError as error:
        return "\n".join(f"refused: {figures(line.replace(str(path), 'FILE'))}" for line in error.lines)
    head = f"{data.name}, {data.schema}, {data.total} rows, {json.dumps(dict(data.mapping))}"
    lines = [head, *(f"warning: {figures(line)}" for line in data.warnings)]
    return "\n".join([*lines, *(held(data, at) for at in range(len(data.items)))])


def held(data: EvalData, at: int) -> str:
    item: dict[str, Any] = msgspec.to_builtins(data.items[at])
    return json.dumps(item, ensure_ascii=False)


def test_tables_and_lines(tmp_path: Path) -> None:
    found = []
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        found += [f"## {name}", told(tmp_path / name)]
    for name, how in OPTIONS:
        found += [f"## {name} {how}", told(tmp_path / name, **how)]
    for name, content in RUBBISH.items():
        (tmp_path / name).write_bytes(content)
        found += [f"## {name}", told(tmp_path / name)]
    golden("own-data/read", "\n".join(found))


def test_what_is_in_memory_and_in_workbooks_is_read_alike(tmp_path: Path) -> None:
    import pandas as pd

    rows = [{"question": Q, "answer": A, "contexts": ["a", "b"], "at": pd.Timestamp("2031-05-04"), "n": 3},
            {"question": "When?", "answer": None, "contexts": None, "at": pd.NaT, "n": float("nan")}]  # fmt: skip
    frame = pd.DataFrame(rows)
    frame.to_parquet(tmp_path / "a.parquet")
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        frame.astype({"contexts": str}).to_excel(book, sheet_name="first", index=False)
        frame.head(1).drop(columns="contexts").to_excel(book, sheet_name="second")
    found = []
    for source in (frame, tmp_path / "a.parquet"):
        data = read_eval_data(source)
        found += [
            f"{data.schema} {dict(data.mapping)} {data.warnings}",
            *(held(data, at) for at in range(len(data.items))),
        ]
    for how in ({"sheet": "first"}, {"sheet": "second"}, {"sheet": "third"}, {}):
        found += [f"## {how}", told(tmp_path / "a.xlsx", **how)]
    golden("own-data/memory", "\n".join(found))


@pytest.mark.parametrize(("count", "more"), [(20, False), (21, True)])
def test_at_most_twenty_columns_are_listed_where_none_is_the_question(tmp_path: Path, count: int, more: bool) -> None:
    names = [f"thing{at:02d}" for at in range(count)]
    (tmp_path / "a.csv").write_text(f"{','.join(names)}\n{','.join(names)}\n")
    with pytest.raises(RagstoneError) as caught:
        read_eval_data(tmp_path / "a.csv")
    assert ("'thing19', …" in str(caught.value)) is more
    assert "thing20" not in str(caught.value)
