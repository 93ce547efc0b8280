"""The shared, forking ledger beside a plain dict: they agree on every version after every step."""

from datetime import UTC
from typing import Any

import pytest
from attrs import define, field
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from polycontext.base import InvalidOptionError
from polycontext.linearity import DemotionError, LinearityMap, ResourceClass, UnknownResourceError
from polycontext.linearity.tag import Tag

_SHORT_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
RESOURCE_CLASSES = st.sampled_from(ResourceClass)
IDS = st.sampled_from(["t1", "t2", "t3", "g1", "ab", "é", "日本", "0"]) | _SHORT_TEXTS.filter(bool)
TAGS = st.builds(
    Tag,
    RESOURCE_CLASSES,
    provenance=_SHORT_TEXTS,
    rationale=_SHORT_TEXTS,
    when=st.datetimes(timezones=st.just(UTC)),
)


@define
class Model:
    """Keep what a ledger should know, the plain way."""

    tags: dict[str, Tag] = field(factory=dict)
    promotions: int = 0
    drops: int = 0

    def copy(self) -> "Model":
        """Return an independent model."""
        return Model(dict(self.tags), self.promotions, self.drops)

    def read(self) -> tuple[Any, ...]:
        """Return everything that can be read."""
        counts = {
            c: sum(tag.resource_class is c for tag in self.tags.values()) for c in ResourceClass
        }
        return list(self.tags.items()), counts, self.promotions, self.drops


def read(ledger: LinearityMap) -> tuple[Any, ...]:
    """Return everything that can be read, by lookup, so that places and order are both checked."""
    stats, tags = ledger.stats(), [(i, ledger.tag_of(i)) for i in ledger]
    assert [*ledger.items()] == tags
    assert stats.total == len(ledger) == len(tags)
    return tags, stats.counts, stats.promotions, stats.drops


Pair = tuple[LinearityMap, Model]


class LedgerAgainstDict(RuleBasedStateMachine):
    """Derive from any version ever made, so that forks of forks occur."""

    versions = Bundle[Pair]("versions")

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Pair] = []

    def keep(self, ledger: LinearityMap, model: Model) -> Pair:
        """Remember a version, to be read again after every later step."""
        self.made.append((ledger, model))
        return ledger, model

    @rule(target=versions)
    def start(self) -> Pair:
        """Begin an empty ledger."""
        return self.keep(LinearityMap(), Model())

    @rule(target=versions, version=versions, resource_id=IDS, tag=TAGS)
    def tag(self, version: Pair, resource_id: str, tag: Tag) -> Pair:
        """Tag an id: append a new one, promote to a higher class, refuse a lower one."""
        ledger, model = version
        after, known = model.copy(), model.tags.get(resource_id)
        if known and known.resource_class > tag.resource_class:
            with pytest.raises(DemotionError):
                ledger.tag(resource_id, tag.resource_class)
            return self.keep(ledger, after)
        if known is None or known.resource_class < tag.resource_class:
            after.tags[resource_id] = tag
            after.promotions += known is not None
        new = ledger.tag(
            resource_id,
            tag.resource_class,
            provenance=tag.provenance,
            rationale=tag.rationale,
            when=tag.when,
        )
        return self.keep(new, after)

    @rule(target=versions, version=versions, resource_id=IDS, resource_class=RESOURCE_CLASSES)
    def promote(self, version: Pair, resource_id: str, resource_class: ResourceClass) -> Pair:
        """Promote: only a known id, only upward."""
        ledger, model = version
        after, known = model.copy(), model.tags.get(resource_id)
        if known is None or resource_class <= known.resource_class:
            with pytest.raises(UnknownResourceError if known is None else DemotionError):
                ledger.promote(resource_id, resource_class)
            return self.keep(ledger, after)
        pinned = known.pinned or resource_class is ResourceClass.PRESERVED
        after.tags[resource_id] = Tag(
            resource_class, provenance=known.provenance, rationale="promoted", pinned=pinned
        )
        after.promotions += 1
        return self.keep(ledger.promote(resource_id, resource_class, rationale="promoted"), after)

    @rule(target=versions, version=versions, resource_id=IDS)
    def drop(self, version: Pair, resource_id: str) -> Pair:
        """Drop: only a known DROPPABLE id."""
        ledger, model = version
        after, known = model.copy(), model.tags.get(resource_id)
        if known is None or known.resource_class is not ResourceClass.DROPPABLE:
            with pytest.raises(UnknownResourceError if known is None else InvalidOptionError):
                ledger.drop(resource_id)
            return self.keep(ledger, after)
        after.drops += 1
        return self.keep(ledger.drop(resource_id), after)

    @rule(target=versions, version=versions)
    def store_and_load(self, version: Pair) -> Pair:
        """Columns and back gives an equal ledger that can be derived from."""
        ledger, model = version
        again = LinearityMap.of_columns(
            *ledger.columns_since(0), promotions=model.promotions, drops=model.drops
        )
        assert again == ledger
        return self.keep(again, model.copy())

    @rule(one=versions, other=versions)
    def compare(self, one: Pair, other: Pair) -> None:
        """Equality of ledgers is equality of what can be read, and equal ledgers hash alike."""
        assert (one[0] == other[0]) is (one[1].read() == other[1].read())
        if one[0] == other[0]:
            assert hash(one[0]) == hash(other[0])

    @rule(version=versions, unknown=st.just("never tagged"))
    def read_parts(self, version: Pair, unknown: str) -> None:
        """Parts and membership follow the dict."""
        ledger, model = version
        for resource_class, part in ledger.partition().items():
            assert part == ledger.by_class(resource_class)
            assert part == tuple(
                i for i, tag in model.tags.items() if tag.resource_class is resource_class
            )
        assert [ledger.get(each) for each in model.tags] == [
            tag.resource_class for tag in model.tags.values()
        ]
        assert ledger.classes_of(list(model.tags)) == [
            tag.resource_class for tag in model.tags.values()
        ]
        assert unknown not in ledger

    @invariant()
    def every_version_reads_as_it_did(self) -> None:
        """No later step shows in any version made before."""
        for ledger, model in self.made:
            assert read(ledger) == model.read()


TestLedgerAgainstDict = LedgerAgainstDict.TestCase
