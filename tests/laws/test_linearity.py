"""The laws of the ledger and of classification hold for ledgers with any history."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import LinearityMap, ResourceClass, default_classifier, laws
from tests.linearity.strategies import CLASSES, IDS, TEXTS, ledgers
from tests.strategies import CONSTRAINTS, HOSTILE_TEXTS

# The ids of drawn ledgers are drawn from here too, so that about half of the requests meet a known one.
SOME_IDS = st.sampled_from(["a", "b", "c"]) | IDS
REQUESTS = st.lists(st.tuples(SOME_IDS, CLASSES), max_size=6)
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "other"])
FACTS = st.dictionaries(st.sampled_from(["gist", "first_user", "has_calls", "has_parts", "answers_question"]), st.booleans())
WORDS = (
    *("never", "must", "mind", "always", "from now on", "don't", "know", "please", "x", "e.g. "),
    *("```", "~~~", "\n", ". ", "? ", ":\n", "- ", "1. ", "    ", "’", '"', "`", "\t", "\r", "\u2028"),
    *("必须", "。", "必ず", "しも"),
)
PIECES = st.lists(st.sampled_from(WORDS), max_size=25)
CONTENTS = st.one_of(PIECES.map(" ".join), PIECES.map("".join), st.text(max_size=40), st.sampled_from([*HOSTILE_TEXTS, *CONSTRAINTS]))


@given(ledgers(), SOME_IDS, CLASSES)
def test_promote_raises_or_refuses(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """Known or new, higher or lower: promote ends where it was asked to, or is refused."""
    laws.promote_raises_or_refuses(ledger, resource_id, resource_class)


@given(ledgers(), SOME_IDS, CLASSES)
def test_tag_never_lowers(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """Known or new, higher or lower: tag ends where it was asked to, or is refused."""
    laws.tag_never_lowers(ledger, resource_id, resource_class)


@given(ledgers(), SOME_IDS, CLASSES)
def test_tagging_twice_is_tagging_once(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """A second equal tag changes nothing."""
    laws.tagging_twice_is_tagging_once(ledger, resource_id, resource_class)


@given(ledgers(), SOME_IDS, CLASSES)
def test_raising_ends_at_the_join(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """Raising is the join, of one id alone."""
    laws.raising_ends_at_the_join(ledger, resource_id, resource_class)


@given(ledgers(), SOME_IDS, CLASSES)
def test_raising_is_idempotent(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """Once is enough."""
    laws.raising_is_idempotent(ledger, resource_id, resource_class)


@given(ledgers(), SOME_IDS, CLASSES, CLASSES)
def test_raising_is_associative(ledger: LinearityMap, resource_id: str, one: ResourceClass, other: ResourceClass) -> None:
    """Two steps are one step to the higher class."""
    laws.raising_is_associative(ledger, resource_id, one, other)


@given(ledgers(), SOME_IDS, CLASSES, SOME_IDS, CLASSES)
def test_raising_is_commutative(ledger: LinearityMap, one_id: str, one: ResourceClass, other_id: str, other: ResourceClass) -> None:
    """Either may come first, of one id or of two."""
    laws.raising_is_commutative(ledger, one_id, one, other_id, other)


@given(ledgers(), REQUESTS)
def test_raising_is_order_independent(ledger: LinearityMap, requests: Sequence[tuple[str, ResourceClass]]) -> None:
    """The order of many requests does not matter."""
    laws.raising_is_order_independent(ledger, requests)


@given(ledgers(), SOME_IDS, CLASSES, CLASSES)
def test_raising_is_monotone(ledger: LinearityMap, resource_id: str, one: ResourceClass, other: ResourceClass) -> None:
    """Asking for less never ends higher."""
    laws.raising_is_monotone(ledger, resource_id, one, other)


def test_raising_is_a_join_on_every_small_ledger() -> None:
    """All ledgers of up to two ids, each untagged or in any class, with all pairs of requests: every law of the join."""
    choices = [None, *ResourceClass]
    for first, second, one, other, other_id in product(choices, choices, ResourceClass, ResourceClass, "ab"):
        ledger = LinearityMap()
        for resource_id, resource_class in (("a", first), ("b", second)):
            ledger = ledger if resource_class is None else ledger.tag(resource_id, resource_class)
        laws.promote_raises_or_refuses(ledger, "a", one)
        laws.raising_ends_at_the_join(ledger, "a", one)
        laws.raising_is_idempotent(ledger, "a", one)
        laws.raising_is_associative(ledger, "a", one, other)
        laws.raising_is_commutative(ledger, "a", one, other_id, other)
        laws.raising_is_monotone(ledger, "a", one, other)
        laws.forks_are_independent(ledger, "a", one, other)


@given(ledgers(), SOME_IDS, CLASSES)
def test_no_change_shows_in_an_older_ledger(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """Whatever is made from it, a ledger reads as before."""
    laws.no_change_shows_in_an_older_ledger(ledger, resource_id, resource_class)


@given(ledgers(), SOME_IDS, CLASSES, CLASSES)
def test_forks_are_independent(ledger: LinearityMap, resource_id: str, one: ResourceClass, other: ResourceClass) -> None:
    """Two branches go their own ways."""
    laws.forks_are_independent(ledger, resource_id, one, other)


@given(ledgers())
def test_every_id_is_in_the_part_of_its_class(ledger: LinearityMap) -> None:
    """Parts are disjoint, cover all ids and keep the order."""
    laws.every_id_is_in_the_part_of_its_class(ledger)


@given(ledgers())
def test_stats_count_the_parts(ledger: LinearityMap) -> None:
    """Counters that were kept up to date equal counting again."""
    laws.stats_count_the_parts(ledger)


@given(ledgers())
def test_all_lookups_agree(ledger: LinearityMap) -> None:
    """One ledger, however it is asked."""
    laws.all_lookups_agree(ledger)


@given(ledgers(), SOME_IDS)
def test_a_drop_is_counted_and_changes_nothing_else(ledger: LinearityMap, resource_id: str) -> None:
    """A drop is counted or refused; nothing else changes."""
    laws.a_drop_is_counted_and_changes_nothing_else(ledger, resource_id)


@given(ledgers())
def test_the_ledger_survives_json(ledger: LinearityMap) -> None:
    """Ids, tags, order and counters all come back."""
    laws.the_ledger_survives_json(ledger)


@given(ROLES, TEXTS | CONTENTS, FACTS)
def test_classification_repeats(role: str, content: str, metadata: Mapping[str, Any]) -> None:
    """Replaying a turn gives it the class it had."""
    laws.classification_repeats(default_classifier, role, content, metadata)


@given(CONTENTS)
def test_a_constraint_can_be_quoted(content: str) -> None:
    """A text states a constraint exactly when there are sentences to quote, word for word."""
    laws.a_constraint_can_be_quoted(content)
