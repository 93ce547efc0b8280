"""Records as lines: whole pairs under their identifiers, what is left out counted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure.notes.items import MARK, left_out
from polycontext.pressure.notes.record_lines import PAIRS, grouped, record_items, record_text
from polycontext.pressure.notes.records import outer_records, parse_records, records_of
from tests.pressure.notes.extractive_samples import EXACT, called, summarise, user

ROOMS = {
    "city": "Ulm",
    "rooms": [
        {"id": f"R-{n}", "hotel": f"Inn {n}", "price": 90 + n, "side": "garden", "breakfast": n > 3}
        for n in range(9)
    ],
}

FOUND = called("search", '{"city": "Ulm"}', json.dumps(ROOMS))


def test_a_record_stands_whole_under_its_identifier() -> None:
    """No pair is printed apart from the record that it is of, and what is left out is counted."""
    text = summarise([user("Find a room."), *FOUND], 90)
    records = [line for line in text.replace("-> ", "\n").splitlines() if "R-" in line]
    assert records
    for record in records:
        n = _number(record)
        breakfast = f"breakfast {str(n > 3).lower()}"
        pairs = [f"hotel Inn {n}", f"price {90 + n}", "side garden", breakfast]
        told = record.partition(": ")[2].split(", ")
        assert told == pairs or {*told} <= {*pairs, MARK}
    assert left_out(9 - len(records), "record") in text


def _number(line: str) -> int:
    return int(line.partition("R-")[2].partition(":")[0])


def test_records_take_fewer_tokens_than_json() -> None:
    """Keys that repeat cost their tokens, quotes and braces do not."""
    text = summarise(FOUND, 10_000)
    assert all(f"R-{n}: hotel Inn {n}, price {90 + n}" in text for n in range(9))
    assert EXACT.count(text) < 0.75 * EXACT.count(FOUND[1].text)


def test_nested_records_keep_what_they_are_in() -> None:
    """The identifier of the outer record stands before the inner ones."""
    legs = [
        {
            "flight_id": f"F{n}",
            "date": "2031-04-05",
            "seats_left": n,
            "fare_class": "economy",
            "airport": "Ulm",
        }
        for n in range(4)
    ]
    text = summarise(called("get", "{}", json.dumps({"order_id": "W7", "legs": legs})), 10_000)
    assert text.startswith("Known:\nget() -> W7 legs F0: date 2031-04-05, seats_left 0")


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("12", 'note "12"'),
        (12, "note 12"),
        ("1.50", 'note "1.50"'),
        ("a, b", 'note "a, b"'),
        (["x1", "x2"], "note [x1, x2]"),
    ],
)
def test_a_value_is_not_taken_for_another(value: object, note: str) -> None:
    """Text that looks like a number is quoted."""
    assert (
        summarise(called("get", "{}", json.dumps({"item_id": "W7", "note": value})), 100)
        == f"get() -> W7: {note}"
    )


def test_numbers_are_spelled_as_they_were() -> None:
    """A price of 1.50 stays one."""
    assert (
        summarise(called("get", "{}", '{"item_id": "W7", "price": 1.50}'), 100)
        == "get() -> W7: price 1.50"
    )


@pytest.mark.parametrize(
    "text",
    [
        "sku,price,colour\nA1,9,red\nA2,7,blue\n",
        "sku\tprice\tcolour\nA1\t9\tred\nA2\t7\tblue\n",
        "| sku | price | colour |\n|---|---|---|\n| A1 | 9 | red |\n| A2 | 7 | blue |\n",
    ],
)
def test_a_table_is_records_too(text: str) -> None:
    """Its rows stand under what names them."""
    assert (
        summarise(called("read", "{}", text), 100)
        == "read() -> A1: price 9, colour red\n A2: price 7, colour blue"
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda each: (
            st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=9), each, max_size=4)
        ),
        max_leaves=20,
    )
)
def test_every_record_of_json_is_told(value: object) -> None:
    """Whatever the data: nothing breaks, and no record is without a pair."""
    _, read = parse_records(json.dumps(value))
    records = [*records_of(read)] if read else []
    items = [*record_items(0, read, lambda term: 0.0, "", 0.0)] if read else []
    assert len(items) == min(len(records), 60)
    assert all(variant for item in items for variant in item.variants)


def test_the_middle_of_a_long_table_is_counted() -> None:
    """The records at both ends are the ones that all records begin and end with."""
    rows = [{"id": f"ID{number:03}", "price": number} for number in range(50)]
    for value in (rows, [*rows, {"id": "deep", "parts": [{"id": "x"}]}], [*rows, [1, 2]], rows[:4]):
        every = [*records_of(value)]
        ends = every if len(every) <= 8 else every[:4] + every[-4:]
        assert outer_records(value, 8) == (ends, len(every))


def test_what_names_a_nested_record_keeps_its_key() -> None:
    """An id heads a record without its key, and names keep their keys."""
    guests = [
        {
            "first_name": name,
            "last_name": "Li",
            "note": "by the window, near the door to the garden",
        }
        for name in ("Mia", "Tom")
    ]
    text = summarise(
        called("look", "{}", json.dumps({"order_id": "W1", "state": "open", "guests": guests})), 400
    )
    assert "W1: state open" in text
    assert "guests #1: first_name Mia, last_name Li" in text
    assert "record" not in text.partition(":")[2]


def told(value: object, *named: str) -> list[tuple[str, float]]:
    """Return the longest variants of records with their scores, where some terms are named."""
    items = record_items(0, value, lambda term: float(term in named), "look()", 0.0)
    return [(item.variants[0], item.score) for item in items]


def test_a_record_that_is_named_comes_before_others() -> None:
    """The first record, and then those with a named value."""
    rows = [{"id": f"ID{number:03}", "price": number, "by": f"Inn {number}"} for number in range(9)]
    ranked = sorted(told(rows, "ID007"), key=lambda pair: -pair[1])
    assert [text.partition(":")[0] for text, _ in ranked[:2]] == ["ID000", "ID007"]


def test_shorter_variants_keep_the_pairs_that_are_worth_most() -> None:
    """The others are marked, and long values go first."""
    record = {f"key{number}": f"value {number}" for number in range(12)} | {"text": "word " * 30}
    (item,) = record_items(
        0, {"id": "W1"} | record, lambda term: float(term in {"11", "word"}), "", 0.0
    )
    for variant, pairs in zip(item.variants[1:], PAIRS[1:], strict=True):
        assert variant.count("key") == pairs
        assert "key11 value 11" in variant
        assert "word" not in variant
        assert variant.endswith(f", {MARK}")


def test_a_short_variant_has_a_pair_that_tells_something() -> None:
    """A figure does, or what is named; a word alone does not."""
    (figures,) = record_items(
        0, {"id": "W1", "unit": "box", "open": 64, "held": 30}, lambda term: 0.0, "", 0.0
    )
    assert figures.variants[-1] == f"W1: open 64, held 30, {MARK}"
    (words,) = record_items(0, {"id": "W1", "unit": "box", "by": "Mia"}, lambda term: 0.0, "", 0.0)
    assert words.variants == ("W1: unit box, by Mia",)


def test_what_the_call_says_or_all_records_have_goes_last() -> None:
    """It tells none of them from another."""
    berths = [
        {"id": f"B{row}", "day": "2031-07-04", "state": "free", "dob": "1990-01-02", "price": row}
        for row in (17, 28, 39)
    ]
    for item in record_items(
        0, berths, lambda term: float("-" in term), "find()", 0.0, asked='{"day": "2031-07-04"}'
    ):
        assert "price" in item.variants[-1]
        assert "2031" not in item.variants[-1]


def test_what_all_entries_of_an_order_have_goes_last_even_if_it_is_asked_for() -> None:
    """It tells none of them apart, and the order itself has no such key."""
    seats = [
        {"seat_id": f"A{n}", "state": "free", "day": "2031-04-05", "price": n} for n in (7, 8, 9)
    ]
    asked = {"free", "2031-04-05"}
    items = record_items(
        0, {"order_id": "W1", "seats": seats}, lambda term: 100.0 * (term in asked), "", 0.0
    )
    assert [item.variants[-1] for item in items][-3:] == [
        "seats A7: price 7, […]",
        "seats A8: price 8, […]",
        "seats A9: price 9, […]",
    ]


def test_equal_entries_of_several_numbers_are_one_record() -> None:
    """It names the numbers, of many the first and the last."""
    legs = [[{"leg_id": f"L{name}", "from": "Skagen", "hours": 3}] for name in "7877"]
    first, other = record_items(0, legs, lambda term: 0.0, "", 0.0)
    assert first.variants[0].startswith("#1, #3, #4")
    assert other.variants[0].startswith("#2")
    (many,) = record_items(0, legs[:1] * 40, lambda term: 0.0, "", 0.0)
    assert many.variants[0].startswith("#1, #2, #3, #4, #5, […], #40")
    assert many.of == 1


def test_a_value_that_the_name_of_its_record_has_is_not_told_again() -> None:
    """It tells nothing."""
    (card,) = record_items(
        0, {"id": "card_77", "source": "card", "left": 9}, lambda term: 0.0, "", 0.0
    )
    assert card.variants == ("card_77: left 9",)


def test_a_record_without_an_id_is_told_with_its_name() -> None:
    """A date of birth without one is nobody's."""
    guest = {"dob": "1990-01-02", "first_name": "Mia", "last_name": "Li", "meal": "fish " * 60}
    (mia,) = record_items(0, [guest], lambda term: 0.8 * ("-" in term), "", 0.0)
    assert "last_name Li" in mia.variants[-1]


def test_a_parent_is_named_once_and_what_is_left_out_is_counted() -> None:
    """A group opens with its call, also where its first records are left out."""
    seats = [{"seat_id": f"A{row}", "price": row, "note": "near the window, " * 4} for row in "789"]
    value = {"order_id": "W1", "seats": seats}
    items = [*record_items(0, value, lambda term: 0.0, "look()", 0.0)]
    last = len(items[0].variants) - 1
    text = grouped([(item, min(last, len(item.variants) - 1)) for item in items[:2]])
    assert text.startswith("look() -> W1 seats A7: ")
    assert text.splitlines()[1].startswith("seats A8: ")
    assert text.splitlines()[-1] == "[… 1 record]"
    assert text.count("W1") == 1


@given(st.integers(0, 400))
def test_as_many_records_as_fit_are_told(room: int) -> None:
    """All are told as long as that is possible; others are counted."""
    text = record_text(ROOMS, lambda term: 0.0, lambda told: len(told) <= room)
    assert len(text) <= room
    if "[… " in text.splitlines()[-1:]:
        assert text.count("rooms R-") + int(text.rpartition("[… ")[2].split()[0]) == 10


def test_of_a_record_of_which_somebody_spoke_the_view_needs_what_it_does_not_name() -> None:
    """Who goes on changes that one, not one that was only looked up beside it."""
    berths = [
        {"berth_id": f"B-{n}70", "owner_id": f"O-{n}41", "paid_with": f"card_{n}000411", "size": n}
        for n in range(1, 9)
    ]
    turns = [user("My berth is B-570.")]
    for berth in berths:
        asked = json.dumps({"berth_id": berth["berth_id"]})
        turns += called("get_berth", asked, json.dumps(berth), str(berth["size"]))
    text = summarise(turns, 90)
    assert "B-570: " in text
    assert "card_5000411" in text
