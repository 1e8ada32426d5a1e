"""`ragstone eval` of traces, and everything around them."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.cli.tools import ROOT, SMALL, Told, command, environment, one_line, process
from tests.datasets.tabular.traces.test_files import request

from ragstone.runs import open_run

RECORDED = ROOT / "tests" / "datasets" / "tabular" / "traces" / "recorded"


def test_eval_of_traces_without_references_counts_refusals_and_says_what_is_missing(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    told = ragstone("eval", RECORDED / "langchain.txt", "--run", "a.run", "--json")
    assert told.code == 0, told
    assert told.document["scores"]["refusal"]["mean"] == 0.0
    assert any("token_f1, rouge_l" in note and "--references" in note for note in told.document["warnings"])
    with open_run("a.run") as run:
        records = list(run.records())
    assert [[step.name for step in record.response.steps] for record in records if record.response] == [
        ["fetch", "rerank", "prompt", "generate"], ["rewrite", "fetch", "prompt", "generate"],
    ]  # fmt: skip


def test_the_error_of_a_trace_is_that_of_its_sample_and_leaves_nothing_to_do(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    for _ in range(2):
        told = ragstone("eval", RECORDED / "llamaindex.txt", "--run", "a.run", "--json")
        assert (told.code, told.document["failed"], told.document["complete"]) == (0, 1, True)
        assert any("1 of 2 rows record an error of the system" in note for note in told.document["warnings"])
        assert told.document["scores"]["refusal"]["n"] == 1
    with open_run("a.run") as run:
        assert [record.error for record in run.records()] == [None, "raised: KeyError: 'no such index'"]


def test_references_join_traces_and_questions_of_a_run(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("question,gold\nhow much is item 5,106 crowns\n", "utf-8")
    joined = ("--references", "gold.csv", "--map", "reference=gold", "--json")
    told = ragstone("eval", RECORDED / "langchain.txt", *joined, "--run", "a.run")
    assert told.document["scores"]["answer_match"]["mean"] == 1.0
    assert (told.document["scores"]["answer_match"]["n"], told.code) == (1, 0)
    (tmp_path / "app.py").write_text("def ask(question):\n    return 'It is 106 crowns.'\n", "utf-8")
    told = ragstone("run", RECORDED / "langchain.txt", "--system", "app.py:ask", *joined, "--run", "b.run")
    assert told.document["scores"]["answer_match"]["mean"] == 1.0
    with open_run("b.run") as run:
        assert [len(record.case.query.history) for record in run.records()] == [0, 2]


def test_a_sample_of_a_folder_of_traces_depends_on_the_seed(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for number in range(20):
        span = {"trace_id": f"t{number}", "span_id": "1", "attributes": {"input.value": "Q?", "output.value": "A."}}
        (folder / f"{number}.json").write_text(json.dumps(span), "utf-8")
    chosen: list[list[str]] = []
    for seed in (1, 1, 2):
        assert ragstone("eval", folder, "--sample", 5, "--seed", seed, "--run", f"{len(chosen)}.run").code == 0
        with open_run(f"{len(chosen)}.run") as run:
            chosen.append([record.case.sample.id for record in run.records()])
    assert [len(ids) for ids in chosen] == [5, 5, 5]
    assert chosen[0] == chosen[1] != chosen[2]


class Serving:
    """`ragstone trace serve` in a process of its own, which `end` ends."""

    def __init__(self, folder: Path, *arguments: object, **more: str) -> None:
        self.process = subprocess.Popen(
            command("trace", "serve", "--port", "0", *arguments), cwd=folder, env=environment(folder, **more),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline().decode()
        self.address = self.line.partition("Receiving traces at ")[2].partition(",")[0]

    def send(self, trace: str, **headers: str) -> int:
        body = json.dumps(request(trace)).encode()
        sending = urllib.request.Request(self.address, body, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(sending, timeout=20) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def end(self, number: int) -> Told:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return Told(self.process.returncode, out.decode(), err.decode())


def test_serve_writes_what_comes_says_how_much_and_what_is_next(tmp_path: Path) -> None:
    serving = Serving(tmp_path, "-o", "my traces.jsonl")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:" in serving.line
    assert [serving.send("a"), serving.send("b"), serving.send("b")] == [200, 200, 200]
    told = serving.end(signal.SIGINT)
    assert (told.code, told.out.splitlines()) == (
        0, ["Wrote 3 spans of 2 traces to my traces.jsonl.", "Next: ragstone eval 'my traces.jsonl'"],
    )  # fmt: skip


def test_a_killed_receiver_loses_nothing_that_it_answered(tmp_path: Path, ragstone: Callable[..., Told]) -> None:
    serving = Serving(tmp_path)
    assert serving.send("a") == 200
    assert serving.end(signal.SIGKILL).code == -signal.SIGKILL
    with (tmp_path / "traces.jsonl").open("ab") as file:
        file.write(b'{"resourceSpans": [{"sco')  # a line that a kill tore
    serving = Serving(tmp_path, "--token", "$TRACES_TOKEN", TRACES_TOKEN="geheim")
    assert (serving.send("b"), serving.send("b", Authorization="Bearer geheim")) == (401, 200)
    assert serving.end(signal.SIGTERM).code == 0
    told = ragstone("eval", "traces.jsonl", "--run", "a.run", "--json")
    assert told.code == 0
    assert told.document["scores"]["refusal"]["n"] == 2
    assert any(note.startswith("line 2: breaks off") for note in told.document["warnings"])


def test_serve_refuses_what_cannot_be_in_one_line(tmp_path: Path) -> None:
    one_line(process("trace", "serve", "--host", "0.0.0.0", folder=tmp_path), "--host 0.0.0.0", "--token")
    one_line(process("trace", "serve", "--token", "$NO_TOKEN", folder=tmp_path), "NO_TOKEN is not set")
    (tmp_path / "folder").mkdir()
    told = process("trace", "serve", "-o", "/proc/none/traces.jsonl", folder=tmp_path)
    one_line(told, "/proc/none/traces.jsonl: cannot be written")


def test_run_eval_and_bench_send_their_spans(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def ask(question):\n    return {'answer': 'A.', 'contexts': ['T.']}\n", "utf-8")
    (tmp_path / "q.csv").write_text("question,reference\nQ?,A.\n", "utf-8")
    serving = Serving(tmp_path)
    address = serving.address.removesuffix("/v1/traces")
    try:
        assert ragstone("run", "q.csv", "--system", "app.py:ask", "--otlp", address, "--run", "a.run").code == 0
        assert ragstone("eval", RECORDED / "langchain.txt", "--otlp", address, "--run", "b.run").code == 0
        bench = ("bench", "rgb", "--model", "local/extractive", "--ability", "noise", *SMALL)
        assert ragstone(*bench, "--otlp", address, "--run", "c.run").code == 0
    finally:
        told = serving.end(signal.SIGINT)
    assert " of 7 traces" in told.out  # 1 + 2 + 2 questions at 2 noise ratios
    told = ragstone("eval", "traces.jsonl", "--references", "q.csv", "--run", "d.run", "--json")
    assert told.document["scores"]["exact_match"]["mean"] == 1.0
    assert (told.document["scores"]["exact_match"]["n"], told.code) == (1, 0)


def test_a_dead_endpoint_is_one_note_of_the_command_and_its_key_is_shown_nowhere(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    url = "http://user:geheim123@127.0.0.1:9/?key=geheim123"
    told = ragstone("eval", RECORDED / "langchain.txt", "--otlp", url, "--run", "a.run")
    assert told.code == 0
    assert (told.out + told.err).count("could not be sent") == 1
    assert "geheim" not in told.out + told.err
    assert b"geheim" not in (tmp_path / "a.run").read_bytes()
