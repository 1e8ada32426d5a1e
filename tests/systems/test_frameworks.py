"""The adapters of frameworks with the real packages, in an environment of their own that is made at the first run.

Each application is asked sixteen questions at once by `ragstone run`; each question has other passages.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from bench.peers.environment import environment

import ragstone
from ragstone.runs import open_run
from ragstone.types import Record, Usage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

APPS = Path(__file__).parent / "apps" / "frameworks"
ITEMS = range(1, 17)
USAGE = Usage(prompt_tokens=10, completion_tokens=3, requests=1)


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has the frameworks."""
    found, reason = environment("frameworks", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if found is None:
        pytest.skip(reason)
    return found


@dataclass(frozen=True)
class Ran:
    code: int
    document: Any
    errors: str
    records: Mapping[int, Record]  # by item

    def stages(self, item: int) -> dict[str, list[str]]:
        """The stages of an answer: the numbers of their passages' documents, or the rewritten queries."""
        response = self.records[item].response
        assert response is not None
        return {
            step.name: [str(part["id"]).removesuffix(".md") if isinstance(part, dict) else part for part in step.output]
            for step in response.steps
        }

    def answer(self, item: int) -> str:
        response = self.records[item].response
        assert response is not None, self.records[item].error
        return response.answer


def asked(python: Path, folder: Path, system: str, history: str = "") -> Ran:
    """Sixteen questions, half of them Chinese, asked of a system at once, in a process that has the frameworks."""
    import numpy as np

    rows = []
    for item in ITEMS:
        text = f"第{item}号商品 (item {item}?)" if item % 2 else f"How much is item {item}?"
        earlier = [("user", f"{history}{item}"), ("assistant", "OK")] if history else []
        turns = [{"role": role, "content": content} for role, content in [*earlier, ("user", text)]]
        reference = f"{item + 100}克朗" if item % 2 else f"{item + 100} crowns"
        rows.append(json.dumps({"id": str(item), "question": turns if history else text, "reference": reference}))
    (folder / "q.jsonl").write_text("\n".join(rows), "utf-8")
    paths = [Path(ragstone.__file__).parents[1], Path(np.__file__).parents[1]]
    quiet = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [str(python), "-m", "ragstone", "run", "q.jsonl", "--system", f"{APPS / system}", "--json", "--quiet",
         "--run", "a.run"], cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder),
             "PATH": "/usr/bin", "RAGSTONE_LANGUAGE": "en", **quiet},
    )  # fmt: skip
    assert done.stdout, done.stderr
    with open_run(folder / "a.run") as run:
        records = {int(record.case.sample.id): record for record in run.records()}
    assert sorted(records) == list(ITEMS)
    return Ran(done.returncode, json.loads(done.stdout), done.stderr, records)


def documents(item: int, *steps: int) -> list[str]:
    return [str(item + step) for step in steps]


@pytest.mark.parametrize("system", ["langchain_app.py:chain", "langchain_app.py:make_agent", "haystack_app.py:chat"])
def test_a_chain_an_agent_and_a_pipeline_give_answers_stages_and_usage(
    python: Path, tmp_path: Path, system: str
) -> None:
    ran = asked(python, tmp_path, system)
    assert ran.code == 0, ran.errors
    assert ran.document["scores"]["answer_match"]["mean"] == 1.0
    for item in ITEMS:  # none has the passages of another question
        assert ran.answer(item).startswith(f"Item {item} costs {item + 100} crowns.")
        found = documents(item, 0, 1, 2)
        assert ran.stages(item) == {"fetch": found, "prompt": found}
        response = ran.records[item].response
        assert response is not None
        assert [passage.id for passage in response.passages] == [f"{name}.md" for name in found]
        assert response.usage == USAGE


@pytest.mark.parametrize("system", ["langchain_app.py:mapped", "llamaindex_app.py:engine", "haystack_app.py:pipeline"])
def test_a_reranker_is_a_stage_of_its_own(python: Path, tmp_path: Path, system: str) -> None:
    ran = asked(python, tmp_path, system)
    assert ran.code == 0, ran.errors
    for item in ITEMS:
        ranked = documents(item, 1, 0)
        assert ran.stages(item) == {"fetch": documents(item, 0, 1, 2), "rerank": ranked, "prompt": ranked}
        response = ran.records[item].response
        assert response is not None
        assert response.usage == USAGE
        assert response.answer.startswith(f"Item {item + 1} costs")


def test_the_dict_of_a_retrieval_chain_with_its_own_query_and_history(python: Path, tmp_path: Path) -> None:
    ran = asked(python, tmp_path, "langchain_app.py:rag", history="earlier ")
    assert ran.code == 0, ran.errors
    for item in ITEMS:
        stages = ran.stages(item)
        assert stages.pop("rewrite") == [f"price: {ran.records[item].case.sample.question}"]
        assert stages == {"fetch": documents(item, 0, 1, 2), "prompt": documents(item, 0, 1)}  # it prompts with two
        assert ran.answer(item).startswith(f"Item {item} costs")


def test_a_fake_model_of_langchain_answers_without_usage_and_passages(python: Path, tmp_path: Path) -> None:
    ran = asked(python, tmp_path, "langchain_app.py:fake")
    assert {ran.answer(item) for item in ITEMS} == {"It is 101 crowns."}
    assert {record.response.usage for record in ran.records.values() if record.response is not None} == {None}


@pytest.mark.parametrize(
    ("system", "expected"),
    [("langchain_app.py:remembering", "human: earlier {item} / ai: OK / human: "),
     ("llamaindex_app.py:chat", "user: earlier {item}\nassistant: OK\nuser: "),
     ("llamaindex_app.py:stored", "user: earlier {item}\nassistant: OK\nuser: ")],
)  # fmt: skip
def test_the_history_arrives(python: Path, tmp_path: Path, system: str, expected: str) -> None:
    ran = asked(python, tmp_path, system, history="earlier ")
    assert ran.code == 0, ran.errors
    for item in ITEMS:
        assert expected.format(item=item) + ran.records[item].case.sample.question in ran.answer(item)


def test_a_stream_of_llamaindex_is_read_to_its_end(python: Path, tmp_path: Path) -> None:
    ran = asked(python, tmp_path, "llamaindex_app.py:streaming")
    assert ran.code == 0, ran.errors
    for item in ITEMS:
        assert ran.answer(item).startswith(f"Item {item} costs {item + 100} crowns.")
        assert ran.stages(item) == {"fetch": documents(item, 0, 1, 2), "prompt": documents(item, 0, 1, 2)}


def test_a_module_of_dspy_gives_answers_and_the_passages_of_its_prompt(python: Path, tmp_path: Path) -> None:
    ran = asked(python, tmp_path, "dspy_app.py:Rag")
    assert ran.code == 0, ran.errors
    for item in ITEMS:
        assert ran.answer(item) == f"{item + 100} crowns"
        response = ran.records[item].response
        assert response is not None
        assert [passage.text.split()[1] for passage in response.passages] == documents(item, 0, 1)
        assert [len(step.output) for step in response.steps] == [3, 2]


@pytest.mark.parametrize(
    ("system", "place"),
    [("langchain_app.py", "in fail"), ("llamaindex_app.py", "in _retrieve"), ("haystack_app.py", "in run"),
     ("dspy_app.py", "in forward")],
)  # fmt: skip
def test_an_exception_is_told_with_the_line_of_the_application(
    python: Path, tmp_path: Path, system: str, place: str
) -> None:
    ran = asked(python, tmp_path, f"{system}:{'Broken' if system == 'dspy_app.py' else 'broken'}")
    lines = (APPS / system).read_text("utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "raise KeyError" in text)
    assert ran.code in (2, 3)  # 2 where the first ten questions failed alike
    for record in ran.records.values():
        assert record.error is not None
        assert record.error.startswith("raised: ")
        assert record.error.endswith(f"({system}, line {line}, {place})")
