"""Providers' batch interfaces: many requests in one file, replies within a day, at half the price.

A command runs in rounds. In a round every request that has no reply yet is collected instead of sent (`Lane`), and its
case is left for later; then the requests go out as batches, and when these have ended the next round finds the replies.
An answer, the claims in it and their verification are three rounds. `Batches` is what a command has of all this.
"""

from ragstone.models.batches.session import Batches
from ragstone.models.batches.store import Batch, BatchStore

__all__ = ["Batch", "BatchStore", "Batches"]
