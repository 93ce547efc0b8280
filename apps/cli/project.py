"""`polycontext project`: conversations cut to a budget."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

from rich.text import Text

from polycontext.polynomial import ContextOverflowError, Projection, project
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, Rendered
from polycontext.window.providers.anthropic import hoist

from .output import FAULT, CommandError, tell, write_json
from .recordings.conversation import Conversation, read_conversations


def project_file(
    name: str, room: Mapping[str, Any], provider: Provider | None, *, as_json: bool, keep_recent: int, query: str | None, repair: bool
) -> int:
    """Print the conversations of `name` within `room` (the model, `max_tokens`), and a report of each; return the exit code.

    One conversation is printed for people to read, several one a line.

    Raises:
        InvalidDataError: an input that is no conversation. CommandError: one that cannot be cut to the budget.
    """
    cut = partial(project, **room, keep_recent=keep_recent, query=query, repair=repair)
    projected = ((conversation, _projection(conversation, cut)) for conversation in read_conversations([name], provider))
    for (conversation, projection), several in _with_several(projected):
        shape = as_object(conversation, projection) if as_json else as_it_came(conversation, projection)
        write_json(shape, indent=None if several else 2)
        if not as_json:
            tell(_report(conversation, projection))
    return 0


def _projection(conversation: Conversation, cut: Callable[..., Projection]) -> Projection:
    try:
        return cut(conversation.messages, provider=conversation.provider, tools=conversation.tools)
    except InvalidMessagesError as error:
        raise conversation.refused(error) from None
    except ContextOverflowError as error:
        raise CommandError(FAULT, f"{conversation.source}, line {conversation.line}: {error}") from None


def as_object(conversation: Conversation, projection: Projection) -> dict[str, Any]:
    """Return messages ready to be sent (for Anthropic the system apart) and the report."""
    inline = Rendered(projection.messages, projection.system).inline()
    # Anthropic takes the system beside the messages, everybody else among them.
    ready = hoist(inline) if conversation.provider is Provider.ANTHROPIC else Rendered(inline)
    return {"messages": ready.messages, "system": list(ready.system), "report": projection.report()}


def as_it_came(conversation: Conversation, projection: Projection) -> Any:
    """Return the projection in the shape of the input: a list, or its object with other messages.

    Law: projecting what is returned changes nothing.
    """
    messages = Rendered(projection.messages, projection.system).inline()
    if conversation.body is None:
        return messages
    if conversation.has_system:
        return {**conversation.body, "system": messages[0]["content"], "messages": messages[1:]}
    return {**conversation.body, "messages": messages}


def _with_several(items: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield each item and whether there is more than one in all; a fault in the second waits until the first is out."""
    first = next(items)
    try:
        further = list(islice(items, 1))
    except Exception:
        yield first, True
        raise
    yield first, bool(further)
    for item in chain(further, items):
        yield item, True


_TOLD = {"kept": "word for word", "gisted": "summarised", "dropped": "dropped", "repaired": "results added"}


def _report(conversation: Conversation, projection: Projection) -> Text:
    report = projection.report()
    parts = [f"{len(report[name])} {told}" for name, told in _TOLD.items() if report[name]]
    changed = "nothing changed" if projection.first_changed is None else f"unchanged before message {projection.first_changed}"
    text = Text(f"{conversation.title}: ", style="bold")
    text.append(f"{projection.tokens_before} -> {projection.tokens_after} tokens", style="green")
    room = f"of {projection.max_tokens}; it could not be less than {projection.floor}"
    return text.append(f" ({room}); messages: {', '.join(parts)}; {changed}", style="not bold")
