"""Adapt the SVG that Matplotlib writes to the page.

Style attributes become presentation attributes, so that the page need not allow inline styles; the colours below
become custom properties of the page; unused ids are removed and the others get a prefix; and the picture gets its
role, title and description.
"""

import re
from xml.etree import ElementTree

# Okabe & Ito 2008, "Color Universal Design", without its yellow and black; with a seventh added.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195")
# Placeholders that the page replaces by its own colours: text, secondary text, grid, published figures,
# worse and better.
INK, SOFT, FAINT, GREY = "#010101", "#020202", "#030303", "#040404"
BAD, GOOD = "#050505", "#060606"
_VARIABLES = {colour: f"var(--s{number},{colour})" for number, colour in enumerate(COLOURS, 1)} | {
    INK: "var(--ink,#1c1e21)",
    SOFT: "var(--soft,#5b616b)",
    FAINT: "var(--grid,#d9d9d9)",
    GREY: "var(--grey,#8a8f98)",
    BAD: "var(--bad,#b3261e)",
    GOOD: "var(--good,#17704a)",
}
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)|^#(.+)$")
_DECIMALS = re.compile(r"(-?\d+\.\d{2})\d+")
_DROPPED = {"font-family", "font"}  # the page's fonts draw the text
_NO_ROTATION = re.compile(r"rotate\(-?0 ")


def variable(colour: str) -> str:
    """One of the colours above as a custom property of the page."""
    return _VARIABLES[colour]


def adapted(svg: bytes, *, title: str, description: str, prefix: str) -> str:
    """The `<svg>` element as text. `title` and `description` must be free of characters that XML forbids."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style") or (child.tag == f"{_SVG}defs" and _only_style(child)):
                parent.remove(child)
    used = {name for element in root.iter() for value in element.attrib.values() for name in _references(value)}
    for element in root.iter():
        _adapt(element, used, prefix)
    _compact(root)
    root.attrib.pop("version", None)
    for name in ("width", "height"):
        root.attrib.pop(name)
    root.attrib |= {
        "class": "chart", "role": "img", "aria-labelledby": f"{prefix}-t {prefix}-d", "stroke-linejoin": "round",
    }  # fmt: skip
    for tag, suffix, text in (("desc", "d", description), ("title", "t", title)):
        child = ElementTree.Element(f"{_SVG}{tag}", {"id": f"{prefix}-{suffix}"})
        child.text = text
        root.insert(0, child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)  # HTML needs no name space
    return ElementTree.tostring(root, encoding="unicode")


def _only_style(defs: ElementTree.Element) -> bool:
    return len(defs) > 0 and all(child.tag == f"{_SVG}style" for child in defs)


def _references(value: str) -> list[str]:
    return [first or second for first, second in _REFERENCE.findall(value)]


def _adapt(element: ElementTree.Element, used: set[str], prefix: str) -> None:
    attributes = element.attrib
    if "id" in attributes:
        name = attributes.pop("id")
        if name in used:
            attributes["id"] = f"{prefix}-{name}"
    for declaration in attributes.pop("style", "").split(";"):
        name, colon, value = declaration.partition(":")
        if colon and name.strip() not in _DROPPED:
            attributes[name.strip()] = value.strip()
    if _XLINK in attributes:
        attributes["href"] = attributes.pop(_XLINK)
    if _NO_ROTATION.match(attributes.get("transform", "")):
        del attributes["transform"]
    for name, value in attributes.items():
        if name in ("fill", "stroke"):
            attributes[name] = _VARIABLES.get(value.lower(), value)
        elif name in ("href", "clip-path"):
            attributes[name] = value.replace("#", f"#{prefix}-", 1)
        elif name in ("d", "x", "y", "transform"):
            attributes[name] = _DECIMALS.sub(r"\1", " ".join(value.split()))


def _compact(root: ElementTree.Element) -> None:
    """Remove white space between elements, groups without attributes, and elements that draw nothing."""
    for element in root.iter():
        if element.tag != f"{_SVG}text":
            element.text = (element.text or "").strip() or None
        element.tail = None
    changed = True
    while changed:
        changed = False
        for parent in list(root.iter()):
            for index, child in reversed(list(enumerate(parent))):
                if child.tag in (f"{_SVG}g", f"{_SVG}defs") and (
                    not len(child) or (not child.attrib and child.tag == f"{_SVG}g")
                ):
                    parent[index : index + 1] = list(child)
                    changed = True
