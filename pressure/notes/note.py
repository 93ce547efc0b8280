"""A note to go on with: what is open, asked, said, done and known, from the events of turns."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby

from polycontext.linearity import constraint_sentences
from polycontext.window import TokenCounter
from polycontext.window.rules import RULES_TITLE

from ..terms import is_strong, relevance, strong_terms, terms_of
from .asks import answered_items, ask_items, pointed_items
from .call_items import CallTeller, call_line
from .events import Effect, Event, Happening
from .file_edits import edit_items
from .findings import finding_items, open_items, plan_items
from .items import MARK, Item, Section
from .lines import ID_LABEL
from .pieces import clip
from .plans import current_plans, with_tasks
from .record_lines import grouped
from .room import Room
from .talk import is_talk, talk_items
from .thinning import thin
from .truncation import truncate

HEADED_FROM = 120
"""The number of tokens from which a note has headings."""

_CHARS_A_TOKEN = 4
_QUERIED, _LOOKED, _LEAST_DIGITS = 60.0, 0.4, 3
_WORK = (Section.DONE, Section.KNOWN)
_TRIES, _HEADING, _UNUSED, _LEAST_SAID = 6, 4, 0.02, 200
_LEAST_LEFT, _MOST_LEFT, _LEAST_BEGUN, _LEAST_LONGER = 16, 0.03, 6, 40
_RULE, _LINE, _OWN, _MOST_OWN = 150.0, 90.0, 5.0, 4
"""The scores of a standing instruction, and of a line of an earlier summary whose turns are not
known: more for each of so many terms that no other line has."""
_SECTIONS = {str(section): section for section in Section} | {
    RULES_TITLE.removesuffix(":"): Section.RULES
}


def items_of(
    events: Sequence[Event],
    standing: Sequence[Event] = (),
    *,
    is_anchored: bool = False,
    query: str = "",
    room: int | None = None,
) -> list[Item]:
    """Return the items of a note about `events`; `standing` are those that stay in the view after.

    `is_anchored` states that the view begins with the first request. `room` is about how many
    tokens the note may take.
    """
    total = events[-1].turn + 1 if events else 0
    events = with_tasks(events, standing)
    items = [*_line_items(events), *plan_items(events, standing)]
    events = current_plans(events, standing)
    chars = None if room is None else _CHARS_A_TOKEN * room
    asked = query or next((e.text for e in reversed(standing) if e.happening == Happening.ASK), "")
    said = talk_items(events, total, chars, asked) if is_talk(events) else []
    if said:
        items += said
    else:
        items += ask_items(events, standing, total=total, is_anchored=is_anchored)
        items += finding_items(events, standing, total)
    items += open_items(events, standing)
    pointed = [*pointed_items(events, standing)]
    if answered := pointed or ([] if said else [*answered_items(events, standing)]):
        last = {len(events) - 1} & {answered[0].event}
        items = [item for item in items if item.event not in last] + answered
    items += edit_items(events, standing, total=total)
    items += CallTeller(events, total, named_in(events, standing), standing).items()
    items = items or [*_least_items(events, standing)]
    return _relevant(items, query) if query else items


def _least_items(events: Sequence[Event], standing: Sequence[Event]) -> Iterator[Item]:
    """Yield an item for each event, of which nothing tells more than that it was."""
    shown = {call_line(event) for event in standing if event.happening == Happening.CALL}
    for place, event in enumerate(events):
        said = f"assistant: {thin(event.text, _LEAST_SAID)}" if event.text.strip() else ""
        text = call_line(event) if event.happening == Happening.CALL else said
        if text and text not in shown:
            yield Item(Section.KNOWN, place, 0.0, (text,))


def _line_items(events: Sequence[Event]) -> list[Item]:
    """Return items of an earlier summary's lines; those with terms of their own matter most."""
    lines = {n: event for n, event in enumerate(events) if event.happening == Happening.LINE}
    terms = {place: strong_terms(event.text) for place, event in lines.items()}
    times = Counter(chain.from_iterable(terms.values()))
    return [
        Item(
            section := _SECTIONS.get(event.name, Section.KNOWN),
            place,
            _RULE
            if section is Section.RULES
            else _LINE + _OWN * min(_MOST_OWN, sum(times[term] == 1 for term in terms[place])),
            (event.text,),
        )
        for place, event in lines.items()
    ]


def rule_items(events: Sequence[Event]) -> list[Item]:
    """Return the standing instructions in the user's words, for a note that states its own."""
    return [
        Item(Section.RULES, place, _RULE, (f"user: {rule}",))
        for place, event in enumerate(events)
        if event.happening == Happening.ASK
        for rule in constraint_sentences(event.text)
    ]


def named_in(
    events: Sequence[Event], standing: Sequence[Event] = (), least: float = 1.5
) -> Mapping[str, float]:
    """Return the identifiers that somebody said or a call names, by how often and how late.

    Those of less weight than `least` are left out.
    """
    named, total = defaultdict[str, float](float), max(1, len(events))
    for place, event in enumerate(events):
        spoken = event.happening in (Happening.ASK, Happening.SAY)
        # To look at something is not yet to need it.
        weight = (1 + 2 * place / total) * (_LOOKED if event.effect == Effect.READ else 1.0)
        for term in terms_of(event.text if spoken else f"{event.arguments} {event.command}"):
            if is_strong(term):
                named[term] += weight
    for event in standing:
        for term in terms_of(f"{event.text} {event.arguments} {event.command}"):
            if is_strong(term) or (len(term) >= _LEAST_DIGITS and term.isdigit()):
                # What was said last is wanted; a call may only have tried it.
                named[term] += 5 if event.happening == Happening.ASK else 3
    return {term: weight for term, weight in named.items() if weight >= least}


def _relevant(items: Sequence[Item], query: str) -> list[Item]:
    scores = relevance([item.variants[0] for item in items], query)
    most = max(scores, default=0.0)
    return [
        item._replace(score=item.score + _QUERIED * score / most) if score > most / 2 else item
        for item, score in zip(items, scores, strict=True)
    ]


def write_note(
    items: Sequence[Item],
    events: Sequence[Event],
    max_tokens: int,
    counter: TokenCounter,
    *,
    ids: bool = False,
    headed: bool = True,
    standing: Sequence[Event] = (),
) -> str:
    """Return the best of `items` within `max_tokens`; it is empty only if no start of one fits.

    A long note has headings if it may be `headed`; what came after the last message of the user
    among the `standing` events has one of its own.
    """
    headed, costs = headed and max_tokens >= HEADED_FROM, dict[str, int]()

    def cost(text: str) -> int:
        if text not in costs:
            costs[text] = counter.count(text) + 1 + text.count("\n")
        return costs[text]

    asked = [event.turn for event in standing if event.happening == Happening.ASK]
    print_ = partial(
        _print, events=events, headed=headed, ids=ids, asked=asked[-1] if asked else None
    )
    room, best, most, told = max_tokens, "", -1, dict[int, int]()
    for _ in range(_TRIES):
        # Token counts are not additive, so the room is adjusted by what the note really takes.
        chosen = Room(items, cost, room, _HEADING if headed else 0).fill()
        text = print_(items, chosen)
        used = counter.count(text)
        if most < used <= max_tokens:
            best, most, told = text, used, chosen
        if used <= max_tokens and max_tokens - used <= _UNUSED * max_tokens:
            break
        room += max_tokens - used - 2 * (used > max_tokens)
    if max_tokens - most > max(_LEAST_LEFT, _MOST_LEFT * max_tokens):
        best = _lengthened(items, told, max_tokens - max(most, 0), counter, print_) or best
    return best or _begun(items, max_tokens, counter)


def _lengthened(
    items: Sequence[Item],
    chosen: Mapping[int, int],
    left: int,
    counter: TokenCounter,
    print_: Callable[[Sequence[Item], Mapping[int, int]], str],
) -> str:
    """Return the note with more of the best item that is not told whole, "" if none fits."""
    most = counter.count(print_(items, chosen)) + left
    for index in sorted(range(len(items)), key=lambda index: -items[index].score)[:_TRIES]:
        item = items[index]
        if item.group or chosen.get(index) == 0:
            continue
        known = counter.count(item.variants[chosen[index]]) if index in chosen else 0
        for spare in (8, 24):
            text = truncate(item.variants[0], known + left - spare, counter)
            if counter.count(text) <= known or len(text) < _LEAST_LONGER:
                break
            longer = [*items]
            longer[index] = item._replace(variants=(text,))
            note = print_(longer, {**chosen, index: 0})
            if counter.count(note) <= most:
                return note
    return ""


def _begun(items: Sequence[Item], max_tokens: int, counter: TokenCounter) -> str:
    """Return the start of the first item of which a start fits, with its speaker if that fits."""
    for item in sorted(items, key=lambda item: -item.score)[:_TRIES]:
        label, _, words = item.variants[-1].partition(": ")
        start = clip(item.variants[-1], max_tokens, counter, f" {MARK}")
        if len(start) > len(label) + _LEAST_BEGUN:
            return start
        for mark in (f" {MARK}", ""):
            start = clip(words or label, max_tokens, counter, mark).strip()
            if start not in ("", MARK):
                return start
    return ""


def _print(
    items: Sequence[Item],
    chosen: Mapping[int, int],
    events: Sequence[Event],
    *,
    headed: bool,
    ids: bool,
    asked: int | None,
) -> str:
    order = [*Section]

    def section_of(index: int) -> Section:
        item = items[index]
        began = item.event if item.began is None else item.began
        is_later = asked is not None and events[began].turn >= asked
        return Section.SINCE if is_later and item.section in _WORK else item.section

    told = sorted(
        chosen, key=lambda index: (order.index(section_of(index)), items[index].event, index)
    )
    lines = list[str]()
    for section, indices in groupby(told, key=section_of):
        lines += [f"{section}:"] if headed else []
        for (event, group), each in groupby(
            indices, key=lambda index: (items[index].event, items[index].group)
        ):
            pairs = [(items[index], chosen[index]) for index in each]
            # A line of an earlier summary keeps its id.
            is_labelled = not ids or ID_LABEL.match(pairs[0][0].variants[0])
            label = "" if is_labelled else f"[{events[event].id}] "
            texts = (
                [grouped(pairs)]
                if group
                else [
                    text
                    for item, variant in pairs
                    for text in (item.before, item.variants[variant])
                    if text
                ]
            )
            # Continuation lines are indented, so that no quoted text can pose as another speaker.
            lines += [label + "\n ".join(text.splitlines()) for text in texts]
    return "\n".join(lines)
