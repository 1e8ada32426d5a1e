"""The options of the plug-in, on the command line and in pytest's configuration."""

import math
from pathlib import Path

import pytest

_TOLERANCE = 0.05
OPTIONS = (
    ("judge", "PROVIDER/MODEL", "chat model used as the judge"),
    ("judge-base-url", "URL", "its endpoint, overriding its provider's"),
    ("embedder", "PROVIDER/MODEL", "the embedder (default: local/e5-small)"),
    ("embedder-base-url", "URL", "its endpoint, overriding its provider's"),
    ("judge-protocol", "matrix|ragas", "the judge's protocol (default: matrix)"),
    ("prompts", "DIR", "folder of your own prompts"),
    ("cache", "DIR", "folder for cached replies of the judge (also: --cache=DIR)"),
    ("runs", "DIR", "folder for the run files of live systems (default: pytest's temporary folder)"),
    ("baseline", "FILE", "scores of an earlier session, which must not become worse"),
    ("tolerance", "NUMBER", f"how much worse than the baseline a score may be (default: {_TOLERANCE})"),
)


def option_of(config: pytest.Config, name: str) -> str:
    """An option of the command line, else of the configuration, else ""."""
    key = name.replace("-", "_")
    return str(config.getoption(f"ragstone_{key}", None) or config.getini(f"ragstone_{key}") or "")


def path_of(config: pytest.Config, name: str) -> Path | None:
    """A path option: on the command line relative to where pytest was called, in the configuration to its file."""
    if path := config.getoption(f"ragstone_{name}", None):
        return Path(config.invocation_params.dir, str(path))
    path = config.getini(f"ragstone_{name}")
    return Path(config.rootpath if config.inipath is None else config.inipath.parent, str(path)) if path else None


def tolerance_of(config: pytest.Config) -> float:
    text = option_of(config, "tolerance")
    try:
        tolerance = float(text or _TOLERANCE)
    except ValueError:
        tolerance = math.nan
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise pytest.UsageError(f"--ragstone-tolerance is a number of at least 0, not {text!r}.")
    return tolerance


def updates_baseline(config: pytest.Config) -> bool:
    return bool(config.getoption("ragstone_update_baseline"))
