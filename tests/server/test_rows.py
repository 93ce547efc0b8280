"""Rows of a request are shortened where they stand, and always in the same words."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.server import rows as module
from polycontext.server.rows import CompressedRequest, RequestCompressor, Row, hash_of
from polycontext.testing import FAST

LOG = "begin\n" + "waiting for the lock\n" * 300 + "Error: no key in vault.py:31\nend"
TABLE = json.dumps(
    [{"flight": f"HAT{n:03}", "day": "2024-05-20", "seats": {"all": n}} for n in range(40)]
)
CODE = "".join(
    f"def step_{n}(table):\n    return table[{n}] + offset_{n % 7}\n\n" for n in range(90)
)
TEXTS = ("", "Fine.", LOG, TABLE, CODE, f"Why does this fail?\n```\n{CODE * 3}```\nBe brief.")
HASH = re.compile(r"hash=([0-9a-f]{24})\]")


def _compressor() -> RequestCompressor:
    return RequestCompressor(FAST)


def _call(number: int, name: str = "run") -> Row:
    function = {"name": name, "arguments": "{}"}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(text: Any, number: int = 1) -> Row:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def _user(content: Any) -> Row:
    return {"role": "user", "content": content}


def _tool_result(text: Any, number: int = 1) -> Row:
    return _user([{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}])


def _tool_use(number: int, name: str = "run") -> Row:
    block = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {}}
    return {"role": "assistant", "content": [block]}


def _output(text: str, number: int = 1) -> Row:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": text}


TEXT = st.sampled_from(TEXTS)
PARTS = TEXT.map(lambda text: [{"type": "text", "text": text}, {"type": "image"}])
NUMBER = st.integers(1, 3)
NAME = st.sampled_from(["run", "headroom_retrieve", "mcp__x__headroom_retrieve"])
ROWS = st.lists(
    st.one_of(
        st.builds(_call, NUMBER, NAME),
        st.builds(_tool_use, NUMBER, NAME),
        st.builds(_result, st.one_of(TEXT, PARTS), NUMBER),
        st.builds(_tool_result, st.one_of(TEXT, PARTS), NUMBER),
        st.builds(_output, TEXT, NUMBER),
        st.builds(_user, st.one_of(TEXT, PARTS)),
        st.builds(lambda text: {"role": "assistant", "content": text}, TEXT),
        st.builds(lambda text: {"role": "system", "content": text}, TEXT),
        st.sampled_from([{}, {"role": 3}, {"role": "tool"}, {"role": "user", "content": {}}]),
    ),
    max_size=8,
)


def check_prefixes(
    compress: Callable[[Sequence[Row]], CompressedRequest], rows: Sequence[Row]
) -> None:
    """Check that a longer list is sent as a shorter one and more rows, whatever came before."""
    whole = compress(rows).rows
    assert len(whole) == len(rows)
    for length in range(len(rows) + 1):
        assert compress(rows[:length]).rows == whole[:length]


@given(ROWS)
def test_a_row_is_always_sent_in_the_same_words(rows: list[Row]) -> None:
    """Decided by the row and those before it; another compressor sends the same."""
    check_prefixes(_compressor().compress, rows)
    assert _compressor().compress(rows) == _compressor().compress(rows)


def test_the_first_request_loads_nothing() -> None:
    """A server that starts under load has no more time for it than for others."""
    counted = list[str]()

    class Counter:
        """A counter that notes what it counts."""

        exact = True

        def count(self, text: str) -> int:
            """Note a text."""
            counted.append(text)
            return len(text)

    RequestCompressor(Counter())
    assert "[… " in counted[0]


@given(ROWS)
def test_only_results_and_pasted_blocks_change(rows: list[Row]) -> None:
    """Roles, ids, rows of models and of the system stay; each cut has the hash of its original.

    Rows that come back shortened are not shortened further.
    """
    done = _compressor().compress(rows)
    for row, sent in zip(rows, done.rows, strict=True):
        assert sent == {**row, **{key: sent[key] for key in ("content", "output") if key in sent}}
        if row.get("role") in ("assistant", "system") or str(row) == str(sent):
            assert sent == row
        else:
            names = HASH.findall(str(sent))
            assert names
            assert {*names} <= {*done.originals}
    assert all(name == hash_of(text) for name, text in done.originals.items())
    assert done.tokens[1] <= done.tokens[0]
    assert _compressor().compress(done.rows).rows == done.rows


def _sent(*rows: Row) -> list[Any]:
    return [row.get("content", row.get("output")) for row in _compressor().compress(rows).rows]


def test_excerpts_keep_failures_and_count_equal_lines() -> None:
    """What stands in the middle of a log is told with its place."""
    [_, told] = _sent(_call(1), _result(LOG))
    assert told == (
        "begin\nwaiting for the lock … ×300\nError: no key in vault.py:31\nend\n"
        f"[Excerpt of {len(LOG):,} characters. Retrieve the whole with hash={hash_of(LOG)}]"
    )


def test_a_repeated_result_is_a_reference() -> None:
    """To the text that stands before, by its hash and its beginning."""
    [_, _, _, told] = _sent(_call(1), _result(LOG), _call(2), _result(LOG, 2))
    assert told == (
        f'[Repeats an earlier text of {len(LOG):,} characters that begins "begin waiting for the '
        f'lock waiting for the lock waiting for". Retrieve it with hash={hash_of(LOG)}]'
    )


@pytest.mark.parametrize(
    ("asks", "answers"), [(_call, _result), (_tool_use, _tool_result), (_call, _output)]
)
def test_what_the_model_retrieved_stays(
    asks: Callable[..., Row], answers: Callable[..., Row]
) -> None:
    """Otherwise it would be taken away again; other results of the same id are shortened."""
    rows = [asks(1), answers(LOG), asks(1, "x__headroom_retrieve"), answers(LOG)]
    if answers is _output:
        rows = [{"type": "function_call", "call_id": "c1", "name": "run"}, answers(LOG)]
        rows += [{**rows[0], "name": "headroom_retrieve"}, answers(LOG)]
    done = _compressor().compress(rows).rows
    assert done[1] != rows[1]
    assert done[3] == rows[3]


def test_a_users_sentences_stay_around_a_pasted_block() -> None:
    """In fences, in tags of a document, or as a paragraph of output."""
    for opening, closing in (("```py", "```"), ("<document>", "</document>"), ("", "")):
        block = (CODE * 3).replace("\n\n", "\n").strip()
        text = f"Why does this fail?\n{opening}\n{block}\n{closing}\nBe brief: three lines."
        [told] = _sent(_user(text))
        head, _, rest = told.partition(f"\n{opening}\n")
        assert head == "Why does this fail?"
        assert rest.endswith(f"\n{closing}\nBe brief: three lines.")
        assert len(told) < len(text) / 2
        assert hash_of(block) in told


def test_of_rows_that_were_withheld_before_only_those_change_that_pay() -> None:
    """A gateway that keeps back what models said sends results a request late."""
    assert "×300" in _sent(_user("Fix it."), _result(LOG))[1]
    assert _sent(_user("Fix it."), _result(TABLE))[1] == TABLE
    assert _sent(_user("Fix it."), _call(1), _result(TABLE))[2] != TABLE


@pytest.mark.gate
def test_what_is_remembered_is_bounded_and_saves_only_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is made again, in the same words."""
    monkeypatch.setattr(module, "_REMEMBERED", 16_000)
    small, lists = _compressor(), [[_call(1), _result(f"{n}\n{LOG}")] for n in range(120)]
    for _ in range(2):
        for rows in lists:
            assert small.compress(rows) == _compressor().compress(rows)
    assert 1 < len(small._known._values) <= 80
