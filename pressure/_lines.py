"""Lay turns out as the lines of a summary, and print the lines again with some segments only.

One line is what somebody said (``user: ...``) or a call with its result
(``search({"q": "x"}) -> ...``). Text that ran over several lines goes on in lines
that start with a space, so that nothing quoted can pose as another speaker. A
gist among the turns is read back into the lines it was printed as.
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from attrs import frozen

from polycontext.pressure._segments import Span, normalise
from polycontext.pressure.gist import is_gist_text
from polycontext.window import Role, Turn

GAP = " … "
"""Stands where something between two segments was left out."""

_TOOL = "tool"
_SPOKEN_LINE = re.compile(r"((?:system|user|assistant|tool)(?: [^:\n]{1,64})?): ")
_CALL_LINE = re.compile(r"([\w.-]{1,64})(?:\((.+?)\)(?: -> |\Z)| -> (?=\S))", re.DOTALL)
_CONTINUED = re.compile(r"\n(?=\S)")


class LineKind(Enum):
    """Tell what a line was made from, hence how it is printed."""

    SPOKEN = "spoken"
    CALL = "call"
    PLAIN = "plain"
    """A line of somebody else's summary, or the only result there is."""


@frozen
class Line:
    """Hold one line: who, the turn it ended in, a call's arguments, and the text; white space is normalised.

    `role` is the speaker's, `answers` tells that the turn before ended with a question.
    """

    kind: LineKind
    label: str
    turn: int
    body: str
    call: str = ""
    role: Role = Role.TOOL
    answers: bool = False

    @property
    def parts(self) -> tuple[str, str]:
        """Return the two texts that segments are cut from."""
        return self.call, self.body


def lines_of(turns: Sequence[Turn]) -> list[Line]:
    """Return the lines of `turns` in order, each result on the line of its call (paired by adjacency)."""
    lines: list[Line] = []
    open_calls: dict[str, int] = {}
    asked = False
    for index, turn in enumerate(turns):
        if turn.is_gist or is_gist_text(turn.text):
            lines.extend(_gist_lines(turn, index))
        elif turn.role is Role.TOOL:
            _add_result(lines, open_calls, turn, index)
            continue
        else:
            lines.extend(_spoken_lines(turn, index, asked))
        open_calls = _add_calls(lines, turn, index)
        asked = turn.text.rstrip().endswith(("?", "？"))
    return _unlabelled(lines) if len(turns) == 1 else lines


def _spoken_lines(turn: Turn, index: int, asked: bool) -> Iterable[Line]:
    body = normalise(turn.text)
    label = f"{turn.role} {normalise(turn.name)}" if turn.name else str(turn.role)
    return [Line(LineKind.SPOKEN, label, index, body, role=turn.role, answers=asked)] if body else []


def _add_calls(lines: list[Line], turn: Turn, index: int) -> dict[str, int]:
    first = len(lines)
    lines.extend(Line(LineKind.CALL, call.name, index, "", call=normalise(call.arguments)) for call in turn.tool_calls)
    return {call.id: first + offset for offset, call in enumerate(turn.tool_calls)}


def _add_result(lines: list[Line], open_calls: dict[str, int], turn: Turn, index: int) -> None:
    body = normalise(turn.text)
    place = open_calls.pop(turn.tool_call_id or "", None)
    if place is None:
        lines.append(Line(LineKind.CALL, turn.name or _TOOL, index, body))
    else:
        call = lines[place]
        lines[place] = Line(call.kind, call.label, index, body, call=call.call)


def _unlabelled(lines: list[Line]) -> list[Line]:
    """Drop the label where one result is all there is: nobody needs to be told apart."""
    if len(lines) == 1 and lines[0].kind is LineKind.CALL and not lines[0].call:
        return [Line(LineKind.PLAIN, "", lines[0].turn, lines[0].body)]
    return lines


def _gist_lines(turn: Turn, index: int) -> list[Line]:
    text = turn.text.strip()
    if is_gist_text(text):
        text = text.partition("\n")[2]
    blocks = (normalise(block) for block in _CONTINUED.split(text))
    return [_read_back(block, index) for block in blocks if block]


def _read_back(block: str, index: int) -> Line:
    if spoken := _SPOKEN_LINE.match(block):
        role = Role(spoken[1].partition(" ")[0])
        return Line(LineKind.SPOKEN, spoken[1], index, block[spoken.end() :], role=role)
    if call := _CALL_LINE.match(block):
        return Line(LineKind.CALL, call[1], index, block[call.end() :], call=call[2] or "")
    return Line(LineKind.PLAIN, "", index, block, role=Role.ASSISTANT)


def print_line(line: Line, call: Sequence[Span], body: Sequence[Span]) -> str:
    """Return `line` with only the given spans of its call and of its body; at least one span is given."""
    text = _quote(line.body, body)
    match line.kind:
        case LineKind.PLAIN:
            return text
        case LineKind.SPOKEN:
            return f"{line.label}: {text}"
        case LineKind.CALL:
            head = f"{line.label}({_quote(line.call, call)})" if call else line.label
            return f"{head} -> {text}" if text else head


def _quote(text: str, spans: Sequence[Span]) -> str:
    pieces = (text[start:end].strip().removeprefix("… ").removesuffix(" …") for start, end in _merged(spans))
    return GAP.join(piece for piece in pieces if piece).replace("\n", "\n ")


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
