"""The tools that metrics use, opened for one run: the judge's model, the judge, the embedder, the prompts."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from ragstone.errors import MissingExtra, UsageError
from ragstone.metrics import GROUPS, METRICS, Tools, check_metrics, find_metric, make_metrics
from ragstone.metrics.judge import BUDGET, MatrixJudge, Prompts
from ragstone.metrics.judge.panel import Combine, paneled
from ragstone.metrics.rubric import rubric_names
from ragstone.metrics.traits import prompt_hash_of, rubric_hash_of, traits_of
from ragstone.models import ModelOptions, check_model_name, open_embedder, open_model
from ragstone.models.embedder_own import can_embed
from ragstone.prices import Price
from ragstone.registry import is_place
from ragstone.types import Embedder, Metric, Model

DEFAULT_EMBEDDER = "local/e5-small"
# Parts of model names → family: a judge tends to prefer its own family's answers (Panickssery et al. 2024).
_FAMILIES = {
    "gpt": "OpenAI", "o1": "OpenAI", "o3": "OpenAI", "o4": "OpenAI", "chatgpt": "OpenAI", "claude": "Anthropic",
    "gemini": "Google", "gemma": "Google", "qwen": "Qwen", "qwq": "Qwen", "deepseek": "DeepSeek", "llama": "Llama",
    "mistral": "Mistral", "mixtral": "Mistral", "glm": "GLM", "kimi": "Moonshot", "moonshot": "Moonshot",
    "smollm": "SmolLM", "phi": "Phi", "yi-": "Yi", "baichuan": "Baichuan", "grok": "Grok", "ernie": "ERNIE",
    "hunyuan": "Hunyuan", "doubao": "Doubao", "command": "Cohere",
}  # fmt: skip


@dataclass(frozen=True)
class Judging:
    """The judge and its settings. `model` and `embedder` are names as on the command line, or open models. `base_url`:
    the endpoint of every judge, or one for each, in their order, or several endpoints of a single judge.

    `protocol`: "matrix" (two requests a sample, shared by all metrics) or "ragas" (metric by metric, the steps of the
    ragas package; scores are labelled ragas-style). `verify`: "joint" or "separate" (a request a passage).
    `prompts`: a folder of the user's own. `rubrics`: files of criteria, or folders of them. `language`: of the prompts;
    "" follows each sample. `reasons`: the judge says in a sentence why a claim is not supported. `strict_quotes`: a
    score that rests on a verdict whose quote is in no passage is failed, and so in no mean. `price`: of a
    million of the judge's tokens, where it is not that of the models' (for a limit on the cost). `others`: further
    judges of the same samples; `combine`: their scores as a "mean", as the "majority" (the median), or "each" apart."""

    model: str | Model | None = None
    base_url: str | tuple[str, ...] | None = None
    embedder: str | Embedder | None = None
    embedder_base_url: str | Sequence[str] | None = None
    protocol: Literal["matrix", "ragas"] = "matrix"
    verify: Literal["joint", "separate"] = "joint"
    prompts: Path | None = None
    rubrics: tuple[Path, ...] = ()
    language: str = ""
    budget: int | None = None
    reasons: bool = False
    strict_quotes: bool = False
    price: Price | None = None
    others: tuple[str | Model, ...] = ()
    combine: Combine = "mean"

    @classmethod
    def of(
        cls,
        model: str | Model | Sequence[str | Model] | None,
        *,
        prompts: str | Path | None = None,
        rubrics: str | Path | Sequence[str | Path] = (),
        base_url: str | Sequence[str] | None = None,
        **how: Any,
    ) -> Self:
        """From user input: one rubric or several, paths as strings."""
        judges: list[Any] = list(model) if isinstance(model, list | tuple) else [model]
        first, *others = judges or [None]
        several = [rubrics] if isinstance(rubrics, str | Path) else rubrics
        url = base_url if isinstance(base_url, str) else tuple(base_url or ()) or None
        return cls(
            first, prompts=None if prompts is None else Path(prompts), rubrics=tuple(map(Path, several)),
            others=tuple(others), base_url=url, **how,
        )  # fmt: skip

    @property
    def judges(self) -> tuple[str | Model, ...]:
        """All judges, none if there is none."""
        return () if self.model is None else (self.model, *self.others)

    @property
    def base_urls(self) -> tuple[str | tuple[str, ...] | None, ...]:
        """The endpoint of each judge, several for a single one, None for that of its provider. Raises UsageError."""
        given = (self.base_url,) if self.base_url is None or isinstance(self.base_url, str) else self.base_url
        if len(self.judges) == 1 and len(given) > 1:
            return (self.base_url,)
        if len(given) not in {1, len(self.judges)}:
            raise UsageError(
                f"--judge-base-url is given {len(given)} times for {len(self.judges)} judges: give it once for all of "
                "them, or once for each, in their order."
            )
        return given if len(given) == len(self.judges) else given * len(self.judges)

    def names(self, requested: Sequence[str | Metric]) -> list[str | Metric]:
        """The requested metrics and the rubrics, by their names under this protocol: with `ragas`, `faithfulness` is
        `ragas.faithfulness`."""
        if self.protocol not in ("matrix", "ragas"):
            raise UsageError(f"Unknown judge protocol {self.protocol!r}: choose matrix or ragas.")
        names: list[str | Metric] = []
        for name in requested:
            plain = list(GROUPS.get(name, (name,))) if isinstance(name, str) and name not in METRICS else [name]
            for metric in plain:
                ragas = f"ragas.{metric}"
                names.append(ragas if self.protocol == "ragas" and ragas in METRICS else metric)
        return [*names, *rubric_names(self.rubrics)]

    def check(self, requested: Sequence[str | Metric]) -> None:
        """Raises UsageError if these metrics need a judge and none is named, or if there can be no judge of that name,
        also where none of them asks it. Opens nothing."""
        names = [judge if isinstance(judge, str) else getattr(judge, "id", "") for judge in self.judges]
        _ = self.base_urls
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(f"The judge {twice} is named twice. Name it once; --repeat asks it again.")
        if baseline := next((name for name in names if name in ("local/extractive", "local/retrieval")), ""):
            raise UsageError(f"{baseline} is not a chat model and cannot judge: pass a chat model to --judge.")
        for judge in self.judges:
            if not (isinstance(judge, str) or hasattr(judge, "generate")):
                raise UsageError(
                    f"{judge!r} is not a model: pass PROVIDER/MODEL or an object with a `generate` method."
                )
            if isinstance(judge, str) and not is_place(judge):
                check_model_name(judge)
        if not (self.embedder is None or isinstance(self.embedder, str) or can_embed(self.embedder)):
            raise UsageError(
                f"{self.embedder!r} is not an embedder: pass PROVIDER/MODEL or an object with an `embed` method."
            )
        have = {"judge", "model"} if self.model is not None else set()
        check_metrics(self.names(requested), have | {"embedder"})

    def check_embedder(self, requested: Sequence[str | Metric]) -> None:
        """Raises UsageError if an embedder is named but none of these metrics uses one."""
        if self.embedder is None and self.embedder_base_url is None:
            return
        if not any("embedder" in _uses(name) for name in self.names(requested)):
            users = ", ".join(name for name, plugin in METRICS if "embedder" in traits_of(plugin).uses)
            option = "--embedder" if self.embedder is not None else "--embedder-base-url"
            raise UsageError(
                f"{option} has no effect: no chosen metric uses an embedder. Add one of these with --metrics, or leave "
                f"{option} out: {users}."
            )


@dataclass(frozen=True)
class Opened:
    """Metrics ready to score, their tools, and `spec`: all settings that determine the verdicts."""

    metrics: tuple[Metric, ...]
    tools: Tools
    spec: Mapping[str, Any] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def open_tools(
    judging: Judging, requested: Sequence[str | Metric], options: ModelOptions
) -> AsyncIterator[Opened]:
    """The requested metrics, ready to score. Opens only the tools that they need. Raises UsageError."""
    judging.check(requested)
    names = judging.names(requested)
    uses = {tool for name in names for tool in _uses(name)}
    async with contextlib.AsyncExitStack() as stack:
        models: list[Model] = []
        embedder: Embedder | None = None
        prompts: Prompts | None = None
        spec: dict[str, Any] = {}
        if uses & {"judge", "model"} or any(str(name).startswith("rubric:") for name in names):
            assert judging.model is not None
            models = [
                await _open_judge_model(stack, judging, judge, url, options)
                for judge, url in zip(judging.judges, judging.base_urls, strict=True)
            ]
            spec["model"] = models[0].id
            prompts = Prompts.load(judging.prompts, reasons=judging.reasons)
        if "embedder" in uses:
            calling = replace(options, base_url=judging.embedder_base_url)
            chosen = judging.embedder or DEFAULT_EMBEDDER
            try:
                embedder = await stack.enter_async_context(open_embedder(chosen, calling))
            except MissingExtra as error:
                needed = ", ".join(str(name) for name in names if "embedder" in _uses(name))
                raise MissingExtra(f"{error}; or choose another with --embedder. Needed by {needed}.") from None
            spec["embedder"] = embedder.id
        by_judge: dict[str, tuple[Metric, ...]] = {}
        judges: Sequence[Model | None] = models or [None]
        sets = [_tools(judging, model, embedder, prompts, claims="judge" in uses) for model in judges]
        for tools in sets:
            by_judge["" if tools.model is None else tools.model.id] = make_metrics(names, tools)
        tools, metrics = sets[0], next(iter(by_judge.values()))
        if tools.judge is not None:
            spec |= {key: value for key, value in tools.judge.spec.items() if key != "prompts"}
        if judging.protocol == "ragas" and any(str(name).startswith("ragas.") for name in names):
            spec["protocol"] = judging.protocol
        if prompts is not None:
            spec["prompts"] = _hashes(metrics, tools.judge, prompts.spec)
            spec["rubrics"] = {metric.name: value for metric in metrics if (value := rubric_hash_of(metric))}
        if len(models) > 1:
            spec |= {"others": [model.id for model in models[1:]], "combine": judging.combine}
            metrics = paneled(by_judge, judging.combine)
        yield Opened(metrics, tools, spec)


async def _open_judge_model(
    stack: contextlib.AsyncExitStack,
    judging: Judging,
    judge: str | Model,
    base_url: str | tuple[str, ...] | None,
    options: ModelOptions,
) -> Model:
    allowance = options.allowance and options.allowance.at(judging.price)
    calling = replace(options, base_url=base_url, allowance=allowance)
    try:
        return await stack.enter_async_context(open_model(judge, calling))
    except UsageError as error:
        if " --base-url" not in str(error):
            raise
        # The model does not know which option named it.
        raise UsageError(str(error).replace(" --base-url", " --judge-base-url")) from None


def _tools(
    judging: Judging, model: Model | None, embedder: Embedder | None, prompts: Prompts | None, *, claims: bool
) -> Tools:
    """The tools with this model as the judge, which takes claims if some metric needs them."""
    judge: MatrixJudge | None = None
    if claims and model is not None:
        judge = MatrixJudge(
            model, embedder=embedder, prompts=prompts, verify=judging.verify, budget=judging.budget or BUDGET,
            language=judging.language, strict_quotes=judging.strict_quotes,
        )  # fmt: skip
    return Tools(judge, model, embedder, prompts, tuple(judging.rubrics), judging.language)


def _uses(name: str | Metric) -> tuple[str, ...]:
    """The tools that a metric needs; an object needs none."""
    return traits_of(find_metric(name)).uses if isinstance(name, str) else ()


def _hashes(metrics: Sequence[Metric], judge: Any, known: Mapping[str, str]) -> dict[str, str]:
    """The hashes of the prompts that these metrics use, by name and language."""
    hashes = dict(judge.spec["prompts"]) if judge is not None else {}
    for metric in metrics:
        if own := prompt_hash_of(metric):
            hashes[metric.name] = own
        for name in traits_of(metric).asks:
            hashes |= {key: value for key, value in known.items() if key.split("/")[0] == name}
    if any(metric.name.startswith("ragas.") for metric in metrics):
        hashes |= {key: value for key, value in known.items() if key.startswith("ragas_")}
    if any(metric.name.startswith("rubric.") for metric in metrics):
        hashes |= {key: value for key, value in known.items() if key.startswith("rubric/")}
    return hashes


def name_of(model: str | Model | Embedder | None) -> str:
    """The name of a model as on the command line, or the id of an open one; "" where there is none."""
    return model if isinstance(model, str) else "" if model is None else model.id


def family_of(model: str) -> str:
    """The family of a model by its name: "OpenAI", "Qwen"…; "" if unknown."""
    name = model.lower().rpartition("/")[2]
    return next((family for part, family in _FAMILIES.items() if name.startswith(part) or f"-{part}" in name), "")
