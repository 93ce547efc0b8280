"""Lay turns out as the lines of a summary, and print the lines again with some segments only.

One line is what somebody said (``user: ...``) or a call with its result
(``search({"q": "x"}) -> ...``). Text that ran over several lines goes on in lines
that start with a space, so that nothing quoted can pose as another speaker. A
gist among the turns is read back into the lines it was printed as.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from polycontext.linearity import constraint_sentences
from polycontext.pressure.gist import NO_TEXT, SUMMARY_END, attachment_in, unframed
from polycontext.window import Role, ToolCall, Turn
from polycontext.window.text.cues import standing_spans
from polycontext.window.text.pairs import CUT, Pair, pairs_of
from polycontext.window.text.segments import MIN_CHARS, Span, normalise
from polycontext.window.text.terms import is_told

if TYPE_CHECKING:
    from polycontext.window.text.claims.files import FileText

GAP = " … "
"""Stands where something between two segments was left out."""

CALL, BODY = 0, 1
"""The two texts of a line: a call's arguments, and what was said or answered."""

ATTACHED = "attached "
"""What the label of an attachment begins with."""

_MOST_CHARS = 200_000
"""How many characters of one text are read in detail: its start and its end; of what is between, the standing constraints."""

_TOOL = "tool"
_EARLIER = "earlier"
"""Stands before what a gist that came in says in another's name."""
LAWGIVERS = frozenset({Role.USER, Role.SYSTEM})
_SPOKEN_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?((?:system|user|assistant|tool)(?: [^:\n]{1,64})?): ")
_CALL_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?([\w.-]{1,64})(?:\((.+?)\)(?: -> |\Z)| -> (?=\S))", re.DOTALL)
_CUT_CALL = re.compile(r"(?:\[[^\]\s]{1,80}\] )?[\w.-]{1,64}\((?=\S)")
"""A call that even its first piece had no room for: nothing closes it."""
_NEW_LINE = re.compile(r"\n(?=\S)")


class LineKind(Enum):
    """Tell what a line was made from, hence how it is printed."""

    SPOKEN = "spoken"
    CALL = "call"
    PLAIN = "plain"
    """A line of somebody else's summary, or the only result there is."""


@frozen
class Line:
    """Hold one line: who, the turn it ended in, a call's arguments, and the text; white space is normalised.

    `role` is the speaker's, `answers` tells that the turn before ended with a
    question, `standing` says where in the text standing constraints are. A later line of the same `key` has the current text.
    `id` is the turn's where it is to be shown; `pairs` are those of a call's arguments; `pasted` tells that a user's text reads as output;
    `file` is what a call tells of a file.
    """

    kind: LineKind
    label: str
    turn: int
    body: str
    call: str = ""
    role: Role = Role.TOOL
    answers: bool = False
    standing: tuple[Span, ...] = ()
    key: str = ""
    id: str = ""
    pairs: tuple[Pair, ...] = ()
    pasted: bool = False
    file: "FileText | None" = None

    @property
    def prefix(self) -> str:
        """Return what the line begins with: the id of its turn where that is shown, and the label."""
        return f"[{self.id}] {self.label}" if self.id else self.label

    @property
    def touches_file(self) -> bool:
        """Tell whether it is a call that names a file, or an attachment."""
        return any(pair.of_file for pair in self.pairs) or self.label.startswith(ATTACHED)

    @property
    def parts(self) -> tuple[str, str]:
        """Return the two texts that segments are cut from."""
        return self.call, self.body

    @property
    def bare(self) -> "Line":
        """Return what is needed to print segments of it."""
        return evolve(self, body="", call="", standing=())


def lines_of(turns: Sequence[Turn], *, ids: bool = False) -> list[Line]:
    """Return the lines of `turns` in order, each result on the line of its call (paired by adjacency); with `ids`, each shows its turn's."""
    lines = _lines_of(turns)
    return [evolve(line, id=turns[line.turn].resource_id) if line.label else line for line in lines] if ids else lines


def _lines_of(turns: Sequence[Turn]) -> list[Line]:
    lines: list[Line] = []
    open_calls: dict[str, int] = {}
    asked = False
    for index, turn in enumerate(turns):
        if turn.role is Role.TOOL:
            _add_result(lines, open_calls, turn, index)
            continue
        if turn.is_gist:
            lines.extend(_gist_lines(turn, index))
        elif label := attached_label(turn):
            lines.append(_attached_line(turn, index, label))
        else:
            lines.extend(_spoken_lines(turn, index, answers=asked))
        open_calls = _add_calls(lines, turn, index)
        asked = turn.text.rstrip().endswith(("?", "\uff1f"))
    return [_unlabelled(lines[0])] if len(turns) == 1 and turns[0].role is Role.TOOL else lines


def attached_label(turn: Turn) -> str:
    """Return what the line of an attachment begins with; empty where `turn` is none."""
    attachment = attachment_in(turn)
    return f"{ATTACHED}{attachment.type} {attachment.name}" if attachment else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _spoken_lines(turn: Turn, index: int, *, answers: bool) -> list[Line]:
    text = _bounded(turn.text, constrains=turn.role in LAWGIVERS)
    body = normalise(text)
    label = f"{turn.role} {_one_line(turn.name)}" if turn.name else str(turn.role)
    return [_spoken(turn.role, label, index, text, body, answers=answers)] if body else []


def _attached_line(turn: Turn, index: int, label: str) -> Line:
    """Return an attachment by its name and what it defines, or says where it defines no names; its beginning goes first."""
    from polycontext.window.items import attached_outline, fenced_text  # noqa: PLC0415 - for those who attach something

    outline = [entry.text for entry in attached_outline(turn)]
    body = "\n".join(["", *outline]) if outline else normalise(_bounded(fenced_text(turn.text)[1])) or NO_TEXT
    return Line(LineKind.SPOKEN, label, index, body, standing=((0, min(len(body), MIN_CHARS)),), key=label)


def _bounded(text: str, *, constrains: bool = False) -> str:
    """Return as much of `text` as is read in detail."""
    if len(text) <= _MOST_CHARS:
        return text
    end = _MOST_CHARS // 2
    said = "\n".join(constraint_sentences(text[end:-end]))[:end] if constrains else ""
    return "\n".join((text[:end], GAP, *([said, GAP] if said else []), text[-end:]))


def _spoken(role: Role, label: str, index: int, text: str, body: str, *, answers: bool = False) -> Line:
    standing = standing_spans(text, body) if role in LAWGIVERS else ()
    return Line(
        LineKind.SPOKEN,
        label,
        index,
        _unwrapped(body, standing),
        role=role,
        answers=answers,
        standing=standing,
        pasted=role is Role.USER and not is_told(body),
    )


def _unwrapped(body: str, spans: Sequence[Span]) -> str:
    """Return `body`, as long as it was, with each of `spans` on one line: a wrapped constraint is one sentence again."""
    edges = [0, *(edge for span in spans for edge in span), len(body)]
    pieces = [body[start:end] for start, end in pairwise(edges)]
    return "".join(piece.replace("\n", " ") if number % 2 else piece for number, piece in enumerate(pieces))


def _add_calls(lines: list[Line], turn: Turn, index: int) -> dict[str, int]:
    first = len(lines)
    lines.extend(_call_line(call, index) for call in turn.tool_calls)
    return {call.id: first + offset for offset, call in enumerate(turn.tool_calls)}


def _call_line(call: ToolCall, index: int) -> Line:
    arguments = normalise(_bounded(call.arguments))
    return Line(LineKind.CALL, _one_line(call.name), index, "", call=arguments, pairs=tuple(pairs_of(arguments)))


def _add_result(lines: list[Line], open_calls: dict[str, int], turn: Turn, index: int) -> None:
    body = normalise(_bounded(unframed(turn.text)))
    place = open_calls.pop(turn.tool_call_id or "", None)
    if place is None:
        lines.append(Line(LineKind.CALL, _one_line(turn.name or _TOOL), index, body))
    else:
        line = lines[place]
        told = _file_text(line, unframed(turn.text), failed=turn.metadata.get("is_error") is True, whole=not turn.is_gist)
        lines[place] = evolve(line, turn=index, body=body, key=f"{line.label}({line.call})", file=told)


def _file_text(line: Line, result: str, *, failed: bool = False, whole: bool = True) -> "FileText | None":
    if "{" not in line.call:
        return None
    from polycontext.window.text.claims.files import file_text  # noqa: PLC0415 - for those who call something

    return file_text(line.label, line.call, result, failed=failed, whole=whole)


def _unlabelled(line: Line) -> Line:
    """Drop the label of the only result there is: nobody needs to be told apart."""
    return evolve(line, kind=LineKind.PLAIN, label="")


def _gist_lines(turn: Turn, index: int) -> list[Line]:
    from polycontext.pressure.extractive.heads import TITLES, Head  # noqa: PLC0415 - heads are made from lines

    text, read = unframed(turn.text.strip()), _read_back
    if not turn.sources:
        text, read = _bounded(text, constrains=True), _heard_of
    lines: list[Line] = []
    under = ""
    for block in (normalise(block) for block in _NEW_LINE.split(text)):
        if block in TITLES:
            under = block
        elif block and block != SUMMARY_END:
            line = read(block, index)
            # What stands there was checked when the gist was made (`Quotes`).
            is_quote = bool(turn.sources) and under == f"{Head.CONSTRAINTS.value}:" and line.role is Role.USER
            lines.append(evolve(line, standing=_pieces(line.body)) if is_quote else line)
    return lines


def _pieces(body: str) -> tuple[Span, ...]:
    ends = [0, *(match.end() for match in re.finditer(GAP, body)), len(body) + len(GAP)]
    return tuple((start, end - len(GAP)) for start, end in pairwise(ends) if end - len(GAP) > start)


def _heard_of(block: str, index: int) -> Line:
    """Return a line of a gist that came in: only the user can have sent it, so that it speaks for the user and for nobody else.

    What carries no label may be the user's too, who wrote something that looks like a gist: what it demands stands.
    """
    spoken = _SPOKEN_LINE.match(block)
    if _CALL_LINE.match(block) or (spoken and spoken[1].partition(" ")[0] == Role.USER):
        return _read_back(block, index)
    standing = () if spoken else standing_spans(block, block)
    return Line(LineKind.SPOKEN, _EARLIER, index, _unwrapped(block, standing), role=Role.ASSISTANT, standing=standing)


def _read_back(block: str, index: int) -> Line:
    if spoken := _SPOKEN_LINE.match(block):
        role = Role(spoken[1].partition(" ")[0])
        body = block[spoken.end() :]
        return _spoken(role, spoken[1], index, body, body)
    if call := _CALL_LINE.match(block):
        line = Line(LineKind.CALL, call[1], index, block[call.end() :], call=call[2] or "")
        return evolve(line, file=_file_text(line, line.body, whole=False))
    return Line(LineKind.PLAIN, "", index, block, role=Role.ASSISTANT)


def unlabelled(line: str) -> tuple[str, ...]:
    """Return what a printed line says behind its label: the arguments of a call and its result, or the words.

    >>> unlabelled('look({"at": "a.py"}) -> 3 lines'), unlabelled("user: Go on."), unlabelled("Facts:")
    (('{"at": "a.py"}', '3 lines'), ('Go on.',), ())
    """
    from polycontext.pressure.extractive.heads import TITLES  # noqa: PLC0415 - heads are made from lines

    block = normalise(line)
    if block in TITLES:
        return ()
    read = _read_back(block.removeprefix(f"{_EARLIER}: "), 0)
    if read.kind is LineKind.PLAIN and (cut := _CUT_CALL.match(block)):
        return (block[cut.end() :],)
    return tuple(part for part in read.parts if part)


Piece = tuple[int, int, str]
"""Where a piece of a text starts, where it ends, and what it says."""


def print_line(line: Line, call: Sequence[Piece], body: Sequence[Piece]) -> str:
    """Return `line` with only the given pieces of its call and of its body; empty where they hold nothing to read."""
    head, text = _closed(_quote(_named(line.pairs, call))), _quote(text for _, _, text in body)
    match line.kind:
        case LineKind.PLAIN:
            return text
        case LineKind.SPOKEN:
            return f"{line.prefix}: {text}" if text else ""
        case LineKind.CALL:
            called = f"{line.prefix}({head})" if head else line.prefix
            return f"{called} -> {text}" if text else called if head else ""


def _named(pairs: Sequence[Pair], pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield pieces of arguments: those from the middle of a value behind its name, and with a quotation mark where they end before it does."""
    cut = [_cut_pair(pairs, end) for _, end, _ in pieces]
    for place, (start, _, text) in enumerate(pieces):
        within = _cut_pair(pairs, start)
        opened = within is not None and (place == 0 or cut[place - 1] is not within)
        shut = cut[place] is not None and (place + 1 == len(pieces) or _cut_pair(pairs, pieces[place + 1][0]) is not cut[place])
        yield f"{within.opening if within and opened else ''}{text.rstrip() + CUT if shut else text}"


def _cut_pair(pairs: Sequence[Pair], at: int) -> Pair | None:
    """Return the pair in the middle of whose value `at` is."""
    place = bisect_right(pairs, at, key=lambda pair: pair.start) - 1
    return pairs[place] if place >= 0 and pairs[place].value < at < pairs[place].end else None


def _closed(arguments: str) -> str:
    """Return arguments without a comma at their end, or brackets that close what is not there."""
    over = {shut: arguments.count(shut) - arguments.count(opened) for opened, shut in ("{}", "[]")}
    end = len(arguments)
    while end and (arguments[end - 1] in ", " or over.get(arguments[end - 1], 0) > 0):
        end -= 1
        over[arguments[end]] = over.get(arguments[end], 0) - 1
    return arguments[:end]


def _quote(pieces: Iterable[str]) -> str:
    quoted = (piece.strip().removeprefix("… ").removesuffix(" …") for piece in pieces)
    return GAP.join(piece for piece in quoted if piece).replace("\n", "\n ")
