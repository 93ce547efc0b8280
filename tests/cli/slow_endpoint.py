"""A model that stops in the middle of a long answer, for tests of what ends it there."""

from collections.abc import Iterator
from threading import Event
from typing import Any

from polycontext.testing.strict import StrictChat

LONG = "Plums and pears. " * 20
_SENT = 6
"""The events that come before it stops; a short answer has fewer."""


class Halting(StrictChat):
    """Answers with each text in turn; a long one goes on when `over` is set."""

    def __init__(self, *answers: str) -> None:
        left = iter(answers)
        super().__init__(lambda _: next(left))
        self.asked: list[Any] = []
        self.over = Event()

    def stream(self, request: Any, **options: Any) -> Iterator[Any]:
        """Yield the events."""
        self.asked.append(request)
        for number, event in enumerate(super().stream(request, **options)):
            if number == _SENT:
                assert self.over.wait(120)
            yield event
