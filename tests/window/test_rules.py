"""The ledger of rules: a fold over the turns of the user."""

import json
import pickle
from copy import deepcopy
from pathlib import Path

import pytest

from polycontext import Turn
from polycontext.window import ContextWindow
from polycontext.window.rules import RULE, RULES_TITLE

NEVER = "Never use tables in your replies."
SAID = json.loads(Path(__file__).with_name("said_of_rules.json").read_text(encoding="utf-8"))
"""Rules, each with what was said later: it revokes the rule, replaces it, or leaves it standing."""


def window(*turns: Turn | str) -> ContextWindow:
    """Return a window of turns; a text is a user turn."""
    made = ContextWindow(8_000).append(Turn("user", "Plan a trip to Vienna."))
    for turn in turns:
        made = made.append(Turn("user", turn) if isinstance(turn, str) else turn)
    return made


def standing(*turns: Turn | str) -> list[str]:
    """Return the texts of the rules that stand after turns."""
    return [rule.text for rule in window(*turns).rules.standing]


def test_a_rule_is_a_record() -> None:
    """It has its text word for word, its turn, its author, its kind and its scope."""
    turn = Turn("user", f"Hi! From now on, answer in French. {NEVER}", name="Ann")
    first, second = window(turn).rules.all
    assert (first.text, first.turn_id, first.author) == (
        "From now on, answer in French.",
        "t2",
        "Ann",
    )
    assert first.scope.startswith("From now on")
    assert (second.id, second.text, second.kind) == ("t2:2", NEVER, "instruction")
    assert first.stands
    assert second.stands


@pytest.mark.parametrize(
    "turn",
    [
        Turn("assistant", NEVER),
        Turn("system", NEVER),
        Turn("user", f"```\n{NEVER}\n```"),
        Turn("user", f"The sign says “{NEVER}”"),
        Turn("user", f"> {NEVER}"),
        Turn("user", f"<file>\n{NEVER}\n</file>"),
        Turn("user", "Ann de Boer: Here we go."),
        Turn("assistant", NEVER, metadata={RULE: {"kind": "instruction", "scope": ""}}),
        Turn("user", ""),
    ],
    ids=str,
)
def test_nobody_else_states_a_rule(turn: Turn) -> None:
    """Neither another role nor a quotation, code or a file in the user's own turn."""
    assert standing(turn) == []


def test_a_user_whose_host_writes_the_name_before_the_text_states_a_rule() -> None:
    """Hosts of several people do so, since providers drop the name."""
    (rule,) = standing(Turn("user", f"Ann: {NEVER}", name="Ann"))
    assert NEVER in rule


@pytest.mark.parametrize(
    "said",
    [
        "You may now use tables.",
        "You can use tables again.",
        "Forget what I said about tables.",
        "Please drop the rule about tables.",
        "You no longer have to avoid tables in replies.",
        "Forget all my rules.",
    ],
)
def test_a_later_turn_revokes_a_rule(said: str) -> None:
    """The rule names the turn that ended it; other rules stand."""
    keep = "Always answer in English."
    rules = window(NEVER, keep, said).rules
    assert rules.all[0].ended_by == "t4"
    assert [rule.text for rule in rules.standing] == ([] if "all" in said else [keep])


def test_a_sentence_that_names_no_subject_revokes_the_newest_rule() -> None:
    """A permission does so only if it speaks of a rule."""
    newest = "Always answer in English."
    for said in ("Forget that rule.", "You may forget that rule now."):
        assert standing(NEVER, newest, said) == [NEVER]
    assert standing(NEVER, newest, "You can do that again now.") == [NEVER, newest]


def test_all_rules_about_a_subject_are_not_all_rules() -> None:
    """Rules about other things stand; without a subject that a rule shares, all are revoked."""
    rules = (NEVER, "Always answer in English.", "Put a title above tables.")
    assert standing(*rules, "Forget all my rules about tables.") == [rules[1]]
    assert standing(*rules, "Forget all the rules so far.") == []


@pytest.mark.parametrize(("old", "said"), SAID["revoked"])
def test_rules_are_revoked_in_other_languages(old: str, said: str) -> None:
    """German, French, Spanish and Chinese have words for it, too."""
    assert standing(old) == [old]
    assert standing(old, said) == []


def test_the_same_rule_twice_is_one_rule() -> None:
    """Case and punctuation aside; stated again after it was revoked, it stands again."""
    assert standing(NEVER, NEVER.upper(), NEVER) == [NEVER]
    rules = window(NEVER, "You may now use tables.", NEVER).rules
    assert [(rule.id, rule.stands) for rule in rules.all] == [("t2:1", False), ("t4:1", True)]


def test_rules_are_found_when_they_are_asked_for() -> None:
    """Whenever that is, they are the same, also in copies; a cleared window has none."""
    late = window(NEVER, "Hello.", "Always answer in English.")
    early = window()
    for said in (NEVER, "Hello.", "Always answer in English."):
        assert early.rules.all is early.rules.all
        early = early.append(Turn("user", said))
    assert early == late
    copied = pickle.loads(pickle.dumps(late))  # noqa: S301 - our own
    assert copied.rules.all == deepcopy(early).rules.all
    assert late.cleared().rules.all == ()


@pytest.mark.parametrize(("old", "later", "stands"), SAID["ended"])
def test_a_rule_ends_as_people_say_it(old: str, later: str, stands: list[str]) -> None:
    """It names the turn that ended it and how; a new value stands in its place, a rule or not."""
    rules = window(old, later).rules
    assert [rule.text for rule in rules.standing] == stands
    assert (rules.all[0].ended_by, rules.all[0].ended_how) == (
        "t3",
        "replaced" if stands else "revoked",
    )


@pytest.mark.parametrize(("old", "later"), SAID["standing"])
def test_a_rule_that_is_mentioned_stands(old: str, later: str) -> None:
    """An exception, a question, a report, another rule and a long text end nothing."""
    assert old in standing(old, later)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_sentence_that_may_end_a_rule_stands_beside_it(times: int) -> None:
    """Both stand, and the newer one, however often it is said, says than which rule it is later."""
    old, later = "Never use tables in your replies.", "One table here is fine, but only here."
    first, second = window(old, *[later] * times).rules.standing
    assert (first.text, first.later_than) == (old, "")
    assert (second.text, second.later_than) == (later, first.id)


def test_only_the_last_sentence_that_may_end_a_rule_stands_beside_it() -> None:
    """In a long talk about the subject of a rule, the others would pose as rules."""
    old = "Never use tables in your replies."
    said = [f"{word} table here is fine, but only here." for word in ("One", "Another", "A small")]
    found = window(old, *said).rules.all
    assert [rule.text for rule in found] == [old, said[-1]]
    assert [rule.later_than for rule in found] == ["", found[0].id]


def test_a_summary_says_which_rules_are_later() -> None:
    """Read again, they are later than the rule that follows them, in the order they were said."""
    lines = "user (later): C.\nuser Ann (later): B.\nuser: A.\nuser Bo: D.\nuser (later): E."
    gist = f"[Summary of earlier messages]\n{RULES_TITLE}\n{lines}\n[End of summary]"
    found = window(Turn("user", gist, metadata={"gist": True})).rules.standing
    assert [(rule.text, rule.author) for rule in found] == [
        ("A.", ""),
        ("B.", "Ann"),
        ("C.", ""),
        ("D.", "Bo"),
        ("E.", ""),
    ]
    assert [rule.later_than for rule in found] == ["", found[0].id, found[0].id, "", ""]
