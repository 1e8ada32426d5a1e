"""Strings that want to run, to fetch, to hide or to break something, and a run that has them in every field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec.structs import replace
from tests.report.synthetic import MemoryRun, PlainTemplate, SmallBenchmark

from ragstone.display import Cell, Chart, Diagnosis, Point, Row, Series, Span, Table
from ragstone.types import Case, Passage, Query, Record, Response, Run, Sample, Score, Usage

RUNS = "document.title='owned';window.owned=1"
FETCHES = "http://evil.example"

PAYLOADS: Sequence[str] = (
    f"<script>{RUNS}</script>",
    f"<ScRiPt src={FETCHES}/x.js></sCrIpT>",
    f"<img src=x onerror={RUNS}>",
    f'"><img src="{FETCHES}/p.png" onload="{RUNS}">',
    f"' onmouseover='{RUNS}' autofocus onfocus='{RUNS}",
    f'" onpointerenter="{RUNS}" style="position:fixed;inset:0" x="',
    f"<svg onload={RUNS}>",
    f"<svg><script>{RUNS}</script></svg>",
    f"<svg><animate onbegin={RUNS} attributeName=x dur=1s>",
    f"<svg><use href='data:image/svg+xml,<svg id=x onload={RUNS}>#x'/></svg>",
    f"<iframe srcdoc='<script>parent.{RUNS}</script>'></iframe>",
    f"<iframe src='javascript:{RUNS}'></iframe>",
    f"<object data='{FETCHES}/o'></object><embed src='{FETCHES}/e'>",
    f"<a href='javascript:{RUNS}'>click</a>",
    f"</style><script>{RUNS}</script>",
    f"</title><script>{RUNS}</script>",
    f"</textarea></template></noscript><script>{RUNS}</script>",
    f"--><script>{RUNS}</script><!--",
    f"]]><script>{RUNS}</script><![CDATA[",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUNS}>",
    f"<details open ontoggle={RUNS}><summary>x</summary></details>",
    f"<video><source onerror={RUNS}></video>",
    f"<body onload={RUNS}>",
    f"<input autofocus onfocus={RUNS}>",
    f"<meta http-equiv=refresh content='0;url={FETCHES}/m'>",
    f"<base href='{FETCHES}/'>",
    f"<link rel=stylesheet href='{FETCHES}/s.css'>",
    f"<style>@import url('{FETCHES}/i.css');body{{display:none}}</style>",
    f"<form action='{FETCHES}/f'><button>go</button></form>",
    f"<div style=\"background:url('{FETCHES}/b.png')\">x</div>",
    "{{ 7*7 }}{% for x in [].__class__.__mro__ %}{{ x }}{% endfor %}{# #}",
    "{0.__class__}{words}{n}%(name)s${x}",
    f"&lt;script&gt;{RUNS}&lt;/script&gt;&#60;img src=x&#62;&amp;",
    f"\\u003cscript\\u003e{RUNS}\\u003c/script\\u003e",
    f"<scr\x00ipt>{RUNS}</scr\x00ipt>",
    f"+ADw-script+AD4-{RUNS}+ADw-/script+AD4-",
    "$\\frac{1}{0}$ $x_{$ \\$",
    "[link](javascript:x) ![image](http://evil.example/i.png) **bold** | bar | `code`",
    "\x1b[31mred\x1b]0;title\x07\x1b[2J",
    "safe\u202egnp.exe\u202c \u2066isolate\u2069 \u200fmark",
    "line\u2028separator\u2029and\x85next",
    "lone \ud800 surrogate \udfff and \ufffe",
    "tags \U000e0041\U000e0042 and zero\u200bwidth \ufeff",
    "=HYPERLINK(\"http://evil.example\",\"x\")",
    "a" * 700,
    "名" * 700,
)  # fmt: skip


# The rest of the battery, for the slow test: every way to start a script that the cheat sheets of the field list.
_HANDLERS = """
onabort onanimationend onanimationstart onauxclick onbeforeinput onbeforetoggle onblur oncanplay
oncontentvisibilityautostatechange onerror onfocusin onfocus oninput oninvalid onload onloadstart
onmouseenter onmousemove onpageshow onpointermove onpointerrawupdate onresize onscroll onscrollend
onsecuritypolicyviolation onselectionchange ontoggle ontransitionend ontransitionrun onwheel
""".split()  # noqa: SIM905
MORE: Sequence[str] = (
    *(f"<x tabindex=1 autofocus style=animation:1s {name}={RUNS}>x</x>" for name in _HANDLERS),
    *(
        f"<{tag} src=x href=x data=x onerror={RUNS} onload={RUNS}>"
        for tag in ("audio", "image", "track", "frame", "portal")
    ),
    *(
        f"<a href='{scheme}{RUNS}'>x</a>"
        for scheme in (
            "JaVaScRiPt:",
            "java\tscript:",
            "java\nscript:",
            "\x01javascript:",
            "vbscript:",
            "&#106;avascript:",
        )
    ),
    *(
        f"</{tag}><script>{RUNS}</script>"
        for tag in ("script", "svg", "math", "select", "option", "iframe", "xmp", "plaintext")
    ),
    f"<script\x0c>{RUNS}</script\x0c>",
    f"<script/x>{RUNS}</script/x>",
    f"<<script>{RUNS}//<</script>",
    f"<script>{RUNS}",
    f"<a/onclick={RUNS}/href=#>x",
    f"<svg><a xlink:href='javascript:{RUNS}'><text>x</text></a></svg>",
    f"<svg><set attributeName=href to='javascript:{RUNS}'/></svg>",
    f"<svg><foreignObject><body onload={RUNS}></foreignObject></svg>",
    f"<math href='javascript:{RUNS}'>x</math>",
    f"<form><button formaction='javascript:{RUNS}'>x</button></form>",
    f"<isindex type=image src=1 onerror={RUNS}>",
    f"<template shadowrootmode=open><script>{RUNS}</script></template>",
    f"<marquee onstart={RUNS}>x</marquee>",
    f"<noscript><p title='</noscript><img src=x onerror={RUNS}>'>",
    f"<!--[if IE]><script>{RUNS}</script><![endif]-->",
    f"<?xml-stylesheet href='javascript:{RUNS}'?>",
)
BATTERY: Sequence[str] = (*PAYLOADS, *MORE)


@dataclass(frozen=True)
class HostileBenchmark(SmallBenchmark):
    """Repeats whatever the records hold, in every field that a report shows."""

    evil: str = ""

    @property
    def warnings(self) -> list[str]:
        return [f"warning {self.evil}"]

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        evil = self.evil
        value = Cell(text=evil, value=0.5, low=0.4, high=0.6, scored=1, total=2, unit="%", note=f"note {evil}")
        rows = (
            Row((Cell(text=f"key {evil}", note=evil), value, Cell(text=evil))),
            Row((Cell(text=evil), value), published=True),
        )
        return [Table(evil, f"title {evil}", (f"first {evil}", f"second {evil}", evil), rows, (f"footnote {evil}",))]

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        evil = self.evil
        series = (
            Series(f"series {evil}", (Point(0, 0.5, 0.4, 0.6), Point(1, 0.4, 0.3, 0.5))),
            Series(f"paper {evil}", (Point(0, 0.6), Point(1, 0.3)), published=True),
        )
        return [
            Chart(evil, f"chart {evil}", "lines", series, x_label=f"x {evil}", y_label=f"y {evil}", alt=f"alt {evil}"),
            Chart(
                evil, f"bars {evil}", "bars", series, categories=(f"one {evil}", evil), alt=f"alt {evil}", percent=False
            ),
        ]

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        evil = str(record.case.condition["evil"])
        starts: Sequence[tuple[int, Literal["match", "wrong", "refusal"]]]
        starts = ((0, "match"), (5, "wrong"), (-4, "refusal"), (10**9, "match"))
        spans = tuple(
            Span(field, start, start + 9, kind) for field in ("answer", f"passage {evil}") for start, kind in starts
        )
        right = None if record.response is None else False
        return Diagnosis(right, f"group {evil}", f"cause {evil}", f"label {evil}", f"reason {evil}", 1.0, spans)


def hostile_records(payloads: Iterable[str]) -> Iterator[Record]:
    """Two records a payload, one answered and one failed, with the payload in every field."""
    for evil in sorted(payloads, key=lambda text: text.encode("utf-8", "surrogatepass")):
        passages = (
            Passage(
                f"passage {evil}", f"text {evil}", title=f"heading {evil}", relevant=True, meta={"kind": f"kind {evil}"}
            ),
            Passage(evil, evil, relevant=False),
        )
        sample = Sample(
            f"sample {evil}", evil, ((f"alias {evil}", evil),), language=evil, meta={"fake": [f"fake {evil}"]}
        )
        case = Case(
            f"case {evil}", sample, {"evil": evil, f"condition {evil}": f"value {evil}"},
            Query(f"question {evil}", passages, language=evil),
        )  # fmt: skip
        scores = {
            f"metric {evil}": Score(None, "failed", f"why {evil}", {"raw": evil}),
            evil: Score.of(0.0, reason=evil),
        }
        response = Response(
            f"answer {evil}",
            usage=Usage(1, 1),
            reasoning=f"reasoning {evil}",
            finish_reason="length",
            model=f"model {evil}",
        )
        yield Record(f"system {evil}", case, response, scores=scores)
        yield Record(f"system {evil}", replace(case, id=f"failed {evil}"), error=f"kind {evil[:40]}: message {evil}")


def hostile_run(payloads: Iterable[str] = PAYLOADS) -> tuple[MemoryRun, HostileBenchmark]:
    """A run of all payloads, and a benchmark whose own texts hold them all as well."""
    every = tuple(payloads)
    together = " ".join(every)
    meta: Mapping[str, Any] = {
        "question": {f"name {evil}": evil for evil in every} | {"data": {"name": together, "sha256": together}},
        "selection": together,
        "notices": [f"notice {evil}" for evil in every],
        "command": ["ragstone", *every],
        "license": together, "citation": together, "judge": together,
        f"meta {together}": {together: [together, {together: together}]},
    }  # fmt: skip
    systems = {
        f"system {evil}": {"model": evil, "notice": evil, "sampling": {"stop": evil}, f"spec {evil}": [evil]}
        for evil in every
    }
    benchmark = HostileBenchmark(
        name=f"bench {together}", license=together, citation=together, template=PlainTemplate(together), evil=together
    )
    return MemoryRun(lambda: hostile_records(every), meta, systems), benchmark
