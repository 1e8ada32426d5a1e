"""Things are found by name, and a name that is wrong gets the nearest right one."""

import re
import sys
from pathlib import Path

import pytest
from tests.cli.tools import ROOT, process

from ragstone.capabilities import brought
from ragstone.error_text import told
from ragstone.errors import UnknownName, UsageError
from ragstone.registry import Registry
from ragstone.report.section import SECTIONS


def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, **modules: str) -> str:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_adding_one_is_adding_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(
        tmp_path, monkeypatch, "kinds_a", one="PLUGINS = {'alpha': 1}", two="PLUGINS = {'beta': 2}", three=""
    )
    registry: Registry[int] = Registry("kind", name, "ragstone.test_none")
    assert registry.names() == ("alpha", "beta")
    assert registry.get("beta") == 2
    assert dict(registry) == {"alpha": 1, "beta": 2}
    assert "alpha" in registry


def test_a_capability_brings_a_module_or_the_modules_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.capabilities.CAPABILITIES", ("models", "metrics"))
    assert "ragstone.models.batches.lane" in {module.__name__ for module in brought("batches")}
    assert [module.__name__ for module in brought("refusal")] == ["ragstone.metrics.refusal"]
    assert list(brought("nothing_of_this_name")) == []


def test_nothing_is_imported_before_the_first_look_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_b", one="PLUGINS = {'alpha': 1}", _own="raise RuntimeError")
    registry: Registry[int] = Registry("kind", name, "ragstone.test_none")
    assert f"{name}.one" not in sys.modules
    assert registry.get("alpha") == 1
    assert f"{name}.one" in sys.modules


def test_a_wrong_name_gets_the_nearest_right_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_c", one="PLUGINS = {'recall': 1, 'precision': 2}")
    registry: Registry[int] = Registry("metric", name, "ragstone.test_none", hint="`ragstone metrics` lists them.")
    with pytest.raises(UnknownName) as caught:
        registry.get("recal")
    assert str(caught.value) == "No metric named 'recal'. Did you mean 'recall'? `ragstone metrics` lists them."
    assert caught.value.suggestion == "recall"


def test_two_things_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_d", one="PLUGINS = {'a': 1}", two="PLUGINS = {'a': 2}")
    with pytest.raises(UsageError, match="Two kinds are named 'a'"):
        Registry[int]("kind", name, "ragstone.test_none").names()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nothing_of_this_name\n", r"ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("thing = {}\n", r"theirs:thing is not a kind: it has no 'score'"),
        ("", "AttributeError"),
        ("raise SystemExit(7)\n", "SystemExit: 7"),
        ("class thing:\n    score = 1\n", "theirs:thing is not a kind: it has no 'title'"),
    ],
)
def test_a_broken_plugin_of_somebody_else_costs_its_own_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: str, reason: str
) -> None:
    name = package(tmp_path, monkeypatch, "kinds_e", one="PLUGINS = {'a': 1}")
    (tmp_path / "theirs.py").write_text(code)
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ragstone.test_broken]\nb = theirs:thing\na = theirs:other\n")
    registry: Registry[int] = Registry("kind", name, "ragstone.test_broken", needs=["score|make", "title"])
    assert (registry.names(), registry.get("a")) == (("a",), 1)
    expected = rf"The kind 'b' of theirs cannot be loaded from theirs:thing \({reason}.*Fix or uninstall the package"
    with pytest.raises(UsageError, match=expected):
        registry.get("b")
    warned = [record.getMessage() for record in caplog.records]
    assert len(warned) == 2
    assert "Two kinds are named 'a'" in warned[1]


def test_what_was_read_from_a_file_is_no_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_f", one="PLUGINS = {'a': 1}")
    registry: Registry[int] = Registry("kind", name, "ragstone.test_none")
    assert registry.installed("a") == 1
    with pytest.raises(UnknownName):
        registry.installed("json:dumps")
    assert callable(registry.get("json:dumps"))


def test_what_cannot_be_called_is_no_plugin_where_a_function_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = package(tmp_path, monkeypatch, "kinds_g")
    (tmp_path / "uncallable.py").write_text("thing = {}\ndef function(): ...\n")
    monkeypatch.delitem(sys.modules, "uncallable", raising=False)
    registry: Registry[object] = Registry("kind", name, "ragstone.test_none", needs=["score|__call__"])
    with pytest.raises(UsageError, match="uncallable:thing is not a kind: it has no 'score'"):
        registry.get("uncallable:thing")
    assert callable(registry.get("uncallable:function"))


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("order, title, body = 'x', {'en': 'X'}, print", "its 'order' is not a number"),
        ("order, title, body = 1, None, print", "its 'title' is not a mapping"),
        ("order, title, body = 1, {'en': 'X'}, 3", "its 'body' is not a function"),
        ("title, body = {'en': 'X'}, print", "it has no 'order'"),
    ],
)
def test_a_plugin_with_parts_of_other_kinds_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, problem: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "zq_section", raising=False)
    (tmp_path / "zq_section.py").write_text(f"class thing:\n    folded, question = False, None\n    {code}\n")
    with pytest.raises(UsageError) as caught:
        SECTIONS.get("zq_section:thing")
    assert str(caught.value) == f"zq_section:thing is not a report section: {problem}."
    assert not re.search("[a-z]{3}", re.sub("zq_section:thing|“\\w+”", "", told(str(caught.value), "zh")))


RAG = "rag(retriever=bm25,model=local/extractive)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "code", "callable_too"),
    [
        ("en", "thing = {}", False),
        ("en", "import nothing_of_this_name", False),
        ("en", "raise SystemExit(7)", False),
        ("zh", "class thing:\n    from_meta = score = order = 1", True),
    ],
)
def test_commands_go_on_without_the_broken_plugins_of_a_package(
    tmp_path: Path, language: str, code: str, callable_too: bool
) -> None:
    (tmp_path / "zq_theirs.py").write_text(f"{code}\n")
    info = tmp_path / "zq_theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zq-theirs\nVersion: 1.0\n")
    kinds = ("metrics", "benchmarks", "models", "retrievers", "report_sections", "systems")
    (info / "entry_points.txt").write_text("".join(f"[ragstone.{kind}]\nzz = zq_theirs:thing\n" for kind in kinds))
    (tmp_path / "rows.csv").write_text("question,answer,reference\nWhat?,5 m,5 m\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The bridge is 5 m long.")
    more = {"RAGSTONE_LANGUAGE": language, "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    names = {
        "en": ("metric", "benchmark", "model provider", "retriever", "report section"),
        "zh": ("指标", "基准", "模型服务商", "检索器", "报告章节"),
    }[language]
    metric, benchmark, provider, retriever, section = names
    warning = {
        "en": "The {} 'zz' of zq-theirs cannot be loaded from zq_theirs:thing (",
        "zh": "zq-theirs 的{}“zz”无法从 zq_theirs:thing 加载（",
    }[language]
    advice = {"en": "Fix or uninstall the package.", "zh": "请修复或卸载这个包。"}[language]
    for words, expected in (
        (("eval", "rows.csv", "--metrics", "answer_match", "--run", "a.run", "--quiet"), {metric, benchmark}),
        (("report", "a.run", "-o", "a.html"), {metric, benchmark, section}),
        (("metrics",), {metric}),
        (("bench", "rgb", "--help"), {benchmark}),
        (("run", "rows.csv", "--corpus", "docs", "--system", RAG, "--quiet"), {metric, benchmark, retriever}),
        (("doctor",), {provider}),
    ):  # fmt: skip
        ended = process(*words, folder=tmp_path, **more)
        assert ended.code == 0, (words, ended.err)
        lines = [line for line in ended.err.splitlines() if "zq_theirs" in line]
        assert all(line.startswith("ragstone: ") and line.endswith(advice) for line in lines), ended.err
        uncalled = {metric, retriever} if callable_too else set()
        begins = {f"ragstone: {warning.format(kind)}" for kind in expected - uncalled}
        assert len(lines) == len(begins), (words, ended.err)
        assert all(any(line.startswith(begin) for line in lines) for begin in begins), (words, ended.err)
    assert process("run", "rows.csv", "--system", "zz", folder=tmp_path, **more).code == 2


@pytest.mark.slow
def test_a_thing_that_has_every_part_of_another_kind_costs_its_own_name_only(tmp_path: Path) -> None:
    (tmp_path / "zq_any.py").write_text(
        "class Any:\n    order = 'x'\n    def __getattr__(self, name):\n"
        "        if name.startswith('__'):\n            raise AttributeError(name)\n        return 3\nthing = Any()\n"
    )
    info = tmp_path / "zq_any-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zq-any\nVersion: 1.0\n")
    kinds = ("metrics", "benchmarks", "report_sections", "retrievers")
    (info / "entry_points.txt").write_text("".join(f"[ragstone.{kind}]\nzz = zq_any:thing\n" for kind in kinds))
    (tmp_path / "rows.csv").write_text("question,answer,reference\nWhat?,5 m,5 m\n")
    more = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    for words, warned in (
        (("eval", "rows.csv", "--metrics", "answer_match", "--run", "a.run", "--quiet"), "metric"),
        (("report", "a.run", "-o", "a.html"), "report section"),
        (("metrics",), "metric"),
        (("bench", "--help"), "benchmark"),
    ):
        ended = process(*words, folder=tmp_path, **more)
        assert ended.code == 0, (words, ended.err)
        assert f"The {warned} 'zz' of zq-any cannot be loaded" in ended.err, (words, ended.err)
