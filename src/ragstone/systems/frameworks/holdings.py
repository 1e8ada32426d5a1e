"""What an application's objects hold: retrievers, and the texts that a retriever was built on."""

import contextlib
import functools
import json
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ragstone.user_code.calls import is_users_file

T = TypeVar("T")
_MOST_OBJECTS = 5000  # of an application that are looked at
_MOST_ITEMS = 100  # of a list or mapping: an index may have millions
_TEXTS = ("page_content", "text", "content")  # of the documents of the frameworks


def objects_in(root: Any, *kinds: type[T]) -> list[T | type[T]]:
    """The objects and classes of some kinds that an application holds, outermost ones only: in attributes, lists and
    mappings, and in what the user's functions and methods close over or name."""

    def is_kind(value: Any) -> bool:
        return isinstance(value, kinds) or (isinstance(value, type) and issubclass(value, kinds) and value not in kinds)

    return [value for value in _walk(root, stop=is_kind) if is_kind(value)]


def texts_in(root: Any) -> Iterator[str]:
    """The texts of the documents that an object holds, of any framework; not of those that its functions name."""
    for value in _walk(root, stop=lambda part: isinstance(part, types.FunctionType | types.MethodType)):
        fields: Mapping[str, Any] = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        yield from (text for name in _TEXTS if isinstance(text := fields.get(name), str))
        if isinstance(node := fields.get("_node_content"), str):  # as LlamaIndex stores a node
            with contextlib.suppress(ValueError):
                yield str(json.loads(node).get("text"))


def _walk(root: Any, stop: Callable[[Any], bool] = lambda value: False) -> Iterator[Any]:
    """The objects that are reached from one, it first; what `stop` holds of is not looked into."""
    waiting, visited = deque([root]), set[int]()
    while waiting and len(visited) < _MOST_OBJECTS:
        value = waiting.popleft()
        if id(value) in visited:
            continue
        visited.add(id(value))
        yield value
        if not stop(value) and not isinstance(value, str | bytes | int | float | type | types.ModuleType):
            waiting.extend(parts_of(value))


def parts_of(value: Any) -> list[Any]:
    """What an object holds or names."""
    if isinstance(value, Mapping):
        return list(value.values())[:_MOST_ITEMS] if isinstance(value, dict) else []
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:_MOST_ITEMS]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        return _named_by(value)
    private = getattr(value, "__pydantic_private__", None) or {}
    members = [part for base in type(value).__mro__ for part in vars(base).values()]
    methods = [part for part in members if isinstance(part, types.FunctionType) and _is_own(part)]
    return [*(vars(value).values() if hasattr(value, "__dict__") else ()), *private.values(), *methods]


def _is_own(function: types.FunctionType) -> bool:
    return is_users_file(function.__code__.co_filename)


def _named_by(function: types.FunctionType) -> list[Any]:
    """What a function closes over; in the user's code also what its global names, and those of functions inside it,
    stand for."""
    cells = [getattr(function, "__wrapped__", None)]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not filled yet
            cells.append(cell.cell_contents)
    if not _is_own(function):
        return cells
    codes, names = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    spaces = [function.__globals__, *(vars(module) for module in _modules(function, names))]
    return [*cells, *(space[name] for space in spaces for name in sorted(names & space.keys()))]


def _modules(function: types.FunctionType, names: set[str]) -> list[types.ModuleType]:
    """The user's own modules among these names, which a function has imported, inside of it or before."""
    package = str(function.__globals__.get("__package__") or "")
    found = [function.__globals__.get(name) for name in names]
    found += [sys.modules.get(place) for name in names for place in (name, f"{package}.{name}")]
    modules = [item for item in found if isinstance(item, types.ModuleType)]
    return [
        item for item in modules if is_users_file(getattr(item, "__file__", None) or "<")
    ]  # built-in ones have none
