"""What goes wrong at Anthropic, as faults of a script: too many requests, a vendor that is too busy, one that fails."""

from .provider import Break, Fault, RequestRefusedError
from .streams import error_event


def rate_limited(retry_after: float = 1) -> Fault:
    """Return the fault of a request too many: 429 with a header that says when to come again, in seconds."""
    message = "This request would exceed your account's rate limit. Please try again later."
    return RequestRefusedError(
        429, "rate_limit_error", message, "scripted-fault", retry_after=retry_after
    )


def overloaded() -> Fault:
    """Return the fault of a vendor that is too busy: 529."""
    return RequestRefusedError(529, "overloaded_error", "Overloaded", "scripted-fault")


def internal_error() -> Fault:
    """Return the fault of a vendor that fails: 500."""
    return RequestRefusedError(500, "api_error", "Internal server error", "scripted-fault")


def overloaded_midway(events: int = 3) -> Fault:
    """Return the fault of a stream that ends in an error after some events."""
    return Break(events, error_event("overloaded_error", "Overloaded"))
