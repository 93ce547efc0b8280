"""The laws of the ledger and of the default classifier."""

from collections.abc import Sequence

from attrs import evolve

from polycontext.base import InvalidOptionError
from polycontext.base.law import agree, law
from polycontext.linearity.classification.constraints import constraint_sentences, states_constraint
from polycontext.linearity.ledger import DemotionError, LinearityMap, UnknownResourceError
from polycontext.linearity.resource_class import ResourceClass
from tests.laws.outcomes import outcome

_LEDGER = 'docs/linearity.md, "The record of classes"'
_JOIN = "Davey and Priestley, Introduction to Lattices and Order, on semilattices"


def _class_of(ledger: LinearityMap, resource_id: str) -> ResourceClass | None:
    return ledger.get(resource_id) if resource_id in ledger else None


def _classes(ledger: LinearityMap) -> dict[str, ResourceClass]:
    return {resource_id: ledger.get(resource_id) for resource_id in ledger}


def _reading(ledger: LinearityMap) -> tuple[object, ...]:
    return tuple(ledger.items()), ledger.stats(), _classes(ledger)


def _raised(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> LinearityMap:
    try:
        return (
            ledger.promote(resource_id, resource_class)
            if resource_id in ledger
            else ledger.tag(resource_id, resource_class)
        )
    except DemotionError:
        return ledger


def _all_raised(
    ledger: LinearityMap, requests: Sequence[tuple[str, ResourceClass]]
) -> LinearityMap:
    for resource_id, resource_class in requests:
        ledger = _raised(ledger, resource_id, resource_class)
    return ledger


@law(_LEDGER)
def promote_raises_or_refuses(
    ledger: LinearityMap, resource_id: str, resource_class: ResourceClass
) -> None:
    """Promote ends at the requested class if it is higher.

    The same class, a lower class and an unknown id are refused.
    """
    before = _class_of(ledger, resource_id)
    expected = (
        UnknownResourceError
        if before is None
        else resource_class
        if resource_class > before
        else DemotionError
    )
    found = outcome(lambda: ledger.promote(resource_id, resource_class).get(resource_id))
    agree(found, expected)


@law(_LEDGER)
def tagging_twice_is_tagging_once(
    ledger: LinearityMap, resource_id: str, resource_class: ResourceClass
) -> None:
    """A second tag with the same class, or a second raise, changes nothing, not even a counter."""
    once = _raised(ledger, resource_id, resource_class)
    tagged = once.tag(resource_id, once.get(resource_id))
    raised = _raised(once, resource_id, resource_class)
    agree((_reading(tagged), _reading(raised)), (_reading(once),) * 2)


@law(_JOIN)
def raising_ends_at_the_join(
    ledger: LinearityMap, resource_id: str, resource_class: ResourceClass
) -> None:
    """Raising an id ends at the higher of both classes, and every other id keeps its class."""
    before = _classes(ledger)
    expected = {**before, resource_id: max(resource_class, before.get(resource_id, resource_class))}
    agree(_classes(_raised(ledger, resource_id, resource_class)), expected)


@law(_JOIN)
def raising_is_order_independent(
    ledger: LinearityMap, requests: Sequence[tuple[str, ResourceClass]]
) -> None:
    """Raises in any order, two or more, end at the highest class requested for each id.

    Checked in the given, the reverse and both sorted orders.
    """
    highest = _classes(ledger)
    for resource_id, resource_class in requests:
        highest[resource_id] = max(resource_class, highest.get(resource_id, resource_class))
    orders = [requests, requests[::-1], sorted(requests), sorted(requests)[::-1]]
    found = [_classes(_all_raised(ledger, order)) for order in orders]
    agree(found, [highest] * len(orders))


@law(_LEDGER)
def no_change_shows_in_an_older_ledger(
    ledger: LinearityMap, resource_id: str, resource_class: ResourceClass
) -> None:
    """A ledger does not change when tagging, promoting and dropping derive others from it."""
    before = _reading(ledger)
    _all_raised(ledger, [(resource_id, each) for each in ResourceClass])
    outcome(lambda: _raised(ledger, resource_id, resource_class).drop(resource_id))
    agree(_reading(ledger), before)


@law(_LEDGER)
def every_id_is_in_the_part_of_its_class(ledger: LinearityMap) -> None:
    """Every id is in exactly one part, the one that `get` names, in the order of the ledger.

    `by_class` returns the same parts.
    """
    expected = {each: tuple(i for i in ledger if ledger.get(i) is each) for each in ResourceClass}
    agree(ledger.partition(), expected)
    agree({each: ledger.by_class(each) for each in ResourceClass}, expected)


@law(_LEDGER)
def stats_count_the_parts(ledger: LinearityMap) -> None:
    """The counts by class are the sizes of the parts.

    The counts add up to the length, and the droppable ratio is the droppable share of it.
    """
    stats, sizes = ledger.stats(), {each: len(ids) for each, ids in ledger.partition().items()}
    agree((stats.counts, stats.total), (sizes, len(ledger)))
    agree(
        stats.droppable_ratio, sizes[ResourceClass.DROPPABLE] / len(ledger) if len(ledger) else 0.0
    )


@law(_LEDGER)
def all_lookups_agree(ledger: LinearityMap) -> None:
    """`get`, `tag_of`, `classes_of`, `items`, iteration, membership and length agree."""
    ids, items = list(ledger), dict(ledger.items())
    agree((list(items), len(ledger), all(each in ledger for each in ids)), (ids, len(ids), True))
    agree([ledger.tag_of(each) for each in ids], list(items.values()))
    classes = [tag.resource_class for tag in items.values()]
    agree(([ledger.get(each) for each in ids], ledger.classes_of(ids)), (classes, classes))


@law(_LEDGER)
def a_drop_is_counted_and_changes_nothing_else(ledger: LinearityMap, resource_id: str) -> None:
    """Dropping a DROPPABLE resource counts one drop and keeps its tag.

    Any other class and an unknown id are refused.
    """
    match _class_of(ledger, resource_id):
        case None:
            expected: object = UnknownResourceError
        case ResourceClass.DROPPABLE:
            stats = ledger.stats()
            expected = tuple(ledger.items()), evolve(stats, drops=stats.drops + 1), _classes(ledger)
        case _:
            expected = InvalidOptionError
    agree(outcome(lambda: _reading(ledger.drop(resource_id))), expected)


@law('docs/linearity.md, "The rule that classifies"')
def a_constraint_can_be_quoted(content: str) -> None:
    """A text states a constraint exactly if some of its sentences do.

    Each of these sentences occurs in the text, white space aside.
    """
    quotes, text = constraint_sentences(content), "".join(content.split())
    agree(states_constraint(content), bool(quotes))
    agree([quote for quote in quotes if "".join(quote.split()) not in text], [])
