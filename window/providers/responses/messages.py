"""OpenAI's Responses: a list of items, of which those that the model made one after the other are one turn.

Messages of the user and of the system are turns of their own. A call and its output are paired by their id; the
provider takes an output anywhere behind its call, a conversation here has it directly behind the run of items that
called (rule `unanswered-call`). Calls that the platform itself runs are blocks of the turn, whole.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from attrs import Factory, define

from ...turn import Role, Turn
from ..blocks import Place, copied_messages, shown
from ..layout import Collector
from ..tool_pairs import Pairing, refuse_open_tail
from ..wire import Message, Parsed, Provider, Rendered, rendered
from .item_reader import call_of, is_call, role_of, take_message, take_output, type_of
from .rules import judged
from .writer import COMPACTION, Writer


def parse(messages: object, *, repair: bool = False, waiting: Iterable[str] = ()) -> Parsed:
    """Read input items into turns. The history may end on open calls.

    With `repair` a call in the middle that has no output gets a marked one.

    `waiting` are ids of calls before the list that have no result yet.

    Raises:
        InvalidMessagesError: naming index and rule; the rules are listed in docs/providers.md.

    >>> parse([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]).turns[0].role
    <Role.SYSTEM: 'system'>
    """
    items = copied_messages(Provider.RESPONSES, messages)
    places = [Place(Provider.RESPONSES, index) for index in range(len(items))]
    kinds = [type_of(item, place) for item, place in zip(items, places, strict=True)]
    roles = _begun_by_the_user(kinds, [role_of(item, kind, place) for item, kind, place in zip(items, kinds, places, strict=True)])
    answered = {item["call_id"] for item, role in zip(items, roles, strict=True) if role is Role.TOOL}
    others = max((index for index, role in enumerate(roles) if role is not Role.ASSISTANT), default=-1)
    reader = _Reader(Pairing(Provider.RESPONSES, repair=repair, waiting=dict.fromkeys(waiting)), answered)
    for place, item, kind, role in zip(places, items, kinds, roles, strict=True):
        reader.read(item, kind, role, place, is_last=(place.index or 0) > others)
    reader.close()
    return reader.pairing.parsed(items)


def check(messages: object, *, allow_open_tail: bool = False, strict_first: bool = True) -> None:  # noqa: ARG001 - one signature for all
    """Raise `InvalidMessagesError` for input items that OpenAI would refuse.

    With `allow_open_tail` the last calls may lack outputs, as in a history that somebody goes on with.

    >>> check([{"type": "function_call_output", "call_id": "a", "output": "21 degrees"}])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] break the openai-responses rule orphan-result: no call 'a' directly ...
    """
    parsed = parse(messages)
    if not allow_open_tail:
        refuse_open_tail(parsed)
    breach = judged(parsed.messages, allow_open_tail=allow_open_tail, foreign=True)
    if breach is not None:
        raise breach.error(Provider.RESPONSES)


def render(turns: Iterable[Turn], *, readable: bool = False) -> Rendered:
    """Write `turns` as input items; what the system says stays in the list, `instructions` are the caller's.

    Law: what was parsed is written as it came, ``render(parse(items).turns).messages == items``.

    >>> render([Turn("user", "hi")]).messages
    [{'role': 'user', 'content': 'hi'}]
    """
    return rendered(Writer(readable), turns)


def _begun_by_the_user(kinds: Sequence[str], roles: Sequence[Role]) -> list[Role]:
    """Return the roles of items; a compaction that comes first stands for what the user began with."""
    first = next((index for index, role in enumerate(roles) if role is not Role.SYSTEM), None)
    return [Role.USER if index == first and kinds[index] == COMPACTION else role for index, role in enumerate(roles)]


@define
class _Reader:
    """Read items one after the other; `made` is the run of items of the model that is being read, `calls` are the types of its calls."""

    pairing: Pairing
    answered: AbstractSet[str]
    made: Collector | None = None
    start: int = 0
    calls: dict[str, str] = Factory(dict)

    def read(self, item: Message, kind: str, role: Role, place: Place, *, is_last: bool) -> None:
        """Read the next item."""
        if role is not Role.ASSISTANT:
            self.close()
            with place.turn_errors():
                turn = self._said(item, kind, role, place)
            self.pairing.add(turn, place.index or 0)
            return
        if self.made is None:
            self.made, self.start, self.calls = Collector(Provider.RESPONSES), place.index or 0, {}
        if kind == "message":
            take_message(self.made, item, place)
        elif is_call(item, kind, self.answered, is_last=is_last):
            self._call(self.made, item, kind, place)
        else:
            self.made.block(item)

    def close(self) -> None:
        """End the run of items that is being read, if there is one."""
        if self.made is not None:
            with Place(Provider.RESPONSES, self.start).turn_errors():
                turn = self.made.turn(Role.ASSISTANT)
            self.made = None
            self.pairing.add(turn, self.start)

    def _call(self, made: Collector, item: Message, kind: str, place: Place) -> None:
        call, further = call_of(item, kind, place)
        if call.id in self.calls:
            raise place.refuse("duplicate-call-id", f"the id {shown(call.id)} is used twice", "one id a call among those that wait")
        self.calls[call.id] = kind
        made.call(call, further)

    def _said(self, item: Message, kind: str, role: Role, place: Place) -> Turn:
        collector = Collector(Provider.RESPONSES)
        if role is Role.TOOL:
            take_output(collector, item, self.calls.get(item["call_id"], "function_call"), place)
            return collector.turn(role, tool_call_id=item["call_id"])
        if kind == "message":
            take_message(collector, item, place)
        else:
            collector.block(item)
        return collector.turn(role)
