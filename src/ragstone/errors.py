"""Everything ragstone raises on purpose. One line each: what, where, what to do.

RagstoneError
├── UsageError                 the input or the usage is wrong (exit 2)
│   ├── UnknownName            no such model, provider, data set, ability, metric…
│   ├── DataError              a data file or run file: path, line, field, what was expected
│   ├── MissingKey             the environment variable that should hold a key is empty
│   ├── MissingExtra           an optional part of ragstone is not installed
│   ├── NotTrusted             a found ragstone.toml names code, variables or addresses without the user's consent
│   └── RunMismatch            the run file was made with different settings
├── StorageError               the disk is full or failing, the file is locked (exit 3)
│   ├── FileDamaged            the file was cut short or damaged while it was in use
│   └── FileLost               the file was deleted or replaced while it was in use
├── EndpointRefused            an endpoint refuses every request (exit 2; 3 if it had answered before, or has faults)
│   ├── AlwaysFailed           the first questions of a system all failed in the same way (exit 2; 3 for faults of an
│   │                          endpoint)
│   ├── JudgeUnusable          so many replies of a judge in a row could not be used (exit 3)
│   ├── AllowanceSpent         the limit on requests or cost is reached (exit 3)
│   └── Postponed              the request waits for a provider's batch (exit 3)
├── SystemFailed               the user's system gave no usable answer to one question
├── Unfinished                 work remains; the same command resumes it (exit 3)
└── ModelError                 a call to a model endpoint did not end in a value (exit 3)
    ├── Unreachable            no connection: name lookup, refused, TLS               retried
    │   └── Dropped            the connection ended before a reply came               retried
    ├── TimedOut               no complete reply in time                              retried
    ├── RateLimited            429                                                    retried
    ├── ServerFault            5xx                                                    retried
    ├── BadReply               truncated, not JSON, or not of the promised form       retried
    ├── ModelRaised            a model of the user's own raised an exception
    ├── PromptCut              the endpoint saw only a part of the prompt
    ├── ReplyTooLarge          longer than a reply may be
    ├── Unauthorized           401, 403
    ├── Rejected               any other 4xx: the request itself is wrong
    └── ContentBlocked         the provider's content inspection refused
"""

import difflib
import re
from collections.abc import Collection, Iterable
from contextvars import ContextVar
from typing import Any

__all__ = [
    "NAME_FLAGS", "AllowanceSpent", "AlwaysFailed", "BadReply", "ContentBlocked", "DataError", "Dropped",
    "EndpointRefused", "FileDamaged", "FileLost", "JudgeUnusable", "MissingExtra", "MissingKey", "ModelError",
    "ModelRaised", "NotTrusted", "Postponed", "PromptCut", "RagstoneError", "RateLimited", "Rejected", "ReplyTooLarge",
    "RunMismatch", "ServerFault", "StorageError", "SystemFailed", "Terminated", "TimedOut", "Unauthorized",
    "Unfinished", "UnknownName", "Unreachable", "UsageError",
]  # fmt: skip  # fmt: skip


NAME_FLAGS: ContextVar[bool] = ContextVar("NAME_FLAGS", default=False)
"""Whether the command line is what calls: errors then name flags, otherwise keywords."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP (`number`), handled like Ctrl-C but with its own exit code (128 + number)."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class RagstoneError(Exception):
    """Base class of the errors that ragstone raises on purpose. `str(error)` is one line for a person; `lines` has one
    line per problem if there are several."""

    exit_code = 2

    @property
    def lines(self) -> tuple[str, ...]:
        return (str(self),)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), str(self), dict(self.__dict__))


def _restored(kind: type[RagstoneError], message: str, state: dict[str, Any]) -> RagstoneError:
    """An error that came from another process."""
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class UsageError(RagstoneError):
    """The input or the usage is wrong; the message names the item, the cause and the next step."""


class UnknownName(UsageError):
    """No `kind` has this name. The message suggests the nearest spelling or lists what exists."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str = "") -> None:
        names = sorted(known)
        lowered = {known_name.lower(): known_name for known_name in names}
        near = [lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)]
        message = f"No {kind} named {name!r}."
        if near:
            message += f" Did you mean {near[0]!r}?"
        if hint:
            message += f" {hint}"
        elif not near and names:
            message += f" There are: {', '.join(names[:20])}{'…' if len(names) > 20 else ''}."
        super().__init__(message)
        self.kind, self.name, self.suggestion = kind, name, (near[0] if near else None)


def check_name(kind: str, name: str, known: Collection[str], *, hint: str = "") -> None:
    """Raises UnknownName unless `name` is one of the `known` ones."""
    if name not in known:
        raise UnknownName(kind, name, known, hint=hint)


RESTORE = "Restore the file from a copy."
"""What to do about a damaged file of which nothing else can be had."""


class DataError(UsageError):
    """A data file or a run file has unexpected content.

    `path` is the file; `line` counts from 1 (0: the whole file); `field` is the name of the field in the row.
    """

    def __init__(self, path: object, problem: str, *, line: int = 0, field: str = "", advice: str = "") -> None:
        shown = str(path) if str(path).isprintable() else repr(str(path))
        where = shown + (f", line {line}" if line else "") + (f", field {field!r}" if field else "")
        super().__init__(f"{where}: {problem}" + (f" {advice}" if advice else ""))
        self.path, self.line, self.field = str(path), line, field


class MissingKey(UsageError):
    """The environment variable for a provider's API key is not set."""

    def __init__(self, provider: str, variable: str) -> None:
        super().__init__(f"No key for {provider!r}: set the environment variable {variable}, then run this again.")
        self.provider, self.variable = provider, variable


class MissingExtra(UsageError):
    """An optional part of ragstone is not installed; the message gives the command that installs it."""


class NotTrusted(UsageError):
    """A settings file that was found, not named, names code, variables or addresses, and the user has not consented."""

    def __init__(self, path: object, names: str) -> None:
        super().__init__(
            f"{path} names code, variables or addresses that you have not allowed yet ({names}). Read it, then "
            f"allow it: ragstone trust {path} (in CI: RAGSTONE_TRUST={path})."
        )
        self.path, self.names = path, names


class RunMismatch(UsageError):
    """The run file was made with different settings; `differences` maps each key to (value in the file, value now). The
    message has the first of them, shortened."""

    def __init__(self, path: object, differences: dict[str, tuple[object, object]]) -> None:
        self.differences = differences
        changes = self.changes("in the file", "now")
        super().__init__(f"{path} was made with different settings ({changes}). Name another file with --run.")

    def changes(self, there: str, here: str) -> str:
        """The first differences as text; `there` and `here` say where the two values are."""
        found = sorted(self.differences.items())
        if "benchmark" in self.differences:  # all others follow from it
            found = [("benchmark", self.differences["benchmark"])]
        changes = "; ".join(f"{key}: {_short(old)} {there}, {_short(new)} {here}" for key, (old, new) in found[:3])
        return changes + (f"; and {len(found) - 3} more" if len(found) > 3 else "")


def _short(value: object) -> str:
    text = repr(value)
    if re.fullmatch("'[0-9a-f]{40,}…?'", text):  # a hash is known by its beginning
        return f"{text[:13]}…'"
    return text if len(text) <= 70 else f"{text[:69]}…"


class StorageError(RagstoneError):
    """A database could not be read or written. Everything acknowledged before is kept."""

    exit_code = 3


class FileLost(StorageError):
    """The database was deleted or replaced while in use; what was written to it is lost."""


class FileDamaged(StorageError):
    """The database was cut short or damaged while in use; what was written to it may be lost."""


class Unfinished(RagstoneError):
    """Work remains; the message says how much, and that the same command resumes it."""

    exit_code = 3


class EndpointRefused(RagstoneError):
    """An endpoint refused `count` requests in a row for a reason that applies to all of them: the key, the model's name
    or the address. It is not a `ModelError`, because it ends the run and not just one case. `answered`: it had answered
    before. `sent`: this request went out; False for one that was stopped before. `failed`: the requests failed, but
    nobody refused them; with a `count` of 0, because there was no reply at all."""

    exit_code = 2
    advice = "Fix this"

    def __init__(
        self, reason: str, count: int, *, answered: bool = False, sent: bool = True, failed: bool = False
    ) -> None:
        times = f"It refused {count} requests in a row, so no more are sent." if count > 1 else "No more are sent."
        if failed and count:
            times = f"{count} requests in a row failed, so no more are sent."
        elif failed:
            times = "No request had a complete reply, so no more are sent. Raise the time limit if it is slow."
        super().__init__(f"{reason} {times}")
        self.answered, self.sent = answered, sent
        if answered:
            self.exit_code = 3


class AlwaysFailed(EndpointRefused):
    """The first `count` questions of a system all failed in the same way. `faults`: those of an endpoint that is there,
    so that nothing of the input is wrong."""

    def __init__(self, system: str, reason: str, count: int, *, faults: bool = False) -> None:
        message = f"{system}: the first {count} questions all failed, so no more are started ({reason})."
        RagstoneError.__init__(self, message)
        self.answered, self.sent = False, True
        if faults:
            self.exit_code = 3


class JudgeUnusable(EndpointRefused):
    """The last `count` replies of a judge could not be used. `reply`: the last one; `expected`: the keys of the object
    that was asked for, where they are known; `problem`: what is wrong with it."""

    exit_code = 3

    def __init__(self, judge: str, count: int, reply: str, expected: str, problem: str) -> None:
        RagstoneError.__init__(
            self,
            f"{judge}: the last {count} replies could not be used, so no more are asked for. It wrote {reply}, "
            f"expected one JSON object{expected and f' with {expected}'} ({problem}). Use another model as judge.",
        )
        self.answered, self.sent = True, True


class AllowanceSpent(EndpointRefused):
    """The user's limit on requests or on cost is reached; what is scored is kept, and a larger limit resumes."""

    exit_code = 3
    advice = "Raise it"

    def __init__(self, limit: str) -> None:
        RagstoneError.__init__(self, f"The limit {limit} is reached, so no more requests are sent.")
        self.answered, self.sent = True, False


class Postponed(EndpointRefused):
    """The request waits for a provider's batch (`models/batches`): nothing is wrong, and the case is tried again when
    the batch has its reply."""

    exit_code = 3

    def __init__(self) -> None:
        RagstoneError.__init__(self, "The request waits for a batch. Run the same command again with --batch.")
        self.answered, self.sent = True, False


class SystemFailed(RagstoneError):
    """The user's system gave no usable answer to one question; the run goes on with the next one.

    `kind` says how: "raised" an exception, "timed_out", "crashed" (its process ended), "no_answer" (it returned nothing
    with a text), "too_long". `recorded`: it happened before, and the data have it: there is nothing to ask again."""

    exit_code = 3

    def __init__(self, kind: str, message: str, *, recorded: bool = False) -> None:
        super().__init__(message)
        self.kind, self.recorded = kind, recorded


class ModelError(RagstoneError):
    """A call to a model ended without a value. `kind` is a stable, short name for records and reports.

    `permanent`: retrying cannot help; something has to be changed first (the key, the model's name, the address, the
    text). `refuses_all`: every other call to this endpoint would fail, too. `refuses_for_good`: not even a second one
    is worth it.
    """

    exit_code = 3
    kind = "model_error"
    permanent: bool = False
    refuses_all: bool = False
    refuses_for_good: bool = False


class Unreachable(ModelError):
    """No connection: name lookup failed, refused, reset, TLS."""

    kind = "unreachable"


class Dropped(Unreachable):
    """Somebody took the connection and ended it before a reply came."""

    kind = "dropped"


class TimedOut(ModelError):
    """No complete reply before the deadline."""

    kind = "timed_out"


class RateLimited(ModelError):
    """429. `retry_after` is in seconds, None where the endpoint did not say."""

    kind = "rate_limited"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServerFault(ModelError):
    """5xx. `retry_after` is in seconds, None where the endpoint did not say."""

    kind = "server_fault"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BadReply(ModelError):
    """The reply is truncated, not JSON, or not in the requested form."""

    kind = "bad_reply"


class ModelRaised(ModelError):
    """A model of the user's own raised an exception, or returned what is no reply; the message has the line of its
    code."""

    kind = "raised"


class ReplyTooLarge(ModelError):
    """The reply is longer than `ModelOptions.reply_bytes`; reading stopped there."""

    kind = "reply_too_large"
    permanent = True


class PromptCut(ModelError):
    """The endpoint counts far fewer tokens than were sent: its context window cut the prompt, so the reply is to
    another question."""

    kind = "prompt_cut"
    permanent = True


class Unauthorized(ModelError):
    """401 or 403: the key is wrong or may not use this model."""

    kind = "unauthorized"
    permanent = True
    refuses_all = True


class Rejected(ModelError):
    """Any other 4xx: the request itself is wrong (unknown model, too long, unknown parameter)."""

    kind = "rejected"
    permanent = True


class ContentBlocked(ModelError):
    """The provider's content filter refused the request or the reply. A separate outcome that is never retried."""

    kind = "content_blocked"
    permanent = True
