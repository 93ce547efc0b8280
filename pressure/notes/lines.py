"""The lines of an earlier summary."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from polycontext.linearity import constraint_sentences
from polycontext.window import Role, Turn
from polycontext.window.rules import RULES_TITLE

from ..gist import ENDED_TITLE, SUMMARY_END, TEXT_TITLE, unframed
from .items import Section
from .pieces import excerpt, one_line

TITLES = frozenset(
    (
        RULES_TITLE,
        ENDED_TITLE,
        TEXT_TITLE,
        # Headings of summaries that models wrote for earlier versions.
        *(f"{title}:" for title in ("Decisions", "Facts", "Errors", "Next step", "Next", *Section)),
    )
)
"""The headings of notes and of a model's summary, which are not lines of a summary."""

LAWGIVERS = frozenset({Role.USER, Role.SYSTEM})
EARLIER = "earlier: "
"""The prefix of text in an incoming gist that has no trusted speaker."""
_EARLIER_LINE = re.compile(f"^(?:{EARLIER})+")

ID_LABEL = re.compile(r"\[[^\]\s]{1,80}\] ")
"""The id of its turn, with which a line of a note may begin."""

SPOKEN_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?(system|user|assistant|tool)(?: [^:\n]{1,64})?: ")
CALL_LINE = re.compile(
    r"(?:\[[^\]\s]{1,80}\] )?([\w.-]{1,64})(?:\((.*?)\)(?: -> |\Z)| -> (?=\S))", re.DOTALL
)
NEW_LINE = re.compile(r"\n(?=\S)")

NOTICE = "[text addressed to the assistant{}]"
"""Replaces text from a tool that instructs the assistant; it names the turn to see."""

_OMITTED = re.compile(r" (?:…|\[…\]) ")


class SummaryLine(NamedTuple):
    """A line of an earlier summary: its label, speaker, text, standing demands and heading."""

    label: str
    role: Role
    text: str
    is_call: bool = False
    standing: tuple[str, ...] = ()
    heading: str = ""


def parse_summary(gist: Turn) -> Iterator[SummaryLine]:
    """Yield the lines of a summary in the conversation.

    Of a summary that came in from outside, only lines labelled as the user's count as the user's
    words, and none if the assistant sent it. Lines without a label may be the user's, too, if the
    user wrote something that looks like a summary, so their demands are kept.
    """
    trusted, under = bool(gist.sources), ""
    by_model = not trusted and gist.role is Role.ASSISTANT
    text = unframed(gist.text.strip())
    for block in NEW_LINE.split(text if trusted else excerpt(text, demands=True)):
        line = "\n".join(filter(None, map(one_line, block.splitlines())))
        if line in TITLES:
            under = line
        elif line and line != SUMMARY_END and under != ENDED_TITLE:
            is_quoted = under in (RULES_TITLE, f"{Section.RULES}:")
            told = _parse_line(line, trusted=trusted, is_quoted=is_quoted)
            # A heading from outside makes nothing a rule.
            if trusted or told.standing or not is_quoted:
                told = told._replace(heading=under.removesuffix(":"))
            yield (
                told._replace(label=EARLIER, role=Role.ASSISTANT, standing=()) if by_model else told
            )


def _parse_line(line: str, *, trusted: bool, is_quoted: bool) -> SummaryLine:
    spoken, called = SPOKEN_LINE.match(line), CALL_LINE.match(line)
    if spoken and (trusted or spoken[1] == Role.USER):
        label, role, said = spoken[0], Role(spoken[1]), line[spoken.end() :]
        if role not in LAWGIVERS:
            return SummaryLine(label, role, said)
        # Lines under these headings were checked when the gist was made (`Quotes`).
        is_quote = trusted and role is Role.USER and is_quoted
        demands = tuple(_OMITTED.split(said)) if is_quote else constraint_sentences(said)
        return SummaryLine(label, role, said, standing=demands)
    if called:
        return SummaryLine(called[0], Role.TOOL, line[called.end() :], is_call=True)
    if trusted:
        return SummaryLine("", Role.ASSISTANT, line)
    # A line that was read back before keeps one prefix, and whoever spoke it is no user since.
    told = _EARLIER_LINE.sub("", line)
    standing = () if SPOKEN_LINE.match(told) else constraint_sentences(told)
    return SummaryLine(EARLIER, Role.ASSISTANT, told, standing=standing)
