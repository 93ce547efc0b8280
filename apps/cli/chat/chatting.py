"""The work of `polycontext chat`: the session is opened, and what is typed is taken in, one message after another, until nobody types any more."""

import asyncio
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, NoReturn, TextIO
from uuid import uuid4

from attrs import frozen
from rich.text import Text

from polycontext.linearity import PolycontextError, UnknownNameError, require_extra
from polycontext.models import Answering, answering
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore, SessionStore, store_at
from polycontext.window import PillDocument, Role, find_model

from ..output import FAULT, USAGE, CommandError, existing_folders, one_line, tell
from ..session.opening import ROOM, Told, session_of
from .slash import Outcome
from .talk import Talk, remark

_SIGNALLED = 128
"""What shells add to the number of the signal that has ended a program."""

MOST_TYPED = 4_000_000
"""Characters of a line that is read from standard input; what is longer is refused unread."""


@frozen
class Chatted:
    """Hold how a chat is held, as the options say."""

    store: str | None
    session: str | None
    model: str | None
    name: str | None
    max_tokens: int | None
    roots: Sequence[Path]
    system: str | None


def chat(chatted: Chatted) -> int:
    """Hold a conversation at a terminal, or take one message from every line of standard input; exit code 1 says that one of them was refused or not answered."""
    is_terminal = is_at_terminal()
    if is_terminal:
        require_extra("prompt_toolkit", extra="chat", purpose="a chat in the terminal")
    if chatted.session is not None and chatted.store is None:
        raise CommandError(USAGE, "--session without --store; legal: where the session is kept, too", "chat")
    roots, who = existing_folders(chatted.roots), _answering(chatted)
    with closing(InMemoryStore() if chatted.store is None else store_at(chatted.store)) as store:
        name = uuid4().hex[:8] if chatted.session is None else chatted.session
        session = _opened(store, name, chatted)
        if chatted.system and not session.history.revision:
            session.add_system(chatted.system)
        talk = Talk(session, who, store=store, name=name, roots=roots, system=chatted.system)
        with _ends_in_order():
            return _held(talk, is_kept=chatted.store is not None) if is_terminal else _read(talk)


@contextmanager
def _ends_in_order() -> Generator[None]:
    """Let a process that is told to end, or whose terminal is closed, keep what was said of an answer first, as it does where it is interrupted."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(_SIGNALLED + number)

    asked = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = [signal.signal(each, end) for each in asked] if current_thread() is main_thread() else []
    try:
        yield
    finally:
        for each, handler in zip(asked, before, strict=False):
            signal.signal(each, handler)


def is_at_terminal() -> bool:
    """Tell whether a person types and reads."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _answering(chatted: Chatted) -> Answering:
    try:
        return answering(chatted.model, chatted.name)
    except PolycontextError:
        raise
    except Exception as error:
        # The vendor's own words: there is no key, say.
        raise CommandError(FAULT, f"nobody can be asked: {error}", "chat") from error


def _opened(store: SessionStore, name: str, chatted: Chatted) -> ContextSession:
    """Return the session, as it was told to be opened before, or a new one for the model that is named, where its window is known."""
    said = Told(max_tokens=chatted.max_tokens)
    if name in store.list_sessions():
        return session_of(store, name, said)
    profile = None if chatted.max_tokens is not None else _known(chatted.name)
    return session_of(store, name, Told(model=profile) if profile else Told(max_tokens=chatted.max_tokens or ROOM))


def _known(model: str | None) -> str | None:
    try:
        return None if model is None else find_model(model).name
    except UnknownNameError:
        return None


def _held(talk: Talk, *, is_kept: bool) -> int:
    """Hold a conversation at a terminal; what is refused stands in the input again."""
    from .screen import Screen, status_of  # noqa: PLC0415 - an extra

    _welcome(talk, is_kept=is_kept)
    screen = Screen(talk.completer, lambda: status_of(talk.session, talk.name if is_kept else None))
    with asyncio.Runner() as runner:
        hold(runner, talk, screen)
        runner.run(talk.close())
    if is_kept:
        remark(f"go on with: polycontext chat --session {talk.name} and the same --store")
    return 0


def hold(runner: asyncio.Runner, talk: Talk, screen: Any) -> None:
    """Ask `screen` for messages until it has none any more or the person leaves."""
    document = PillDocument()
    while not talk.is_left:
        try:
            document = runner.run(screen.ask(document))
        except EOFError:
            return
        except KeyboardInterrupt:
            document = PillDocument()
            remark("Ctrl+D leaves")
            continue
        try:
            refused = runner.run(talk.take(document)) is Outcome.REFUSED
        except KeyboardInterrupt:
            refused = False
        document = document if refused else PillDocument()


def _welcome(talk: Talk, *, is_kept: bool) -> None:
    log = talk.session.conversation.log
    where = f"session {talk.name}: {len(log)} messages so far" if is_kept else "nothing of this is kept: --store says where to"
    tell(Text(one_line(f"{where}. /help tells what can be typed, @ attaches files, Ctrl+D leaves"), style="dim"))
    if len(log) and log[len(log) - 1].role is Role.USER:
        remark("what was said last has no answer: /regenerate has it answered")


def _read(talk: Talk) -> int:
    """Take one message from every line of standard input."""
    code = 0
    with asyncio.Runner() as runner:
        for line in lines(sys.stdin):
            if line is None:
                remark(f"a line of more than {MOST_TYPED:,} characters; legal: shorter messages")
                code = FAULT
            elif runner.run(talk.take(talk.typed(line))) is not Outcome.DONE:
                code = FAULT
            if talk.is_left:
                break
        runner.run(talk.close())
    return code


def lines(stream: TextIO) -> Iterator[str | None]:
    """Yield the lines of a stream without their ends, None for one that is too long; bytes that are no UTF-8 are replaced."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="replace")
    while line := stream.readline(MOST_TYPED + 1):
        if len(line) <= MOST_TYPED or line.endswith("\n"):
            yield line.rstrip("\r\n")
            continue
        while line and not line.endswith("\n"):
            line = stream.readline(MOST_TYPED)
        yield None
