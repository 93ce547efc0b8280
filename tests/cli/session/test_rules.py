"""`polycontext session rules` lists rules, adds one, and ends one."""

from tests.cli.session.conftest import Asked


def test_a_script_lists_adds_and_ends_rules(small: Asked) -> None:
    """A rule that was found and one that was added; each write prints the session's standing."""
    small("append", "--role", "user", "Plan a trip. Never suggest a flight.")
    assert small("rules").out == "t1:1 instruction: Never suggest a flight.\n"
    added = small("rules", "--add", "Be brief.", "--scope", "today")
    assert added.out.startswith("session s: revision 2, ")
    assert [rule["text"] for rule in small("rules", "--json").json()] == [
        "Never suggest a flight.",
        "today: Be brief.",
    ]
    assert small("rules", "--revoke", "t1:1").code == 0
    assert small("rules", "--remove", "t2:1", "--json").json()["revision"] == 4
    assert small("rules").out == ""
    assert small("rules", "--all").out == (
        "t1:1 instruction: Never suggest a flight. (ended: t3)\n"
        "t2:1 instruction: today: Be brief. (ended: removed)\n"
    )


def test_what_is_no_rule_is_an_error(small: Asked) -> None:
    """An unknown id, two changes at once, a scope without a rule, an unknown session."""
    assert "there is none" in small("rules", "--revoke", "t9:1").err
    for options in (("--add", "a", "--revoke", "b"), ("--scope", "today"), ("--add", " ")):
        assert small("rules", *options).code != 0
    assert small("rules", of="other").code != 0
