"""A later sentence ends a rule where that is sure, and may stand beside it elsewhere."""

import pytest

from polycontext.linearity.classification.endings import SURE, Effect, Endings
from polycontext.linearity.classification.model import key_of

RULE = "Send the invoices to Sam."


@pytest.mark.parametrize(
    ("score", "effect"),
    [
        (0, Effect.KEEPS),
        (1, Effect.MAY_END),
        (SURE[False], Effect.MAY_END),
        (SURE[False] + 1, Effect.ENDS),
    ],
)
def test_a_rule_ends_from_a_score_on(score: int, effect: Effect) -> None:
    """Above zero, and up to `SURE`, both stand."""
    endings = Endings({key_of("@"): score}, {})
    assert endings.score(RULE, "No invoices to Sam.", states=False) == (score, effect)


@pytest.mark.parametrize(
    ("said", "effect"),
    [
        ("Invoices go to Jo.", Effect.REPLACES),
        ("Do the invoices go to Jo?", Effect.MAY_END),
        ("This time the invoices go to Jo.", Effect.MAY_END),
        ("My boss said that the invoices go to Jo.", Effect.MAY_END),
        ("Diesmal gehen die Rechnungen an Jo.", Effect.MAY_END),
    ],
)
def test_some_sentences_never_end_a_rule_surely(said: str, effect: Effect) -> None:
    """A question, an exception and a report leave it to stand, whatever their words weigh."""
    sure = {key_of("@"): 10 * SURE[False]}
    assert Endings(sure, sure).score(RULE, said, states=False)[1] is effect


def test_prohibitions_stand_beside_each_other() -> None:
    """One that repeats the other, with more, may take its place."""
    endings = Endings({key_of("@"): SURE[False] + 1}, {})
    old = "Never share my phone number."
    assert endings.score(old, "Never share my name.", states=True)[1] is Effect.KEEPS
    both = "Never share my phone number or my name."
    assert endings.score(old, both, states=True)[1] is Effect.ENDS
