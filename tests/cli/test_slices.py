"""`ragstone.slices`, `show --slices`, and a slice as an argument of `gate` and `compare`."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.analysis.test_topics import questions
from tests.cli.tools import Told, one_line

import ragstone
from ragstone.api import evaluate, read_run
from ragstone.engine.gates import check_gates
from ragstone.errors import UsageError


def evaluated(path: Path, *, topic: str = "parcel", seed: int = 3) -> Path:
    """A run of answers that are wrong where the question is of this topic."""
    rng = random.Random(seed)
    rows = [
        {
            "id": f"q{at:03d}", "question": question, "reference": "Yes, on Monday",
            "answer": "No, never" if of == topic and rng.random() < 0.8 else "Yes, on Monday",
            "region": "ABC"[at % 3],
        }
        for at, (question, of) in enumerate(questions(300).items())
    ]  # fmt: skip
    evaluate(rows, "answer_match", run=path)
    return path


def test_a_slice_is_shown_gated_and_compared(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    path = evaluated(tmp_path / "a.run")
    first = ragstone_slices(path)
    (topic,) = first.where.values()
    for language in ("en", "zh"):
        told = ragstone("show", path, "--slices", "--language", language)
        assert told.code == 0
        shown = " ".join(told.out.split())
        assert f"{ {'en': 'topic', 'zh': '主题'}[language] } = {topic}" in shown
        assert f"ragstone gate RUN --where topic={topic} --fail-under" in shown
    document = ragstone("show", path, "--slices", "--json").document
    (system,) = document["systems"]
    assert system["found"][0]["where"] == {"topic": topic}
    assert system["found"][0]["cases"] == list(first.wrong)
    assert system["tested"]["values"] > 5

    gate = ("gate", path, "--fail-under", "answer_match=0.8", "--json")
    (inside,) = ragstone(*gate, "--where", f"topic={topic}").document["gates"]
    assert inside["scored"] == first.contrast.inside.n
    assert inside["mean"] == pytest.approx(1 - (first.contrast.inside.value or 0))
    assert inside["verdict"] == "failed"
    one_line(ragstone(*gate, "--where", "topic=none"), "matches topic=none", topic)

    other = evaluated(tmp_path / "b.run", topic="", seed=4)
    rows = ragstone("compare", path, other, "--group-by", "topic", "--json").document
    assert topic in str(rows)
    assert ragstone("compare", path, other, "--where", f"topic={topic}").code == 0


def ragstone_slices(path: Path) -> "ragstone.api.Slice":
    (result,) = ragstone.slices(path)
    return result.found[0]


def test_slices_of_a_part_of_a_run(tmp_path: Path) -> None:
    path = evaluated(tmp_path / "a.run")
    with read_run(path) as run:
        (whole,), (part,) = ragstone.slices(run), ragstone.slices(run, where={"region": "A"}, pairs=False)
        assert (whole.samples, part.samples) == (len(questions(300)), len([*questions(300)][::3]))
        assert part.tested[1] == 0
        (gate,) = check_gates(run.run, {"answer_match": 0.5}, where=part.found[0].where)
        assert gate.mean is not None
        with pytest.raises(UsageError, match="has 'topicc'"):
            ragstone.slices(run, where={"topicc": "x"})
        with pytest.raises(UsageError, match="matches region=Z"):
            ragstone.slices(run, where={"region": "Z"})
