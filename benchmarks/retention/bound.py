"""Check that a value is still in view with its meaning: its key and record, or its sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from attrs import frozen

from benchmarks.retention.entries import (
    Entry,
    Pair,
    entries_of,
    pairs_of,
    parsed,
    record_of,
    said_pairs,
    spelled,
    values_in,
)
from benchmarks.retention.recall import Wanted, flat
from benchmarks.retention.recordings import Message

SENTENCE_CHARS = 20
"""The characters of its sentence that a value needs.

They are to its left; if there are fewer, the rest is to its right.
"""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(\[*-])|(?<=[。！？])|\n")


@frozen
class Sources:
    """The content of the sources: pairs by value, plain texts, keys, records and tool names."""

    pairs: Mapping[str, frozenset[Pair]]
    texts: tuple[str, ...]
    keys: frozenset[str]
    records: frozenset[str]
    names: frozenset[str]


@lru_cache(5_000)
def _pairs(text: str, record: str | None) -> tuple[Pair, ...]:
    return tuple(pairs_of(parsed(text), record)) if parsed(text) is not None else ()


def sources_of(messages: Sequence[Message]) -> Sources:
    """Return the pairs, texts, keys, records and tool names of a list of messages."""
    entries = [*entries_of(messages)]
    said = [pair for entry in entries for pair in _pairs(entry.said or entry.text, _asked(entry))]
    found: dict[str, set[Pair]] = {}
    for pair in said:
        if not isinstance(pair.value, dict | list):
            found.setdefault(spelled(pair.value), set()).add(
                pair._replace(value=spelled(pair.value))
            )
    texts = tuple(
        dict.fromkeys(entry.said for entry in entries if entry.said and not _is_json(entry.said))
    )
    records = frozenset(pair.record for pair in said if pair.record)
    names = frozenset(entry.name for entry in entries if entry.name)
    return Sources(
        {value: frozenset(pairs) for value, pairs in found.items()},
        texts,
        frozenset(pair.key for pair in said),
        records,
        names,
    )


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and parsed(text) is not None


def _asked(entry: Entry) -> str | None:
    """Return the record that a result is about; a call's arguments have none."""
    return record_of(entry.arguments) if entry.said else None


@lru_cache(50_000)
def in_sentences(needle: str, text: str) -> frozenset[str]:
    """Return each occurrence of `needle` with its neighbours in the same sentence or line.

    >>> sorted(in_sentences("B7", "We wait at gate B7. It is late. B7 opens at nine o'clock."))
    ["B7 opens at nine o'clo", 'We wait at gate B7.']
    """
    found = set[str]()
    for unit in _SENTENCE_END.split(text) if needle in text else ():
        sentence = flat(unit)
        for match in re.finditer(re.escape(needle), sentence):
            left = min(match.start(), SENTENCE_CHARS)
            found.add(sentence[match.start() - left : match.end() + SENTENCE_CHARS - left].strip())
    return frozenset(found)


@frozen
class View:
    """A parsed view: the pairs of each value, and the flat text of each entry."""

    pairs: Mapping[str, frozenset[Pair]]
    texts: tuple[str, ...]

    def binds(self, wanted: Wanted, sources: Sources) -> bool:
        """Return whether a value is in an entry with its key and record, or in its sentence."""
        if any(map(self.says, sources.pairs.get(wanted.name, ()))):
            return True
        spellings = {
            spelling for text in sources.texts for spelling in in_sentences(wanted.name, text)
        }
        return any(spelling in text for text in self.texts for spelling in spellings)

    def says(self, source: Pair) -> bool:
        """Return whether a pair of the sources occurs with its key and record.

        A value that names a record may also stand as the heading of that record.
        """
        return any(
            (pair.names and source.names)
            or (pair.key == source.key and source.record in (None, pair.record))
            for pair in self.pairs.get(source.value, ())
        )


def view_of(messages: Sequence[Message], sources: Sources) -> View:
    """Return a view parsed with the keys, records and tools of its sources."""
    return read_entries([*entries_of(messages, sources.names)], sources)


def read_entries(entries: Sequence[Entry], sources: Sources) -> View:
    """Return the view of some entries."""
    found: dict[str, set[Pair]] = {}
    for entry in entries:
        for pair in _told(entry, sources):
            found.setdefault(str(pair.value), set()).add(pair)
    return View(
        {value: frozenset(pairs) for value, pairs in found.items()},
        tuple(flat(entry.text) for entry in entries),
    )


def _told(entry: Entry, sources: Sources) -> Iterator[Pair]:
    if not entry.is_gist:
        yield from (
            pair._replace(value=spelled(pair.value))
            for pair in _pairs(entry.said or entry.text, _asked(entry))
            if not isinstance(pair.value, dict | list)
        )
        return
    for pair in said_pairs(entry, sources.keys, sources.records):
        if not isinstance(pair.value, dict | list):
            yield from (pair._replace(value=each) for each in values_in(spelled(pair.value)))
