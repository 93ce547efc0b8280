"""OpenAI's faults for a script."""

from .provider import RequestRefusedError


def rate_limited(model: str, seconds: float) -> RequestRefusedError:
    """Return the vendor's rate-limit error, for a script of faults.

    >>> rate_limited("gpt-5.6", 2).retry_after
    2
    """
    message = (
        f"Rate limit reached for {model} on tokens per min (TPM): Limit 30000, Used 30000, "
        f"Requested 1000. Please try again in {seconds:g}s. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    )
    return RequestRefusedError(
        429, "tokens", message, "rate-limit", code="rate_limit_exceeded", retry_after=seconds
    )
