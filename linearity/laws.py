"""The laws of the ledger as plain functions: true where they hold, usable on any ledger or classifier, free of any test framework."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from polycontext.linearity.classifier import Classifier
from polycontext.linearity.constraints import constraint_sentences, states_constraint
from polycontext.linearity.errors import DemotionError
from polycontext.linearity.ledger import LinearityMap
from polycontext.linearity.resource_class import ResourceClass


def raises_or_refuses(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> bool:
    """Hold when promoting a known id ends at a higher class or in a `DemotionError` (design §4)."""
    before = ledger.get(resource_id)
    try:
        after = ledger.promote(resource_id, resource_class).get(resource_id)
    except DemotionError:
        return resource_class <= before
    return before < after is resource_class


def keeps_the_old(ledger: LinearityMap, change: Callable[[LinearityMap], LinearityMap]) -> bool:
    """Hold when `ledger` reads the same before and after `change` made another from it."""
    before = ledger.to_json(), ledger.stats(), tuple(ledger)
    change(ledger)
    return before == (ledger.to_json(), ledger.stats(), tuple(ledger))


def tags_once(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> bool:
    """Hold when tagging twice is tagging once; for an id that is new or not of a higher class."""
    once = ledger.tag(resource_id, resource_class)
    return once.tag(resource_id, resource_class) == once


def partitions(ledger: LinearityMap) -> bool:
    """Hold when every id is in exactly one part, the one `get` names, in ledger order, and `stats` counts the parts."""
    parts = ledger.partition()
    agree = all(parts[c] == tuple(i for i in ledger if ledger.get(i) is c) == ledger.by_class(c) for c in ResourceClass)
    return agree and {c: len(ids) for c, ids in parts.items()} == ledger.stats().counts


def drop_keeps_the_tag(ledger: LinearityMap, resource_id: str) -> bool:
    """Hold when dropping a DROPPABLE resource counts one drop and changes nothing else."""
    after = ledger.drop(resource_id)
    counted = after.stats().drops == ledger.stats().drops + 1
    return counted and list(after.items()) == list(ledger.items()) and after.stats().promotions == ledger.stats().promotions


def round_trips(ledger: LinearityMap) -> bool:
    """Hold when a ledger written as JSON text and read again is the same, counters included."""
    again = LinearityMap.from_json(json.loads(json.dumps(ledger.to_json())))
    return again == ledger and again.stats() == ledger.stats()


def is_repeatable(classifier: Classifier, role: str, content: str, metadata: Mapping[str, Any]) -> bool:
    """Hold when a classifier says the same of the same turn again and leaves the metadata as it was."""
    before = dict(metadata)
    return classifier(role, content, metadata) is classifier(role, content, metadata) and dict(metadata) == before


def sentences_agree(content: str) -> bool:
    """Hold when a text states a constraint exactly if it has a sentence that does, and each of those is found in it."""
    found = constraint_sentences(content)
    text = "".join(content.split())
    return states_constraint(content) == bool(found) and all("".join(sentence.split()) in text for sentence in found)
