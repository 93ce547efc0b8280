"""The work of the commands that read a session: how it stands or stood, what a model is sent, what became of a turn, who spoke of something."""

import json
from typing import Any

from attrs import asdict
from rich.text import Text

from polycontext.nodes import portions
from polycontext.polynomial import ContextSession
from polycontext.window import InvalidMessagesError, Turn
from polycontext.window.providers import Provider, Rendered

from ..output import FAULT, USAGE, CommandError, one_line, paper_width, tell, write, write_json, write_rich
from .became import became
from .drawn import drawn
from .opening import Where, opened_session, refused, seen_at
from .told import standing


def show_session(where: Where, moment: str | None, *, show_all: bool, as_json: bool) -> int:
    """Print where the session stands or stood, what its window is spent on, and what became of every turn."""
    with opened_session(where) as opened:
        session = seen_at(opened, moment)
        if as_json:
            told = standing(session, where.session)
            told["epoch"] = session.window.epoch.number
            told["window"] = [portion.as_json() for portion in portions(session.window, by_role=False)]
            told["turns"] = [each.as_json() for each in became(session)]
            write_json(told, indent=2)
        else:
            write_rich(drawn(session, where.session, show_all=show_all, width=paper_width()))
    return 0


def print_messages(where: Where, moment: str | None, provider: str | None, body: str | None, *, allow_open: bool) -> int:
    """Print the body of a request: what the model is sent, or would have been, and what it is to have besides."""
    beside = _beside(body)
    with opened_session(where) as opened:
        session = seen_at(opened, moment)
        asked = session.usage.provider if provider is None else Provider(provider)
        try:
            request = session.request(asked, allow_open=allow_open)
        except InvalidMessagesError as error:
            # Nobody has given these messages: it is the session that cannot be asked now.
            raise refused(error) from None
    fields = request_fields(request, asked)
    if twice := sorted(fields.keys() & beside.keys()):
        raise CommandError(USAGE, f"--body says {', '.join(twice)}, which the session has; legal: other fields")
    write_json({**beside, **fields}, indent=2)
    if betas := request.options.get("betas"):
        tell(Text(f"to be sent with the header anthropic-beta: {','.join(betas)}"))
    for resource_id, kind in request.left_behind:
        tell(Text(one_line(f"{resource_id}: {kind} is left out, since {asked} cannot take it"), style="yellow"))
    return 0


def request_fields(request: Rendered, provider: Provider) -> dict[str, Any]:
    """Return the fields of a request's body that a session has: messages, a system apart, and options; no header."""
    options = {name: value for name, value in request.options.items() if name != "betas"}
    system = {"system": list(request.system)} if request.system else {}
    return {**options, **system, "input" if provider is Provider.RESPONSES else "messages": request.messages}


def _beside(body: str | None) -> dict[str, Any]:
    try:
        fields = json.loads(body or "{}")
    except (ValueError, RecursionError) as error:
        raise CommandError(USAGE, f'--body is no JSON: {error}; legal: an object, such as {{"model": "gpt-5"}}') from None
    if not isinstance(fields, dict):
        raise CommandError(USAGE, '--body is no object; legal: an object, such as {"model": "gpt-5"}')
    return fields


def search_session(where: Where, text: str, limit: int, *, as_json: bool) -> int:
    """Print the turns of the log that speak most of `text`, best first; exit code 1 says that there is none."""
    with opened_session(where, sized=False) as session:
        found = session.history.search(text, limit)
    if as_json:
        write_json(
            [{"id": each.resource_id, "role": str(each.role), "snippet": each.snippet, "score": each.score} for each in found], indent=2
        )
    elif found:
        write("".join(f"{one_line(f'{each.resource_id} {each.role}: {each.snippet}')}\n" for each in found))
    else:
        tell(Text(f"nobody speaks of {one_line(repr(text))} in session {one_line(where.session)}"))
    return 0 if found else FAULT


def explain_turn(where: Where, resource_id: str, *, as_json: bool) -> int:
    """Print what became of a turn, and its words."""
    with opened_session(where, sized=False) as session:
        explained, turn = session.explain(resource_id), _turn_of(session, resource_id)
    if as_json:
        told = asdict(explained) | {"resource_class": explained.resource_class.name, "at": explained.at.isoformat()}
        calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in turn.tool_calls] if turn else []
        said = {"role": str(turn.role), "content": turn.content, "tool_calls": calls, "sources": list(turn.sources)} if turn else {}
        write_json(told | said, indent=2)
        return 0
    calls_made = (f"-> {call.name}({call.arguments})" for call in turn.tool_calls) if turn else ()
    lines = [*(turn.text.splitlines() if turn else ()), *calls_made]
    write("".join(f"{line}\n" for line in (one_line(str(explained)), *(f"  {one_line(line)}" for line in lines))))
    return 0


def _turn_of(session: ContextSession, resource_id: str) -> Turn | None:
    """Return a turn of the log or a gist of the view; None of a gist that stands no more."""
    log = session.conversation.log
    if log.knows(resource_id):
        return log[log.place(resource_id)]
    return next((turn for turn in session.window.all_turns() if turn.resource_id == resource_id), None)
