"""What a person types into: an input with pills and completion over a line that says how full the window is (docs/terminal.md)."""

from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.completion import Completion
from prompt_toolkit.filters import Condition, has_completions, is_done
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
)
from prompt_toolkit.layout import Window as Pane
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from polycontext.polynomial import ContextSession, ContextState
from polycontext.window import PillDocument
from polycontext.window.pills import Completer, DuplicatePillError

from ..output import one_line, percent
from .pill_buffer import PillBuffer, PillCompletion, PillLexer

_MENU = 8
_MOST_LINES = 12
_BAR = 10
_PROMPT = "› "
_STYLE = Style.from_dict({"pill": "bold ansicyan", "status": "ansibrightblack", "status.pressured": "ansiyellow", "warning": "ansiyellow"})


class Screen:
    """Ask for one message after another; `status` says what stands below the input."""

    def __init__(
        self,
        completer: Completer,
        status: Callable[[], StyleAndTextTuples],
        *,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.buffer = PillBuffer(
            completer, history=InMemoryHistory(), multiline=True, complete_while_typing=True, accept_handler=self._accepted
        )
        self.warning = ""
        self.buffer.on_text_changed += lambda _: self._warn("")
        self._status = status
        self._app: Application[PillDocument] = Application(
            Layout(self._layout()), key_bindings=self._keys(), style=_STYLE, input=input, output=output, mouse_support=False
        )

    async def ask(self, document: PillDocument | None = None) -> PillDocument:
        """Return what is typed, beginning with `document`.

        Raises:
            EOFError: Ctrl+D in an empty input. KeyboardInterrupt: Ctrl+C.
        """
        self.buffer.reset()
        self.buffer.show(document or PillDocument())
        return await self._app.run_async()

    def _accepted(self, buffer: Any) -> bool:
        self._app.exit(result=self.buffer.pills)
        return True  # what was typed stays on the screen

    def _warn(self, text: str) -> None:
        self.warning = text

    def _below(self) -> StyleAndTextTuples:
        told = "reading names…" if getattr(self.buffer.completer, "is_reading", False) else self.warning
        return [("class:warning", told)] if told else self._status()

    def _layout(self) -> FloatContainer:
        def height() -> Dimension:
            # A menu has no room of its own where the screen ends.
            return Dimension(min=_MENU if self.buffer.complete_state else 1, max=_MOST_LINES)

        control = BufferControl(self.buffer, lexer=PillLexer(self.buffer))
        line = Pane(
            control,
            height=height,
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda line, wrapped: "  " if line or wrapped else _PROMPT,
        )
        below = ConditionalContainer(Pane(FormattedTextControl(self._below), height=1, dont_extend_height=True), ~is_done)
        menu = Float(CompletionsMenu(max_height=_MENU, scroll_offset=1), xcursor=True, ycursor=True)
        return FloatContainer(HSplit([line, below]), [menu])

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        is_chosen = Condition(lambda: self._chosen is not None)
        keys.add("enter", filter=is_chosen)(self._take)
        keys.add("enter", filter=~is_chosen)(lambda _: self.buffer.validate_and_handle())
        keys.add("escape", "enter")(lambda _: self.buffer.insert_text("\n"))
        keys.add("tab", filter=has_completions)(lambda _: self.buffer.complete_next())
        keys.add("tab", filter=~has_completions)(lambda _: self.buffer.start_completion(select_first=True))
        keys.add("s-tab", filter=has_completions)(lambda _: self.buffer.complete_previous())
        keys.add("c-c")(lambda _: self._app.exit(exception=KeyboardInterrupt))
        keys.add("c-d", filter=Condition(lambda: not self.buffer.text))(lambda _: self._app.exit(exception=EOFError))
        return keys

    @property
    def _chosen(self) -> Completion | None:
        state = self.buffer.complete_state
        return None if state is None else state.current_completion

    def _take(self, event: KeyPressEvent) -> None:
        chosen, self.buffer.complete_state = self._chosen, None
        if isinstance(chosen, PillCompletion) and chosen.attached:
            self._warn(DuplicatePillError.message)


def status_of(session: ContextSession, name: str | None) -> StyleAndTextTuples:
    """Return the line below the input: the state, how full the window is, in a bar and in tokens, and which session it is."""
    window, pressure = session.window, session.pressure
    filled = min(_BAR, round(pressure * _BAR))
    look = "class:status.pressured" if session.state is ContextState.PRESSURED else "class:status"
    used = f"{percent(pressure)}  {window.total_tokens:,} of {window.max_tokens:,} tokens"
    told = f"{session.state}  {'█' * filled}{'░' * (_BAR - filled)} {used}"
    return [(look, told + (f"  session {one_line(name)}" if name else ""))]
