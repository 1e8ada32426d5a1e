"""RGB from what a user says about it."""

import inspect
from pathlib import Path
from typing import Any

from ragstone.api.data import load_rgb
from ragstone.benchmarks.rgb import RGB
from ragstone.errors import UnknownName

__all__ = ["make_rgb"]


def make_rgb(
    *, data: str | Path = "fictional", fictional_seed: int = 0, fictional_size: int | None = None, **options: Any
) -> RGB:
    """RGB over the data that are named; `options` are those of `benchmarks.rgb.RGB`. Raises UsageError."""
    for name in ("languages", "abilities"):
        if isinstance(one := options.get(name), str):
            options[name] = (one,)
    data_name, sets = load_rgb(
        data,
        languages=options.get("languages") or ("en", "zh"),
        dataset=options.get("dataset"),
        seed=fictional_seed,
        size=fictional_size,
    )
    known = set(inspect.signature(RGB).parameters) - {"sets", "data_name"}
    if unknown := sorted(options.keys() - known):
        raise UnknownName("option of rgb", unknown[0], known)
    return RGB(sets, data_name=data_name, **{key: value for key, value in options.items() if value is not None})
