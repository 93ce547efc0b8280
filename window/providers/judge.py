"""The judge of a list of messages, which checks each entry once, so that a list can grow."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

from attrs import define

from ..errors import InvalidMessagesError


@define
class ListJudge(ABC):
    """Checks a list one entry at a time; `count` is the number of entries checked so far.

    `last` is the place of the last entry, if it is known. A vendor that `takes_text` accepts a text
    in place of a list.
    """

    takes_text: ClassVar[bool] = False
    count: int = 0
    last: int | None = None

    def __call__(self, entries: Sequence[Any], *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` for the first fault of a list; see `ends`."""
        raise_first(chain(self.faults(entries), self.ends(allow_open_tail=allow_open_tail)))

    def faults(self, entries: Sequence[Any]) -> Iterator[InvalidMessagesError]:
        """Yield the first fault of each of `entries`, which end the list.

        After a fault, the rest is checked as if the entry were valid.
        """
        self.last = self.count + len(entries) - 1
        for entry in entries:
            try:
                self.add(entry)
            except InvalidMessagesError as error:
                yield error
                self.pardon(entry if isinstance(entry, Mapping) else {})

    @abstractmethod
    def add(self, entry: Any) -> None:
        """Check `entry`, the next one of the list."""

    @abstractmethod
    def pardon(self, entry: Mapping[str, Any]) -> None:
        """Continue after `entry`, which broke a rule, as if it were valid."""

    @abstractmethod
    def ends(self, *, allow_open_tail: bool = False) -> Iterator[InvalidMessagesError]:
        """Yield the errors of the list as a whole if it ends here, with open calls if allowed."""


def raise_first(errors: Iterable[InvalidMessagesError]) -> None:
    """Raise the first of `errors`, if there is one."""
    for error in errors:
        raise error


def text_ids(calls: object) -> list[str]:
    """Return the ids of `calls`, which may be anything, that are text."""
    listed = calls if isinstance(calls, list) else ()
    ids = [call.get("id") for call in listed if isinstance(call, dict)]
    return [each for each in ids if isinstance(each, str)]
