"""What becomes of a line that a person types: a command, or a message that is sent, answered piece by piece, and kept."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.text import Text
from typer import Exit

from polycontext.linearity import PolycontextError
from polycontext.models import Answering, in_whole_characters
from polycontext.nodes import asend_resolved
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SessionStore
from polycontext.window import FileResolver, PillDocument, Role
from polycontext.window.pills import BufferResolver, Completer, Resolvers, SymbolResolver, resolve_document

from ..output import one_line, tell, write
from ..pills import told, typed
from .slash import Outcome, obey

ANSWER = "*answer*"
"""The buffer that holds what was answered last, word for word, whatever the view has of it."""


class Talk:
    """Hold a conversation between a person at a terminal and whoever answers; answers go to standard output, remarks to standard error.

    Laws: what is refused changes nothing; of an answer that is cut short, what was said is kept.
    """

    def __init__(
        self,
        session: ContextSession,
        answering: Answering,
        *,
        store: SessionStore,
        name: str,
        roots: Sequence[Path] = (),
        system: str | None = None,
    ) -> None:
        self.session, self.store, self.name, self.system = session, store, name, system
        self.is_left = False
        self._answering = answering
        sources = (FileResolver(roots), SymbolResolver(roots), BufferResolver(_Buffers(self)))
        self.resolvers, self.completer = Resolvers(sources), Completer(sources)

    def typed(self, text: str) -> PillDocument:
        """Return the document of a line that no editor has made: every ``[@name]`` in it is a pill."""
        return typed(text, self.resolvers)

    @property
    def last_answer(self) -> str | None:
        """Return what was answered last."""
        return next((turn.text for turn in reversed(self.session.conversation.log) if turn.role is Role.ASSISTANT), None)

    async def take(self, document: PillDocument) -> Outcome:
        """Do what was typed; whatever is wrong with it is said."""
        text = document.text
        try:
            if not text.strip():
                return Outcome.DONE
            if text.startswith("/") and not text.startswith("//"):
                return await obey(self, text[1:])
            return await self._send(document.delete_range(0, 1) if text.startswith("//") else document)
        except PolycontextError as error:
            remark(str(error))
            return Outcome.REFUSED

    async def _send(self, document: PillDocument) -> Outcome:
        message = await asyncio.to_thread(resolve_document, document, self.resolvers)
        for problem in message.problems:
            remark(f"{problem.pill.text}: {problem.warning} ({problem.detail})")
        if message.problems:
            remark("nothing was sent; remove these, or name them otherwise")
            return Outcome.REFUSED
        sent = await asend_resolved(self.session, message)
        for line in told(sent):
            tell(line)
        return await self.answer()

    async def answer(self) -> Outcome:
        """Have what was said last answered, show the answer as it comes, and keep it.

        Cancelled, it keeps what was said until then.
        """
        answer = self.session.answer()
        try:
            async with answer:
                async for piece in in_whole_characters(self._answering.answer(self.session)):
                    answer.add(piece)
                    write(piece.replace("\r", ""))
        except (asyncio.CancelledError, Exit, SystemExit, KeyboardInterrupt):
            remark("stopped; what was said is kept")
            raise
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            remark(f"no answer: {type(error).__name__}: {error}")
            return Outcome.UNANSWERED
        finally:
            if answer.text and not answer.text.endswith("\n"):
                write("\n")
            # Files may have changed meanwhile.
            self.completer.refresh()
        if not answer.text.strip():
            remark("no answer: the model said nothing")
            return Outcome.UNANSWERED
        return Outcome.DONE

    async def close(self) -> None:
        """Let go of whoever answers."""
        await self._answering.aclose()


class _Buffers(Mapping[str, str]):
    """Hold the buffers of a talk, as they are when they are asked for."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def __getitem__(self, name: str) -> str:
        text = self._talk.last_answer
        if name != ANSWER or text is None:
            raise KeyError(name)
        return text

    def __iter__(self) -> Iterator[str]:
        return iter([] if self._talk.last_answer is None else [ANSWER])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def remark(text: str) -> None:
    """Tell in one line, beside the conversation."""
    tell(Text(one_line(text), style="yellow"))
