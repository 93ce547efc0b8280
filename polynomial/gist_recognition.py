"""Recognise gists and attachments from earlier requests in a message list.

In a request both are messages, and hosts join, split and copy messages and change their roles.
A summary that a host wrote is recognised by how it begins, and only as the first user message with
nothing behind it: it is not the task.
Gists and attachments are recognised by their form, and only in message lists: text that is added to
a session as a user turn stays the user's text.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from attrs import evolve

from polycontext.pressure.gist import Mark, is_gist_text, summary_marks
from polycontext.window import Part, PartKind, Role, Turn
from polycontext.window.filler import is_opening
from polycontext.window.items.attachment import attached_metadata

_MOST_MARKS = 64
"""How many marks of one message are used; the text after them counts as a summary."""

_BY_HOST = re.compile(
    r"(?>\s*(?:<system-reminder>.*?</system-reminder>\s*)*)"
    r"(?:This session is being continued from a previous"  # Claude Code, Cline
    r"|Another language model started to solve this problem"  # Codex
    r"|The conversation history before this point was compacted"  # pi
    r"|Here is a summary of the conversation to date:"  # LangChain
    # Google's CLI, Anthropic's SDKs
    r"|<(?P<tag>state_snapshot|summary)>(?:(?!</(?P=tag)>).)*+(?:</(?P=tag)>\s*)?\Z"
    r"|What did we do so far\?\s*\Z)",  # OpenCode, before the summary that its assistant says
    re.DOTALL,
)
"""How the messages begin that hosts put in place of earlier ones."""

Run = tuple[int, int, bool]
"""The start and end of a run of text, and whether it is a summary."""


def known_again(turns: Sequence[Turn], *, has_task: bool) -> Iterator[tuple[Turn, ...]]:
    r"""Yield for each of `turns` the original turns: itself, or those that a host joined.

    Text between the marks of a summary is a summary, whatever the role of its message. A summary
    without an end mark continues to the end of its message. If a host split it, it continues
    through the following messages of one role, up to the one with the end mark. Text in the form of
    an attached item is that item; but it is the task if the user said nothing else before the first
    answer. If the conversation `has_task` already, these turns continue it: none of them is the
    task, and what the assistant says is its answer, whatever its form.

    Laws: no word of a turn changes; forged marks can turn other text into a summary, but never a
    summary into other text.

    >>> came = Turn(
    ...     "user",
    ...     "Soup?\n[Summary of earlier messages]\nuser: two soups\n[End of summary]\nAnd now?",
    ... )
    >>> [(turn.text[:9], turn.is_gist) for turn in next(known_again([came], has_task=False))]
    [('Soup?', False), ('[Summary ', True), ('And now?', False)]
    """
    until = -1
    by_host, task = (-1, -1) if has_task else _opening(turns)
    for place, turn in enumerate(turns):
        if turn.role is Role.TOOL:
            yield (turn.as_gist() if is_gist_text(turn.text, turn.role) else turn,)
            continue
        if has_task and turn.role is Role.ASSISTANT:
            yield (turn,)
            continue
        marks = _marks(turn)
        runs = _runs(turn.text, marks, inside=place <= until)
        if place >= until and marks and not marks[-1].is_end:
            until = _end(turns, place)
        if place == by_host:
            turn = turn.as_gist(by_host=True)  # noqa: PLW2901
        yield _pieces(turn if place in (by_host, task) else _mark_attachment(turn), runs)


def _opening(turns: Sequence[Turn]) -> tuple[int, int]:
    """Return the indices of a host's summary and of the task, -1 for none.

    The task is the user's first own words, or an attachment without any.
    """
    said = (
        place for place, turn in enumerate(turns) if turn.role is Role.USER and not is_opening(turn)
    )
    by_host, first = -1, next(said, -1)
    if first >= 0 and _BY_HOST.match(turns[first].text):
        by_host, first = first, next(said, -1)
    if first < 0:
        return by_host, first
    asked = takewhile(lambda place: turns[place].role is Role.USER, range(first, len(turns)))
    own = (place for place in asked if attached_metadata(turns[place].text) is None)
    return by_host, next(own, first)


def _marks(turn: Turn) -> list[Mark]:
    """Return the marks of summaries in a turn.

    A system prompt may speak of our mark: it holds a summary only if that also ends there.
    """
    marks = summary_marks(turn.text)
    is_prompt = turn.role is Role.SYSTEM and not any(mark.is_end for mark in marks)
    return [] if is_prompt else marks


def _end(turns: Sequence[Turn], place: int) -> int:
    """Return the index of the turn that ends the summary left open by turn `place`.

    That is a later turn if a host split the summary, otherwise `place` itself.
    """
    for later in range(place + 1, len(turns)):
        turn = turns[later]
        if turn.role is Role.TOOL or turn.role is not turns[place + 1].role:
            break
        marks = summary_marks(turn.text)
        if marks or turn.tool_calls:
            return later if marks and marks[0].is_end else place
    return place


def _runs(text: str, marks: Sequence[Mark], *, inside: bool) -> list[Run]:
    """Return the runs of `text`, summaries and others, without the line breaks that join them."""
    cuts = [(0, inside)]
    for mark in marks[:_MOST_MARKS]:
        if mark.is_end:
            cuts[-1] = (cuts[-1][0], True)
            cuts.append((mark.stop, False))
        elif not cuts[-1][1]:
            cuts.append((mark.start, True))
    if len(marks) > _MOST_MARKS:
        cuts[-1] = (cuts[-1][0], True)
    if len(cuts) == 1:
        return [(0, len(text), inside)]
    ends = pairwise([*cuts, (len(text), False)])
    return [
        _trim(text, start, stop, is_summary=is_summary)
        for (start, is_summary), (stop, _) in ends
        if not _is_blank(text[start:stop])
    ]


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _trim(text: str, start: int, stop: int, *, is_summary: bool) -> Run:
    run = text[start:stop]
    return stop - len(run.lstrip("\r\n")), start + len(run.rstrip("\r\n")), is_summary


def _pieces(turn: Turn, runs: list[Run]) -> tuple[Turn, ...]:
    if turn.native_providers or turn.metadata or not any(is_summary for _, _, is_summary in runs):
        return (turn,)
    if len(runs) == 1 and not turn.tool_calls:
        return (turn.as_gist(),)
    if turn.tool_calls and runs[-1][2]:
        runs.append((len(turn.text), len(turn.text), False))
    parts = _parts(turn, runs)
    return tuple(
        _piece(turn, run, parts[number], is_last=run is runs[-1]) for number, run in enumerate(runs)
    )


def _piece(turn: Turn, run: Run, parts: Sequence[Part], *, is_last: bool) -> Turn:
    start, stop, is_summary = run
    piece = evolve(
        turn,
        content=turn.text[start:stop] or None,
        parts=parts,
        tool_calls=turn.tool_calls if is_last else (),
    )
    return piece.as_gist() if is_summary else piece


def _parts(turn: Turn, runs: Sequence[Run]) -> list[list[Part]]:
    """Return the parts of each run.

    Words are split like the text. A message part goes to the run of its first words, a block to the
    run of the words before it, and calls go to the last run.
    """
    parts: list[list[Part]] = [[] for _ in runs]
    at = 0
    for part, following in pairwise([*turn.parts, None]):
        assert part is not None
        if part.kind is PartKind.WORDS:
            at = part.stop
            for number, (start, stop, _) in enumerate(runs):
                first, last = max(start, part.start), min(stop, part.stop)
                if first < last:
                    # Further data of the words, such as a cache breakpoint, belongs to their end.
                    data = part.data if part.stop <= stop or number + 1 == len(runs) else "{}"
                    parts[number].append(
                        evolve(part, start=first - start, stop=last - start, data=data)
                    )
        elif part.kind is PartKind.CALL:
            parts[-1].append(part)
        else:
            begins = (
                part.kind is PartKind.MESSAGE
                and following is not None
                and following.kind is PartKind.WORDS
            )
            parts[
                _run_at(runs, following.start + 1 if begins and following is not None else at)
            ].append(part)
    return parts


def _run_at(runs: Sequence[Run], at: int) -> int:
    return next((number for number, (_, stop, _) in enumerate(runs) if stop >= at), len(runs) - 1)


def _mark_attachment(turn: Turn) -> Turn:
    if turn.role is not Role.USER:
        return turn
    if turn.text.startswith("### "):
        found = attached_metadata(turn.text)
        return turn if found is None else evolve(turn, metadata={**turn.metadata, **found})
    return (
        turn.as_gist()
        if is_gist_text(turn.text, turn.role) and not summary_marks(turn.text)
        else turn
    )
