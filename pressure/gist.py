"""Gists: their frames, how they are created and recognised, and the jobs that request them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import NamedTuple, Self

from attrs import field, frozen

from polycontext.linearity import LinearityMap
from polycontext.window import Part, PartKind, Role, TokenCounter, Turn, count_turn
from polycontext.window.filler import is_opening
from polycontext.window.items import attachment_of
from polycontext.window.part_removal import callers
from polycontext.window.rules import LATER, PREFERENCE, RULES_TITLE, Rule
from polycontext.window.sources import Sources

_SUMMARY = "[Summary of earlier messages]"
SUMMARY_END = "[End of summary]"
_OPENS, _ENDS = r"Summary of (?:\d+ )?earlier messages?", r"End of summary"
_SAYS = rf"(?:{_OPENS}|{_ENDS})"
_ANY_MARK = re.compile(
    rf"[*_]{{0,3}}(?:\\?\[|&#91;){_SAYS}(?:\\?\]|&#93;)[*_]{{0,3}}", re.IGNORECASE
)
"""A mark, also as hosts alter it: in another case, in bold, with escaped brackets."""
_BARE_MARK = rf"[*_]{{0,3}}{_SAYS}[*_]{{0,3}}"
"""A mark whose brackets a host removed, which is one only on a line of its own."""
_LINE = rf"(?:{_ANY_MARK.pattern}|{_BARE_MARK})[^\S\n]*"
_SUMMARY_HEADER = re.compile(rf"(?=[^\n]*{_OPENS}){_LINE}\n", re.IGNORECASE)
_SUMMARY_FOOTER = re.compile(rf"\n(?=[^\n]*{_ENDS}){_LINE}\Z", re.IGNORECASE)
_MARK = re.compile(
    rf"(?m:(?<![^\n]){_ANY_MARK.pattern}|{_ANY_MARK.pattern}(?=[^\S\n]*$)|^{_BARE_MARK}(?=[^\S\n]*$))",
    re.IGNORECASE,
)
"""A mark begins or ends its line; a mark inside a line is a quotation."""
_DIGEST_HEADER = re.compile(
    r"\[Cut(?:; the whole is [^\n]{1,200} in the log| to its essentials; the full result is in "
    r"the log)\]\n"
)
_RESULT_POINTER = "[Superseded: a later call has the current result]"
_ATTACHMENT_POINTER = "[Superseded: a later attachment has the current text of {}]"
_POINTER = re.compile(
    r"\[Superseded: a later (?:call (?:with the same arguments )?has the current result"
    r"|attachment has the current text of [^\n]+)\]"
)

ENDED_TITLE, TEXT_TITLE = "No longer in force:", "Conversation:"
"""The headings of ended rules, and of the text of a gist that begins with rules."""
_TITLE = re.compile(r"[A-Z][a-z]+(?: [a-z]+)?:\n")

NO_TEXT = "(no text)"
"""The text of a gist if nothing else fits."""


def summary_text(body: str) -> str:
    r"""Return a summary in its frame; a user turn holds it, so that it is legal anywhere.

    The frame is constant, so the part of the body that a later compression keeps remains a prefix.
    No text in the body can open or end a frame: marks that it quotes lose their brackets.

    >>> summary_text("user: booked UA100")
    '[Summary of earlier messages]\nuser: booked UA100\n[End of summary]'
    """
    quoted = _MARKED.sub(_quoted, body) if _may_mark(body) else body
    return f"{_SUMMARY}\n{quoted}\n{SUMMARY_END}"


_FRAME_SIGNS = re.compile(r"&#9[13];|[^\w\s]|_")
_MARKED = re.compile(rf"{_ANY_MARK.pattern}|{_MARK.pattern}", re.IGNORECASE)


def _quoted(mark: re.Match[str]) -> str:
    return f"({_FRAME_SIGNS.sub('', mark[0])})"


class Mark(NamedTuple):
    """The position of a mark of a summary's frame, and whether it ends the summary."""

    start: int
    stop: int
    is_end: bool


def summary_marks(text: str) -> list[Mark]:
    """Return the marks in `text` that open and end summaries, at any position.

    Marks without brackets are words that anybody may write: they count in pairs only.
    """
    if not _may_mark(text):
        return []
    found = [Mark(*mark.span(), _is_end(mark[0])) for mark in _MARK.finditer(text)]
    if len({mark.is_end for mark in found}) > 1:
        return found
    return [mark for mark in found if _ANY_MARK.fullmatch(text, mark.start, mark.stop)]


def _may_mark(text: str) -> bool:
    """Return whether it is worth to search for marks, which is much slower."""
    return "ummary" in text.lower()


def _is_end(mark: str) -> bool:
    return "end of" in mark.lower()


def digest_text(body: str, source: str) -> str:
    """Return a truncated tool result in its frame; `source` is the id of the full result."""
    return f"[Cut; the whole is {source} in the log]\n{body}"


def is_gist_text(text: str, role: Role | None = None) -> bool:
    """Return whether `text` is framed as a gist, as in a projection that comes back as input.

    With the `role` of a user, a truncated message does not count: it still is the user's own words.
    """
    if _DIGEST_HEADER.match(text) is not None:
        return role is not Role.USER
    if _SUMMARY_HEADER.match(text) is not None:
        marks = summary_marks(text)
        return bool(marks) and not marks[0].start
    return _POINTER.fullmatch(text) is not None


def is_pointer(turn: Turn) -> bool:
    """Return whether `turn` only points to a later turn with the current text."""
    return turn.is_gist and _POINTER.fullmatch(turn.text) is not None


def unframed(text: str) -> str:
    """Return the content of a framed text; any other text is returned unchanged."""
    return _SUMMARY_FOOTER.sub("", text.partition("\n")[2]) if is_gist_text(text) else text


def summary_turn(text: str, sources: Sequence[Turn], ids: Sequence[str], resource_id: str) -> Turn:
    """Return the user turn that summarises `sources`, whose log ids are `ids`.

    Its level is one above the highest level of the summaries among them.
    """
    level = max((turn.level + 1 for turn in sources if is_summary(turn)), default=0)
    return Turn(
        Role.USER,
        text,
        resource_id=resource_id,
        timestamp=sources[-1].timestamp,
        sources=ids,
        level=level,
    )


def pointer_turn(turn: Turn, resource_id: str) -> Turn:
    """Return the turn that replaces a superseded tool result or attachment."""
    attachment = attachment_of(turn)
    text = _RESULT_POINTER if attachment is None else _ATTACHMENT_POINTER.format(attachment.name)
    return _in_place(turn, text, resource_id, (turn.resource_id,))


def digest_turn(turn: Turn, body: str, resource_id: str) -> Turn:
    """Return the turn that replaces a tool result or the last user message, truncated to `body`."""
    sources = source_ids(turn)
    blocks = (part for part in turn.parts if part.kind is PartKind.BLOCK)
    parts = (*callers(turn.parts), *blocks)
    return _in_place(turn, digest_text(body, sources[0]), resource_id, sources, parts)


def _in_place(
    turn: Turn, text: str, resource_id: str, sources: Sequence[str], parts: tuple[Part, ...] = ()
) -> Turn:
    """Return a turn with this text that has the role, name and tool call id of `turn`."""
    call, name, when = turn.tool_call_id, turn.name, turn.timestamp
    return Turn(
        turn.role,
        text,
        tool_call_id=call,
        name=name,
        resource_id=resource_id,
        timestamp=when,
        sources=sources,
        parts=parts,
    )


def least_summary(counter: TokenCounter, rules: Sequence[Rule] = ()) -> int:
    """Return the tokens of the shortest summary: its frame, `rules` and a word or two."""
    text = summary_text(with_rules(NO_TEXT, rules))
    return count_turn(counter, Turn(Role.USER, text)) + 1


def least_digest(turn: Turn, counter: TokenCounter, rules: Sequence[Rule] = ()) -> int:
    """Return the tokens of the shortest digest of `turn`: the frame, `rules` and a word or two."""
    text = with_rules(NO_TEXT, rules)
    return count_turn(counter, digest_turn(turn, text, turn.resource_id)) + 1


def with_rules(body: str, rules: Sequence[Rule]) -> str:
    r"""Return the text of a gist that begins with `rules`, each whole, preferences last.

    A rule that may end an earlier one stands before it and is marked as later. Rules that have
    ended, but are still to be read in a turn, follow under a heading of their own.

    >>> print(with_rules("assistant: Booked.", [Rule("t1:1", "Never fly.", "t1")]))
    Standing instructions:
    user: Never fly.
    Conversation:
    assistant: Booked.
    """
    ended = dict.fromkeys(f"- {_continued(rule.text)}" for rule in rules if not rule.stands)
    said = [*_spoken(rule for rule in rules if rule.stands)]
    return "\n".join(
        (
            *((RULES_TITLE, *said) if said else ()),
            *((ENDED_TITLE, *ended) if ended else ()),
            *((TEXT_TITLE,) if rules and _TITLE.match(body) is None else ()),
            body,
        )
    )


def _spoken(rules: Iterable[Rule]) -> Iterator[str]:
    """Yield the lines of `rules`, each behind those that may end it, the newest first."""
    first: dict[str, str] = {}
    together: dict[str, list[Rule]] = {}
    for rule in rules:
        first[rule.id] = first.get(rule.later_than, rule.id)
        together.setdefault(first[rule.id], []).append(rule)
    for oldest, *later in sorted(together.values(), key=lambda its: its[0].kind == PREFERENCE):
        for rule in (*reversed(later), oldest):
            mark = "" if rule is oldest else f" {LATER}"
            yield f"{_speaker(rule)}{mark}: {_continued(rule.text)}"


def _speaker(rule: Rule) -> str:
    return " ".join(("user", *rule.author.replace(":", " ").split()))


def _continued(text: str) -> str:
    """Return `text` with continuation lines indented, so that none can pose as another speaker."""
    return "\n ".join(text.splitlines())


def source_ids(turn: Turn) -> Sequence[str]:
    """Return the ids of the log's turns behind `turn`: its sources, or its own id."""
    return turn.sources or (turn.resource_id,)


def all_source_ids(turns: Iterable[Turn], ledger: LinearityMap) -> Sequence[str]:
    """Return the ids of the log's turns behind `turns`, each once, in the order of the log.

    `ledger` is the ledger of the window that holds `turns`.
    """
    return Sources.joined(ledger, ((turn.resource_id, turn.sources) for turn in turns))


def is_request(turn: Turn) -> bool:
    """Return whether `turn` is a message of the user, and not a line that opens for the other."""
    return turn.role is Role.USER and not is_opening(turn)


def is_summary(turn: Turn) -> bool:
    """Return whether `turn` is a gist of earlier turns, and not a single truncated turn."""
    return turn.is_gist and turn.role is not Role.TOOL and _DIGEST_HEADER.match(turn.text) is None


def truncated_ids(turns: Iterable[Turn]) -> tuple[str, ...]:
    """Return the ids of the log's turns that `turns` show truncated."""
    return tuple(
        turn.sources[0] for turn in turns if turn.sources and _DIGEST_HEADER.match(turn.text)
    )


class GistKind(Enum):
    """The form of a gist."""

    BLOCK = "block"
    """One summary turn for all summarised turns, including an older summary."""
    DIGEST = "digest"
    """A tool result truncated along its structure; its call is kept."""
    POINTER = "pointer"
    """A superseded tool result or attachment; its call is kept."""
    NATIVE = "native"
    """A summary that the provider writes itself, of all turns before a cut."""

    @property
    def needs_words(self) -> bool:
        """Return whether a summariser writes the text."""
        return self is GistKind.BLOCK


@frozen
class GistJob:
    """A request for one gist.

    The gist takes the place of the first of `runs` (turns ``start:stop``, disjoint); the other runs
    are removed. It replaces `sources`; `reads` are those of them that are worth reading,
    without superseded results. It may take `allowance` tokens. `about` names what matters most: the
    words of the question and of the answered calls. Its text begins with `rules`. The turns
    `again`, which are among the sources of a NATIVE gist, are repeated after it.
    """

    kind: GistKind
    runs: tuple[tuple[int, int], ...]
    sources: tuple[Turn, ...]
    reads: tuple[Turn, ...]
    allowance: int
    ledger: LinearityMap = field(eq=False, repr=False)
    about: str = ""
    again: tuple[Turn, ...] = ()
    rules: tuple[Rule, ...] = ()

    @classmethod
    def of_turn(
        cls,
        kind: GistKind,
        place: int,
        turn: Turn,
        allowance: int,
        ledger: LinearityMap,
        *,
        about: str = "",
        rules: tuple[Rule, ...] = (),
    ) -> Self:
        """Return the job for a gist that replaces one turn."""
        run = (place, place + 1)
        return cls(kind, (run,), (turn,), (turn,), allowance, ledger, about, rules=rules)

    @property
    def start(self) -> int:
        """Return the index of the turn whose place the gist takes."""
        return self.runs[0][0]

    @cached_property
    def stands_for(self) -> Sequence[str]:
        """Return the ids of the log's turns that the gist replaces.

        They may be many, so they are collected once.
        """
        return all_source_ids(self.sources, self.ledger)

    def rule_tokens(self, counter: TokenCounter) -> int:
        """Return how many tokens of a summary its rules take."""
        whole = self.kind is GistKind.BLOCK and bool(self.rules)
        return least_summary(counter, self.rules) - least_summary(counter) if whole else 0

    @property
    def source_tokens(self) -> int:
        """Return the tokens of the turns that the gist replaces, without the repeated ones."""
        return sum(turn.tokens or 0 for turn in self.sources) - sum(
            turn.tokens or 0 for turn in self.again
        )
