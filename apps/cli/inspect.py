"""`polycontext inspect`: what the model saw of a conversation, as one HTML file."""

from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any

from polycontext.agents import AgentMachine
from polycontext.base import InvalidDataError, require_extra
from polycontext.nodes.inspection import Inspector
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SessionStore
from polycontext.transcripts import read_conversations

from .command import argument, command
from .options import (
    MessageFormat,
    Output,
    StoreOptions,
    WindowOptions,
    complete_session,
)
from .output import FAULT, CommandError, save, tell, write
from .recordings import ReplaySettings, replay_conversation
from .session.settings import find_session, session_of


@command(
    "polycontext inspect trip > report.html",
    "polycontext inspect run.jsonl --max-tokens 8000 -o report.html",
)
def inspect(
    *,
    where: StoreOptions,
    conversation: Annotated[str, argument(metavar="SESSION|FILE", shell_complete=complete_session)],
    window: WindowOptions,
    form: MessageFormat,
    output: Output,
) -> None:
    """Write what the model saw of a conversation, turn by turn, as one HTML file.

    The file needs no network. It holds every message of the conversation. FILE is a recorded
    conversation as `polycontext replay` reads it, or - for standard input.
    """
    require_extra("fastapi", extra="server", purpose="polycontext inspect")
    from polycontext.server import report_page  # noqa: PLC0415 - an extra

    if conversation == "-" or Path(conversation).is_file():
        text = report_page(_report(_replayed(conversation, window, form), conversation))
    elif conversation.endswith((".json", ".jsonl")):
        raise CommandError(f"there is no file {conversation!r}. Name one, or a session.", FAULT)
    else:
        with where.open_store() as store:
            name = find_session(store, conversation)
            with closing(_opened(store, name)) as session:
                text = report_page(_report(session, name))
    if output is None:
        write(text)
    else:
        save(output, lambda path: path.write_text(text, encoding="utf-8"))


def _opened(store: SessionStore, name: str) -> ContextSession:
    with suppress(InvalidDataError):
        return session_of(store, name, None)
    return session_of(store, name, None, machine=AgentMachine)


def _replayed(name: str, window: WindowOptions, form: MessageFormat) -> ContextSession:
    found = next(iter(read_conversations([name], form, notify=tell)), None)
    if found is None:
        raise CommandError(f"{name} holds no conversation.")
    settings = ReplaySettings(model=window.model, max_tokens=window.max_tokens)
    return replay_conversation(found, settings).session


def _report(session: ContextSession, title: str) -> dict[str, Any]:
    """Return what the page shows of a session (docs/server.md, "Inspection")."""
    inspector = Inspector(session)
    return {
        "title": title,
        "inspection": {**inspector.overview(), "readOnly": True},
        "timeline": inspector.timeline(),
        "turns": {"turns": inspector.turns()},
        "receipts": {"receipts": [each.to_data() for each in session.history.receipts()]},
    }
