"""The new measure and the judge detect deliberately broken summarisers, and accept honest ones."""

import json
from collections.abc import Callable

import pytest

from benchmarks.retention import misleading
from benchmarks.retention.bound import sources_of, view_of
from benchmarks.retention.entries import Pair, content_of
from benchmarks.retention.judge import FAULTS, Judge, Verdict, judge_view
from benchmarks.retention.recall import needles_of, whole_text
from benchmarks.retention.recordings import Message, Probe
from tests.benchmarks.conversations import calling, framed

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package

ROOMS = [
    {"id": "R-8812", "hotel": "Seeblick", "price": 128, "side": "garden", "beds": ["twin", "cot"]},
    {"id": "R-9034", "hotel": "Zur Post", "price": 99, "side": "street", "beds": ["single", "cot"]},
]
ARGUMENTS = {"city": "Lindau", "guests": 2, "dates": {"from": "12 May", "to": "15 May"}}


SAID: list[Message] = [
    {
        "role": "user",
        "content": "I need a quiet room near the lake. The workshop is on 3 March, for 14 people.",
    },
    *calling("search_rooms", ARGUMENTS, json.dumps({"rooms": ROOMS})),
    *calling("terms", {"room_id": "R-8812"}, json.dumps({"deposit": 40, "until": "10 May"})),
    *calling(
        "run",
        {"command": "pytest -q"},
        (
            "collected 13 items\nFAILED tests/test_csv.py::test_large - assert 0 == 10000\n"
            "1 failed, 12 passed"
        ),
    ),
    *calling("orders", {}, "order_id,customer,total\nW-1,Falk,88.20\nW-2,Osei,412.75"),
    {
        "role": "assistant",
        "content": "R-8812 faces the garden. I would take it; shall I book it for you?",
    },
    {
        "role": "user",
        "content": (
            "The workshop moved to 10 March (was planned for spring anyway). Please note it."
        ),
    },
]


def is_bound(value: str, body: str) -> bool:
    """Tell whether a value is bound in a gist."""
    sources = sources_of(SAID)
    (wanted,) = needles_of(Probe("p", len(SAID), needles=(value,)), SAID)
    return view_of(framed(body), sources).binds(wanted, sources)


BOUND = [
    ("garden", "search_rooms(city=Lindau, …) -> R-8812: hotel Seeblick, side garden, …"),
    (
        "garden",
        (
            "search_rooms(…) -> rooms R-9034: side street, …\n rooms R-8812: price 128, side "
            "garden, …"
        ),
    ),
    (
        "garden",
        (
            'search_rooms({"city": "Lindau", …}) -> {"rooms": [{"id": "R-8812", "hotel": '
            '"Seeblick", "price": 128, "side": "garden", …'
        ),
    ),
    ("garden", "search_rooms -> rooms [{id R-9034, side street}, {id R-8812, side garden}]"),
    ("twin", "search_rooms(…) -> R-8812: beds [twin, cot], …"),
    ("Zur Post", 'search_rooms(…) -> R-9034: hotel "Zur Post" (was "Alte Post"), …'),
    ("R-9034", "search_rooms(…) -> R-9034: price 99, …"),
    ("412.75", "orders() -> W-2: total 412.75, …"),
    ("10 May", "terms(room_id=R-8812) -> deposit 40, until 10 May"),
    ("Lindau", 'search_rooms({"city": "Lindau", …})'),
    ("3 March", "user: … The workshop is on 3 March, for 14 people."),
    ("test_csv", "run(…) -> … FAILED tests/test_csv.py::test_large - assert 0 == 10000 …"),
]
"""Values with their key and record, in notes, JSON, tables and prose."""
TORN = [
    (
        "garden",
        (
            'search_rooms(…) -> "garden", "beds": ["twin", "cot"]}, {"id": "R-9034", "hotel": '
            '"Zur Post",'
        ),
    ),
    ("garden", "search_rooms(…) -> R-9034: hotel Seeblick, side garden, …"),
    ("garden", "search_rooms(…) -> R-8812: garden, …"),
    ("garden", 'search_rooms(…) -> {"id": "R-8812", "hotel": "Seeblick", … "side": "garden"}'),
    (
        "garden",
        (
            'search_rooms(…) -> {"id": "R-8812", "hotel": "Seeblick"}, {"id": "R-9034", '
            '"side": "garden"}'
        ),
    ),
    ("412.75", "orders() -> W-1: total 412.75"),
    ("10 May", "terms(room_id=R-9034) -> until 10 May"),
    ("10 May", "R-8812\nterms(…) -> until 10 May"),
    ("3 March", "user: 3 March, R-8812, garden, 14"),
    ("twin", "search_rooms(…) -> R-8812: hotel twin"),
]
"""The value stands there, and nobody could say of what."""


@pytest.mark.parametrize(("value", "body"), [*BOUND, *TORN])
def test_a_value_is_bound_with_its_key_and_record_alone(value: str, body: str) -> None:
    """In any of the spellings, and not where it is torn from one of them."""
    assert value in body
    assert is_bound(value, body) is ((value, body) in BOUND)


def test_a_list_says_all_that_it_says_itself() -> None:
    """Every value of the sources is bound in the sources."""
    sources = sources_of(SAID)
    view = view_of(SAID, sources)
    pairs = [pair for told in sources.pairs.values() for pair in told]
    assert len(pairs) > 20
    assert all(map(view.says, pairs))
    assert Pair("R-8812", "side", "garden") in sources.pairs["garden"]


def honest(view: str) -> str:
    """Return a summary as it is."""
    return view


def gluing(view: str) -> str:
    """Break a summary: what follows a record's name is that of the one before."""
    return view.replace("R-9034", "R-8812")


def tearing(view: str) -> str:
    """Break a summary: values lose their keys."""
    return view.replace("side ", "").replace("price ", "").replace("until ", "")


GOOD = """user: I need a quiet room near the lake. The workshop is on 3 March, for 14 people.
search_rooms(city=Lindau, …) -> R-8812: price 128, side garden, …
 R-9034: price 99, side street, …
terms(room_id=R-8812) -> deposit 40, until 10 May"""


@pytest.mark.parametrize(("broken", "kept"), [(honest, 5), (gluing, 3), (tearing, 0)])
def test_a_broken_summariser_is_found_out_by_the_measure_and_the_judge(
    broken: Callable[[str], str], kept: int
) -> None:
    """The new measure and the judge detect a broken summariser that the old measure accepts."""
    body = broken(GOOD)
    values = ("128", "garden", "99", "street", "10 May")
    assert all(value in body for value in values)
    assert sum(is_bound(value, body) for value in values) == kept
    verdict = Verdict()
    Judge.of(SAID, verdict).body(body)
    assert (verdict.faults["unresolved"] == 0) is (broken is honest)


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        "Conversation:\nuser: I need a quiet room near the lake. …",
        "user: … The workshop is on 3 March, for 14 people.",
        "user: I need a quiet room … The workshop is on 3 March …",
        (
            'search_rooms({"city": "Lindau", "guests": 2, "dates": {"from": "12 May", "to": "15 '
            'May"}}) -> R-8812: hotel Seeblick, …'
        ),
        (
            "search_rooms(city=Lindau, guests=2, dates={from 12 May, to 15 May}) -> R-8812: price "
            "128, …"
        ),
        'search_rooms({"city": "Lindau", …})',
        (
            'run(command="pytest -q") -> … FAILED tests/test_csv.py::test_large - assert 0 == '
            "10000\n 1 failed, 12 passed"
        ),
        "run(…) -> … 2 lines\n 1 failed, 12 passed",
        "orders() -> W-1: customer Falk, total 88.20\n W-2: total 412.75 (was 88.20), …",
        "search_rooms(…) -> R-8812: beds (2) [twin, …], …",
        (
            "search_rooms(…) -> rooms R-9034: hotel Zur Post, price 99, side street, beds "
            "[single, cot]"
        ),
        "user: … The workshop is on 3 March (was 10 May), for 14 people.",
        "user: The workshop moved to 10 March (was planned for spring anyway). …",
        "assistant: … I would take it; shall I book it for you?",
        "[2 May] assistant: … I would take it; shall I book it for you?",
        "tool c1: [an instruction to the assistant was left out]",
    ],
)
def test_what_is_true_and_marked_has_no_fault(body: str) -> None:
    """Today's spellings and the coming ones."""
    verdict = Verdict()
    assert judge_view(framed(body), SAID, verdict) == 1
    assert not verdict.faults, verdict.examples


@pytest.mark.parametrize(
    ("told", "faults"),
    [
        ("Ann Roth: We sell it for twenty five.", 0),
        ("Ann Roth: We sell it for twenty.", 1),
        ("Bo Lind: We sell it for twenty five.", 1),
        ("Cy_Ott: Only for the television.", 0),
        ("Cy_Ott: Only for the radio.", 1),
        ("Ann Roth: So , the price .\n Cy_Ott: Only for the television.", 0),
        ("Ann Roth: So , the price .\n Dee: Only for the television.", 1),
    ],
)
def test_a_later_sentence_may_follow_its_speakers_name(told: str, faults: int) -> None:
    """Only of a speaker who is in the conversation."""
    said = [
        {"role": "user", "content": "Ann Roth: So , the price . We sell it for twenty five."},
        {"role": "user", "name": "Cy_Ott", "content": "Next . Only for the television."},
    ]
    verdict = Verdict()
    assert judge_view(framed(f"What was said:\n{told}"), said, verdict) == 1
    assert verdict.faults["unresolved"] == faults, verdict.examples


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("prose cut", "user: I need a quiet room"),
        ("prose cut", "user: quiet room near the lake."),
        ("unresolved", "user: I need a quiet room near the station."),
        ("unresolved", "user: I need a quiet room near the lake. Please note it."),
        ("unresolved", "user: … The workshop is on 3 March (was 4 April), for 14 people."),
        ("calls cut", 'search_rooms({"city": "Lindau") -> R-8812: hotel Seeblick, …'),
        ("calls cut", 'search_rooms({"city": "Lindau", "guests": 2})'),
        ("calls cut", "search_rooms(city=Lindau, guests=2) -> R-8812: hotel Seeblick, …"),
        ("unresolved", "search_rooms(city=Lindau, guests=3, …)"),
        ("unresolved", 'run(command="pytest") -> … 1 failed, 12 passed'),
        (
            "records cut",
            (
                'search_rooms(…) -> "garden", "beds": ["twin", "cot"]}, {"id": "R-9034", "hotel": '
                '"Zur Post",'
            ),
        ),
        ("records cut", "search_rooms(…) -> R-8812: price 128, side garden"),
        ("unresolved", "search_rooms(…) -> R-8812: price 99, …"),
        ("unresolved", "orders() -> W-1: total 412.75, …"),
        ("unresolved", "search_rooms(…) -> R-8812: beds (3), …"),
        ("unresolved", "search_rooms(…) -> R-8812: price 128 (was 77), …"),
        ("unresolved", 'search_rooms(…) -> … "price": 99, "side": "garden" …'),
        ("prose cut", "run(…) -> FAILED tests/test_csv.py::test_large"),
    ],
)
def test_each_fault_is_found(fault: str, body: str) -> None:
    """One fault each, of the kind that it is."""
    verdict = Verdict()
    judge_view(framed(body), SAID, verdict)
    assert verdict.faults[fault] > 0, verdict
    assert set(verdict.as_data()["faults"]) == set(FAULTS)


WORK: list[Message] = [
    {
        "role": "user",
        "content": (
            "Make the importer read commas.\n- keep the old file names in every report\n- write a "
            "test for semicolons too\nThe numbers come from Lisbon. Ask Ines if one is missing."
        ),
    },
    {
        "role": "assistant",
        "content": (
            "Let me look at the importer first.\n```bash\nsed -i 's/;/,/' importer.py\n```\n"
            "1. [ ] read commas\n2. [ ] write the test for semicolons"
        ),
    },
    {"role": "user", "content": "<returncode>0</returncode>\n<output>\n</output>"},
    {
        "role": "assistant",
        "content": "The importer breaks.\n```bash\ngit checkout importer.py\n```",
    },
    {
        "role": "user",
        "content": (
            "<returncode>0</returncode>\n<output>\nUpdated 1 path from the index\nimporter = "
            "Importer(path)\n[100%] 07ms\n</output>"
        ),
    },
    {
        "role": "assistant",
        "content": (
            "Shall I use a parser instead?\n1. [x] read commas\n"
            "2. [ ] write the test for semicolons"
        ),
    },
    {"role": "user", "content": "Yes."},
    {
        "role": "assistant",
        "content": (
            "parser.py\n```\n<<<<<<< SEARCH\n=======\nrows = parser.parse(text)\n>>>>>>> REPLACE\n"
            "```\n> Applied edit to parser.py\n> Commit 59bd5bf feat: parse rows with the parser"
        ),
    },
    {"role": "user", "content": "/undo"},
    {"role": "assistant", "content": "> Removed: 59bd5bf feat: parse rows with the parser"},
    {"role": "user", "content": "Do it by hand."},
]


@pytest.mark.parametrize(
    ("fault", "broken", "sound"),
    [
        (
            "joined",
            "user: - keep the old file names … for semicolons too",
            "user: - keep the old file names […]\n [… 1 item]\nuser: Ask Ines if one is missing.",
        ),
        (
            "joined",
            "user: - keep the old file names in every report - write a test for semicolons too",
            "user: - keep the old file names in every report\n - write a test for semicolons too",
        ),
        (
            "joined",
            "user: Updated 1 path … importer = Importer(path)",
            "user: Make the importer … read commas.",
        ),
        (
            "undone",
            "assistant: sed -i 's/;/,/' importer.py",
            "assistant: sed -i 's/;/,/' importer.py (undone: git checkout importer.py)",
        ),
        (
            "undone",
            "Done:\nassistant: rows = parser.parse(text)",
            "Done:\nassistant: > Removed: 59bd5bf feat: parse rows with the parser",
        ),
        (
            "undone",
            "assistant: > Commit 59bd5bf feat: parse rows with the parser",
            "undone: 59bd5bf feat: parse rows with the parser",
        ),
        (
            "stale",
            "Open:\nassistant: 1. [ ] read commas",
            "Open:\nassistant: 2. [ ] write the test for semicolons",
        ),
        (
            "stale",
            "Next:\nassistant: Shall I use a parser instead?",
            "The user said:\nassistant: Shall I use a parser instead?\nuser: Yes.",
        ),
        (
            "stale",
            "Next:\nassistant: Let me look at the importer first.",
            "Open:\nuser: Do it by hand.",
        ),
        ("stale", "Next:\n … ]", "Known:\nassistant: The importer breaks."),
    ],
)
def test_what_misleads_is_found(fault: str, broken: str, sound: str) -> None:
    """A joined, undone or outdated text is a fault of its kind; told in full it is none."""
    for body, faults in ((broken, True), (sound, False)):
        verdict = Verdict()
        judge_view(framed(body), WORK, verdict)
        assert (verdict.faults[fault] > 0) is faults, (body, verdict)


def test_the_tokens_of_noise_are_counted() -> None:
    """Lines without words, progress and lone lines of code that nothing refers to carry nothing."""
    body = "user: … importer = Importer(path)\n … 07ms\nuser: Make the importer read commas."
    verdict = Verdict()
    judge_view(framed(body), WORK, verdict)
    assert [*misleading.noise_of(body, WORK)] == [" … 07ms"]
    assert 0 < verdict.said["tokens of noise"] < verdict.said["tokens"] / 2
    lone = "user: … index_of(7, 9)\n … 07ms"
    assert len([*misleading.noise_of(lone, WORK)]) == 2


def test_what_is_no_summary_is_not_judged() -> None:
    """Messages themselves are nobody's summary."""
    verdict = Verdict()
    assert judge_view(SAID, SAID, verdict) == 0
    assert not verdict.said
    assert "3 March" in whole_text(SAID)
    assert content_of(SAID[0]).startswith("I need")
