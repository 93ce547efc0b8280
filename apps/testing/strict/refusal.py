"""What a strict provider says no with: the vendor's status and wording, and the rule that was broken."""

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class RequestRefusedError(CallerError, ValueError):
    """Refuse a request as the vendor does.

    `status` is the HTTP status, `kind` the vendor's type of error, `message` its wording. `rule` is the stable
    name of the rule (those of docs/providers.md, or of docs/strict-provider.md for what needs the provider's memory), `index` the place of
    the message in the list (None for the request as a whole) and `legal` what would have passed. `param` and
    `code` are what OpenAI says besides; `retry_after` are the seconds of that header.

    >>> print(RequestRefusedError(529, "overloaded_error", "Overloaded", "scripted-fault"))
    529 overloaded_error: Overloaded (rule scripted-fault)
    """

    status: int
    kind: str
    message: str
    rule: str
    index: int | None = None
    legal: str = ""
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None

    def __str__(self) -> str:
        legal = f"; legal: {self.legal}" if self.legal else ""
        return f"{self.status} {self.kind}: {self.message} (rule {self.rule}{legal})"
