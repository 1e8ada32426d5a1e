"""Whether somebody listens at the addresses that a command names: told before its data are made, which takes a while.

Only a connection is opened, so nothing is paid for; an address behind a proxy is left to the first request.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ragstone.engine.judge_tools import Judging
from ragstone.errors import ModelError, UsageError
from ragstone.models import PROVIDERS, ModelOptions
from ragstone.models.cache import has_replies
from ragstone.models.http_errors import transport_error, unknown_name
from ragstone.models.nested_names import is_address
from ragstone.models.network import is_loopback, normal_base_url, proxy_for
from ragstone.systems.http import HttpTarget
from ragstone.text.redaction import shown_url
from ragstone.types import System

_SECONDS = 3.0  # an address that says nothing for so long is left to the first request
_log = logging.getLogger(__name__)


async def check_reachable(
    models: Sequence[str | System], judging: Judging, calling: ModelOptions, *, run: str | Path | None, name: str
) -> None:
    """Raises Unreachable if nobody listens at an address of a system, a judge or an embedder. Where answers may be kept
    (in the run file, one of the same benchmark in this folder, or the cache of replies), a warning says so, and the run
    goes on with those. `run`: the run file, if it is named."""
    resumes, cached = await asyncio.to_thread(_kept, run, name, calling.cache)
    systems = [((url,), resumes) for url in _systems(models)]
    endpoints = [(urls, resumes or cached) for urls in _endpoints(models, judging, calling)]
    groups = list(dict.fromkeys([*systems, *endpoints]))
    found = await asyncio.gather(*(_refused(urls) for urls, _ in groups))
    for error, (_, kept) in zip(found, groups, strict=True):
        if error is None:
            continue
        if not kept:
            error.exit_code = 2
            raise error
        _log.warning("%s", error)


def _kept(run: str | Path | None, name: str, cache: Path | None) -> tuple[bool, bool]:
    """Whether a run file may have answers, and whether the cache has replies."""
    resumes = Path(run).exists() if run is not None else any(Path().glob(f"{name}*.run"))
    return resumes, cache is not None and has_replies(cache)


def _systems(models: Iterable[str | System]) -> Iterator[str]:
    """The addresses of systems; one that takes no passages is refused in better words where it is asked for them."""
    for model in models:
        if isinstance(model, HttpTarget) and "{passages}" in f"{model.url}{model.body}":
            yield model.url


def _endpoints(
    models: Iterable[str | System], judging: Judging, calling: ModelOptions
) -> Iterator[tuple[str, ...]]:  # fmt: skip
    """The addresses of each model, of which one has to answer."""
    for model in models:
        if isinstance(model, str) and not is_address(model):
            yield from addresses(model, calling.base_urls)
    for judge, urls in zip(judging.judges, judging.base_urls, strict=False):
        yield from addresses(judge, urls)
    yield from addresses(judging.embedder, judging.embedder_base_url)


def addresses(model: object, named: str | Sequence[str] | None) -> Iterator[tuple[str, ...]]:
    """Those that the user named for a model, else its provider's if that is this machine."""
    provider = model.partition("/")[0] if isinstance(model, str) else ""
    url = getattr(PROVIDERS.get(provider), "base_url", None) if provider in PROVIDERS else None
    if not isinstance(url, str):  # one in this process, or an object
        return
    if named:
        yield (named,) if isinstance(named, str) else tuple(named)
    elif url and is_loopback(urlsplit(url).hostname or ""):
        yield (url,)


async def _refused(urls: Sequence[str]) -> ModelError | None:
    """Why nobody listens at any of these addresses; None if somebody may."""
    errors = await asyncio.gather(*(_error(url) for url in urls))
    return None if None in errors else errors[0]


async def _error(url: str) -> ModelError | None:
    with contextlib.suppress(UsageError, ValueError):  # of what opens it: it has better words
        address = url if is_address(url) else normal_base_url(url)
        if proxy_for(address) is not None:
            return None
        parts = urlsplit(address)
        if not parts.hostname or parts.username or parts.password:
            return None
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            async with asyncio.timeout(_SECONDS):
                _, writer = await asyncio.open_connection(parts.hostname, port)
        except TimeoutError:
            return None
        except socket.gaierror:
            return unknown_name(shown_url(address))
        except OSError as error:
            return transport_error(shown_url(address), error)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return None
