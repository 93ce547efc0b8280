"""How answers end, told from the errors that ended them, without addresses and keys."""

from types import SimpleNamespace
from typing import Any

import pytest

from polycontext.models.endings import UnfinishedError, check_finished, ending_of
from polycontext.nodes.endings import EndingKind
from polycontext.polynomial import ContextOverflowError


class VendorError(Exception):
    """An error as the SDKs raise it: with a status, a code and headers."""

    def __init__(self, status: int | None = None, code: str = "", wait: str | None = None) -> None:
        super().__init__("https://secret.example/?key=k")
        self.status_code, self.code = status, code
        headers = {} if wait is None else {"retry-after": wait}
        self.response = SimpleNamespace(headers=headers)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("refusal", EndingKind.REFUSED),
        ("content_filter", EndingKind.REFUSED),
        ("length", EndingKind.CUT_OFF),
        ("max_tokens", EndingKind.CUT_OFF),
    ],
)
def test_a_reason_that_ends_an_answer_early_raises(reason: str, kind: EndingKind) -> None:
    """Every other reason, and none, is an end."""
    for other in ("stop", "end_turn", None):
        check_finished(other)
    with pytest.raises(UnfinishedError) as raised:
        check_finished(reason)
    assert ending_of(raised.value, "plums").kind is kind


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (VendorError(401), "the service rejected the server's key"),
        (VendorError(403), "the service rejected the server's key"),
        (VendorError(429), "the model's rate limit is reached"),
        (VendorError(503), "the service failed"),
        (ConnectionError("https://secret.example"), "the service cannot be reached"),
        (ValueError("k"), "the model failed"),
    ],
)
def test_a_failure_names_its_cause(error: Exception, cause: str) -> None:
    """And no address or key."""
    ending = ending_of(error, "")
    assert (ending.kind, ending.cause) == (EndingKind.FAILED, cause)


@pytest.mark.parametrize(("wait", "has_time"), [("20", True), ("soon", False), (None, False)])
def test_a_failure_tells_when_to_try_again(wait: str | None, has_time: bool) -> None:
    """If the service says so."""
    ending = ending_of(VendorError(429, wait=wait), "")
    assert (ending.retry_at is not None) is has_time
    assert ("20 seconds" in ending.cause) is has_time


@pytest.mark.parametrize(
    ("error", "text", "kind"),
    [
        (None, "plums", EndingKind.DONE),
        (None, " ", EndingKind.EMPTY),
        (KeyboardInterrupt(), "plums", EndingKind.STOPPED),
        (ContextOverflowError(9, 5), "", EndingKind.TOO_LONG),
        (VendorError(400, "context_length_exceeded"), "", EndingKind.TOO_LONG),
        (TimeoutError(), "", EndingKind.TIMED_OUT),
        (VendorError(500), "plums", EndingKind.CUT_OFF),
    ],
)
def test_each_end_is_of_one_kind(error: Any, text: str, kind: EndingKind) -> None:
    """The text so far decides between a failure and an answer that broke off."""
    assert ending_of(error, text).kind is kind
