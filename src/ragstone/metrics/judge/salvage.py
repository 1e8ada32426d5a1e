"""Steps of run files that come from anywhere: as much of one as has the right form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

import msgspec
from msgspec.structs import fields

_UNFIT = (ValueError, RecursionError, OverflowError)  # of what a file may hold: also keys that are no Unicode


def salvaged(data: Mapping[str, Any], kind: Any) -> Any:
    """The struct of this kind that the data are, or as much of it as has the right form; None where a field that it
    cannot be without has not."""
    try:
        return msgspec.convert(data, kind)
    except _UNFIT:
        pass
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.encode_name not in data:
            continue
        value = data[field.encode_name]
        if field.name == "reply" and value and not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except _UNFIT:
            item_type = _item_type(field.type)
            if isinstance(value, list | tuple) and item_type is not None:
                values[field.name] = _items(value, item_type)
    try:
        return kind(**values)
    except TypeError:
        return None


def _item_type(annotation: Any) -> Any:
    """X of tuple[X, ...] and of tuple[X, ...] | None; None for other types."""
    for choice in (annotation, *get_args(annotation)):
        if get_origin(choice) is tuple:
            return get_args(choice)[0]
    return None


def _items(values: Sequence[Any], of: Any) -> tuple[Any, ...]:
    """The items of a list that are what they should be, or as much of them as is."""
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        read = (salvaged(item, of) for item in values if isinstance(item, Mapping))
        return tuple(item for item in read if item is not None)
    items = []
    for item in values:
        try:
            items.append(msgspec.convert(item, of))
        except _UNFIT:
            continue
    return tuple(items)
