"""Outputs are told in whole lines; what carries nothing is counted or left out."""

import re
from collections import Counter

import pytest

from polycontext.pressure.notes.output import (
    LONGEST_LINE,
    MOST_LINES,
    line_key,
    outcome,
    says_failure,
    telling_lines,
)
from tests.growth import BOUND, growth

TESTS = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-8.1.0, pluggy-1.4.0
rootdir: /srv/orchard
collected 41 items

tests/test_pears.py ......................                               [ 53%]
tests/test_plums.py ..................F                                  [100%]

=================================== FAILURES ===================================
_________________________________ test_weight __________________________________

    def test_weight():
        crate = Crate("plums")
        crate.add(3)
>       assert crate.weight() == 4.5
E       assert 4.2 == 4.5

tests/test_plums.py:27: AssertionError
=========================== short test summary info ============================
FAILED tests/test_plums.py::test_weight - assert 4.2 == 4.5
========================= 1 failed, 40 passed in 0.87s =========================
"""

STACK = """\
Traceback (most recent call last):
  File "/srv/orchard/__main__.py", line 9, in <module>
    main()
  File "/srv/orchard/press.py", line 71, in main
    juice(load(path))
  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
ValueError: crate 'B12' has no label
"""


def test_a_test_run_is_its_failure_and_its_total() -> None:
    """Headers, progress and the source of a failed test go; assertion, place and total stay."""
    assert telling_lines(TESTS) == [
        "test_weight",
        ">       assert crate.weight() == 4.5",
        "E       assert 4.2 == 4.5",
        "tests/test_plums.py:27: AssertionError",
        "FAILED tests/test_plums.py::test_weight - assert 4.2 == 4.5",
        "1 failed, 40 passed in 0.87s",
        "[… 3 source lines, 2 progress lines]",
    ]
    assert outcome(TESTS)[-1] == (
        "FAILED tests/test_plums.py::test_weight - assert 4.2 == 4.5; 1 failed, 40 passed in 0.87s"
    )


def test_of_a_stack_the_last_own_frame_and_the_error_stay() -> None:
    """Frames of libraries and callers are counted."""
    assert telling_lines(STACK) == [
        '  File "/srv/orchard/press.py", line 71, in main',
        "    juice(load(path))",
        "ValueError: crate 'B12' has no label",
        "[… 2 stack frames]",
    ]
    both = (
        f"{STACK}\nDuring handling of the above exception, another exception occurred:\n\n{STACK}"
    )
    assert len(telling_lines(both)) == 7
    assert outcome(STACK)[-1] == "ValueError: crate 'B12' has no label"


def test_of_a_stack_under_its_error_the_first_own_frame_stays() -> None:
    """Other languages print the innermost call first."""
    text = (
        "TypeError: pulp is undefined\n"
        "    at squeeze (node_modules/press/index.js:3:9)\n"
        "    at brew (src/brew.js:14:5)\n"
        "    at main (src/index.js:2:1)\n"
    )
    assert telling_lines(text) == [
        "TypeError: pulp is undefined",
        "    at brew (src/brew.js:14:5)",
        "[… 2 stack frames]",
    ]


def test_passes_beside_failures_are_counted() -> None:
    """A pass is counted whatever its name says; timings of failures go."""
    passes = "".join(f"  ✓ handles error {word} [0.{n}ms]\n" for n, word in enumerate("abcd"))
    assert telling_lines(f"{passes}  ✗ stores the crate [12.40ms]\n") == [
        "  ✗ stores the crate",
        "[… 4 passed]",
    ]


def test_what_a_run_of_go_tests_begins_is_counted() -> None:
    """Packages without tests say nothing."""
    text = "?   \tpier/quay\t[no test files]\n" + "".join(
        f"=== RUN   TestQuay{name}\n--- PASS: TestQuay{name} (0.00s)\n" for name in "ABCD"
    )
    told = telling_lines(text + "--- FAIL: TestQuayE (0.01s)\nok  \tpier/mole\t0.02s\n")
    assert told[0].startswith("--- FAIL: TestQuayE")
    assert told[-1] == "[… 9 passed]"


def test_equal_lines_stand_once_with_their_number() -> None:
    """Of lines of a pattern, the first two and the last stay."""
    waits = "waiting for the press\n" * 75
    steps = "".join(f"step {n} of 40, {n} litres pressed\n" for n in range(1, 41))
    assert telling_lines(f"{waits}{steps}done") == [
        "waiting for the press (×75)",
        "step 1 of 40, 1 litres pressed",
        "step 2 of 40, 2 litres pressed",
        "step 40 of 40, 40 litres pressed",
        "done",
        "[… 37 similar lines]",
    ]


def test_a_listing_is_its_first_names_and_a_count() -> None:
    """Nobody goes on from the fortieth name."""
    fruit = ("pear", "plum", "fig", "date", "kiwi", "lime", "mango", "peach", "nut")
    names = [f"crates/{word}.txt" for word in fruit]
    assert telling_lines("total 36\n" + "\n".join(names)) == [*names[:6], "[… 3 listed names]"]


def test_progress_installers_prompts_and_frames_of_a_harness_go() -> None:
    """What is left are the lines that a terminal shows in the end, without colours."""
    text = (
        "grower@barn:~/orchard$\n"
        "(Open file: n/a)\n(Current directory: /srv/orchard)\nbash-$\n"
        "<returncode>0</returncode>\n<output>\n"
        "Collecting pomology==2.1\n  Downloading pomology-2.1-py3-none-any.whl (12 kB)\n"
        "     ━━━━━━━━━━━━━━━━━━━━ 12.0/12.0 kB 3.1 MB/s eta 0:00:00\n"
        " 10%|█         | 1/10\r100%|██████████| 10/10\n"
        "> Task :press:compile UP-TO-DATE\n> Task :press:jar\n"
        "pressing crate 1\rpressing crate 2\rpressed 2 crates\n"
        "\x1b[32mSuccessfully installed pomology-2.1\x1b[0m\n</output>\n----\n"
    )
    assert telling_lines(text) == [
        "pressed 2 crates",
        "Successfully installed pomology-2.1",
        "[… 6 progress lines]",
    ]
    assert outcome(text) == (
        "\n".join(telling_lines(text)),
        "pressed 2 crates; Successfully installed pomology-2.1",
    )


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        (
            "* Try:\n> Run with --scan to get insights.\n> Get more help at https://a.example.\n",
            "> Unknown option '--fast'.\nBUILD FAILED in 7s",
        ),
        (
            "9 packages are looking for funding\n  run `npm fund` for details\n",
            "added 2 packages, and audited 652 packages in 2s",
        ),
    ],
)
def test_hints_that_a_build_tool_always_prints_tell_nothing(hints: str, told: str) -> None:
    """What went wrong, or what was made, is told."""
    first, _, last = told.partition("\n")
    assert outcome(f"{first}\n\n{hints}\n{last}")[0] == told


def test_lines_of_more_than_two_outputs_go() -> None:
    """A banner that every command prints tells nothing; a recurring failure does."""
    seen = Counter({line_key("Loading 12 plugins"): 3, line_key("fatal: no press"): 5})
    assert telling_lines("Loading 14 plugins\npressed 3 crates\nfatal: no press", seen) == [
        "pressed 3 crates",
        "fatal: no press",
        "[… 1 recurring line]",
    ]
    assert telling_lines("Loading 14 plugins", seen) == ["Loading 14 plugins"]


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("", "ok, no output"),
        ("<returncode>0</returncode>\n<output>\n</output>", "ok, no output"),
        ("exit code: 3", "exit 3; exit code: 3"),
        ("<returncode>2</returncode>", "exit 2"),
        ("one\ntwo\nthree", "one; two; three"),
        (f"one\n{'two ' * 20}\nthree", "[… 2 lines]; three"),
        ("✗ a\n✗ b\n✗ c\n✗ d\n4 failed", "✗ a; ✗ b; [… 2 failing]; 4 failed"),
    ],
)
def test_the_shortest_outcome_is_one_line(text: str, shortest: str) -> None:
    """It has the exit code, the error, failing names and totals, or else the last line."""
    assert outcome(text)[-1] == shortest


def test_an_outcome_has_few_lines_and_counts_the_others() -> None:
    """The lines are whole, and failures in the middle stay."""
    words = [f"{chr(97 + n // 26)}{chr(97 + n % 26)} is pressed" for n in range(200)]
    words[100] = "the press has failed at crate nine"
    longest, middle, shortest = outcome("\n".join(words))
    assert shortest == words[100]
    for text, most in ((longest, MOST_LINES), (middle, 12)):
        lines = text.split("\n")
        kept = [line for line in lines if line in words]
        left = [
            int(found[1]) for line in lines if (found := re.fullmatch(r"\[… (\d+) lines?\]", line))
        ]
        assert len(kept) == most
        assert words[100] in kept
        assert len(kept) + sum(left) == 200
        assert len(kept) + len(left) == len(lines)


def test_only_a_very_long_line_is_clipped() -> None:
    """It ends at a blank, with a mark."""
    line = "plum " * 50
    assert telling_lines(line) == [line.strip()]
    (clipped,) = telling_lines(line * 2)
    assert clipped.endswith("plum […]")
    assert len(clipped) < LONGEST_LINE + 5


@pytest.mark.parametrize(
    "line",
    [
        "Fehler: Presse klemmt",
        "Erreur : la presse est bloquée",
        "не удалось открыть файл",
        "エラーが発生しました",
        "bash: press: command not found",
        "not ok 3 - stores the crate",
    ],
)
def test_failures_are_known_in_many_languages(line: str) -> None:
    """A failure stays in the shortest outcome, wherever it stands."""
    assert says_failure(line)
    assert outcome(f"start\n{line}\nend")[-1] == line


@pytest.mark.parametrize(
    "line", ["41 passed, 0 failed", "no errors found", "src/error_pages.py", "press is ready"]
)
def test_what_only_names_a_failure_is_none(line: str) -> None:
    """Zero failures, and files with such a name, are no failures."""
    assert not says_failure(line)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "\n",
        "[",
        "[\n",
        "a\n",
        "=",
        "\x1b[",
        "  at ",
        'File "',
        "0 errors ",
        "(1",
        "___ a",
        ".",
        " ",
    ],
)
def test_hostile_outputs_take_linear_time(unit: str) -> None:
    """Many times the text takes about as many times the steps."""
    assert growth(lambda size: outcome(unit * (size // len(unit))), 20_000) < BOUND
