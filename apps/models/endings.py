"""The ending of an answer, from the error that ended it (docs/server.md, "Endings")."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus

from polycontext.nodes.endings import Ending, EndingKind
from polycontext.polynomial import ContextOverflowError
from polycontext.polynomial.session import utc_now

_BROKE = "the connection to the model broke"


class UnfinishedError(Exception):
    """A model ended its answer early: it was cut off or refused.

    A source of answers raises it after the last piece.
    """

    def __init__(self, kind: EndingKind, cause: str = "") -> None:
        super().__init__(cause)
        self.ending = Ending(kind, cause)


def check_finished(reason: str | None) -> None:
    """Check the reason that a provider gives for the end of an answer.

    Raises:
        UnfinishedError: the answer was cut off or refused.
    """
    if reason in ("refusal", "content_filter"):
        raise UnfinishedError(EndingKind.REFUSED)
    if reason in ("length", "max_tokens", "model_context_window_exceeded"):
        raise UnfinishedError(EndingKind.CUT_OFF, "it reached the model's limit")


def ending_of(  # noqa: PLR0911 - one for each
    error: BaseException | None, text: str
) -> Ending:
    """Return how an answer ended, from the error that ended it and its text so far.

    The cause contains no addresses or keys. The SDKs of OpenAI and Anthropic use the same names.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if error is None:
        return Ending() if text.strip() else Ending(EndingKind.EMPTY)
    if isinstance(error, UnfinishedError):
        return error.ending
    if names & {"CancelledError", "KeyboardInterrupt", "SystemExit"}:
        return Ending(EndingKind.STOPPED)
    if isinstance(error, ContextOverflowError) or "context_length" in str(
        getattr(error, "code", "")
    ):
        return Ending(EndingKind.TOO_LONG)
    if names & {"APITimeoutError", "TimeoutError"}:
        return Ending(EndingKind.TIMED_OUT)
    if text.strip():
        return Ending(EndingKind.CUT_OFF, _BROKE)
    wait = next(_waits(error), None)
    told = "" if wait is None else f". The service asks to wait {wait:.0f} seconds"
    retry_at = None if wait is None else utc_now() + timedelta(seconds=wait)
    return Ending(EndingKind.FAILED, _cause(error, names) + told, retry_at)


def _waits(error: BaseException) -> Iterator[float]:
    headers = getattr(getattr(error, "response", None), "headers", {})
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        yield min(86_400.0, max(0.0, float(headers["retry-after"])))


def _cause(error: BaseException, names: set[str]) -> str:
    match getattr(error, "status_code", None):
        case 401 | 403:
            return "the service rejected the server's key"
        case 429:
            return "the model's rate limit is reached"
        case int(code) if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "the service failed"
        case _:
            is_away = names & {"APIConnectionError", "ConnectionError"}
            return "the service cannot be reached" if is_away else "the model failed"
