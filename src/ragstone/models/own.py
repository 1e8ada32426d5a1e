"""A chat model of the user's own, an object or code by its location: whatever it raises is named by its own line."""

from collections.abc import Awaitable
from typing import Any

from ragstone.errors import ModelRaised, RagstoneError, UsageError
from ragstone.registry import load_place
from ragstone.types import Completion, Model, Request
from ragstone.user_code.calls import located, makes_object, with_article


class OwnModel:
    """Asks `model`. Raises ModelRaised for what it raises, and for what it returns in place of a Completion."""

    def __init__(self, model: Any, name: str) -> None:
        self.id = str(getattr(model, "id", name))
        self._model = model

    async def generate(self, request: Request, /) -> Completion:
        try:
            value = self._model.generate(request)
            value = await value if isinstance(value, Awaitable) else value
        except RagstoneError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelRaised(f"{self.id} raised {' '.join(located(error).split())}") from error
        if not isinstance(value, Completion):
            kind = with_article(type(value).__name__)
            raise ModelRaised(f"{self.id} returned {kind}; its `generate` should return a ragstone.types.Completion")
        return value


def own_model(target: Any) -> Model:
    """The model at a location, where a class or a function without parameters makes it, or of a live object. Raises
    UsageError."""
    value = load_place("model", target) if isinstance(target, str) else target
    if isinstance(value, type) or not hasattr(value, "generate"):
        try:
            value = value() if makes_object(value) else value
        except (Exception, SystemExit) as error:
            reason = " ".join(located(error).split())
            raise UsageError(
                f"The model {target!r} cannot be loaded ({reason}). Check that it exists and runs."
            ) from error
    if isinstance(value, type) or not hasattr(value, "generate"):
        raise UsageError(f"{target!r} is not a model: pass PROVIDER/MODEL or an object with a `generate` method.")
    return (
        value if isinstance(value, OwnModel) else OwnModel(value, target if isinstance(target, str) else repr(target))
    )
