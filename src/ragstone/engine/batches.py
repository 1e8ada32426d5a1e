"""`ragstone batch`: the batches that were submitted, as their providers last said, and how to cancel one."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import platformdirs

from ragstone.errors import ModelError, UsageError, check_name
from ragstone.models import PROVIDERS, ModelOptions, Provider
from ragstone.models.batches import Batch, BatchStore
from ragstone.models.batches.interfaces import open_remote
from ragstone.models.batches.remote import Remote
from ragstone.models.batches.store import OVER
from ragstone.prices import price_of


def batch_folder() -> Path:
    """The folder of the list of batches."""
    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "batches"


async def batches() -> list[Batch]:
    """All batches of the last 30 days, oldest first. Those that are not over are asked about; if that fails, they are
    as they were last seen."""
    if not (batch_folder() / "batches.sqlite").exists():
        return []
    with _store() as store:
        for batch in store.all():
            if batch.remote and batch.state not in OVER:
                await _refresh(store, batch)
        return store.all()


async def cancel(name: str) -> Batch:
    """Cancels the batch of this id at its provider. Replies that it has by then are kept and paid for."""
    with _store() as store:
        known = {batch.remote: batch for batch in store.all() if batch.remote and batch.state not in OVER}
        check_name("unfinished batch", name, known, hint="`ragstone batch list` shows them.")
        batch = known[name]
        async with _remote(batch) as remote:
            await remote.cancel(batch)
        return store.update(batch.id, status="cancelling")


def price_in_batches(text: str, models: Iterable[object], *, batch: bool) -> str:
    """A price ("0.15/0.60") as the batches of these models' providers take it: half of it at most of them. Where they
    differ, the highest; unchanged without `batch`."""
    price = price_of(text)
    if price is None or not batch:
        return text
    sources = [PROVIDERS.get(name.partition("/")[0]) for name in models if isinstance(name, str) and _known(name)]
    shares = [source.batch.price for source in sources if isinstance(source, Provider) and source.batch is not None]
    numbers = (price.input, price.output, price.cached, price.written)
    return "/".join(f"{number * max(shares, default=1.0):g}" for number in numbers if number is not None)


def _known(name: str) -> bool:
    return name.partition("/")[0] in PROVIDERS


async def _refresh(store: BatchStore, batch: Batch) -> None:
    with contextlib.suppress(ModelError, UsageError):  # no network, or no key for it here
        async with _remote(batch) as remote:
            status = await remote.status(batch)
        store.update(batch.id, status=status.state, done=status.done, failed=status.failed)


@contextlib.contextmanager
def _store() -> Iterator[BatchStore]:
    with contextlib.closing(BatchStore(batch_folder())) as store:
        yield store


@contextlib.asynccontextmanager
async def _remote(batch: Batch) -> AsyncIterator[Remote]:
    """The interface that has a batch."""
    from ragstone.models.client import Client, provider_key  # noqa: PLC0415  (aiohttp is loaded only when needed)

    provider = PROVIDERS.get(batch.provider)
    if not isinstance(provider, Provider):
        raise UsageError(f"{batch.provider} has no batch interface any more.")
    key = provider_key(provider, own_endpoint=batch.base_url != provider.base_url)
    client = Client(provider, batch.model.partition("/")[2], ModelOptions(base_url=batch.base_url), key=key)
    async with open_remote(client, key) as (_, remote):
        yield remote
