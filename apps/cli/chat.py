"""`polycontext chat`: a line-by-line chat with a model."""

import asyncio
import sys
from typing import Annotated
from uuid import uuid4

from attrs import define

from polycontext.base import PolycontextError
from polycontext.models.answers import Answering, in_whole_characters, metadata_of, settle
from polycontext.nodes.endings import kept_ending
from polycontext.pills import asend_message
from polycontext.polynomial import ContextSession

from . import options
from .command import argument, command, option
from .errors import command_line, message_of
from .output import FAULT, CommandError, tell, write
from .pills import describe, print_attachments, resolve_text
from .session.messages import Continued, chat_session
from .session.settings import moment_of
from .session.standing import bar, print_write
from .terminal import QUIT, end_answer, interruptible_runner, orderly_end, read_line

HELP = """\
/attach FILE    attach a file to the next message
/compress       summarise or drop older messages now
/rewind MOMENT  go back to a message id, a revision or a time
/quit           leave (or press Ctrl+D)
"""


@command(
    "polycontext chat trip --store chats.db --model claude-sonnet-4-5",
    "polycontext chat --agent app:make_agent",
    "polycontext chat --model llama3 --base-url http://localhost:11434/v1 < questions.txt",
)
def chat(
    *,
    session: Annotated[
        str | None,
        argument(required=False, envvar=options.SESSION, shell_complete=options.complete_session),
    ],
    store: options.ChatStore,
    window: options.WindowOptions,
    base_url: options.BaseUrl,
    agent: options.AgentName,
    system: Annotated[str | None, option("A system prompt for a new session.", metavar="TEXT")],
    continued: Continued,
) -> int:
    """Chat with a model, line by line; /help lists the commands.

    Continues SESSION if it exists. Without --model or --agent, a script answers. Ctrl+C interrupts
    an answer and keeps its text. In a pipe, each line is a message; exits with 1 if one fails.
    """
    if session is not None and store is None:
        raise CommandError("the session has no store. Pass --store.")
    who, needs = options.answering_at(base_url, window.model, agent)
    name, is_at_terminal = session or uuid4().hex[:8], sys.stdin.isatty()
    with options.chats_at(store) as kept, orderly_end():
        held = chat_session(kept, name, window.settings, system, continued, **needs)
        code = _Talk(held, name, who, is_at_terminal).run()
    if store is not None and is_at_terminal:
        tell(f"continue with: {command_line('chat', name, '--store', store)}")
    return code


@define
class _Talk:
    """A chat that prints answers to standard output and everything else to standard error.

    Laws: a refused line changes nothing; an interrupted answer keeps the text received so far.
    """

    session: ContextSession
    name: str
    who: Answering
    is_at_terminal: bool
    attached: str = ""

    def run(self) -> int:
        """Process lines until the input ends; in a pipe, return 1 if any line failed."""
        if self.is_at_terminal:
            said = len(self.session.conversation.log)
            tell(f"session {self.name}: {said} messages so far. Type /help for help.", "dim")
            if (ending := kept_ending(self.session)) and ending["text"]:
                tell(ending["text"], "yellow")
        failures = 0
        with interruptible_runner() as runner:
            try:
                while (line := read_line(is_terminal=self.is_at_terminal)) != QUIT:
                    failures += not self._is_done(runner, line)
            finally:
                runner.run(self.who.aclose())
        return FAULT if failures and not self.is_at_terminal else 0

    def _is_done(self, runner: asyncio.Runner, line: str) -> bool:
        """Process one line and return whether that succeeded."""
        try:
            runner.run(self._take(line))
        except (PolycontextError, CommandError) as error:
            tell(message_of(error), "yellow")
            return False
        except KeyboardInterrupt:
            if not self.is_at_terminal:
                raise
            tell("stopped; the partial answer is kept", "yellow")
        return True

    async def _take(self, line: str) -> None:
        """Process one line: run a command, or send a message and print its answer."""
        match line.split():
            case []:
                return
            case ["/help"]:
                write(HELP)
            case ["/attach", name]:
                self.attached += f"\n[@{name}]"
            case ["/compress"]:
                print_write(self.session, await self.session.acompress(), as_json=False)
            case ["/rewind", moment]:
                output = await self.session.history.arewind(moment_of(moment))
                print_write(self.session, output, as_json=False)
            case [word, *_] if word.startswith("/") and not word.startswith("//"):
                raise CommandError(f"{line!r} is not a command. Type /help.", FAULT)
            case _:
                await self._send(line[1:] if line.startswith("//") else line)

    async def _send(self, text: str) -> None:
        """Send a message with its attachments, and print the answer as it streams."""
        text, self.attached = f"{text}{self.attached}", ""
        message = await asyncio.to_thread(resolve_text, text)
        if message.problems:
            raise CommandError(f"{describe(message.problems[0])}; nothing was sent", FAULT)
        print_attachments(await asend_message(self.session, message))
        answer = self.session.answer()
        try:
            # Synchronously: an interrupt during an asynchronous write would lose the answer.
            with answer:
                async for piece in in_whole_characters(self.who.answer(self.session)):
                    answer.add(piece)
                    write(piece.replace("\r", ""))
                answer.metadata |= metadata_of(self.who, self.session)
        except BaseException as error:  # noqa: BLE001 - an interrupt, too, is an ending
            end_answer(self.session, answer.text, error)
        finally:
            write("\n" if answer.text and not answer.text.endswith("\n") else "")
        end_answer(self.session, answer.text)
        await settle(self.who, self.session)
        if self.is_at_terminal:
            tell(bar(self.session), "dim")
