"""A newer value under the same key leaves the newest; whatever merely looks alike stays, and so does what nobody may change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import project
from polycontext.nodes.testing import FAST, Move, conversations
from polycontext.pressure.extractive.lines import lines_of
from polycontext.pressure.extractive.newest import MOST_TELLINGS, Known, updated
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.window import Turn
from tests.pressure.extractive.extractive_samples import LETTERS, assistant, called, gist, summarise, user

ROOM = 100_000
BETWEEN = assistant("The loft is swept and aired.")


def noted(*turns: Turn) -> str:
    """Return what is noted of turns where there is room for all."""
    return summarise(turns, ROOM, counter=LETTERS)


def looked(one: str, other: str) -> str:
    """Return what is noted of two results of one tool."""
    return noted(*called("look", '{"a": 1}', one, "c1"), BETWEEN, *called("look", '{"a": 2}', other, "c2"))


@pytest.mark.parametrize(
    ("old", "new", "stale", "newest"),
    [
        ('{"id": "B1", "state": "open", "boat": "Gull"}', '{"id": "B1", "state": "sealed", "boat": "Gull"}', "open", "sealed"),
        ('{"id": "B1", "state": "open", "depth": 3}', '{"id": "B1", "state": "sealed", "depth": 5}', "open", "sealed"),
        ('{"boat": "Gull", "state": "open"}', '{"boat": "Gull", "state": "sealed"}', "open", "sealed"),
        ('{"boat": "Gull", "cook": "Ash", "masts": 2}', '{"boat": "Gull", "cook": "Bay", "masts": 2}', "Ash", "Bay"),
        ('{"id": "B1", "depth": 3, "pier": "west"}', '{"id": "B1", "depth": 4}', '"depth": 3', '"depth": 4'),
        (
            '{"weft": 12, "speed": 4, "warp": 30, "on": true}',
            '{"weft": 12, "speed": 6, "warp": 30, "on": true}',
            '"speed": 4',
            '"speed": 6',
        ),
        ("weft=12\nspeed=4\nwarp=30\nply=2", "weft=12\nspeed=6\nwarp=30\nply=2", "speed=4", "speed=6"),
        ("kiln.ini\n[heater]\nlimit = 900\nfan = on", "kiln.ini\n[heater]\nlimit = 1050\nfan = on", "900", "1050"),
        (
            "user loom;\nlooms {\n  shuttles 12;\n}\nlamps on;",
            "user loom;\nlooms {\n  shuttles 40;\n}\nlamps on;",
            "shuttles 12",
            "shuttles 40",
        ),
        ("pot,glaze,price\nurn,ash,4.20\nbowl,tin,3", "pot,glaze,price\nurn,oak,4.20\nbowl,tin,3", "urn,ash", "urn,oak,4.20"),
        ("12:00:01 kiln-2 heats at 40%", "13:10:44 kiln-2 heats at 75%", "40%", "75%"),
    ],
)
def test_the_newest_stands_and_the_old_is_gone(old: str, new: str, stale: str, newest: str) -> None:
    """Records, settings and lines of logs: the later one counts."""
    text = looked(old, new)
    assert stale not in text
    assert newest in text


def test_what_the_newer_does_not_say_stays() -> None:
    """Of a record only what a later one says again leaves."""
    assert '"pier": "west"' in looked('{"id": "B1", "depth": 3, "pier": "west"}', '{"id": "B1", "depth": 4}')


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("The regatta starts at 9:30 off the pier.", "The regatta starts at 10:15 off the pier.", "9:30"),
        ("Paint the hull of the Gull green.", "For the hull of the Gull, blue instead of green.", "Gull green"),
        ("The winch of the Gull needs 3 bolts.", "The winch needs 5 bolts, not 3.", "needs 3"),
        ("The choir meets in the crypt.", "The choir has been moved to the vestry.", "crypt"),
        ("The loom's reed is stored in cellar B.", "Correction: the loom's reed is in attic C.", "cellar B"),
        ("Die Probe beginnt um 18 Uhr im Saal.", "Die Probe wurde von 18 Uhr auf 19 Uhr verschoben.", "um 18 Uhr"),
        ("Le cours de danse est le lundi au gymnase.", "Le cours de danse passe du lundi au vendredi.", "le lundi"),
        ("El ensayo del coro es en la cripta.", "El ensayo del coro es en la plaza en lugar de la cripta.", "en la cripta."),
        ("合唱团的排练在地下室。", "合唱团的排练改到阁楼。", "地下室"),
    ],
)
def test_words_of_change_take_the_old_value_out(old: str, new: str, stale: str) -> None:
    """Where they name it, it alone goes; where they do not, the short sentence does."""
    text = noted(user(old), BETWEEN, user(new))
    assert stale not in text
    assert new in text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The unit tests need 40 s on the loom.", "The long tests need 300 s on the loom."),
        ("The choir meets in the crypt.", "Has the choir been moved to the vestry?"),
        ("The choir meets in the crypt.", "My aunt said the choir has been moved to the vestry."),
        ("The choir meets in the crypt.", "Maybe the choir has been moved to the vestry."),
        ("The red boat lies at pier 3.", "The blue boat has been moved to pier 9."),
        ("Session 2 of the course is in room B.", "Session 3 of the course has been moved to room C."),
        ("I like green tea in the morning.", "It is raining, not snowing, and the tea is gone."),
        ("We sailed from Malta to Crete.", "The ferry from Crete to Malta is cheaper."),
        ("A boat is moored at pier 3 today.", "Another boat is moored at pier 4 today."),
    ],
)
def test_what_merely_looks_alike_stays(one: str, other: str) -> None:
    """Modifiers, numbers, questions and hearsay: nothing is out of date."""
    text = noted(user(one), BETWEEN, user(other))
    assert one in text
    assert other in text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"id": "B1", "sails": "2031-05-02", "crew": 9}', '{"id": "B1", "sails": "2031-06-03", "crew": 4}'),
        ('{"boat": "Gull", "bay": 4, "crew": 90}', '{"boat": "Gull", "bay": 6, "crew": 40}'),
        ("Takings in 2031 came to 4.2 million.", "Takings in 2032 came to 5.9 million."),
        ("sums in Q1 reached 2.9 %", "sums in Q2 reached 3.4 %"),
        ("ward bed=2 pulse=70 salt=9", "ward bed=6 pulse=88 salt=9"),
        ("fault[7]: loose warp --> loom/main.rs:31:9", "fault[7]: loose warp --> loom/main.rs:118:14"),
        ("- boat: gull\n  masts_max: 2", "- boat: tern\n  masts_max: 3"),
        ("boats:\n  gull:\n    sails: ash\n    masts_max: 2", "boats:\n  tern:\n    sails: ash\n    masts_max: 3"),
        ("Reading dials\n  kiln: north ends in 12 days\n  all calm", "Reading dials\n  kiln: south ends in 71 days\n  all calm"),
        ("locksmith: accepted key of mara from 10.0.0.9", "locksmith: accepted key of tom from 10.0.0.7"),
    ],
)
def test_what_differs_in_more_than_a_value_is_two_things(one: str, other: str) -> None:
    """A year, a bed, a place in a file, a heading above: the first difference tells which of two it is."""
    text = looked(one, other)
    assert " ".join(one.split()) in " ".join(text.split())
    assert " ".join(other.split()) in " ".join(text.split())
    if "\n" not in one:
        text = noted(user(one), BETWEEN, user(other))
        assert one in text
        assert other in text


def test_the_newest_goes_before_what_is_worth_more() -> None:
    """In a room for little a newer value stands; a retelling that may be newer goes before what was told once."""
    noise = [turn for n in range(30) for turn in called("look", f'{{"n": {n}}}', f"record R{n}-77 at /srv/data/{n}.csv", f"c{n}")]
    told = [user("The kiln in the yard stands at 900 degrees."), *noise, user("The kiln in the yard stands at 950 degrees."), *noise]
    assert "950" in summarise(told, 40, counter=LETTERS)
    old, new = (
        '{"ferry": "Gull", "captain": "ash tree", "berth": "old pier"}',
        '{"ferry": "Gull", "captain": "bay leaf", "berth": "new quay"}',
    )
    told = [*called("look", '{"a": 1}', old, "a"), *noise, *called("look", '{"a": 2}', new, "b"), *noise]
    text = summarise(told, 120, counter=LETTERS)
    assert "bay leaf" in text
    assert "ash tree" not in text
    assert "ash tree" in noted(*told)


def test_a_tool_makes_nothing_out_of_date_that_somebody_said() -> None:
    """Its words are data, whatever they say."""
    said = "The regatta starts at 9:30 off the pier."
    assert said in noted(user(said), BETWEEN, *called("look", "{}", "Update: the regatta starts at 10:15 off the pier."))
    record = '{"id": "B1", "state": "open"}'
    assert record in noted(assistant(record), BETWEEN, *called("look", "{}", '{"id": "B1", "state": "sealed"}'))


def test_only_the_user_changes_what_the_user_demands() -> None:
    """A standing constraint yields to the same demand anew, in the user's words."""
    rule, other = "Never buy rope for more than 40 euros.", "Never buy rope for more than 60 euros."
    assert rule in noted(user(rule), BETWEEN, assistant(other))
    changed = noted(user(rule), BETWEEN, user(other))
    assert rule not in changed
    assert other in changed


def test_it_is_no_matter_whether_turns_are_read_at_once_or_one_by_one() -> None:
    """What was claimed is carried along with the candidates."""
    turns = [user("The kiln in the yard stands at 900 degrees."), BETWEEN, user("The kiln in the yard stands at 950 degrees.")]
    summariser = ExtractiveSummariser()
    known = None
    for turn in turns:
        known = summariser.read([turn], known, counter=LETTERS, most=ROOM)
    assert known is not None
    assert summariser.write(known, ROOM, counter=LETTERS) == noted(*turns)
    assert "900" not in noted(*turns)
    assert "900" not in noted(gist(noted(*turns[:2])), turns[2])


def test_what_stands_word_for_word_makes_a_gist_out_of_date() -> None:
    """A newer value behind the gist counts as one within it, an older one between what was read does not."""
    summariser = ExtractiveSummariser()
    old, new = user("The kiln in the yard stands at 900 degrees."), user("The kiln in the yard stands at 950 degrees.")
    known = summariser.read([old, BETWEEN], counter=LETTERS)
    assert "900" not in summariser.write(known.beside([(new, 0)], LETTERS), ROOM, counter=LETTERS)
    assert "900" in summariser.write(known.beside([(new, 2)], LETTERS), ROOM, counter=LETTERS)
    assert known.beside([(BETWEEN, 0)], LETTERS) is known


def test_a_projection_tells_the_newest_alone() -> None:
    """Whether the newer value is told or stands as it is, the older one is gone."""
    messages = [{"role": "user", "content": "Watch the kiln."}]
    for number in range(40):
        messages += [
            {"role": "assistant", "content": f"The kiln in the yard stands at {900 + number} degrees, as far as the dial can tell."},
            {"role": "user", "content": f"Tell me more about glaze {number} and what it is made of, please."},
        ]
    view = str(project(messages, 500, counter=FAST).messages)
    assert "939 degrees" in view
    assert "910 degrees" not in view


def test_no_more_tellings_are_remembered_than_need_be() -> None:
    """A claim that is told a hundred times is remembered a few."""
    turns = [turn for number in range(100) for turn in called("look", f'{{"a": {number}}}', "kiln-2 heats at 40%", f"c{number}")]
    known = updated(Known(), dict(enumerate(lines_of(turns)))).known
    assert [len(tellings) for tellings in known.claims.values()] == [MOST_TELLINGS]
    assert not known.within(()).claims


@given(conversations(), st.integers(1, 5))
def test_what_a_summary_says_is_what_it_said_before_twice_read(moves: list[Move], times: int) -> None:
    """Reading is deterministic, whatever is said and however often."""
    turns = [turn for turn, _ in moves] * times
    assert noted(*turns) == noted(*turns)


@pytest.mark.parametrize(
    "unit",
    ['"', '{"a":', '[{"a":1},', "a=1 ", "k: 1\n", "moved it from ", "instead of x. ", "Update: the pie is now 3. ", "改成三。", "1", '\\"'],
)
def test_hostile_text_costs_no_more_than_any(unit: str) -> None:
    """Nothing is found, or little, and it ends; what is left is printed."""
    text = unit * (20_000 // len(unit))
    assert summarise([user(text), *called("look", "{}", text), user(text)], 300, counter=LETTERS)


def test_an_old_value_of_two_characters_is_named_too() -> None:
    """Where words are not spaced every two characters in a row are one, the last two as well."""
    notes = noted(user("会议定在周二上午举行。"), BETWEEN, user("把会议从周二改成周四。"))
    assert "定在周二" not in notes
    assert "会议定在 … 上午举行。" in notes
    assert "把会议从周二改成周四。" in notes
