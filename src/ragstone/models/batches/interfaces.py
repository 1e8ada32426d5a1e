"""Which batch interface a model has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragstone.errors import UsageError
from ragstone.models.batches.files import FileBatches
from ragstone.models.batches.http import open_http
from ragstone.models.batches.message_batches import MessageBatches
from ragstone.models.batches.offline import OfflineBatches
from ragstone.models.batches.remote import Remote
from ragstone.models.client import Client
from ragstone.models.providers import PLUGINS, BatchInterface


@asynccontextmanager
async def open_remote(client: Client, key: str) -> AsyncIterator[tuple[BatchInterface, Remote]]:
    """The batch interface of a client's model, opened. Raises UsageError if its provider has none."""
    interface = client.provider.batch
    if interface is None:
        raise no_interface(client.id)
    if interface.kind == "offline":
        yield interface, OfflineBatches(interface)
        return
    async with open_http(client, key) as http:
        yield interface, MessageBatches(http) if interface.kind == "messages" else FileBatches(http, interface)


def no_interface(model: str) -> UsageError:
    """The error for a model without batches; it names the providers that have them."""
    having = ", ".join(name for name, provider in PLUGINS.items() if provider.batch is not None)
    return UsageError(
        f"--batch: {model} has no batch interface. These providers have one: {having}. Leave --batch out, or choose a "
        "model of theirs."
    )
