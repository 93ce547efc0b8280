"""Judge summaries independently of the summariser.

Everything in a summary must be from its sources, and every cut must be marked.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from attrs import define, evolve, field, frozen

from benchmarks.retention.bound import Sources, sources_of
from benchmarks.retention.entries import (
    HEADER,
    MARK,
    TIMES,
    TOLD,
    WAS,
    Entry,
    Pair,
    body_of,
    content_of,
    entries_of,
    fragment_pairs,
    gist_entries,
    note_pairs,
    pairs_of,
    parsed,
    spelled,
)
from benchmarks.retention.methods import Asked, projected
from benchmarks.retention.misleading import (
    Line,
    is_stale,
    joins,
    lines_of,
    noise_of,
    open_items,
    undone,
)
from benchmarks.retention.projecting import calls_of
from benchmarks.retention.recall import flat, whole_text
from benchmarks.retention.recordings import Conversation, Message, counter
from polycontext.polynomial import ContextOverflowError

FAULTS = (
    "unresolved",
    "prose cut",
    "calls cut",
    "records cut",
    "joined",
    "undone",
    "stale",
)
EXAMPLES = 200

_HEADING = re.compile(r"[A-Z][\w' ]{2,40}:")
_ENDED = "No longer in force:"
"""The heading above rules that ended, each with a dash before it."""
_NOTICE = re.compile(r"(?:[\w ]{1,40}: )?\[[^\]\n]{8,200}\]")
"""A line in brackets that states an omission."""
_SENTENCE_END = re.compile(r"[.!?。！？]['\")\]*_`}’”]*\s*$")
_LEAD = re.compile(r"(?:^|\n)[\s>#*•-]*(?:[A-Z]+: )?(?:\d+[.)]\s*)?(?:\[[ x]\]\s*)?[*_`\"'(]*$")
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n")
_WORD = re.compile(r"[^\s\"'{}\[\],:…()=]+")
_OWN_WORDS = re.compile(
    r"(?:a file|\d+ (?:edits|files|commits)|exit \d+|sed|ok|no output|(?:the )?last"
    r"|the edits before are undone|\(?[\d,]+ lines?\)?)\W*"
)
_JOINT = re.compile(r"; |: |, | -> ?|:$|<<\S+|^[+-] |^\s*sed |`? \([\d,]+ lines?\)", re.MULTILINE)
_COUNT = re.compile(r"\(?([\d,]+)(?: \w+){0,2}\)?")


class Text(NamedTuple):
    """The text of a source with white space normalised, and the places of its line breaks."""

    flat: str
    breaks: frozenset[int]


def text_of(said: str) -> Text:
    """Return the text of a source, prepared for searching."""
    lines = [line for line in map(flat, said.splitlines()) if line]
    joined = "\n".join(lines)
    return Text(
        joined.replace("\n", " "),
        frozenset(place for place, letter in enumerate(joined) if letter == "\n"),
    )


def spelled_out(arguments: Mapping[str, Any]) -> str:
    """Return the values of a call's arguments as text."""
    return "\n".join(
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        for each in arguments.values()
    )


@define
class Verdict:
    """Counts of statements in summaries and of their faults, with examples."""

    said: Counter[str] = field(factory=Counter)
    faults: Counter[str] = field(factory=Counter)
    examples: dict[str, list[str]] = field(factory=dict)

    def add(self, fault: str, text: str) -> None:
        """Count a fault."""
        self.faults[fault] += 1
        self.examples.setdefault(fault, []).append(text[:EXAMPLES])

    def as_data(self) -> dict[str, Any]:
        """Return the counts as JSON-ready data."""
        counts = {
            "said": dict(self.said),
            "faults": {fault: self.faults[fault] for fault in FAULTS},
        }
        return {
            **counts,
            "examples": {
                fault: list(dict.fromkeys(texts))[:20] for fault, texts in self.examples.items()
            },
        }


@frozen
class Thing:
    """An object of the sources, with its pairs and the names of it and its containers."""

    names: frozenset[str]
    pairs: Mapping[str, Any]


def things_of(value: Any, names: frozenset[str] = frozenset()) -> Iterator[Thing]:
    """Yield every object of a JSON value, named by its own scalars and its containers' names."""
    if isinstance(value, dict):
        own = (
            names
            | {spelled(each) for each in value.values() if not isinstance(each, dict | list)}
            | set(value)
        )
        yield Thing(own, value)
        for each in value.values():
            yield from things_of(each, own)
    elif isinstance(value, list):
        for each in value:
            yield from things_of(each, names)


@frozen
class Judge:
    """A judge of the summaries of one list of messages."""

    sources: Sources
    texts: tuple[Text, ...]
    things: Mapping[str, Sequence[Thing]]
    calls: Mapping[str, Sequence[str]]
    lines: Sequence[Line]
    verdict: Verdict
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, messages: Sequence[Message], verdict: Verdict) -> "Judge":
        """Return the judge of a list."""
        calls: dict[str, list[str]] = {}
        things: dict[str, list[Thing]] = {}
        for entry in entries_of(messages):
            asked = frozenset(
                spelled(pair.value) for pair in pairs_of(parsed(entry.arguments)) if entry.said
            )
            for thing in things_of(parsed(entry.said or entry.text), asked):
                for key in thing.pairs:
                    things.setdefault(key, []).append(thing)
        for message in messages:
            for call in message.get("tool_calls") or ():
                calls.setdefault(call["function"]["name"], []).append(call["function"]["arguments"])
        said = dict.fromkeys(
            text
            for message in messages
            for text in (content_of(message), _unnamed(message))
            if text
        )
        arguments = (parsed(each) for made in calls.values() for each in made)
        texts = (
            *map(text_of, said),
            *(text_of(spelled_out(each)) for each in arguments if isinstance(each, dict)),
        )
        names = frozenset(str(message["name"]) for message in messages if message.get("name"))
        return cls(sources_of(messages), texts, things, calls, lines_of(messages), verdict, names)

    def body(self, body: str) -> None:
        """Judge a summary."""
        self.verdict.said["summaries"] += 1
        heading = ""
        for entry in gist_entries(body, self.calls):
            if _HEADING.fullmatch(entry.text):
                heading = entry.text
                continue
            self.verdict.said["entries"] += 1
            told = TOLD.match(entry.text)
            for text, crosses in () if told else joins(entry.said, self.lines):
                self.verdict.said["joins"] += 1
                if crosses:
                    self.verdict.add("joined", text)
            if _NOTICE.fullmatch(entry.text) and not any(
                flat(entry.text) in text.flat for text in self.texts
            ):
                self.verdict.said["notices"] += 1
            elif entry.name:
                self._call(entry)
                if entry.said not in ("", "ok", "failed"):
                    # What a call did is told by what changed.
                    mark = ", […]" if heading == "Done:" and self._noted(entry.said) else ""
                    self._result(evolve(entry, said=entry.said.replace("\n", f"{mark}\n") + mark))
            elif told:
                self._told(entry.text)
            else:
                self._said(entry, "- " if heading == _ENDED else "")

    def _said(self, entry: Entry, sign: str) -> None:
        """Judge an entry that is prose or a result; `sign` may begin it."""
        for said in self._turns(entry.said.removeprefix(sign)):
            if not self._prose(said):
                self._result(evolve(entry, said=said))

    def _turns(self, said: str) -> Iterator[str]:
        """Split a text where a line begins with a speaker's name."""
        first, *rest = said.split("\n")
        turns = [first]
        for line in rest:
            if self._without_name(line.strip()) == line.strip():
                turns[-1] += f"\n{line}"
            else:
                turns.append(line.strip())
        yield from turns

    def _told(self, text: str) -> None:
        """Judge an entry with words of its own: everything else in it is in a source."""
        for line in TOLD.sub("", text, count=1).split("\n"):
            parts = (part for run in MARK.split(TIMES.sub("", line)) for part in _JOINT.split(run))
            for part in filter(None, (flat(each.strip(" `+-")) for each in parts)):
                self.verdict.said["sentences"] += 1
                if not (
                    _OWN_WORDS.fullmatch(part) or any(part in each.flat for each in self.texts)
                ):
                    self.verdict.add("unresolved", f"{part!r} of {line}")

    def _call(self, entry: Entry) -> None:
        """Judge a call: one recorded call has all its arguments, and any omission is marked."""
        self.verdict.said["calls"] += 1
        if not entry.text.startswith(f"{entry.name}("):  # its record names what it asked for
            return
        made = [parsed(each) or {} for each in self.calls[entry.name]]
        shown = parsed(entry.arguments or "{}")
        if shown in made or flat(entry.arguments) in map(flat, self.calls[entry.name]):
            self.verdict.said["arguments"] += len(shown or ())
            return
        is_json = '":' in entry.arguments
        keys = {pair.key for each in made for pair in pairs_of(each)}
        pairs = [
            *(
                fragment_pairs(entry.arguments, None)
                if is_json
                else note_pairs(entry.arguments, keys, None)
            )
        ]
        pairs = [pair for pair in pairs if not MARK.fullmatch(str(pair.value))]
        self.verdict.said["arguments"] += len(pairs)
        fitting = [each for each in made if all(_is_argument(pair, each) for pair in pairs)]
        if not fitting:
            self.verdict.add("unresolved", entry.text)
        whole = not is_json and any(set(each) <= {pair.key for pair in pairs} for each in fitting)
        if not whole and not MARK.search(entry.arguments):
            self.verdict.add("calls cut", entry.text)

    def _result(self, entry: Entry) -> None:
        """Judge a result, or a text that is not prose, as JSON, fragments, lines or notes."""
        value = parsed(entry.said)
        if value is None and '":' in entry.said:
            self._scraps(entry)
        elif value is not None and '":' in entry.said:
            self.verdict.said["records"] += 1
            self._pairs([pair for pair in pairs_of(value, entry.record) if pair.key], entry.said)
        elif not self._noted(entry.said):
            self._prose(entry.said)
        else:
            for line in filter(None, map(str.strip, entry.said.split("\n"))):
                if self._noted(line) or not self._prose(line):
                    self._note(line, entry)

    def _scraps(self, entry: Entry) -> None:
        """Judge fragments of JSON: each run is in a source, and cut ends are marked."""
        self.verdict.said["records"] += 1
        runs = [run.strip() for run in MARK.split(flat(entry.said))]
        places = [[_edges(run, text) for text in self.texts if run in text.flat] for run in runs]
        for run, found in zip(runs, places, strict=True):
            self.verdict.said["pairs"] += run.count('":')
            if run and not found:
                self.verdict.add("unresolved", run)
        starts = not runs[0] or any(edge.at_start for edge in places[0])
        ends = not runs[-1] or any(edge.at_end for edge in places[-1])
        if not (starts and ends):
            self.verdict.add("records cut", entry.said)

    def _note(self, line: str, entry: Entry) -> None:
        """Judge a line of notes: its pairs are of the record it names, and omissions are marked."""
        self.verdict.said["records"] += 1
        headed = HEADER.match(line)
        header = headed[1] if headed and self._is_header(headed[1]) else ""
        text = line[headed.end() :] if headed and header else line
        pairs = [*note_pairs(text, self.sources.keys, header or entry.record)]
        things = self._pairs(pairs, line)
        shown = {pair.key for pair in pairs}
        if (
            things
            and not MARK.search(line)
            and not any(_is_whole(thing, shown, header) for thing in things)
        ):
            self.verdict.add("records cut", line)

    def _is_header(self, text: str) -> bool:
        last = text.rsplit(maxsplit=1)[-1]
        known = self.sources.keys | self.sources.records
        return (
            text in known
            or last in known
            or text in self.sources.pairs
            or last in self.sources.pairs
            or last.startswith("#")
        )

    def _pairs(self, pairs: Sequence[Pair], line: str) -> list[Thing]:
        """Resolve pairs of one line; return the objects of the sources that have them all."""
        found: list[Thing] | None = None
        for pair in pairs:
            self.verdict.said["pairs"] += 1
            named = [
                thing for thing in self.things.get(pair.key, ()) if _is_named(thing, pair.record)
            ]
            having = [thing for thing in named if _says(pair.value, thing.pairs[pair.key])]
            if not having and not self._stands_in_text(f"{pair.key} {pair.value}"):
                self.verdict.add("unresolved", f"{pair.key!r} of {line}")
            elif WAS.search(str(pair.value)) and not self._was(str(pair.value)):
                self.verdict.add("unresolved", f"{pair.value!r} was never said: {line}")
            found = (
                having
                if found is None
                else [thing for thing in found if any(thing is each for each in having)]
            )
        return found or []

    def _stands_in_text(self, said: str) -> bool:
        """Return whether the words of a pair are adjacent in a text that is not JSON."""
        words = " ".join(_WORD.findall(WAS.sub("", MARK.sub("", said))))
        return bool(words) and any(
            f" {words} " in f" {' '.join(_WORD.findall(text))} " for text in self.sources.texts
        )

    def _was(self, said: str) -> bool:
        return all(
            any(flat(old).strip('"') in text.flat for text in self.texts)
            for old in WAS.findall(said)
        )

    def _prose(self, said: str) -> bool:
        """Judge prose, and return False if the text is none.

        Each run between two marks must be in one source, and begin and end where a unit does.
        """
        text = flat(said)
        runs = [
            run
            if any(run in source.flat for source in self.texts)
            else self._without_name(WAS.sub("", run))
            for run in map(str.strip, MARK.split(text))
        ]
        places = [
            [_edges(run, source) for source in self.texts if run in source.flat] for run in runs
        ]
        if not any(run and found for run, found in zip(runs, places, strict=True)) and (
            parsed(said) is not None or '":' in said or self._noted(said)
        ):
            return False
        self.verdict.said["prose lines"] += 1
        is_cut = False
        for number, (run, found) in enumerate(zip(runs, places, strict=True)):
            self.verdict.said["sentences"] += len(_SENTENCES.split(run)) if run else 0
            if run and not found and self._are_lines(run, said):
                is_cut = True
            elif run and not found:
                self.verdict.add("unresolved", run)
            elif run:
                is_cut |= not any(
                    (edge.opens or number > 0) and (edge.ends or number < len(runs) - 1)
                    for edge in found
                )
        if is_cut:
            self.verdict.add("prose cut", said)
        if WAS.search(text) and not self._was(text):
            self.verdict.add("unresolved", text)
        return True

    def _without_name(self, run: str) -> str:
        """Return a run without the name before it, if that name is a speaker's."""
        name, sign, said = run.partition(": ")
        is_name = name in self.names or any(
            text.flat.startswith(f"{name}: ") for text in self.texts
        )
        return said if sign and is_name else run

    def _are_lines(self, run: str, said: str) -> bool:
        """Return whether a run consists of lines of a text that each are in a source."""
        told = [
            line for line in map(flat, MARK.sub("\n", said).split("\n")) if line and line in run
        ]
        return len(told) > 1 and all(
            any(line.rstrip(":") in text.flat for text in self.texts) for line in told
        )

    def _noted(self, said: str) -> bool:
        """Return whether a text reads as notes: a known key starts one of its segments."""
        return any(
            pair.key
            for line in said.split("\n")
            for pair in note_pairs(line.partition(": ")[2] or line, self.sources.keys, None)
        )


class Edges(NamedTuple):
    """Whether a run starts and ends at a unit of its source, and at the source's own edges."""

    opens: bool
    ends: bool
    at_start: bool
    at_end: bool


def _unnamed(message: Message) -> str:
    """Return the text of a message without its speaker's name, which its line begins with."""
    text = content_of(message)
    letters = [
        "".join(filter(str.isalnum, each))
        for each in (text.partition(":")[0], message.get("name") or "")
    ]
    return text.partition(":")[2].strip() if letters[1] and letters[0] == letters[1] else text


def _edges(run: str, text: Text) -> Edges:
    """Return the best edges of a run among its places in a text."""
    best = Edges(opens=False, ends=False, at_start=False, at_end=False)
    at = text.flat.find(run) if run else -1
    while at >= 0 and not (best.opens and best.ends):
        end = at + len(run)
        before, behind = text.flat[max(0, at - 12) : at], text.flat[end : end + 1]
        line = max(
            (place for place in range(max(0, at - 12), at) if place in text.breaks), default=None
        )
        lead = (
            "\n" + text.flat[line + 1 : at]
            if line is not None
            else ("\n" + before if at <= 12 else before)  # noqa: PLR2004 - as above
        )
        opens = at == 0 or bool(_LEAD.search(lead)) or bool(_SENTENCE_END.search(before))
        ends = (
            end >= len(text.flat)
            or end in text.breaks
            or (bool(_SENTENCE_END.search(run)) and not behind.isalnum())
        )
        now = Edges(opens, ends, at == 0, end >= len(text.flat))
        best = max(best, now, key=lambda edges: (edges.opens and edges.ends, sum(edges)))
        at = text.flat.find(run, at + 1)
    return best


def _is_named(thing: Thing, name: str | None) -> bool:
    """Return whether a header names an object; a number is the only name of some."""
    last = name.rsplit(maxsplit=1)[-1] if name else "#"
    return last.startswith("#") or name in thing.names or last in thing.names


def _is_argument(pair: Pair, made: Any) -> bool:
    return any(
        each.key == pair.key and _says(pair.value, each.value)
        for each in [*pairs_of(made), *_top(made)]
    )


def _top(made: Any) -> Iterator[Pair]:
    yield from (
        (Pair(None, key, value) for key, value in made.items()) if isinstance(made, dict) else ()
    )


def _is_whole(thing: Thing, shown: set[str], header: str) -> bool:
    """Return whether no pair of an object is missing.

    Its name may head the line, and inner objects have lines of their own.
    """
    return all(
        key in shown or (isinstance(value, dict | list) and bool(value)) or spelled(value) in header
        for key, value in thing.pairs.items()
    )


def _says(said: Any, value: Any) -> bool:
    """Return whether notes state a source's value, whole or in parts with marks between them.

    >>> (
    ...     _says('"12" (was 11)', "12"),
    ...     _says("Post, o…", "Post, old"),
    ...     _says("[1, 2]", [1, 2, 3]),
    ...     _says("[1, …]", [1, 2, 3]),
    ... )
    (True, True, False, True)
    """
    if said == value:
        return True
    text = WAS.sub("", spelled(said)).strip()
    if isinstance(value, dict | list):
        return _says_container(text, value)
    whole, quoted = flat(spelled(value)), parsed(f"[{text}]") if text[:1] == '"' else None
    runs = [run.strip(' "') for run in MARK.split(flat(str(quoted[0])) if quoted else text)]
    return runs == [whole.strip(' "')] if len(runs) == 1 else all(run in whole for run in runs)


def _says_container(text: str, value: Any) -> bool:
    """Return whether notes state a container: whole, by its length, or in parts with marks."""
    counted = _COUNT.match(text)
    if isinstance(value, list) and counted and int(counted[1].replace(",", "")) == len(value):
        text = text[counted.end() :].strip() or "…"
    words = _WORD.findall(json.dumps(value, ensure_ascii=False))
    parts = [_WORD.findall(run) for run in MARK.split(text)]
    return (
        words == parts[0]
        if len(parts) == 1
        else all(f" {' '.join(part)} " in f" {' '.join(words)} " for part in parts if part)
    )


def judge_view(view: Sequence[Message], messages: Sequence[Message], verdict: Verdict) -> int:
    """Judge every summary in a view; return their number."""
    bodies = [body for message in view if (body := body_of(message)) is not None]
    if bodies:
        one = Judge.of(messages, verdict)
        for body in bodies:
            one.body(body)
            verdict.said["tokens"] += counter().count(body)
            verdict.said["tokens of noise"] += sum(map(counter().count, noise_of(body, messages)))
            for item in open_items(body):
                verdict.said["open items"] += 1
                if is_stale(item, messages):
                    verdict.add("stale", item)
        for edit in undone(messages):
            verdict.said["undone edits"] += 1
            if told := edit.stands_in("\n".join(bodies), whole_text(view)):
                verdict.add("undone", told)
    return len(bodies)


def measure(
    conversations: Sequence[Conversation],
    shares: Sequence[float],
    most: int,
    *,
    tell: Callable[[str], None],
) -> dict[str, Verdict]:
    """Judge up to `most` summaries, spread evenly by hash; return a verdict for each set."""
    asked = [(call, share) for each in conversations for call in calls_of(each) for share in shares]
    asked.sort(
        key=lambda pair: sha256(
            f"{pair[0].conversation.id}/{pair[0].at}/{pair[0].query}/{pair[1]}".encode()
        ).digest()
    )
    found, number = dict[str, Verdict](), 0
    for call, share in asked:
        if number >= most:
            break
        tell(f"summary {number + 1:,} of {most:,}")
        verdict = found.setdefault(call.conversation.set, Verdict())
        try:
            view = projected(
                Asked(call.messages, call.conversation.budget(call.at, share), call.query)
            )
        except ContextOverflowError:
            continue
        number += judge_view(view, call.messages, verdict)
    return found
