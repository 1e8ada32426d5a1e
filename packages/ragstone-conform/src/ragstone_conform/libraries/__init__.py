"""The libraries whose metrics can be put to the cases: one file each.

A file is run by the Python of the library's own environment, where ragstone is not installed: at its top it imports the
standard library only, and the library inside `score`. It has:

- `DISTRIBUTION`: the package whose version is told. `PACKAGES`: what to install, that package without a version first;
  `VERSION`: the version of it that is installed where none is asked for. No `PACKAGES`: the Python that runs ragstone.
  `ALONE`: names of those among them that are installed without their dependencies.
- `ENVIRONMENT`: variables that are set first, those that switch telemetry off among them.
- `METRICS`: which metrics of the cases it has. `TOGETHER`: whether it scores all in one call. `ALIASES`: whether it
  takes several references.
- `score(metrics, sample, url)`: metric → a number, None, or a text that says why there is none; may be async. `sample`
  has question, answer, contexts, references; `url` is an OpenAI-compatible endpoint for this case.
- `reply(asked, sample, verdicts)`: what a judge with these verdicts replies to a request: the steps that it is about,
  and the reply (text, or a value that is sent as JSON); None where the request is not recognised. `asked`: `text` of
  all messages, `texts` of each, the request's `payload`, the `metrics` that are scored, `turn`: how many requests came
  before.
- `PLUGINS`: name → the module. Other packages register theirs as an entry point of the group `ragstone.libraries`.
"""

from types import ModuleType

from ragstone.registry import Registry

__all__ = ["LIBRARIES"]

LIBRARIES: Registry[ModuleType] = Registry("library", __name__, "ragstone.libraries")
