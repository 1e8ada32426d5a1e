"""The evaluated systems and the configuration of the run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from markupsafe import Markup
from msgspec import structs

from ragstone.datasets.sources import GENERATED_LICENSE
from ragstone.messages import messages
from ragstone.report.judge import judge_label, judge_name
from ragstone.report.metadata import first, flattened, notices
from ragstone.report.named_run import id_of
from ragstone.report.number_format import share
from ragstone.report.section import Section, View


def _body(view: View) -> Markup:
    w = messages(__name__, view.language)
    counts = Counter[str]()
    for system in view.digest.systems.values():
        counts.update(asdict(system.counts))
    tiles = [
        (_asked(view.digest.total, sum(plan.total - plan.asked for plan in view.run.plans().values()), w), w["cases"]),
        *(
            (f"{counts[name]:,}", w[name])
            for name in ("right", "wrong", "unscored", "failed")
            if counts[name] or (view.digest.decided and name in ("right", "wrong"))
        ),
    ]
    systems = _systems(view, w)
    rare = [name for name in ("unscored", "failed", "cut") if counts[name]]
    return view.html(
        "report/configuration.html", w=w, rare=rare, tiles=tiles, facts=_facts(view, w), systems=systems,
        share=share, own_sampling=len({system["sampling"] for system in systems}) > 1,
    )  # fmt: skip


def _facts(view: View, w: Mapping[str, str]) -> list[tuple[str, str]]:
    meta, benchmark = view.run.meta, view.benchmark
    prompted = any(isinstance(spec.get("template"), Mapping) for spec in view.run.systems.values())
    entries = [
        (w["benchmark"], w["version"].format(name=benchmark.name, version=benchmark.version)),
        (w["data"], first(meta, "data.name", "data_name", "dataset.name", "data", "dataset")),
        *((w["hash"], text) for text in _hashes(meta)),
        (w["selection"], first(meta, "selection")),
        (w["scoring"], first(meta, "scoring")),
        (w["template"], benchmark.template.name if prompted else ""),
        (w["sampling"], _sampling(view, w)),
        (w["judge"], judge_name(meta)),
        (w["license"], _license(view, w)),
        (w["citation"], first(meta, "citation") or benchmark.citation),
    ]
    return [(name, text) for name, text in entries if text]


def _license(view: View, w: Mapping[str, str]) -> str:
    text = first(view.run.meta, "license", "licence") or view.benchmark.license
    return w["generated"] if text == GENERATED_LICENSE else text


def _sampling(view: View, w: Mapping[str, str]) -> str:
    """The sampling settings of the systems, with the template's where they differ; "" where there are none."""
    samplings = [spec["sampling"] for spec in view.run.systems.values() if spec.get("sampling") is not None]
    used = list(dict.fromkeys(_settings(sampling) or w["endpoint"] for sampling in samplings))
    published = _settings(structs.asdict(view.benchmark.template.sampling))
    text = "; ".join(used)
    return w["instead"].format(used=text, published=published) if used and published and used != [published] else text


def _hashes(meta: Mapping[str, Any]) -> Iterator[str]:
    """Hashes of the data, with file names where there are several; the last section has the full list."""
    question = flattened(meta.get("question") or {})
    hashes = {
        key: text for key, text in question.items() if "sha256" in key and "prompt" not in key and "template" not in key
    }
    for key, text in list(hashes.items())[:12]:
        name = key.rpartition("sha256")[2].strip(".") or key.rpartition("sha256")[0].strip(".").rpartition(".")[2]
        yield f"{name}  {text}" if len(hashes) > 1 and name else text


def _settings(values: object) -> str:
    return ", ".join(f"{name} {text}" for name, text in flattened(values).items() if text)


def notices_of(view: View) -> list[str]:
    """What limits the figures: warnings about data, systems and the judge, and requests that failed."""
    return list(_notices(view, messages(__name__, view.language)))


def _notices(view: View, w: Mapping[str, str]) -> Iterator[str]:
    texts = notices(view.run.meta.get("notices"), view.language)
    texts += notices(view.run.meta.get("warnings"), view.language)
    texts += notices(list(view.benchmark.warnings), view.language)
    for spec in view.run.systems.values():
        texts += notices(spec.get("notice"), view.language)
    yield from dict.fromkeys(texts)
    for system in view.digest.systems:
        for kind in ("smollm2", "extractive"):
            if id_of(view.run, system).startswith(f"local/{kind}"):
                yield w[kind].format(name=system)
    if label := judge_label(view.run.meta, view.language, view.experts):
        yield label
    counts = [system.counts for system in view.digest.systems.values()]
    if not view.digest.decided and any(count.unscored for count in counts):
        yield w["undecided"]
    if failed := sum(count.failed for count in counts):
        yield w["some_failed"].format(failed=f"{failed:,}", total=f"{view.digest.total:,}")
    if cut := sum(count.cut for count in counts):
        yield w["some_cut"].format(cut=f"{cut:,}")


def _asked(count: int, unasked: int, w: Mapping[str, str]) -> str:
    """The number of cases asked, with the total where some remain."""
    return w["of"].format(asked=count, total=count + unasked) if unasked > 0 else f"{count:,}"


def _systems(view: View, w: Mapping[str, str]) -> list[dict[str, Any]]:
    rows, plans = [], view.run.plans()
    for name, system in view.digest.systems.items():
        spec = view.run.systems.get(name, {})
        tokens = ""
        if system.with_usage:
            sent, got = (
                round(system.prompt_tokens / system.with_usage),
                round(system.completion_tokens / system.with_usage),
            )
            tokens = w["in_out"].format(sent=f"{sent:,}", got=f"{got:,}")
        rows.append({
            "id": id_of(view.run, name), "name": name,
            "models": sorted(system.models),
            "sampling": _settings(spec.get("sampling") or {}),
            "counts": system.counts,
            "asked": _asked(system.counts.total, plans[name].total - plans[name].asked if name in plans else 0, w),
            "scored": system.counts.right + system.counts.wrong,
            "tokens": tokens,
        })  # fmt: skip
    return rows


PLUGINS = {
    "configuration": Section(10, {"en": "Systems and configuration", "zh": "被测系统与配置"}, _body, folded=True)
}
