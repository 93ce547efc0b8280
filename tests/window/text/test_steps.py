"""What comes next: open items of plans, records of work lists, and what the assistant says it will do."""

import json

import pytest

from polycontext.nodes.testing import FAST
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.window import ToolCall, Turn
from polycontext.window.text.steps import intention, open_entries, open_items

PLANS = {
    "boxes": "- [x] measure the wall\n- [ ] buy the paint\n- [ ] lend the ladder",
    "signs": "✅ measure the wall\n⬜ buy the paint\n⬜ lend the ladder",
    "words behind": "1. measure the wall (done)\n2. buy the paint (in progress)\n3. lend the ladder (pending)",
    "a heading": "Measured.\nNext steps:\n- buy the paint\n- lend the ladder\n\nTell me when you are back.",
    "a heading in the line": "Measured. Still open: buy the paint, lend the ladder.",
    "a table": "| step | state |\n| measure the wall | done |\n| buy the paint | open |",
    "numbered phases": "Walls, in progress:\n  A.1 measure the wall (done)\n  A.2 buy the paint (not started)",
    "states before": "* (hecho) measure the wall\n* (pendiente) buy the paint",
    "German": "Die Wand ist gemessen.\nOffen:\n- buy the paint",
    "Japanese": "壁を測りました。\n残り:\n- buy the paint",
}


@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS)
def test_the_first_open_item_of_a_plan_is_found(text: str) -> None:
    """Boxes, signs, words, headings and tables tell what is open; what is done is not told."""
    found = [text[start:end] for start, end in open_items(text)]
    assert "buy the paint" in found[0]
    assert not any("measure the wall" in item for item in found)


@pytest.mark.parametrize(
    "text", ["All done.", "- [x] one\n- [x] two", "", "The shop is open", "We are at step 3 of 4.", "Server status: running\nDoor: open"]
)
def test_where_nothing_is_open_nothing_is_found(text: str) -> None:
    """Talk and finished plans hold no open item."""
    assert open_items(text) == []


SAID = {
    "Fixed it. Next I'll rename the loader.": "Next I'll rename the loader.",
    "I'm going to sort the shelf now. It is a mess.": "I'm going to sort the shelf now.",
    "Ich werde als Nächstes die Liste prüfen.": "Ich werde als Nächstes die Liste prüfen.",
    "Fini. Ensuite, je vérifie la liste.": "Ensuite, je vérifie la liste.",
    "Listo. A continuación voy a ordenar la lista.": "A continuación voy a ordenar la lista.",
    "改好了。接下来我会整理清单。": "接下来我会整理清单。",
    "直しました。次に一覧を整理します。": "次に一覧を整理します。",
}


@pytest.mark.parametrize(("text", "wanted"), SAID.items())
def test_what_the_assistant_intends_is_found(text: str, wanted: str) -> None:
    """The last sentence that says what its speaker will do, in six languages."""
    span = intention(text)
    assert span is not None
    assert text[slice(*span)] == wanted


@pytest.mark.parametrize(
    "text", ["Shall I go on?", "Please let me know which one you take.", "If you agree, I'll book it.", "I'll need your number.", "Done."]
)
def test_what_is_asked_of_the_user_is_no_step(text: str) -> None:
    """Questions, conditions and requests are the user's to answer."""
    assert intention(text) is None


def test_of_a_work_list_what_is_not_done_is_found() -> None:
    """Records whose state says so, whatever their fields are called; the first two."""
    entries = [{"content": f"step {n}", "status": status} for n, status in enumerate(["completed", "in_progress", "pending", "pending"])]
    arguments = json.dumps({"todos": entries})
    assert [json.loads(arguments[start:end])["content"] for start, end in open_entries(arguments)] == ["step 1", "step 2"]
    assert [span for text in ("", "{}", '{"a": "open"}', "[1]") for span in open_entries(text)] == []
    for one, two in (('"done": false', '"done": true'), ('"hecha": 0', '"hecha": 1'), ('"状态": "进行中"', '"状态": "已完成"')):
        text = f'[{{"task": "x", {one}}}, {{"task": "y", {two}}}]'
        assert [text[start:end] for start, end in open_entries(text)] == [f'{{"task": "x", {one}}}']
    text = json.dumps({"todos": "- [x] sort\n- [ ] count the nails\n- [ ] sweep"})
    assert [text[start:end] for start, end in open_entries(text)] == ["- [ ] count the nails", "- [ ] sweep"]


def gist(turns: list[Turn], max_tokens: int) -> str:
    """Return the gist of turns."""
    return ExtractiveSummariser().summarise(turns, max_tokens, counter=FAST)


def test_the_last_plan_goes_before_what_is_worth_more() -> None:
    """In a room for little the open items of the last plan stand, those of an earlier one do not."""
    noise = [Turn("tool", f"record R{n}-77 at /srv/data/{n}.csv", tool_call_id=f"c{n}", name="look") for n in range(30)]
    early, late = (Turn("assistant", f"Plan:\n- [x] begin\n- [ ] {what} the shelf") for what in ("paint", "sand"))
    told = gist([early, late, *noise], 40)
    assert "sand the shelf" in told
    assert "paint the shelf" not in told


def test_an_intention_counts_while_nothing_was_said_since() -> None:
    """What the assistant meant to do is behind it once it has spoken again."""
    noise = [Turn("tool", f"record R{n}-77 at /srv/data/{n}.csv", tool_call_id=f"c{n}", name="look") for n in range(30)]
    meant = Turn("assistant", "Next I'll sand the old shelf.")
    assert "sand the old shelf" in gist([meant, *noise], 30)
    assert "sand the old shelf" not in gist([meant, Turn("assistant", "It is sanded."), *noise], 30)


def test_an_open_entry_of_a_call_stands() -> None:
    """A list written by a tool is a plan too."""
    arguments = json.dumps({"todos": [{"content": "sort", "status": "completed"}, {"content": "count the nails", "status": "pending"}]})
    turns = [Turn("assistant", None, tool_calls=[ToolCall("t", "todo_write", arguments)]), Turn("tool", "ok", tool_call_id="t")]
    noise = [Turn("tool", f"record R{n}-77 at /srv/data/{n}.csv", tool_call_id=f"c{n}", name="look") for n in range(30)]
    assert '"count the nails"' in gist([*turns, *noise], 40)
