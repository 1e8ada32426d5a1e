"""A small language for writing news that varies.

A grammar file has sections (`== name`) of templates, one a line; `#` starts a comment line. In a template

    {winner}  {winner.he}  {date.long}   a value of the story's world, or an attribute of it
    {a:trade}  {s:team}  {cap:x}  {up:x} the value with its article, as a possessive, capitalised, in capitals
    [won|took|]                          one of these; the empty one leaves it out; they nest
    {~20-400}  {~person}                 drawn anew wherever it stands (see `parts.Drawn`)
    <said>                               any template of another section
    ¶¶  ¶  ¦                             a line break around a block, one within it, and a stroke between two columns

A template whose values the world does not have is passed over, so one file serves worlds that differ.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

# Domains whose events draw people to the town.
FESTIVE = ("final", "bridge", "launch")
# Values of other editions (1 to 3): what names one, its date, the entry of a chronology, how a sentence names it, and
# its value; what they are editions of, in a heading and in a sentence; what tables call the value and the name.
ROWS = frozenset(
    {"of", "theof", "label", "key", *(f"{name}{place}" for name in ("k", "d", "e", "at", "v") for place in (1, 2, 3))}
)


class Var(NamedTuple):
    key: str
    attr: str
    form: str


class Ref(NamedTuple):
    name: str


class Choice(NamedTuple):
    options: "tuple[tuple[Part, ...], ...]"


Part: TypeAlias = "str | Var | Ref | Choice"
Grammar: TypeAlias = Mapping[str, tuple[tuple[Part, ...], ...]]

TOKEN = re.compile(r"[\[\]|]|\{[^{}]*\}|<[^<>]*>|[^\[\]|{}<>]+")


def parse(text: str) -> Grammar:
    """Read a grammar file. ValueError, with the line's number, where brackets do not match or a line has no section."""
    sections: dict[str, list[tuple[Part, ...]]] = {}
    current: list[tuple[Part, ...]] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("== "):
            current = sections.setdefault(line[3:].strip(), [])
            continue
        if current is None:
            raise ValueError(f"line {number}: a template before the first section")
        tokens = TOKEN.findall(line)
        if "".join(tokens) != line:
            raise ValueError(f"line {number}: a bracket without its partner: {line}")
        parts, rest = _sequence(tokens, 0)
        if rest != len(tokens):
            raise ValueError(f"line {number}: a bracket without its partner: {line}")
        current.append(parts)
    return {name: tuple(lines) for name, lines in sections.items()}


def _sequence(tokens: Sequence[str], at: int) -> tuple[tuple[Part, ...], int]:
    parts: list[Part] = []
    while at < len(tokens) and tokens[at] not in {"|", "]"}:
        token = tokens[at]
        at += 1
        if token == "[":
            options = []
            while True:
                option, at = _sequence(tokens, at)
                options.append(option)
                if at >= len(tokens):
                    raise ValueError("a [ without its ]: " + "".join(tokens))
                at += 1
                if tokens[at - 1] == "]":
                    break
            parts.append(Choice(tuple(options)))
        elif token[0] == "{":
            form, _, path = token[1:-1].rpartition(":")
            key, _, attr = path.partition(".")
            parts.append(Var(key, attr, form))
        elif token[0] == "<":
            parts.append(Ref(token[1:-1]))
        else:
            parts.append(token)
    return tuple(parts), at


@cache
def load(name: str, strong: frozenset[str] = frozenset()) -> Grammar:
    """The grammar of a domain with the common one under it: sections of both are joined, unless the domain's name ends
    in `!`, which puts it in the place of the common one. `strong`: with the templates of `grammar/news`, with its
    mends, and without those that have none of these values and would read the same in many passages."""
    folder = files("ragstone.datasets.fictional.en") / "grammar"
    text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    if not strong:
        sections = parse(text)
    else:
        more, _, mends = (folder / "news" / f"{name}.txt").read_text(encoding="utf-8").partition("== mends\n")
        sections, news = parse(mended(text, mends.splitlines())), parse(more)
        sections = {key: (*sections.get(key, ()), *news.get(key, ())) for key in dict.fromkeys([*sections, *news])}
    if name == "common":
        return sections
    common = load("common", strong)
    if strong:
        own = {f"own{key[4:]}": _own_rows(lines) for key, lines in common.items() if key.startswith("back")}
        common = {**common, **own}
    joined = {
        key: sections.get(key, ()) + common.get(key, ())
        for key in dict.fromkeys([*sections, *common])
        if key[-1] != "!"
    }
    joined |= {key: (*joined[key], *common["rumour"]) for key in joined if strong and key.startswith("rumour.")}
    joined |= {key[:-1]: sections.get(key[:-1], ()) + lines for key, lines in sections.items() if key[-1] == "!"}
    if name in FESTIVE:
        joined["react"] += common["crowd"]
    if strong:
        joined = {key: tuple(line for line in lines if _varies(line, strong)) or lines for key, lines in joined.items()}
    return joined


def _own_rows(lines: tuple[tuple[Part, ...], ...]) -> tuple[tuple[Part, ...], ...]:
    """The templates of a look back with the rows of which one is the report's own edition."""
    return tuple(
        tuple(
            part._replace(key=f"o{part.key}") if isinstance(part, Var) and part.key in ROWS else part for part in line
        )
        for line in lines
    )


def mended(text: str, mends: Iterable[str]) -> str:
    """A grammar file with parts of it in other words, for difficult data: `old => new` a line; where nothing
    is new, the templates that have it go. Raises ValueError for a part that the file does not have."""
    for line in filter(None, map(str.strip, mends)):
        old, _, new = line.partition("=>")
        if old.strip() not in text:
            raise ValueError(f"nothing to mend: {line}")
        if new.strip():
            text = text.replace(old.strip(), new.strip())
        else:
            text = "\n".join(line for line in text.splitlines() if old.strip() not in line)
    return text


def _varies(parts: tuple[Part, ...], strong: frozenset[str]) -> bool:
    """Whether each sentence of a template has a strong value, or one drawn anew."""
    found = [False]
    for part in parts:
        if isinstance(part, str):
            found += [False] * len(SENTENCE_ENDS.findall(part))
        elif isinstance(part, Var):
            found[-1] |= part.key in strong or part.key[0] == "~"
        elif isinstance(part, Choice):
            found[-1] |= all(_varies(option, strong) for option in part.options)
        else:
            found[-1] = True
    return all(found)


# Where another sentence follows within a template.
SENTENCE_ENDS = re.compile(r"[.!?]\"? \"?(?=[A-Z]|$)")
