"""The tools that metrics are made of, opened for one run: the judge's model, the judge, the embedder, the prompts."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar

from ragstone.errors import MissingExtra, UsageError
from ragstone.metrics import GROUPS, METRICS, Tools, check_metrics, find_metric, make_metrics
from ragstone.metrics.judge import BUDGET, MatrixJudge, Prompts, open_judge
from ragstone.metrics.rubric import rubric_names
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.types import Embedder, Metric, Model

__all__ = ["DEFAULT_EMBEDDER", "Judging", "Opened", "family_of", "open_tools"]

T = TypeVar("T")
Opening: TypeAlias = Callable[[str], contextlib.AbstractAsyncContextManager[T]]

DEFAULT_EMBEDDER = "local/e5-small"
# Parts of models' names → whose they are: a judge tends to prefer its own family's answers (Panickssery et al. 2024).
_FAMILIES = {
    "gpt": "OpenAI", "o1": "OpenAI", "o3": "OpenAI", "o4": "OpenAI", "chatgpt": "OpenAI", "claude": "Anthropic",
    "gemini": "Google", "gemma": "Google", "qwen": "Qwen", "qwq": "Qwen", "deepseek": "DeepSeek", "llama": "Llama",
    "mistral": "Mistral", "mixtral": "Mistral", "glm": "GLM", "kimi": "Moonshot", "moonshot": "Moonshot",
    "smollm": "SmolLM", "phi": "Phi", "yi-": "Yi", "baichuan": "Baichuan", "grok": "Grok", "ernie": "ERNIE",
    "hunyuan": "Hunyuan", "doubao": "Doubao", "command": "Cohere",
}  # fmt: skip


@dataclass(frozen=True)
class Judging:
    """Who judges and how. `model` and `embedder` are names as on the command line, or models that are open already.

    `protocol`: "matrix" (two requests a sample, shared by all metrics) or "ragas" (metric by metric, the steps of the
    ragas package; scores are labelled ragas-style). `verify`: "joint" or "separate" (a request a passage).
    `prompts`: a folder of the user's own. `rubrics`: files of criteria, or folders of them. `language`: of the prompts;
    "" follows each sample."""

    model: str | Model | None = None
    base_url: str | None = None
    embedder: str | Embedder | None = None
    embedder_base_url: str | None = None
    protocol: Literal["matrix", "ragas"] = "matrix"
    verify: Literal["joint", "separate"] = "joint"
    prompts: Path | None = None
    rubrics: tuple[Path, ...] = ()
    language: str = ""
    budget: int | None = None

    @classmethod
    def of(
        cls,
        model: str | Model | None,
        *,
        prompts: str | Path | None = None,
        rubrics: str | Path | Sequence[str | Path] = (),
        **how: Any,
    ) -> Self:
        """From what a user writes: one rubric or several, paths as texts."""
        several = [rubrics] if isinstance(rubrics, str | Path) else rubrics
        return cls(model, prompts=None if prompts is None else Path(prompts), rubrics=tuple(map(Path, several)), **how)

    def names(self, asked: Sequence[str | Metric]) -> list[str | Metric]:
        """The metrics that are asked for, by their names under this protocol: `faithfulness` is `ragas.faithfulness`
        with `ragas`. The rubrics that are given are metrics, too."""
        if self.protocol not in ("matrix", "ragas"):
            raise UsageError(f"No protocol is named {self.protocol!r}: it is matrix or ragas.")
        found: list[str | Metric] = []
        for name in asked:
            plain = list(GROUPS.get(name, (name,))) if isinstance(name, str) and name not in METRICS else [name]
            for one in plain:
                own = f"ragas.{one}"
                found.append(own if self.protocol == "ragas" and own in METRICS else one)
        return [*found, *rubric_names(self.rubrics)]

    def check(self, asked: Sequence[str | Metric]) -> None:
        """Raises UsageError where these metrics need a judge that is not named. Opens nothing."""
        if self.model in ("local/extractive", "local/retrieval"):
            raise UsageError(f"{self.model} is no chat model and cannot judge. --judge takes a chat model.")
        for tool, does in ((self.model, "generate"), (self.embedder, "embed")):
            if not (tool is None or isinstance(tool, str) or hasattr(tool, does)):
                raise UsageError(f"{tool!r} can judge nothing: name PROVIDER/MODEL, or give an object with `{does}`.")
        have = {"judge", "model"} if self.model is not None else set()
        check_metrics(self.names(asked), have | {"embedder"})


@dataclass(frozen=True)
class Opened:
    """Metrics that are ready, the tools they are made of, and `spec`: all that makes their verdicts what they are."""

    metrics: tuple[Metric, ...]
    tools: Tools
    spec: Mapping[str, Any] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def open_tools(judging: Judging, asked: Sequence[str | Metric], options: ModelOptions) -> AsyncIterator[Opened]:
    """The metrics of these names, ready to score. What they do not need is not opened. Raises UsageError."""
    judging.check(asked)
    names = judging.names(asked)
    uses = {tool for name in names for tool in _uses(name)}
    async with contextlib.AsyncExitStack() as stack:
        model: Model | None = None
        embedder: Embedder | None = None
        judge: MatrixJudge | None = None
        prompts: Prompts | None = None
        spec: dict[str, Any] = {}
        if uses & {"judge", "model"} or any(str(name).startswith("rubric:") for name in names):
            assert judging.model is not None
            calling = replace(options, base_url=judging.base_url)
            try:
                model = await _opened(stack, judging.model, lambda name: open_model(name, calling))
            except UsageError as error:
                if " --base-url" not in str(error):
                    raise
                # A model does not know by which option it was named.
                raise UsageError(str(error).replace(" --base-url", " --judge-base-url")) from None
            spec["model"] = model.id
            prompts = Prompts.load(judging.prompts)
        if "embedder" in uses:
            calling = replace(options, base_url=judging.embedder_base_url)
            chosen = judging.embedder or DEFAULT_EMBEDDER
            try:
                embedder = await _opened(stack, chosen, lambda name: open_embedder(name, calling))
            except MissingExtra as error:
                needed = ", ".join(str(name) for name in names if "embedder" in _uses(name))
                raise MissingExtra(f"{error}; or name another with --embedder. It is for {needed}.") from None
            spec["embedder"] = embedder.id
        if "judge" in uses and model is not None:
            judge = open_judge(
                model, embedder=embedder, prompts=prompts, verify=judging.verify,
                budget=judging.budget or BUDGET, language=judging.language,
            )  # fmt: skip
            spec |= {key: value for key, value in judge.spec.items() if key != "prompts"}
        if judging.protocol == "ragas" and any(str(name).startswith("ragas.") for name in names):
            spec["protocol"] = judging.protocol
        tools = Tools(judge, model, embedder, prompts, tuple(judging.rubrics), judging.language)
        metrics = make_metrics(names, tools)
        if prompts is not None:
            spec["prompts"] = _hashes(metrics, judge, prompts.spec)
            spec["rubrics"] = {metric.name: metric.hash for metric in metrics if hasattr(metric, "hash")}
        yield Opened(metrics, tools, spec)


def _uses(name: str | Metric) -> tuple[str, ...]:
    """The tools that a metric is made with; a metric that is made already needs none."""
    return tuple(getattr(find_metric(name), "uses", ())) if isinstance(name, str) else ()


async def _opened(stack: contextlib.AsyncExitStack, one: str | T, opening: Opening[T]) -> T:
    """The model of this name, opened; or itself where it is one already."""
    return await stack.enter_async_context(opening(one)) if isinstance(one, str) else one


def _hashes(metrics: Sequence[Metric], judge: Any, known: Mapping[str, str]) -> dict[str, str]:
    """The prompts that these metrics rest on, by name and language, each with its hash."""
    found = dict(judge.spec["prompts"]) if judge is not None else {}
    for metric in metrics:
        if hasattr(metric, "prompt_hash"):
            found[metric.name] = metric.prompt_hash
        for name in getattr(metric, "asks", ()):
            found |= {key: value for key, value in known.items() if key.split("/")[0] == name}
    if any(metric.name.startswith("ragas.") for metric in metrics):
        found |= {key: value for key, value in known.items() if key.startswith("ragas_")}
    if any(metric.name.startswith("rubric.") for metric in metrics):
        found |= {key: value for key, value in known.items() if key.startswith("rubric/")}
    return found


def family_of(model: str) -> str:
    """Whose model this is, by its name: "OpenAI", "Qwen"…; "" where the name does not say."""
    name = model.lower().rpartition("/")[2]
    return next((family for part, family in _FAMILIES.items() if name.startswith(part) or f"-{part}" in name), "")
