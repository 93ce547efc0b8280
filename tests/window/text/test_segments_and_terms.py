"""What the extractive summariser is made of: segments, lead-ins, terms, cues, clipping."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.testing import FAST, TEXTS
from polycontext.window import TiktokenCounter
from polycontext.window.text.cues import FAILURE_CHARS, decision_spans, failures, standing_spans
from polycontext.window.text.pieces import Piece
from polycontext.window.text.ranking import _within
from polycontext.window.text.segments import LEAD, LIMIT, MAX_CHARS, clip, lead_in, normalise, safe_cut, split
from polycontext.window.text.terms import Kind, TermBook, is_told, kind_of

EXACT = TiktokenCounter("o200k_base")


def pieces(text: str) -> list[str]:
    """Return the segments of `text`."""
    return [text[start:end] for start, end in split(text)]


@given(TEXTS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    """White space that is normalised stays as it is, and nothing but white space is touched."""
    once = normalise(text)
    assert normalise(once) == once
    assert "".join(once.split()) == "".join(text.split())


@given(TEXTS.map(normalise))
def test_segments_partition_the_text(text: str) -> None:
    """Segments joined give the text, none is empty, none is longer than its limit."""
    assert "".join(pieces(text)) == text
    assert all(0 < len(piece) <= 1.5 * LIMIT for piece in pieces(text))


@given(st.lists(TEXTS.map(normalise).filter(bool), min_size=3, max_size=3))
def test_what_must_stay_whole_is_one_segment(texts: list[str]) -> None:
    """A given span is a segment of its own, cut only beyond the greatest length."""
    first, middle, last = texts
    start, end = len(first), len(first) + len(middle)
    spans = list(split(first + middle + last, [(start, end)]))
    assert [left[1] for left, _ in pairwise(spans)] == [right[0] for _, right in pairwise(spans)]
    inside = [(a, b) for a, b in spans if start <= a and b <= end]
    assert (inside[0][0], inside[-1][1]) == (start, end)
    assert len(inside) == 1 or len(middle) > MAX_CHARS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The first sentence is here. The second one follows.", ["The first sentence is here. ", "The second one follows."]),
        ("今天的天气非常好我们去公园散步了。请把订单号改到五月二十日。", ["今天的天气非常好我们去公园散步了。请把订单号改到五月二十日。"]),
        (
            "今天的天气非常好我们去公园散步了然后回家吃饭睡觉。请把订单号改。",
            ["今天的天气非常好我们去公园散步了然后回家吃饭睡觉。", "请把订单号改。"],
        ),
        ('{"flight_number": "HAT069", "origin": "JFK"}', ['{"flight_number": "HAT069", ', '"origin": "JFK"}']),
        ("first_line_of_code = 1\nsecond_line_of_code = 2", ["first_line_of_code = 1\n", "second_line_of_code = 2"]),
    ],
)
def test_text_is_cut_where_it_ends_a_thought(text: str, expected: list[str]) -> None:
    """Sentences, pairs of JSON and lines are segments; what is very short joins the next."""
    assert pieces(text) == expected


def test_a_long_sentence_is_cut_at_its_joints() -> None:
    """A run without an end is cut after a comma, else between words, else anywhere."""
    clause = "then they walked along the old river, "
    assert pieces(clause * 4) == [clause] * 4
    as_long_as_may_be = LIMIT // len("walking ") * len("walking ")
    assert {len(piece) for piece in pieces("walking " * 40)[:-1]} == {as_long_as_may_be}
    assert [len(piece) for piece in pieces("x" * 200)] == [LIMIT] * 5


@pytest.mark.parametrize("letter", ["e\u0301", "👍🏻", "👍🏽", "👍🏿", "👩\u200d👧"])
def test_a_letter_and_its_mark_are_one(letter: str) -> None:
    """Accents, joiners and every shade of skin stay with what they belong to, and a cut behind them is safe."""
    assert [safe_cut(f"ab{letter}c", cut) for cut in range(2, 3 + len(letter))] == [2] * len(letter) + [2 + len(letter)]


@given(st.text(st.sampled_from("ab \n.e\u0301👩\u200d👧🏽"), max_size=80), st.integers(0, 80))
def test_a_safe_cut_parts_no_letter_from_its_marks(text: str, cut: int) -> None:
    """A safe cut lies at or shortly before the wanted one, and no mark comes right behind it."""
    cut = min(cut, len(text))
    place = safe_cut(text, cut)
    assert place <= cut
    if 0 < place < cut:
        assert text[place] not in "\u0301\u200d🏽"


@given(TEXTS.map(normalise), st.data())
def test_a_lead_in_leaves_room_for_what_binds(text: str, data: st.DataObject) -> None:
    """At least `LEAD` characters, as far as there are, stand before the anchor; without one the segment stays as it is."""
    start = data.draw(st.integers(0, len(text)))
    anchor = data.draw(st.integers(start, len(text)))
    lead = lead_in(text, start, anchor)
    assert 0 <= lead <= start
    assert anchor - lead >= min(anchor, LEAD)
    assert anchor - lead <= max(anchor - start, 3 * LEAD)
    assert lead == start or text[lead - 1] in "\"'`([{<_" or safe_cut(text, lead) == lead
    assert lead_in(text, start, None) == start


def test_a_lead_in_starts_with_a_whole_word() -> None:
    """The lead-in takes in the word it falls into, and the quotation mark before it."""
    text = '{"passenger": "Mia Li", "payment_identifier": "visa_4421486"}'
    start = text.index('"visa')
    assert text[lead_in(text, start, start + 1) : start] == '"Mia Li", "payment_identifier": '


def test_a_lead_in_into_a_giant_word_parts_no_letter_from_its_mark() -> None:
    """Where the word is too long to take in, the lead-in starts at a letter."""
    text = "a" * 30 + "\u0301" + "b" * LEAD
    assert lead_in(text, len(text) - 3, len(text) - 1) == 29


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        ("ZFA04Y", Kind.ID),
        ("2024-05-20", Kind.ID),
        ("4421486", Kind.ID),
        ("10.0.0.1", Kind.ID),
        ("src/app.py", Kind.FILE),
        ("repair_list.txt", Kind.FILE),
        ("src/app", Kind.PATH),
        ("np.array", Kind.SYMBOL),
        ("mia@example.com", Kind.SYMBOL),
        ("parseHeader", Kind.SYMBOL),
        ("Mia", Kind.NAME),
        ("The", Kind.STOP),
        ("255", Kind.NUMBER),
        ("12.50", Kind.NUMBER),
        ("harvest", Kind.WORD),
        ("Österreich", Kind.NAME),
        ("公园", Kind.WORD),
        ('"flight_number', Kind.KEY),
        ("!KeyError: 3", Kind.FAILURE),
        ("it", Kind.STOP),
    ],
)
def test_terms_are_told_apart(term: str, kind: Kind) -> None:
    """What nobody could guess back is told from prose, and keys of JSON from their values."""
    assert kind_of(term) is kind


def test_unspaced_scripts_give_pairs_of_characters() -> None:
    """Chinese shares terms with Chinese although no white space parts its words, also where an identifier follows at once."""
    book = TermBook()
    first, _ = book.read("订单号ZFA04Y", 0, 9, 0, said=True)
    again, anchor = book.read("改ZFA04Y的订单", 0, 10, 1, said=True)
    assert len(first) == 3
    assert len(set(first) & set(again)) == 2
    assert anchor == 1


def test_what_only_a_tool_printed_counts_as_said_once_somebody_says_it() -> None:
    """Identifiers differ by case; each turn that holds one is counted once, the very first turn as well."""
    book = TermBook()
    numbers, _ = book.read("HAT069 hat069 HAT069", 0, 20, 0, said=False)
    assert (numbers, book.said, book.turns) == ((0, 1), [False, False], [1, 1])
    book.read("hat069", 0, 6, 1, said=True)
    assert (book.said, book.turns) == ([False, True], [1, 2])


def test_rare_words_and_living_identifiers_weigh_most() -> None:
    """A word weighs less the more turns use it, an identifier more."""
    book = TermBook()
    numbers = [book.read("harvest ZFA04Y", 0, 14, turn, said=False)[0] for turn in range(3)]
    (lone, _) = book.read("walnut QXA77Z", 0, 13, 2, said=False)
    weights = book.weights(3)
    assert weights[lone[0]] > weights[numbers[0][0]]
    assert weights[lone[1]] < weights[numbers[0][1]]


JAVA = "Exception in thread main java.lang.IllegalStateException: closed\nat app.Store.load(Store.java:88)\nat app.Main.main(Main.java:3)"
RUST = "Compiling app\nthread 'main' panicked at src/main.rs:4:5:\nindex out of bounds"
PYTEST = "def test():\nE assert 1 == 2\nFAILED tests/test_app.py::test - assert 1 == 2"


@pytest.mark.parametrize(
    ("text", "errors", "frames"),
    [
        (JAVA, ["Exception in thread main java.lang.IllegalStateException: closed"], ["at app.Store.load(Store.java:88)"]),
        (RUST, ["thread 'main' panicked at src/main.rs:4:5:"], []),
        (PYTEST, ["E assert 1 == 2", "FAILED tests/test_app.py::test - assert 1 == 2"], []),
        ("All errors were fixed.\nNo failure here.", [], []),
    ],
)
def test_failures_are_found_in_many_languages(text: str, errors: list[str], frames: list[str]) -> None:
    """Error lines start a line; the frame is the nearest one."""
    found = failures(text)
    assert [text[start:end] for start, end in found.errors] == errors
    assert [text[start:end] for start, end in found.frames] == frames


def test_a_frame_far_from_the_error_is_not_its_frame() -> None:
    """A frame belongs to an error line only if that follows soon."""
    assert failures('File "a.py", line 1, in f\n' + "noise\n" * 200 + "KeyError: 3").frames == []


def test_an_error_line_is_no_longer_than_it_is_read() -> None:
    """A line without an end counts up to its limit, one that is shorter up to its end, at the end of the text as well."""
    long = "ValueError: " + "x" * FAILURE_CHARS
    assert failures(f"{long}\nmore").errors == [(0, FAILURE_CHARS)]
    assert failures("ok\nValueError: x\nmore").errors == [(3, 16)]
    assert failures("ok\nValueError: x").errors == [(3, 16)]


def test_constraints_that_cannot_be_found_again_are_given_up() -> None:
    """A body that is not the text it is said to be costs a few searches and no more."""
    text = "\n".join(f"You must never open door {n}." for n in range(500))
    assert standing_spans(text, "something else") == ()


def test_decisions_are_recognised() -> None:
    """Words that settle a matter are found whole, in more than one language."""
    assert len(decision_spans("We agreed on Postgres. 我们决定了。 The undecidable is not.")) == 2


@given(TEXTS, st.integers(0, 60))
def test_a_clipped_text_fits_and_starts_as_the_text_does(text: str, max_tokens: int) -> None:
    """Clipping returns a start of the text within the tokens."""
    clipped = clip(text, max_tokens, FAST)
    assert text.startswith(clipped)
    assert FAST.count(clipped) <= max_tokens


def test_clipping_steps_back_where_fewer_letters_cost_more() -> None:
    """A counter need not grow with the text: what is returned was counted."""

    class Odd:
        exact = True

        def count(self, text: str) -> int:
            """Charge dearly for a text that ends in b."""
            return len(text) + 10 * text.endswith("b")

    assert clip("abe\u0301" + "x" * 20, 3, Odd()) == "a"


def test_of_white_space_nothing_is_kept() -> None:
    """A text without a word is clipped to nothing, however much room there is."""
    assert (clip("", 9, FAST), clip("   ", 9, FAST)) == ("", "")


def test_clipping_takes_what_it_can() -> None:
    """One more word would not fit."""
    words = "alpha beta gamma delta epsilon zeta eta theta"
    for tokens in range(1, EXACT.count(words)):
        clipped = clip(words, tokens, EXACT)
        following = words[len(clipped) :].split(maxsplit=1)[0]
        assert EXACT.count(f"{clipped} {following}") > tokens


@pytest.mark.parametrize(
    "sentence",
    [
        "Bitte schau dir die beiden Listen noch einmal an und sag mir, welche davon wirklich gebraucht wird. ",
        "Merci de regarder encore une fois les deux listes et de me dire laquelle est vraiment utile. ",
        "Por favor, mira otra vez las dos listas (la de mayo y la de junio) y dime cuál hace falta.\n",
        "请再看一下这两个清单，告诉我哪个是真正需要的。",
        "もう一度二つの一覧を見て、どちらが本当に必要か教えてください。",
        "Look at both of the lists again and tell me which of them is needed. ",
    ],
)
def test_words_are_told_in_whatever_language(sentence: str) -> None:
    """A long text of sentences is somebody's own words; the same with a table of figures in their place is output."""
    assert is_told(sentence * 30)
    assert not is_told("".join(f"row_{number:04} | {number * 7919} | ok={number % 2}\n" for number in range(60)))


def test_a_piece_that_ends_where_a_list_begins_is_not_of_the_list() -> None:
    """Only what begins within the list goes first with it."""
    spans = [(10, 20)]
    pieces = [Piece(start, end, 0, 0) for start, end in ((0, 40), (0, 10), (10, 15), (15, 20), (20, 40))]
    assert [*_within(pieces, spans)] == [2, 3]
