"""Measures of a ranked list of passages against labels, as trec_eval computes them. One a module.

`recall` is about the whole list, `recall@5` about its first five; so with all of them. The list is what was retrieved,
in its order; scores of passages make no difference. The labels are the passages of the sample that are known to be
relevant (`relevant`), with a `grade` in their `meta` where some are more relevant than others (1 where none is given);
a passage without a label counts as not relevant. Passages are the same where their ids are. One that was retrieved
twice counts once, at its first place, and those after it move up: a list of trec_eval holds each document once.

| case | result |
|---|---|
| fewer than k were retrieved | `precision@k` divides by k all the same; the missing ones are not relevant |
| nothing relevant was retrieved | 0 |
| nothing was retrieved | not applicable: nothing tells it from a list that was not recorded |
| no passage of the sample is known to be relevant | not applicable; trec_eval leaves such queries out |
"""

import importlib
import pkgutil
from typing import Any

__all__ = ["PLUGINS"]

PLUGINS: dict[str, Any] = {
    name: plugin
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
    for name, plugin in importlib.import_module(f"{__name__}.{module.name}").PLUGINS.items()
}
