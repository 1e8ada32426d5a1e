"""Every error that a user of the command line can meet has a Chinese text: `errors_zh.toml` of its package."""

import ast
import importlib.util
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import ragstone
from ragstone import errors
from ragstone.datasets.jsonlines import strict_json
from ragstone.engine.systems_and_metrics import GivenPassages
from ragstone.error_text import failure_in, kind_in, told, untranslated
from ragstone.errors import UsageError
from ragstone.messages import error_texts
from ragstone.metrics.catalogue import in_language
from ragstone.systems.python import system_from
from ragstone.text.redaction import redact, shown_url

SOURCE = Path(ragstone.__file__).parent
TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
CATALOGUES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("errors_zh.toml"))
SENTENCES = {
    sentence: text
    for name in CATALOGUES
    for sentence, text in tomllib.loads((SOURCE / name).read_text("utf-8")).get("sentences", {}).items()
}

# Errors that only code can meet: what it passes to a function, or how it uses an object.
FOR_PROGRAMMERS = {
    "datasets/tabular/traces/receiver.py": "the reply to an exporter of OTLP, which logs it",
    "engine/public_functions.py": "how to call a function of the API from a running event loop",
    "pytest_plugin/runs.py": "printed by pytest, as everything else in English",
    "pytest_plugin/support.py": "printed by pytest",
    "pytest_plugin/__init__.py": "printed by pytest",
    "pytest_plugin/options.py": "printed by pytest",
}
# Texts whose words come from a table or from another error, and how one of them looks.
PUT_TOGETHER = {
    "Q7 need Q7: Q7.": "a, b need an embedder: --embedder PROVIDER/MODEL.",
    "Q7 needs Q7: Q7.": "faithfulness needs a judge: --judge PROVIDER/MODEL.",
    "Q7 an address: url=http://… in the name of the retriever, or --retriever-base-url.": (
        "hnsw needs an address: url=http://… in the name of the retriever, or --retriever-base-url."
    ),
    "Q7, line 7: Q7 (Q7 more: `ragstone rubrics check Q7`)": (
        "a.toml: is missing. (2 more: `ragstone rubrics check a.toml`)"
    ),
    "Q7, line 7: Q7 (`ragstone rubrics check Q7`)": "a.toml: is missing. (`ragstone rubrics check a.toml`)",
    "Q7: there is no . Give the folder or file with your collection.": (
        "milvus: there is no path. Give the folder or file with your collection."
    ),
    "Q7'Q7' is no time; expected ISO 8601.": "a.csv, line 3: 'Q7' is no time; expected ISO 8601.",
    "Q7 It lists your batches at providers: move it away to begin a new list, which has none of them.": (
        "a.db: is damaged. It lists your batches at providers: move it away to begin a new list, which has none of "
        "them."
    ),
}
PUT_TOGETHER["Q7; expected one JSON object a line."] = "not JSON (it is empty); expected one JSON object a line."
PUT_TOGETHER |= {  # of msgspec
    f"msgspec: {text}": text
    for text in (
        "Expected `object`, got `int` - at `$.a`.",
        "Object missing required field `a` - at `$.a`.",
        "Expected `object`, got `int`.",
        "Object missing required field `a`.",
    )
}
PUT_TOGETHER["toml_end"] = "{problem} (at end of document)"  # of tomllib
PUT_TOGETHER |= {  # of Python's json: in C, and from 3.13 on
    "json": "Invalid control character at, column 3."
} | {f"json: {what}": f"Illegal trailing comma before end of {what}, column 3." for what in ("object", "array")}
# Texts that come from elsewhere as a whole: their own tests, or the errors they repeat, are in this list, too.
_NO_LITERAL = re.compile(r"(Q7(, line 7)?|[^A-Za-z])*")
_FILLED = re.compile(r"\{[^{}]*\}")
_ENGLISH = re.compile(r"\b[A-Za-z]+ [a-z]{2,}\b")
_CODE = re.compile(
    r"'[^']*'|\"[^\"]*\"|`[^`]*`|pip install \S+|ragstone [a-z]+ \S+( \S+)?|https?://\S+|\S*=\S*|--[a-z-]+"
)

Lookup = Callable[[str], list[ast.expr]]


def is_error(name: str) -> bool:
    kind = getattr(errors, name, None)
    return (isinstance(kind, type) and issubclass(kind, errors.RagstoneError)) or name in _SUBCLASSES


_SUBCLASSES = {
    node.name
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef) and any(hasattr(errors, ast.unparse(base)) for base in node.bases)
}
_SHOWN = [
    SOURCE / "benchmarks",
    SOURCE / "datasets/tabular",
    SOURCE / "datasets/jsonlines.py",
    SOURCE / "datasets/rgb.py",
    SOURCE / "storage/formats.py",
]  # their ValueErrors are
# What is wrong is their last argument.
_CARRIERS = ("CellError", "DataProblem", "DataRow", "Fault", "FormatError", "Line", "ValueError")
_OTHER_ARGUMENTS = {"UnknownName", "MissingKey", "RunMismatch", "AllowanceSpent", "EndpointRefused", "Postponed"}


@cache
def nodes_of(path: Path) -> tuple[list[ast.AST], list[tuple[str, ast.expr, int]]]:
    """The nodes of a module; (name, value, line) of its assignments."""
    nodes = list(ast.walk(TREES[path]))
    assigned = [
        (target.id, node.value, node.lineno)
        for node in nodes
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    return nodes, assigned


def assigned(path: Path, name: str, within: Callable[[int], bool]) -> list[ast.expr]:
    """What a name can be, by the assignments in these lines of a module."""
    return [value for target, value, line in nodes_of(path)[1] if target == name and within(line)]


def texts(node: ast.expr | None, lookup: Lookup, depth: int = 0) -> list[str]:
    """What an expression can say, with {places} for what is not literal."""
    parts: list[list[str]]
    match node:
        case None:
            return [""]
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            parts = [texts(value, lookup, depth + 1) for value in values]
        case ast.FormattedValue(value=value, conversion=conversion):
            quoted = "'{}'" if conversion == ord("r") else "{}"
            found = texts(value, lookup, depth + 1)
            return [text if text != "{}" else quoted for text in found]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [texts(left, lookup, depth + 1), texts(right, lookup, depth + 1)]
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mult()):
            return [text, ""]
        case ast.IfExp(body=first, orelse=second):
            return texts(first, lookup, depth + 1) + texts(second, lookup, depth + 1)
        case ast.BoolOp(values=values):
            found = [text for value in values for text in texts(value, lookup, depth + 1)]
            return list(filter(None, found)) or [""]
        case ast.Name(id=name) if depth < 8:
            literal = (ast.Constant, ast.JoinedStr, ast.IfExp, ast.BinOp, ast.BoolOp)
            values = [value for value in lookup(name) if isinstance(value, literal)]
            values = [value for value in values if ast.unparse(value) != "''"]
            found = [text for value in values for text in texts(value, lookup, depth + 1)]
            return [text for text in found if text != "ok"] or ["{}"]
        case ast.Call(func=ast.Name()) | ast.Subscript(value=ast.Name()) | ast.Attribute(value=ast.Name(id="self")):
            return phrases(behind(node, lookup) if depth < 8 else [], lookup, depth)
        case _:
            return ["{}"]
    return combined(parts)


def behind(node: ast.expr, lookup: Lookup) -> list[ast.expr]:
    """What a call of a function returns, a table holds, or a field of `self` was given."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return lookup(f"{name}()")
        case ast.Subscript(value=ast.Name(id=name)):
            return [value for table in lookup(name) if isinstance(table, ast.Dict) for value in table.values]
        case ast.Attribute(attr=name):
            return lookup(f"self.{name}")
    return []


def phrases(values: list[ast.expr], lookup: Lookup, depth: int) -> list[str]:
    """What is said in words among what these can say; a place if nothing is."""
    found = [text for value in values for text in texts(value, lookup, depth + 1)]
    return list(dict.fromkeys(filter(phrase, found))) or ["{}"]


_PHRASE = re.compile(r"[A-Za-z]+ [a-z]{2,}")


def phrase(text: str) -> bool:
    """Whether the text is words of ragstone, not a name or a place alone."""
    return _PHRASE.search(text) is not None


def combined(parts: list[list[str]]) -> list[str]:
    """The texts of these parts in all combinations, or, if those are many, each part at least once."""
    if math.prod(map(len, parts)) <= 64:
        return ["".join(chosen) for chosen in product(*parts)]
    return ["".join(part[at % len(part)] for part in parts) for at in range(max(map(len, parts)))]


@cache
def _module(name: str) -> Path | None:
    """The file of a module of ragstone."""
    place = SOURCE.parent / name.replace(".", "/")
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file in TREES), None)


@cache
def _defined(path: Path) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    return {node.name: node for node in blocks(path)}


@cache
def definition(path: Path, name: str) -> tuple[Path, ast.AST] | None:
    """Where a name that a module uses is defined as a function or a class: in it, or in what it imports."""
    if name in _defined(path):
        return path, _defined(path)[name]
    there = _module(imports(path).get(name, ""))
    return definition(there, name) if there and there != path else None


@cache
def imports(path: Path) -> dict[str, str]:
    """The modules from which a module imports names."""
    found = [node for node in nodes_of(path)[0] if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in found for alias in node.names}


def _parameters(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        return [name for name in names if name not in ("self", "cls")]
    body = node.body if isinstance(node, ast.ClassDef) else []
    made = next((part for part in body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
    if made is not None:
        return _parameters(made)
    return [part.target.id for part in body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]


Passed = tuple[Path, ast.Call, ast.expr]


@cache
def _passed() -> dict[tuple[Path, str, str], list[Passed]]:
    """What calls pass to each parameter, by the file and the name of the function or the class."""
    found: dict[tuple[Path, str, str], list[Passed]] = defaultdict(list)
    for path in TREES:
        for call in nodes_of(path)[0]:
            name = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
            if not isinstance(call, ast.Call) or (there := definition(path, name)) is None:
                continue
            pairs = list(zip(_parameters(there[1]), call.args, strict=False))
            pairs += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
            for parameter, value in pairs:
                found[there[0], name, parameter].append((path, call, value))
    return found


def given(path: Path, name: str, parameter: str, level: int) -> list[ast.expr]:
    """The phrases that calls pass to a parameter of a function or a class."""
    values = _passed().get((path, name, parameter), []) if level < 2 else []
    found = [text for where, call, value in values for text in texts(value, lookup_in(where, call, level + 1), 2)]
    return [ast.Constant(text) for text in dict.fromkeys(filter(phrase, found))]


def results(path: Path, function: ast.AST, level: int) -> list[ast.expr]:
    """The phrases that a function returns."""
    ends = [node for node in ast.walk(function) if isinstance(node, ast.Return) and level < 2]
    found = [text for end in ends for text in texts(end.value, lookup_in(path, end, level + 1), 2)]
    return [ast.Constant(text) for text in dict.fromkeys(filter(phrase, found))]


@cache
def blocks(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The functions and classes of a module, the outer ones first."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [node for node in nodes_of(path)[0] if isinstance(node, kinds)]


def lookup_in(path: Path, call: ast.Call | ast.Return, level: int = 0) -> Lookup:
    top = {node.lineno for node in TREES[path].body}

    def lookup(name: str) -> list[ast.expr]:
        inside = [node for node in blocks(path) if node.lineno <= call.lineno <= (node.end_lineno or 0)]
        functions = [node for node in inside if not isinstance(node, ast.ClassDef)]
        if name.endswith("()"):
            return results(*there, level) if (there := definition(path, name[:-2])) else []
        if name.startswith("self."):
            return [
                value for node in inside if isinstance(node, ast.ClassDef)
                for value in given(path, node.name, name.removeprefix("self."), level)
            ]  # fmt: skip
        local = assigned(path, name, lambda line: any(one.lineno <= line <= (one.end_lineno or 0) for one in functions))
        if found := local or assigned(path, name, top.__contains__):
            return found
        if passed := [value for node in inside for value in given(path, node.name, name, level)]:
            return passed
        imported = _module(imports(path).get(name, ""))
        return assigned(imported, name, lambda _: True) if imported else []

    return lookup


def said(path: Path, call: ast.Call) -> list[str]:
    """What an error that is made here can say."""
    function = ast.unparse(call.func)
    name = function.rpartition(".")[2]
    lookup = lookup_in(path, call)
    if function.endswith("problems.add") or (name in _CARRIERS and any(map(path.is_relative_to, _SHOWN)) and call.args):
        found = [re.sub(r"(?<=[.?]){}$", "", text) for text in texts(call.args[-1], lookup)]
        return [text if text.endswith((".", "?")) else f"{text}." for text in found]
    if not is_error(name) or name in _OTHER_ARGUMENTS or not call.args:
        return []
    if name != "DataError" or len(call.args) < 2:
        return texts(call.args[1 if name == "SystemFailed" and len(call.args) > 1 else 0], lookup)
    advice = next((keyword.value for keyword in call.keywords if keyword.arg == "advice"), None)
    ends = [f" {text}" if text not in ("", "{}") else "" for text in texts(advice, lookup)]
    return [f"{{}}, line 7: {text}{end}" for text in texts(call.args[1], lookup) for end in ends]


@pytest.fixture(scope="module")
def literal() -> list[tuple[str, str]]:
    """(where, what) of every literal error of the code, with a sample in each place."""
    found = [
        (f"{path.relative_to(SOURCE).as_posix()}:{call.lineno}", text)
        for path in TREES
        for call in nodes_of(path)[0]
        if isinstance(call, ast.Call) and path.name != "errors.py"
        for text in said(path, call)
    ]
    filled = [(where, _FILLED.sub("Q7", re.sub(r"(?<=\.){}$", "", text))) for where, text in found]
    return [(where, PUT_TOGETHER.get(text, text)) for where, text in filled if not _NO_LITERAL.fullmatch(text)]


def test_phrases_that_are_put_into_errors_are_found(literal: list[tuple[str, str]]) -> None:
    """A local value, a function's result, a table's value, what calls pass to a parameter and to a field."""
    found = "\n".join(text for _, text in literal)
    for text in (
        "is not UTF-8 and not GB18030.", "'Q7': no such folder or file. Expected fictional", "there are no questions.",
        "expected a text as passage Q7.", "its log is empty", "found Q7; expected a number from 0 to 1.",
    ):  # fmt: skip
        assert text in found, text


def test_every_literal_error_has_a_chinese_text(literal: list[tuple[str, str]]) -> None:
    assert len(literal) > 900
    shown = [(where, text) for where, text in literal if where.partition(":")[0] not in FOR_PROGRAMMERS]
    gaps = [(where, gap) for where, text in shown for gap in untranslated(text, "zh")]
    assert [(where, gap) for where, gap in gaps if not _NO_LITERAL.fullmatch(gap)] == []
    told_ = [(where, told(text, "zh")) for where, text in shown]
    assert [(where, text) for where, text in told_ if _ENGLISH.search(_CODE.sub("", text))] == []


@cache
def strings() -> str:
    """All strings of the code, of click, json and tomllib, a line each, with {} for what is filled in."""
    click = Path(str(importlib.util.find_spec("click").origin)).parent  # type: ignore[union-attr]
    readers = [Path(str(importlib.util.find_spec(name).origin)).parent for name in ("json", "tomllib")]  # type: ignore[union-attr]
    others = [path for folder in (click, *readers) for path in folder.rglob("*.py")]
    trees = [*TREES.values(), *(ast.parse(path.read_text("utf-8")) for path in others)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    joined = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    texts = ["".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts) for parts in joined]
    texts += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return "\n".join(_FILLED.sub("{}", " ".join(text.split())) for text in texts)


def test_a_sentence_that_nobody_says_any_more_is_found(literal: list[tuple[str, str]]) -> None:
    """A sentence is one of a literal error, or its longest part is a string of the code."""
    made = "\n".join([*(text for _, text in literal), *PUT_TOGETHER.values()])
    unsaid = []
    for sentence in SENTENCES:
        parts = re.split(r"\{[^{}]*\}", sentence)
        longest = max((text for part in parts for text in re.split("[:;,] |=", part)), key=len).strip(" '`()")
        if longest.rstrip(":.s") not in strings() and not re.search(".+?".join(map(re.escape, parts)), made):
            unsaid.append(sentence)
    assert unsaid == []


def test_the_folder_that_one_is_in_is_a_path_like_others() -> None:
    assert told(". is a folder: name a file.", "zh") == ". 是文件夹：请指定文件。"
    assert told(".. is a folder: name a file.", "zh") == ".. 是文件夹：请指定文件。"


def test_what_an_optional_package_is_for_is_told_in_chinese() -> None:
    keywords = [node for path in TREES for node in nodes_of(path)[0] if isinstance(node, ast.keyword)]
    purposes = {
        str(node.value.value) for node in keywords if node.arg == "purpose" and isinstance(node.value, ast.Constant)
    }
    assert len(purposes) > 10
    messages = [f"{purpose} needs Q7, which is not installed. Run: pip install 'ragstone[q7]'" for purpose in purposes]
    assert [text for text in messages if _ENGLISH.search(_CODE.sub("", told(text, "zh")))] == []


def test_the_files_of_errors_for_programmers_have_errors_and_a_reason(literal: list[tuple[str, str]]) -> None:
    files = {where.partition(":")[0] for where, _ in literal}
    assert set(FOR_PROGRAMMERS) <= files
    assert all(FOR_PROGRAMMERS.values())


def test_a_sentence_stands_in_one_catalogue_and_has_the_same_places_in_both_languages() -> None:
    counts = Counter(
        key for name in CATALOGUES for key in tomllib.loads((SOURCE / name).read_text("utf-8")).get("sentences", {})
    )
    assert [key for key, count in counts.items() if count > 1] == []
    assert [key for key, text in SENTENCES.items() if places(key) != places(text)] == []


@pytest.mark.timeout(20)  # seconds; it took minutes when an option could be any text
def test_a_long_message_that_is_nearly_a_sentence_is_looked_up_at_once() -> None:
    for number in range(100):
        message = ("x is not between x and " * 90)[:1_900] + str(number)
        assert message in told(message, "zh")


def places(text: str) -> Counter[str]:
    return Counter(re.findall(r"\{(\w+)\}", text))


def test_every_kind_of_name_has_a_chinese_word() -> None:
    passing = {"UnknownName", "check_name"}  # and functions that pass their first argument on as the kind
    for tree in TREES.values():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and function.args.args:
                first = function.args.args[0].arg
                calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
                if any(name_of(call) in passing and call.args and ast.unparse(call.args[0]) == first for call in calls):
                    passing.add(function.name)
    kinds = {
        str(node.args[0].value)
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and name_of(node) in passing
        and node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value
    }  # fmt: skip
    assert {"difficulty", "sheet", "metric", "ability"} <= kinds
    assert sorted(kinds - {*error_texts("zh")["words"]}) == []


def name_of(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def test_every_hint_beside_an_unknown_name_is_told_in_chinese() -> None:
    hints = {}
    for tree in TREES.values():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            given = {
                ast.unparse(keyword.value)
                for node in ast.walk(function)
                if isinstance(node, ast.Call) and name_of(node) in ("UnknownName", "check_name")
                for keyword in node.keywords if keyword.arg == "hint"
            }  # fmt: skip
            texts = [node.value for node in ast.walk(function) if isinstance(node, ast.Assign)
                     if ast.unparse(node.targets[0]) in given]  # fmt: skip
            texts += [ast.parse(text, mode="eval").body for text in given]
            parts = [part for whole in texts for part in ast.walk(whole)]
            within = {piece for part in parts if isinstance(part, ast.JoinedStr) for piece in part.values}
            for text in (part for part in parts if part not in within):
                if isinstance(text, ast.Constant | ast.JoinedStr) and (shown := example_of(text)).endswith("."):
                    hints[shown] = function.name
    assert len(hints) >= 5
    assert {hint: untranslated(hint, "zh") for hint in hints if untranslated(hint, "zh")} == {}


def example_of(text: ast.expr) -> str:
    """A text with "x" for each of its values."""
    if isinstance(text, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in text.values)
    return str(text.value) if isinstance(text, ast.Constant) else ""


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', '{"a": 1 "b": 2}', "[1,]", '{"a": "x', '{"a": "\t"}', "{} {}", '["\\q"]', '{"a": }']
)
def test_what_is_wrong_with_json_is_told_in_chinese(text: str) -> None:
    with pytest.raises(ValueError, match="not JSON") as caught:
        strict_json(text)
    for after in ("", "; expected a list of objects, one for each row"):
        said = told(f"a.json: {caught.value}{after}.", "zh")
        assert "不是 JSON（" in said
        assert not _ENGLISH.search(said.removeprefix("a.json")), said


def test_chinese_texts_address_their_reader_in_one_way() -> None:
    for name in ("messages_zh.toml", "errors_zh.toml", "help_zh.toml"):
        for path in SOURCE.rglob(name):
            assert "你" not in path.read_text("utf-8"), path


@pytest.mark.parametrize("after", ["", " (it returned the passage 'text-1', which it was not given)"])
def test_a_system_that_retrieves_for_itself_is_refused_in_chinese(after: str) -> None:
    system = system_from(lambda question: "7", "app:ask")
    with pytest.raises(UsageError) as caught:
        GivenPassages(system, "rgb")
    text = told(f"{str(caught.value).rstrip('.')}{after}.", "zh")
    assert text.startswith("系统 app:ask 自己检索")
    assert "{passages}" in text
    assert ("text-1" in text) == bool(after)


def kinds_of_failures() -> set[str]:
    """Kinds of model errors, of failures of systems, and those that records begin with in the code."""
    classes = {node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found = {
        str(kind) for name in classes if isinstance(kind := getattr(getattr(errors, name, None), "kind", None), str)
    }
    for path in TREES:
        for call in (node for node in nodes_of(path)[0] if isinstance(node, ast.Call)):
            name = ast.unparse(call.func).rpartition(".")[2]
            if name == "SystemFailed" and isinstance(call.args[0], ast.Constant):
                found.add(str(call.args[0].value))
            if name == "_fail":
                found |= {text.partition(":")[0] for text in texts(call.args[-1], lambda _: []) if ": " in text}
    return found


def test_every_kind_of_failure_has_a_chinese_word() -> None:
    found = kinds_of_failures()
    assert {"unreachable", "raised", "unstorable", "too_long"} <= found
    assert [kind for kind in sorted(found) if kind_in(kind, "zh") == kind] == []
    assert kind_in("value_error", "zh") == "value error"  # somebody's exception


def test_a_failure_of_a_run_file_is_told_in_the_language_of_its_reader() -> None:
    """What ragstone wrote; the words of the system, of libraries and of endpoints stay."""
    refused = "no connection (Connection refused). Check that it runs at this address."
    kept = f"unreachable: compat/m at http://127.0.0.1:9/v1: {refused}"
    assert failure_in(kept, "zh") == (
        "网络连接失败：compat/m（http://127.0.0.1:9/v1）：连接不上（连接被拒绝）。请检查它是否在这个地址运行。"
    )
    assert failure_in(kept, "en") == kept
    assert failure_in("raised: ValueError: no such tenant (app.py, line 4, in ask)", "zh") == (
        "抛出异常：ValueError: no such tenant (app.py, line 4, in ask)"
    )
    assert failure_in("key_error: 'answer'", "zh") == "key error：'answer'"
    assert failure_in("the system failed (timed_out)", "zh") == "系统失败（超时）"
    assert failure_in("rejected: openai/m: rejected (400: max_tokens is too large).", "zh") == (
        "请求被拒绝：openai/m：请求被拒绝（400：max_tokens is too large）。"
    )


@pytest.mark.parametrize(
    ("failure", "english", "chinese"),
    [
        ("The embedder: timed_out: late", "The embedder: timed out: late", "嵌入模型：超时：late"),
        ("openai/m: bad_reply: cut; b/m: late", "openai/m: unusable reply: cut; b/m: late", None),
        ("rejected: openai/m: bad_reply: cut", "rejected: openai/m: unusable reply: cut", None),
        ("rubric:tone: timed_out: late", "rubric:tone: timed out: late", None),
        ("the system failed (timed_out)", "the system failed (timed out)", "系统失败（超时）"),
        ("judge_failed: timed_out: late", "judge failed: timed out: late", "裁判模型出错：超时：late"),
        ("raised: My tool (timed_out)", "raised an exception: My tool (timed_out)", "抛出异常：My tool (timed_out)"),
        ("raised: missing_key: my row", "raised an exception: missing_key: my row", "抛出异常：missing_key: my row"),
        ("value_error: bad_data: x", "value error: bad_data: x", "value error：bad_data: x"),
        ("My tool (timed_out): no row", "My tool (timed_out): no row", "My tool (timed_out): no row"),
        ("no row, missing_key: x", "no row, missing_key: x", "no row, missing_key: x"),
    ],
)
def test_only_kinds_that_ragstone_wrote_are_put_in_words(failure: str, english: str, chinese: str | None) -> None:
    assert failure_in(failure, "en") == english
    if chinese is not None:
        assert failure_in(failure, "zh") == chinese


def test_every_warning_that_is_logged_has_a_chinese_text() -> None:
    found = [
        (f"{path.relative_to(SOURCE).as_posix()}:{call.lineno}", re.sub(r"%\w|%\.\d+\w", "Q7", str(call.args[0].value)))
        for path in TREES
        for call in nodes_of(path)[0]
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("log.warning", "_log.warning")
        and isinstance(call.args[0], ast.Constant)
    ]  # fmt: skip
    advice = "Set XDG_CACHE_HOME to a writable folder; until then everything is requested again."
    ends = {"Q7 It is split.": "It is split.", "The Q7 cannot be used: Q7 Q7": f"The Q7 cannot be used: Q7 {advice}"}
    found = [(where, ends.get(text, text)) for where, text in found]
    assert len(found) > 12
    gaps = [(where, gap) for where, text in found for gap in untranslated(text, "zh")]
    assert [(where, gap) for where, gap in gaps if not _NO_LITERAL.fullmatch(gap)] == []


def test_the_reasons_of_failed_scores_are_chinese() -> None:
    """Literal ones, with what is put into them; judges' errors are tested as all others are."""
    found = [
        (f"{path.relative_to(SOURCE).as_posix()}:{call.lineno}", _FILLED.sub("Q7", text))
        for path in TREES
        for call in nodes_of(path)[0]
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("Score.failed", "Score.not_applicable")
        for text in texts(call.args[0], lookup_in(path, call))
    ]
    found = [(where, text) for where, text in found if not _NO_LITERAL.fullmatch(text) and text != "the case has no Q7"]
    assert len(found) > 40
    shown = [(where, in_language(text, "zh")) for where, text in found]
    assert [(where, text) for where, text in shown if _ENGLISH.search(_CODE.sub("", text))] == []


def test_a_chinese_error_about_an_address_with_a_secret_is_whole() -> None:
    remedy = "no connection (Connection refused). Check that it runs at this address."
    english = f"{shown_url('http://127.0.0.1:9/x?api_key=SECRET')}: {remedy}"
    chinese = told(english, "zh")
    assert "连接不上" in chinese
    assert redact(chinese) == chinese
    assert "SECRET" not in chinese
    assert redact("http://h/v1?key=秘密：值#k：v") == "http://h/v1?key=***#***"
