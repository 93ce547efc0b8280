"""Anthropic's faults for a script: rate limits, overload and internal errors."""

from .provider import Break, Fault, RequestRefusedError
from .streams import error_event


def rate_limited(retry_after: float = 1) -> Fault:
    """Return the fault of a rate limit: 429 with a ``retry-after`` header, in seconds."""
    message = "This request would exceed your account's rate limit. Please try again later."
    return RequestRefusedError(
        429, "rate_limit_error", message, "scripted-fault", retry_after=retry_after
    )


def overloaded() -> Fault:
    """Return the fault of an overloaded vendor: 529."""
    return RequestRefusedError(529, "overloaded_error", "Overloaded", "scripted-fault")


def internal_error() -> Fault:
    """Return the fault of an internal error: 500."""
    return RequestRefusedError(500, "api_error", "Internal server error", "scripted-fault")


def overloaded_midway(events: int = 3) -> Fault:
    """Return the fault of a stream that ends with an error after `events` events."""
    return Break(events, error_event("overloaded_error", "Overloaded"))
