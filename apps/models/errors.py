"""What asking a model refuses.

What the vendors' SDKs raise (a limit, a timeout, a lost connection) passes as it is: their names and fields say more than a wrapping would.
"""

from attrs import define

from polycontext.linearity import CollaboratorError


@define(slots=False, eq=False)
class NoSummaryError(CollaboratorError, RuntimeError):
    """Report that a model was asked for a summary and something else came.

    `came` names what it was, `legal` what to do about it.

    >>> raise NoSummaryError("gpt-5", "a refusal")
    Traceback (most recent call last):
    polycontext.models.errors.NoSummaryError: gpt-5 was asked for a summary and returned a refusal; legal: a text that ends by itself
    """

    model: str
    came: str
    legal: str = "a text that ends by itself"

    def __str__(self) -> str:
        return f"{self.model} was asked for a summary and returned {self.came}; legal: {self.legal}"
