"""What is out of date: a later claim under the same key leaves the newest value and takes the older one out of what could be kept.

Precision goes first: two things that merely look alike both stay. What a tool printed
never makes out of date what somebody said, and a standing constraint of the user
yields to the user alone.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from polycontext.pressure.extractive.choice import Segment
from polycontext.pressure.extractive.claims import claims_of
from polycontext.pressure.extractive.lines import BODY, Line
from polycontext.window import Role
from polycontext.window.text.claims.changes import MOST_SENTENCES, Sentence, Sentences, changes, sentences_of
from polycontext.window.text.claims.claim import Claim, Key, Trust, Value, differ_in_a_word, first_difference, is_plain, may_be_newer
from polycontext.window.text.claims.wording import SCOPE_KEYS, STATE_KEYS
from polycontext.window.text.segments import Span
from polycontext.window.text.terms import TermBook

if TYPE_CHECKING:
    from polycontext.window.text.claims.files import FileText

MOST_TELLINGS = 8
"""How many tellings of one claim are remembered."""

_FEWEST_ALIKE, _FEWEST_SAME = 4, 3
_COUNT = re.compile(r"\d{1,3}|(?:19|20)\d\d")
"""Numbers that often are names: a small count, a year."""
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?: ?[%\w]{1,6})?")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}[:.]\d\d(?:[:.-].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2} [A-Z][a-z]{2,8}(?: \d{4})?")


@frozen
class Telling:
    """Hold a claim, the line that makes it, and who speaks there."""

    line: int
    role: Role
    claim: Claim


@frozen(eq=False)
class Known:
    """Hold what the lines read so far claim (immutable): by key, and the short sentences that somebody said."""

    claims: Mapping[Key, tuple[Telling, ...]] = {}
    sentences: tuple[Sentence, ...] = ()

    def within(self, living: Collection[int]) -> "Known":
        """Return what the `living` lines claim."""
        kept = ((key, tuple(telling for telling in tellings if telling.line in living)) for key, tellings in self.claims.items())
        return Known(
            {key: tellings for key, tellings in kept if tellings}, tuple(sentence for sentence in self.sentences if sentence.line in living)
        )


@frozen
class Update:
    """Hold what lines changed: what is known now, where something is out of date, and where the newest of it stands."""

    known: Known
    stale: Mapping[int, Sequence[tuple[Span, bool]]]
    """With each span whether the user said what takes its place."""
    newest: Mapping[int, Sequence[Span]]
    changed: Mapping[int, Sequence[Span]]
    """Where the user says that something changed, whether or not it was found."""


def replaced(lines: Mapping[int, Line], before: Mapping[int, int] | None = None) -> set[int]:
    """Return the lines of which a later one has the current text: of the same key, or of the same file or part of it with other words.

    What failed takes the place of nothing. Where lines stand between others, `before` says for each before which of them.
    """
    gone: set[int] = set()
    latest: dict[object, str] = {}
    place = before or {}
    for number in sorted(lines, key=lambda number: (place.get(number, number), number not in place, number), reverse=True):
        line, file = lines[number], lines[number].file
        failed = file is not None and file.failed
        if line.key in latest or (file and not failed and any(latest.get(key, file.mark) != file.mark for key in _keys(file))):
            gone.add(number)
        if line.key and not failed:
            latest[line.key] = ""
        if file and file.mark:
            latest.setdefault((file.path, file.part), file.mark)
    return gone


def _keys(file: "FileText") -> tuple[object, ...]:
    """Return what has the current text of a file, or of a part of it: all of it, or the same part."""
    return (file.path, ""), (file.path, file.part)


def updated(known: Known, lines: Mapping[int, Line], until: Mapping[int, int] | None = None) -> Update:
    """Return what `lines` make out of date of what is `known`, which they follow, and of one another; none does so to itself.

    Where lines stood between those that are known, `until` says for each before which of them.
    """
    claims = dict(known.claims)
    sentences = Sentences(known.sentences)
    stale: dict[int, list[tuple[Span, bool]]] = {}
    newest: dict[int, list[Span]] = {}
    changed: dict[int, list[Span]] = {}
    for number, line in lines.items():
        before = until[number] if until is not None else number
        for claim in claims_of(line):
            telling = Telling(number, line.role, claim)
            kept = []
            for old in claims.get(claim.key, ()):
                gone, names = _made_stale(old, telling) if old.line < before else ([], [])
                stale.setdefault(old.line, []).extend((span, line.role is Role.USER) for span in gone)
                newest.setdefault(number, []).extend(_told(claim, names))
                kept += [evolve(old, claim=_less(old.claim, names, claim.fields))] if names else [old]
            kept = [old for old in kept if old.claim.fields]
            claims[claim.key] = (*kept[1 - MOST_TELLINGS :], telling)
        if line.role in (Role.USER, Role.ASSISTANT):
            for change in changes(line.body):
                if line.role is Role.USER:
                    changed.setdefault(number, []).append(change.span)
                for sentence, span in sentences.outdated(change):
                    if sentence.line < before:
                        stale.setdefault(sentence.line, []).append((span, line.role is Role.USER))
                        newest.setdefault(number, []).append(change.span)
            sentences.all += sentences_of(number, line.body)
    return Update(Known(claims, tuple(sentences.all[-MOST_SENTENCES:])), stale, newest, changed)


def _told(claim: Claim, names: Sequence[str]) -> Iterator[Span]:
    """Yield where the newer values stand, behind the field that says what they are of where a record begins with it."""
    named = [next(iter(claim.fields))] if names and claim.key[0] == "record" else []
    yield from ((value.start, value.end) for value in map(claim.fields.__getitem__, [*named, *names]))


def _made_stale(old: Telling, new: Telling) -> tuple[list[Span], list[str]]:
    """Return where in `old` something is out of date since `new`, and the names of the fields that changed."""
    if new.role is Role.TOOL and old.role is not Role.TOOL:
        return [], []
    before, after = old.claim.fields, new.claim.fields
    common = [name for name in before if name in after]
    changed = [name for name in common if before[name].text != after[name].text]
    if not changed or not _may_change(new.claim.trust, before, after, common, changed):
        return [], []
    # Of what the newer one says again as a whole nothing needs to be said twice.
    gone = common if len(common) == len(before) else changed
    return [(before[name].start, before[name].end) for name in gone], changed


def _may_change(  # noqa: PLR0911 - one rule a kind of trust
    trust: Trust, before: Mapping[str, Value], after: Mapping[str, Value], common: Sequence[str], changed: Sequence[str]
) -> bool:
    """Tell whether fields that differ are newer values, not those of another thing: one alone, or several of which the first names nothing."""
    first = changed[0]
    plain = all(is_plain(before[name].text) and is_plain(after[name].text) for name in changed)
    alone = len(changed) == 1 and differ_in_a_word(before[first].text, after[first].text)
    scoped = any(SCOPE_KEYS.search(name) for name in changed)
    # Things are often counted in a first field: bed 2 and bed 6 are no two states of one bed.
    counted = _COUNT.fullmatch(before[first].text) is not None or _DATE.fullmatch(before[first].text) is not None
    match trust:
        case Trust.ANY:
            return True
        case Trust.TOLD:
            return alone or not _COUNT.fullmatch(first_difference(before[first].text, after[first].text))
        case Trust.SAID:
            return alone
        case Trust.WHOLE:
            return not scoped and (alone or (plain and 1 < len(changed) <= len(common) / 2 and not counted))
        case Trust.ONE:
            return not scoped and plain and len(changed) == 1 and first != common[0] and len(common) >= _FEWEST_ALIKE
        case Trust.UNIQUE if len(changed) == 1:
            return True
        case Trust.PLAIN if len(changed) > 1 and (counted or not (STATE_KEYS.search(first) or _NUMBER.fullmatch(before[first].text))):
            return False
        case Trust.UNIQUE if _DATE.fullmatch(before[first].text):
            return False
        case _:
            newer = all(may_be_newer(name, before[name].text, after[name].text) for name in changed)
            return newer or (alone and not scoped and len(common) >= _FEWEST_SAME)


def _less(old: Claim, changed: Sequence[str], after: Mapping[str, Value]) -> Claim:
    """Return `old` without what was taken out."""
    if set(old.fields) <= set(after):
        return evolve(old, fields={})
    return evolve(old, fields={name: value for name, value in old.fields.items() if name not in changed})


def cut(segments: Sequence[Segment], update: Update, book: TermBook, roles: Mapping[int, Role]) -> Iterator[Segment]:
    """Yield `segments` without what is out of date: those that held a part of it come with what is left of them and cost 0, not counted yet."""
    for segment in segments:
        spans = [
            span
            for span, by_user in (update.stale.get(segment.line, ()) if segment.part == BODY else ())
            if span[0] < segment.end
            and segment.lead < span[1]
            and (not segment.standing or (by_user and roles.get(segment.line) is Role.USER))
        ]
        if spans:
            yield from _pieces(segment, sorted(spans), book)
        else:
            yield segment


def _pieces(segment: Segment, spans: Sequence[Span], book: TermBook) -> Iterator[Segment]:
    lead, at = segment.lead, segment.start
    for start, end in (*spans, (segment.end, segment.end)):
        if start > at:
            yield from _piece(segment, min(lead, at) if lead <= at else at, at, min(start, segment.end), book)
        lead = at = max(at, end)
        if end <= segment.start:
            lead, at = max(segment.lead, end), segment.start


def _piece(segment: Segment, lead: int, start: int, end: int, book: TermBook) -> Iterator[Segment]:
    text = segment.text[lead - segment.lead : end - segment.lead]
    terms = book.find(text)
    if any(map(str.isalnum, text)):
        yield evolve(
            segment, start=start, lead=lead, end=end, text=text, terms=tuple(term for term in segment.terms if term in terms), cost=0
        )
