"""Cutting one text along its structure: what always holds, what each structure keeps, and text that is out to break it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.testing import FAST, TEXTS
from polycontext.window import TokenCounter
from polycontext.window.text.cutting import cut
from polycontext.window.text.pieces import _diff, _Tree, pieces_of
from tests.growth import BOUND, FACTOR, growth
from tests.pressure.extractive.extractive_samples import COUNTERS, EXACT, Noting

FAMILY = "👩\u200d👩\u200d👧"
ROOMS = [{"room": f"RM{n}QX", "city": f"Town {n % 7}", "beds": {"single": n % 3, "double": n % 5}, "of": "x y z " * 5} for n in range(400)]
LOG = "".join(f"09:{n % 60:02} worker {n % 5} took job {n * 7919 % 100_003} and let it go\n" for n in range(2_000))
TRACE = (
    'Traceback (most recent call last):\n  File "app/pay.py", line 31, in charge\n    total / parts\nZeroDivisionError: division by zero\n'
)

CODE = "".join(f"def step_{n}(value):\n    # what step {n} does\n    return value + {n}\n\n\n" for n in range(600))
PROSE = "".join(f"In year {n} the people of town {n * 31 % 997} met, and nobody left early. " for n in range(1_500))


def hunk(file: int, number: int) -> str:
    """Return one hunk of a diff."""
    head = f"@@ -{40 * number + 1},3 +{40 * number + 1},3 @@ def part_{number}():\n"
    return f"{head} before\n-    old_{file}_{number} = 1\n+    new_{file}_{number} = 2\n after\n"


def file_diff(file: int) -> str:
    """Return the diff of one file."""
    header = f"diff --git a/src/f{file}.py b/src/f{file}.py\nindex 12ab..34cd 100644\n--- a/src/f{file}.py\n+++ b/src/f{file}.py\n"
    return header + "".join(hunk(file, number) for number in range(8))


DIFF = "commit 12ab\n\n    Rename the parts\n\n" + "".join(file_diff(file) for file in range(12))
LONG = {
    "array": json.dumps(ROOMS),
    "indented": json.dumps({"ok": True, "rooms": ROOMS, "next": None}, indent=2),
    "json lines": "\n".join(json.dumps(room) for room in ROOMS),
    "behind a prefix": f"Found 400 rooms:\n{json.dumps(ROOMS)}",
    "numbers": json.dumps(list(range(20_000))),
    "string": json.dumps({"exit": 0, "output": LOG}),
    "escaped": json.dumps({"说明": "今天的天气非常好。" * 900}),
    "diff": DIFF,
    "log": LOG,
    "crlf": LOG.replace("\n", "\r\n"),
    "code": CODE,
    "prose": PROSE,
    "emoji": FAMILY * 3_000,
    "unspaced": "今天的天气非常好我们去公园散步了" * 500,
    "one line": PROSE.replace(". ", ", "),
    "base64": "QUJD" * 10_000,
}
LIKE_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=12), inner, max_size=8),
    max_leaves=60,
).map(json.dumps)
PARTS = st.sampled_from(
    [*'{}[]",:\\\n\r\t ', "null", "NaN", "1e9", '"a":', '{"a": 1}', "\u0301", FAMILY, "\ud800", "<|endoftext|>", "@@ -1 +1 @@\n"]
)
SOUP = st.lists(PARTS | st.text(max_size=8), max_size=80).map("".join)
PIECES_OF_LONG = st.tuples(st.sampled_from(sorted(LONG)), st.integers(0, 3_000), st.integers(0, 3_000)).map(
    lambda drawn: LONG[drawn[0]][drawn[1] : drawn[1] + drawn[2]]
)
ANY = TEXTS | LIKE_JSON | SOUP | PIECES_OF_LONG


@given(ANY, st.integers(-3, 300), st.sampled_from(COUNTERS), st.text(max_size=40), st.sampled_from(["", "result 7", "x" * 200]))
def test_a_cut_fits_is_the_same_each_time_and_is_not_cut_again(
    text: str, room: int, counter: TokenCounter, wanted: str, whole: str
) -> None:
    """Whatever the text, room, counter and wishes; text that fits comes back as it is."""
    short = cut(text, room, counter, wanted=wanted, whole=whole)
    assert not short or counter.count(short) <= room
    assert short == cut(text, room, counter, wanted=wanted, whole=whole)
    assert cut(short, room, counter, wanted=wanted, whole=whole) == short
    if room > 0 and counter.count(text) <= room:
        assert short == text


@given(ANY)
def test_pieces_partition_the_text(text: str) -> None:
    """Pieces and what ends them, in order, are the text, and each stands behind the one above it."""
    pieces = pieces_of(text)
    spans = sorted([(piece.start, piece.end) for piece in pieces] + [piece.close for piece in pieces if piece.close])
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(piece.above < index for index, piece in enumerate(pieces) if index)
    for index, piece in enumerate(pieces[1:], 1):
        assert 0 <= piece.nth < pieces[piece.above].items, index


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("room", [200, 500, 1_500])
@pytest.mark.parametrize("wanted", ["", "What of RM333QX, new_7_3, step_250 and job 99999?"])
def test_the_room_is_used(name: str, room: int, wanted: str) -> None:
    """At least 97 % of the tokens are spent, whatever the structure; a family of eight tokens is not parted for it."""
    short = cut(LONG[name], room, EXACT, wanted=wanted, whole="result 7")
    assert min(0.97 * room, room - 8 * (name == "emoji")) <= EXACT.count(short) <= room
    assert "left out]" in short
    assert short.endswith("[the whole: result 7]")


@pytest.mark.parametrize("room", [60, 200, 900])
def test_no_emoji_is_parted(room: int) -> None:
    """What is left of a run of families is whole families."""
    short = cut(LONG["emoji"], room, EXACT)
    assert "👩" in short
    kept = re.sub(r"\[…[^\]]*\]", "", short)
    assert not kept.replace(FAMILY, "").strip()


def test_json_keeps_its_keys_the_first_records_and_those_that_are_wanted() -> None:
    """The brackets pair up, what stands first and last at the top is there, a wanted record is whole."""
    short = cut(LONG["indented"], 500, EXACT, wanted="Take room RM333QX")
    assert short.startswith('{\n  "ok": true,')
    assert '"rooms": [' in short
    assert short.endswith('"next": null\n}')
    assert '"room": "RM0QX"' in short
    assert '"room": "RM333QX",\n      "city": "Town 4",' in short
    assert " of 400 items" in short
    assert short.count("{") == short.count("}")


def test_what_is_left_of_json_is_json_but_for_its_marks() -> None:
    """Taken out, the marks leave brackets, keys and strings that still parse, as whole records were taken."""
    short = cut(json.dumps([{"id": f"A{n}Z", "n": n} for n in range(500)]), 203, EXACT)
    bare = re.sub(r"\s*\[…[^\]]*\]\s*", " ", short)
    assert len(json.loads(re.sub(r",\s*\]", "]", bare))) > 5


def test_a_long_string_in_json_is_shortened_inside() -> None:
    """Its head and tail stay within the quotes, and what follows it stays."""
    short = cut(LONG["string"], 200, EXACT)
    assert short.startswith('{"exit": 0, "output": "09:00 worker 0')
    assert short.endswith('let it go\\n"}')


def test_a_diff_keeps_its_headers_and_whole_hunks_that_are_wanted() -> None:
    """All files are told when there is room for them, and a named hunk stands whole."""
    short = cut(DIFF, 1_600, EXACT, wanted="Why is new_7_3 set?")
    assert all(f"+++ b/src/f{file}.py" in short for file in range(12))
    assert hunk(7, 3) in short
    assert "lines]" in short


def test_a_log_keeps_head_tail_what_failed_and_what_is_wanted() -> None:
    """The error in the middle has its nearest frame, the named line its neighbours."""
    lines = LOG.splitlines(keepends=True)
    text = "".join([*lines[:900], TRACE, *lines[900:1_500], "see ticket KX-4411-B\n", *lines[1_500:]])
    short = cut(text, 400, EXACT, wanted="what about KX-4411-B?")
    assert short.startswith(lines[0])
    assert short.endswith(lines[-1])
    assert "line 31, in charge\n    total / parts\nZeroDivisionError: division by zero\n" in short
    assert f"{lines[1_499]}see ticket KX-4411-B\n" in short


def test_what_stands_to_the_left_of_an_identifier_stays_with_it() -> None:
    """Also where the piece that holds it begins within a line."""
    text = (
        " ".join(f"the {word} of it, as they said" for word in ("sea", "sun", "sky"))
        + "; "
        + PROSE
        + "the final code is QX77-ZP, they say. "
        + PROSE
    )
    short = cut(text.replace("\n", " "), 300, EXACT, wanted="QX77-ZP")
    assert "the final code is QX77-ZP" in short


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "]" * 100_000,
        '{"a":' * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '["' + '\\"' * 200_000,
        '["' + "\\" * 200_000,
        "\n" * 100_000,
        "\r\n" * 50_000,
        " " * 100_000,
        "a" * 200_000,
        '"' * 100_000,
        "[NaN, -Infinity, " + '{"a": 1, "a": 2}, ' * 20_000 + "3]",
        "\x00\x1b[31m\x07\u2028\x85" * 20_000,
        "<|endoftext|>" * 20_000,
        "@@ -1,1 +1,1 @@\n" * 20_000,
        "--- a\n+++ b\n@@ -1 +1 @@\n" * 10_000,
        "diff --git a b\n" * 20_000,
        '{"a": [' + "1," * 300_000,
        "\ud800\udc00" * 50_000,
        "e" + "\u0301" * 100_000,
    ],
    ids=lambda text: f"{len(text)} of {ord(text[0]):x}",  # what pytest escapes it escapes anew when mutmut collects once more
)
def test_hostile_text_is_cut_too(text: str) -> None:
    """It fits, no error is raised, and it takes time linear in the text."""
    short = cut(text, 200, FAST, wanted=text[:300], whole="result 7")
    assert growth(lambda length: cut(text[:length], 200, FAST, wanted=text[:300], whole="result 7"), len(text) // FACTOR) < BOUND
    assert 0 < FAST.count(short) <= 200


@pytest.mark.parametrize("unit", ["{", "[", "{}", "[]", "[1,", '{"a":', '{"a": 1}\n'])
def test_brackets_that_say_too_little_are_not_pieces(unit: str) -> None:
    """Of a megabyte of them there are no more pieces than of as much JSON with something in it, and a start of it is enough to tell."""
    assert len(pieces_of(unit * (1_000_000 // len(unit)))) <= 60_000


def test_lines_are_read_once() -> None:
    """A text without a hunk is not parted on the way to find that it is no diff."""
    tree = _Tree("a line\n" * 1_000)
    assert not _diff(tree)
    assert len(tree.pieces) == 1


def test_no_more_is_counted_than_a_few_times_what_is_kept() -> None:
    """A text fifty times too long is not counted as a whole."""
    counter = Noting()
    short = cut(LOG * 20, 2_000, counter)
    assert counter.characters < 30 * len(short)
    assert counter.characters < len(LOG) * 20


def test_nothing_fits_into_no_room() -> None:
    """No tokens, no text; the line on the whole goes before the text does."""
    assert cut(LOG, 0, EXACT) == cut(LOG, -1, EXACT) == cut("", 5, EXACT) == ""
    assert "whole" not in cut(LOG, 12, EXACT, whole="the result with the number 7 in the log")
