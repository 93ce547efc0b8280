"""What the front door of the providers refuses."""

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class UnknownProviderError(CallerError, LookupError):
    """Refuse a provider whose message format is not known."""

    provider: str
    legal: str

    def __str__(self) -> str:
        return f"unknown provider {self.provider!r}; legal: {self.legal}"
