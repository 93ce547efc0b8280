"""The commands of a chat: what is typed behind a slash, as data, and what each of them does."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from enum import Enum
from itertools import islice
from typing import Protocol

from attrs import frozen
from rich.table import Table
from rich.text import Text

from polycontext.linearity import InvalidOptionError, UnknownNameError
from polycontext.nodes import waffle
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.stores import SessionStore

from ..output import one_line, paper_width, write, write_rich
from ..seen import excerpt
from ..session.filled import filled
from ..session.opening import moment_of
from ..session.told import tell_written
from ..session.whole import forked

_SHOWN, _FOUND = 12, 10
"""Turns that /history and /search show unless they are told otherwise."""


class Outcome(Enum):
    """Say what became of what was typed: it was done, it was refused and nothing has changed, or it was sent and nobody answered."""

    DONE = "done"
    REFUSED = "refused"
    UNANSWERED = "unanswered"


class Talking(Protocol):
    """Stand for the talk that commands do something with."""

    session: ContextSession
    store: SessionStore
    name: str
    system: str | None
    is_left: bool

    async def answer(self) -> Outcome:
        """Have what was said last answered."""
        ...


@frozen
class Doing:
    """Do what a command says with a talk; each method takes the words behind the command."""

    talk: Talking

    async def help(self, words: Sequence[str]) -> Outcome:
        """Tell what can be typed."""
        table = Table.grid(padding=(0, 2))
        for command in COMMANDS.values():
            table.add_row(Text(command.usage), Text(command.help, style="dim"))
        table.add_row(
            Text("@name"), Text("attach a file, a Python symbol or a buffer: Tab completes what is typed behind the @", style="dim")
        )
        write_rich(table)
        return Outcome.DONE

    async def context(self, words: Sequence[str]) -> Outcome:
        """Show what the window is filled with."""
        write_rich(filled(waffle(self.talk.session), paper_width()))
        return Outcome.DONE

    async def compress(self, words: Sequence[str]) -> Outcome:
        """Make room."""
        return self._told(await self.talk.session.acompress(_share(words[0]) if words else None))

    async def clear(self, words: Sequence[str]) -> Outcome:
        """Begin anew."""
        output = await self.talk.session.aclear()
        return self._told(output if self.talk.system is None else await self.talk.session.aadd_system(self.talk.system))

    async def pin(self, words: Sequence[str]) -> Outcome:
        """Keep a message."""
        return self._told(await self.talk.session.apin(words[0], " ".join(words[1:])))

    async def recall(self, words: Sequence[str]) -> Outcome:
        """Bring messages back."""
        stood = {turn.resource_id for turn in self.talk.session.window.all_turns()}
        output = await self.talk.session.arecall(words)
        return self._told(output, brought_back=[turn.resource_id for turn in output.window.all_turns() if turn.resource_id not in stood])

    async def history(self, words: Sequence[str]) -> Outcome:
        """Tell what was said last."""
        log = self.talk.session.conversation.log
        last = list(islice(reversed(log), _number(words[0]) if words else _SHOWN))
        write("".join(f"{turn.resource_id} {turn.role}: {excerpt(turn)}\n" for turn in reversed(last)))
        return Outcome.DONE

    async def search(self, words: Sequence[str]) -> Outcome:
        """Find who spoke of something."""
        found = await self.talk.session.history.asearch(" ".join(words), _FOUND)
        write("".join(f"{one_line(f'{each.resource_id} {each.role}: {each.snippet}')}\n" for each in found) or "nobody speaks of that\n")
        return Outcome.DONE

    async def rewind(self, words: Sequence[str]) -> Outcome:
        """Go back."""
        before = self.talk.session.history.revision
        outcome = self._told(await self.talk.session.history.arewind(moment_of(words[0])))
        write(f"undone by: /rewind {before}\n")
        return outcome

    async def fork(self, words: Sequence[str]) -> Outcome:
        """Go on in another session."""
        other = await asyncio.to_thread(forked, self.talk.session, words[0], words[1] if words[1:] else None)
        former, self.talk.session, self.talk.name = self.talk.name, other, words[0]
        write(one_line(f"this is session {self.talk.name} from now on, branched off from {former}") + "\n")
        return self._told(other.output)

    async def sessions(self, words: Sequence[str]) -> Outcome:
        """Name the sessions of the store."""
        names = await asyncio.to_thread(ContextSession.history.list_sessions, self.talk.store)
        write("".join(f"{'*' if name == self.talk.name else ' '} {one_line(name)}\n" for name in names) or "nothing is kept yet\n")
        return Outcome.DONE

    async def regenerate(self, words: Sequence[str]) -> Outcome:
        """Have another answer."""
        await self.talk.session.history.aregenerate()
        return await self.talk.answer()

    async def quit(self, words: Sequence[str]) -> Outcome:
        """Leave."""
        self.talk.is_left = True
        return Outcome.DONE

    def _told(self, output: ContextOutput, **ids: Sequence[str]) -> Outcome:
        tell_written(self.talk.session, self.talk.name, output, as_json=False, **ids)
        return Outcome.DONE


@frozen
class Slash:
    """Hold one command: what it takes, what it does in words, and what does it; `least` and `most` bound how many words it takes."""

    name: str
    takes: str
    help: str
    act: Callable[[Doing, Sequence[str]], Awaitable[Outcome]]
    least: int = 0
    most: int = 0

    @property
    def usage(self) -> str:
        """Return how it is written."""
        return f"/{self.name} {self.takes}".rstrip()


async def obey(talk: Talking, typed: str) -> Outcome:
    """Do a command that was typed, without its slash.

    Raises:
        UnknownNameError: there is none of that name. InvalidOptionError: it takes other words. Whatever the session raises.
    """
    name, *words = typed.split() or [""]
    command = COMMANDS.get(name)
    if command is None:
        legal = (*(f"/{each}" for each in COMMANDS), "a second slash in front of a message that begins with one")
        raise UnknownNameError("command", f"/{name}", legal, tuple(f"/{near}" for near in get_close_matches(name, COMMANDS)))
    if not command.least <= len(words) <= command.most:
        raise InvalidOptionError(f"/{name}", " ".join(words), command.usage)
    return await command.act(Doing(talk), words)


def _share(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InvalidOptionError("/compress", word, "a share of the window, 0 to 1") from None


def _number(word: str) -> int:
    if not word.isdecimal() or not int(word):
        raise InvalidOptionError("/history", word, "a whole number of messages, at least 1")
    return int(word)


_MANY = 1_000
COMMANDS = {
    command.name: command
    for command in (
        Slash("help", "", "what can be typed here", Doing.help),
        Slash("context", "", "what the window is filled with, and how much of it is left", Doing.context),
        Slash(
            "compress", "[SHARE]", "summarise or drop older messages now, until the window is no fuller than this", Doing.compress, most=1
        ),
        Slash("clear", "", "begin anew; what was said stays in the log", Doing.clear),
        Slash("pin", "ID [WHY]", "keep a message word for word", Doing.pin, 1, _MANY),
        Slash("recall", "ID ...", "bring messages back word for word", Doing.recall, 1, _MANY),
        Slash("history", "[N]", "what was said last, with ids", Doing.history, most=1),
        Slash("search", "WORDS", "who spoke of something, however long ago", Doing.search, 1, _MANY),
        Slash("rewind", "MOMENT", "go back: the id of the message that is to be the last one, a revision, or a time", Doing.rewind, 1, 1),
        Slash("fork", "NEW [MOMENT]", "go on in another session that branches off here, or at a moment", Doing.fork, 1, 2),
        Slash("sessions", "", "the sessions of the store", Doing.sessions),
        Slash("regenerate", "", "have what you said last answered anew", Doing.regenerate),
        Slash("quit", "", "leave; Ctrl+D does the same", Doing.quit),
    )
}
"""What can be typed behind a slash, by name."""
