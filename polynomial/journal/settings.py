"""The settings of a saved session.

Loading replays the journal, so no model, classifier or clock is called. Objects that cannot be
serialised (your own summariser, classifier or counter) and the marks of the threshold must be
passed again.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

from attrs import frozen

from polycontext.base import InvalidDataError, PolycontextError, UnknownNameError
from polycontext.pressure import ContextProjector, Reach, Signals
from polycontext.pressure.threshold import NO_SIGNALS
from polycontext.window import ContextWindow, TiktokenCounter, TokenCounter
from polycontext.window.model_profiles import ModelCounter, counter_named
from polycontext.window.providers import Provider
from polycontext.window.tokens.tokenizer import SHA256

from ..machine.step import ContextPolicy

CUSTOM = "custom"


@frozen
class Settings:
    """The settings of a session as plain data.

    `taken` is how many of the `max_tokens` are reserved for the reply, the tools and the rest of
    the request.
    """

    max_tokens: int
    taken: int
    auto: bool
    cooldown: int
    preserved_share: float
    counter: str
    reach: Reach
    signals: Signals = NO_SIGNALS
    provider: str = Provider.OPENAI
    background: bool = False

    @classmethod
    def of(
        cls,
        window: ContextWindow,
        policy: ContextPolicy,
        *,
        taken: int,
        provider: Provider = Provider.OPENAI,
    ) -> Self:
        """Return the settings of a session."""
        return cls(
            window.max_tokens + taken,
            taken,
            policy.auto,
            policy.cooldown,
            window.preserved_share,
            _counter_name(window.counter),
            policy.projector.reach,
            policy.signals,
            str(provider),
            policy.background,
        )

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments that create the session again, except the counter."""
        return {
            "max_tokens": self.max_tokens,
            "auto": "background" if self.background else self.auto,
            "reserve": self.taken,
            "projector": ContextProjector(reach=self.reach),
            "cooldown": self.cooldown,
            "preserved_share": self.preserved_share,
            "provider": self.provider,
        }

    def loaded_counter(self) -> TokenCounter:
        """Return the saved counter.

        Raise `InvalidDataError` if it was the caller's own, or that of an unknown model.
        """
        if self.counter == CUSTOM:
            raise InvalidDataError(
                "settings.counter", "a counter of the caller's own", "the same counter= again"
            )
        if self.counter in SHA256:
            return TiktokenCounter(self.counter)
        try:
            return counter_named(self.counter)
        except UnknownNameError as error:
            raise InvalidDataError(
                "settings.counter",
                str(error),
                "register_model first, or counter= again",
            ) from None

    @contextmanager
    def checked(self) -> Generator[None]:
        """Raise `InvalidDataError` for errors about a setting that was read."""
        try:
            yield
        except InvalidDataError:
            raise
        except PolycontextError as error:
            raise InvalidDataError(
                "settings", f"{type(error).__name__}: {error}", "the settings of a session"
            ) from None


def _counter_name(counter: TokenCounter) -> str:
    """Return the name under which a counter is found again: its encoding or its model."""
    if type(counter) is TiktokenCounter:
        return counter.encoding
    return counter.profile.name if type(counter) is ModelCounter else CUSTOM
