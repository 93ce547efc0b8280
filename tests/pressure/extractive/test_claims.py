"""What a line claims: the same key for the same thing, another for what merely looks alike, and nothing where it cannot be told."""

import pytest

from polycontext.pressure.extractive.claims import claims_of
from polycontext.pressure.extractive.lines import Line, LineKind, lines_of
from polycontext.window import Role
from polycontext.window.text.claims.claim import MOST_FIELDS, Claim, is_plain, may_be_newer
from tests.pressure.extractive.extractive_samples import assistant, called, user


def answered(text: str, arguments: str = "{}") -> list[Claim]:
    """Return the claims of a tool's result."""
    return claims_of(lines_of([user("?"), *called("look", arguments, text)])[-1])


def keys(text: str, arguments: str = "{}") -> set[object]:
    """Return the keys under which a result claims something."""
    return {claim.key for claim in answered(text, arguments)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"ticket_id": "T-1", "state": "open"}', '{"ticket_id": "T-1", "state": "closed"}'),
        ('[{"id": 7, "left": 3}, {"id": 8, "left": 1}]', '[{"id": 8, "left": 2}, {"id": 7, "left": 3}]'),
        ("kiln.ini\n[heater]\nlimit = 900", "kiln.ini\n[heater]\nlimit = 1050"),
        ("# deps.txt\nalpha==1.2\nbeta==2.0", "# deps.txt\nalpha==1.3\nbeta==2.0"),
        ("crontab -l\n5 4 * * * /opt/wash-sails", "crontab -l\n9 2 * * 1 /opt/wash-sails"),
        ("pom.xml\n<parent>\n<version>1.2.0</version>", "pom.xml\n<parent>\n<version>1.3.0</version>"),
        ("2031-01-01T04:00:01Z INFO tank=north litres=40", "2031-01-01T09:30:00Z INFO tank=north litres=12"),
        ("Copied 31% of the drawings", "Copied 88% of the drawings"),
        ("pump-7: running since 4 h", "pump-7: stopped"),
        ("lock gate north -> OPEN", "lock gate north -> CLOSED"),
    ],
)
def test_one_thing_is_claimed_under_one_key(one: str, other: str) -> None:
    """Values stand outside of the key: numbers, states, what a setting is set to."""
    assert keys(one) & keys(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"ticket_id": "T-1", "state": "open"}', '{"ticket_id": "T-2", "state": "closed"}'),
        ('{"state": "open", "left": 3}', '{"state": "closed", "left": 1}'),
        ('{"tank": "north", "date": "2031-01-01", "litres": 4}', '{"tank": "north", "date": "2031-01-02", "litres": 7}'),
        ('{"alarm": "Leak-1", "labels": {"hall": "a"}, "since": "3:00"}', '{"alarm": "Leak-1", "labels": {"hall": "b"}, "since": "4:00"}'),
        ("kiln.ini\n[heater]\nlimit = 900", "kiln.ini\n[fan]\nlimit = 1050"),
        ("kiln.ini\n[heater]\nlimit = 900", "oven.ini\n[heater]\nlimit = 1050"),
        ("crew.yml\n- name: a1\nshoes: 44", "crew.yml\n- name: b2\nshoes: 39"),
        ("Step 1 took 30 s in all halls", "Step 2 took 44 s in all halls"),
        ("pump 3 is at 40% of its load", "pump 4 is at 70% of its load"),
        ("2031-01-01 visitors of the museum: 40", "2031-01-02 visitors of the museum: 41"),
        ("tank=north litres=40", "tank=south litres=40"),
        ("open berths of the harbour: 3", "closed berths of the harbour: 4"),
    ],
)
def test_what_merely_looks_alike_has_keys_of_its_own(one: str, other: str) -> None:
    """Names, days, sections, files and numbered things tell two facts apart."""
    assert not keys(one) & keys(other)


def test_answers_to_two_questions_are_two_facts() -> None:
    """What a call asks belongs to the key where the answer does not name a thing by an id."""
    text = "Found 3 sails in 2 lofts"
    assert keys(text, '{"query": "jib"}') != keys(text, '{"query": "spinnaker"}')
    assert keys(text, "jib") != keys(text, "spinnaker")
    assert keys("limit = 3\nrooms = 4", '{"path": "a.ini"}') != keys("limit = 3\nrooms = 4", '{"path": "b.ini"}')


@pytest.mark.parametrize(
    "text",
    [
        "litres-a: 4\nlitres-a: 5",
        '[{"name": "a", "left": 1}, {"name": "a", "left": 2}]',
        '{"a": 1, "b"',
        '{"a" 1}',
        '{"a": "b": "c"}',
        '{"a": 1}}',
        '{"a": [1, 2}',
        "x",
        "",
        '{"a":' * 60,
        "all quiet in the harbour today",
        "ERROR: 7 sails",
    ],
)
def test_a_series_and_what_is_broken_claim_nothing_of_one_thing(text: str) -> None:
    """A key that comes twice in one text is a series; what is not well-formed is text."""
    assert not [claim for claim in answered(text) if claim.key[0] in ("label", "line", "pairs")]
    assert not [claim for claim in answered(text) if claim.key[0] == "record" and len(claim.fields) > 1]


def test_fields_of_an_object_within_an_object_are_its_own() -> None:
    """Names are joined by dots; what stands in an array is a thing of its own, of the thing around it."""
    text = '{"id": "B1", "berth": {"pier": "w", "depth": 3}, "boats": [{"id": "s1", "masts": 2}]}'
    inner, outer = answered(text)
    assert set(outer.fields) == {"id", "berth.pier", "berth.depth"}
    assert "B1" in str(inner.key)
    assert text[outer.fields["berth.depth"].start : outer.fields["berth.depth"].end] == '"depth": 3'


def test_no_thing_has_more_fields_than_are_looked_at() -> None:
    """A record of a thousand fields costs no more than one of two hundred."""
    (claim,) = answered("{" + ",".join(f'"k{number}": {number}' for number in range(1_000)) + "}")
    assert len(claim.fields) == MOST_FIELDS


def test_code_sets_constants_only() -> None:
    """What a program assigns is no setting; a name in capitals is."""
    (claim,) = answered("loom.py\nSPEED = 4\nspeed = 5\nspeed += 1")
    assert set(claim.fields) == {"SPEED"}


def test_settings_that_no_file_names_claim_only_together() -> None:
    """Three settings or more are a claim; fewer tell nothing."""
    assert answered("speed=4\nweft=12\nwarp=30")[0].key[0] == "unnamed"
    assert not answered("speed=4\nweft=12")


@pytest.mark.parametrize(
    "text", ["Is the kiln at 900 degrees?", "- kiln at 900 degrees", "Another kiln is at 900 degrees.", "`limit` is 900 here"]
)
def test_questions_lists_and_additions_state_nothing_that_replaces(text: str) -> None:
    """They come beside what was said."""
    assert not claims_of(lines_of([assistant("Hm."), user(text)])[-1])


def test_the_system_claims_nothing_that_could_be_out_of_date() -> None:
    """Its rules are rules."""
    assert not claims_of(Line(LineKind.SPOKEN, "system", 0, "The kiln is at 900 degrees.", role=Role.SYSTEM))


def test_a_document_states_nothing_of_the_talk() -> None:
    """A text that long holds too many sentences to be told apart."""
    sentence = "The kiln in the yard is at 900 degrees. "
    assert claims_of(lines_of([user(sentence)])[0])
    assert not claims_of(lines_of([user(sentence + "More of it follows here. " * 400)])[0])


def test_states_and_numbers_are_plain_and_words_are_not() -> None:
    """Under a key that names a state any text is; a small part that differs is too."""
    assert is_plain("out of service since noon")
    assert not is_plain("walnut")
    assert may_be_newer("state", "walnut", "plum")
    assert may_be_newer("image", "@loom/team-ash", "@loom/team-oak")
    assert may_be_newer("reason", "rain", "-")
    assert not may_be_newer("wood", "walnut", "plum")
