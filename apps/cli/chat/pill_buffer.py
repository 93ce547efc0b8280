"""An input buffer of prompt_toolkit in which pills are atomic: it is a pill document and its cursor, whatever key has edited it."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import takewhile
from typing import Any

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.completion import Completer as PromptCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from polycontext.window import PillDocument
from polycontext.window.pills import Candidate, Completer, DuplicatePillError, Pill, PillType, find_pills

from .slash import COMMANDS

MOST_OFFERED = 30
_OPEN = "[@"


class PillBuffer(Buffer):
    """Hold what is typed, as `pills`; deleting any part of a pill takes all of it, and the cursor never stands inside of one.

    Pills come by completion alone. What brings back a text with a pill that stood here (undo, what was cut, what was typed before) brings the pill
    back; ``[@name]`` typed by hand is text.

    Law: ``pills.text == text``.
    """

    def __init__(self, completer: Completer, **options: Any) -> None:
        self.pills = PillDocument()
        self._known: dict[str, PillType] = {}
        self._stood = 0
        super().__init__(
            completer=InputCompleter(completer, self),
            on_text_changed=lambda _: self._reconcile(),
            on_cursor_position_changed=lambda _: self._leave_pill(),
            **options,
        )

    def show(self, document: PillDocument) -> None:
        """Let `document` stand here, the cursor behind it."""
        self._known |= {pill.name: pill.type for pill in document.pills}
        self.document = Document(document.text)
        self._put(document, len(document.text))

    def insert_pill(self, name: str, pill_type: PillType | str = PillType.FILE) -> None:
        """Put a pill where the cursor stands.

        Raises:
            DuplicatePillError, InvalidPillNameError: as `PillDocument.insert_pill`; nothing has changed then.
        """
        document = self.pills.insert_pill(name, self.cursor_position, pill_type)
        pill = document.pill(name)
        self._known[name] = pill.type
        self._put(document, pill.end)

    def delete_before_cursor(self, count: int = 1) -> str:
        """Delete so many characters before the cursor; a pill among them goes whole."""
        return self._cut(self.cursor_position - count, self.cursor_position)

    def delete(self, count: int = 1) -> str:
        """Delete so many characters from the cursor on; a pill among them goes whole."""
        return self._cut(self.cursor_position, self.cursor_position + count)

    def go_to_completion(self, index: int | None) -> None:
        """Let a completion stand in the place of what was typed; that of a pill is one."""
        state = self.complete_state
        chosen = None if state is None or index is None else state.completions[index]
        if isinstance(chosen, PillCompletion):
            self._known[chosen.candidate.name] = chosen.candidate.type
        super().go_to_completion(index)

    def _cut(self, start: int, end: int) -> str:
        before, start, end = self.pills, max(0, start), min(end, len(self.pills.text))
        after = before.delete_range(start, max(start, end))
        at = min([start, *_touched(before, start, end)])
        self._put(after, at)
        return before.text[at : at + len(before.text) - len(after.text)]

    def _put(self, document: PillDocument, cursor: int) -> None:
        self.pills = document
        self.document = Document(document.text, cursor)

    def _reconcile(self) -> None:
        """Let `pills` follow the text, whoever has changed it; where a part of a pill was deleted, the rest of it goes as well."""
        text = self.text.encode("utf-8", "replace").decode()
        if text == self.pills.text:
            return
        start, end, new = _difference(self.pills, text)
        if not new:
            self._cut(start, end)
        elif _OPEN in new or _touched(self.pills, start, end):
            self.pills = self._written(text)
        else:
            self.pills = self.pills.delete_range(start, end).insert_text(start, new)
        if self.text != self.pills.text:
            self._put(self.pills, self.cursor_position)
        self._leave_pill()

    def _written(self, text: str) -> PillDocument:
        """Return the document of a text in which what stood here as a pill is one."""
        pills: dict[str, Pill] = {}
        for start, name in find_pills(text):
            if name in self._known:
                pills.setdefault(name, Pill(name, self._known[name], start))
        return PillDocument(text, tuple(pills.values()))

    def _leave_pill(self) -> None:
        """Move the cursor out of a pill, the way it was going."""
        here = self.cursor_position
        pill = self.pills.pill_at(here) if here <= len(self.pills.text) else None
        if pill is not None and here > pill.start:
            here = self.cursor_position = pill.start if here < self._stood else pill.end
        self._stood = here


def _difference(document: PillDocument, text: str) -> tuple[int, int, str]:
    """Return from where to where the document's text was replaced, and by what; of several places that explain it, one outside of its pills."""
    old = document.text
    start = _alike(old, text)
    most = min(len(old), len(text)) - start
    behind = min(most, _alike(reversed(old), reversed(text)))
    end, new = len(old) - behind, text[start : len(text) - behind]
    if new and start < end:
        return start, end, new
    moved = new or old[start:end]
    # What was put in or taken away may as well have stood a little before, where the same characters stand.
    while start and old[start - 1] == moved[-1] and _touched(document, start, end):
        start, end, moved = start - 1, end - 1, moved[-1] + moved[:-1]
    return start, end, moved if new else ""


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _touched(document: PillDocument, start: int, end: int) -> list[int]:
    """Return where the pills start that reach into what is between, or around the one place that is meant."""
    return [pill.start for pill in document.pills if pill.start < end and pill.end > start]


# --- completion and looks -------------------------------------------------------------------


class PillCompletion(Completion):
    """Offer one name that can be attached; of one that is attached already, only what was typed of it goes."""

    def __init__(self, candidate: Candidate, typed: str, *, attached: bool) -> None:
        self.candidate, self.attached = candidate, attached
        what = DuplicatePillError.message if attached else f"{candidate.type} {candidate.detail}".strip()
        super().__init__("" if attached else f"[@{candidate.name}]", -len(typed), display=candidate.name, display_meta=what)


class InputCompleter(PromptCompleter):
    """Complete names behind ``@``, and commands behind a slash."""

    def __init__(self, completer: Completer, buffer: PillBuffer) -> None:
        self._completer, self._buffer = completer, buffer
        self.is_reading = False
        """Whether the names behind ``@`` are being looked for."""

    async def get_completions_async(self, document: Document, complete_event: CompleteEvent) -> AsyncGenerator[Completion, None]:
        """Yield what may stand where the cursor is; the first ``@`` reads a whole project, in a thread."""
        if not self._completer.is_read and "@" in document.text_before_cursor:
            self.is_reading = True
            get_app().invalidate()
            try:
                await asyncio.to_thread(self._completer.candidates, "")
            finally:
                self.is_reading = False
        for each in self.get_completions(document, complete_event):
            yield each

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what may stand where the cursor is."""
        before = document.text_before_cursor
        if before.startswith("/") and " " not in before:
            fits = (command for name, command in COMMANDS.items() if name.startswith(before[1:]))
            yield from (Completion(f"/{each.name}", -len(before), display=each.usage, display_meta=each.help) for each in fits)
        word = before[max(map(before.rfind, " \n\t(")) + 1 :]
        if not word.startswith("@"):
            return
        attached = self._buffer.pills.context
        for candidate in self._completer.candidates(word, limit=MOST_OFFERED):
            yield PillCompletion(candidate, word, attached=candidate.name in attached)


class PillLexer(Lexer):
    """Show pills as what they are."""

    def __init__(self, buffer: PillBuffer) -> None:
        self._buffer = buffer

    def lex_document(self, document: Document) -> Any:
        """Return what gives the parts of a line their looks."""
        starts, lines = [0], document.lines
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)

        def line_of(number: int) -> StyleAndTextTuples:
            parts: StyleAndTextTuples = []
            here, end = starts[number], starts[number] + len(lines[number])
            for pill in self._buffer.pills.pills:
                if here <= pill.start < end and pill.end <= end:
                    parts += [("", document.text[here : pill.start]), ("class:pill", pill.text)]
                    here = pill.end
            return [*parts, ("", document.text[here:end])]

        return line_of
