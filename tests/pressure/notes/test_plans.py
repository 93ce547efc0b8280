"""Of a list of tasks that is written again and again, what is open in the last one is told."""

from polycontext.pressure.notes.plans import current_plans
from tests.pressure.notes.conversations import read, talk

FIRST = "Tasks:\n- [ ] mend the pump\n- [ ] paint it"
SECOND = "Tasks:\n- [x] mend the pump\n- [ ] paint it"


def test_the_points_of_an_older_list_and_those_done_are_left_out() -> None:
    """What else was said stays."""
    events = read(talk("Go.", f"{FIRST}", "On.", f"It leaks.\n{SECOND}"))
    assert [event.text for event in current_plans(events)] == [
        "Go.", "Tasks:", "On.", "It leaks.\nTasks:\n- [ ] paint it"
    ]  # fmt: skip
    said = read(talk("Go.", f"It leaks at the seam.\n{FIRST}\n- [ ] dry it"))
    later = read(talk("On.", SECOND))
    assert current_plans(said, later)[-1].text == "It leaks at the seam.\nTasks:\n- [ ] dry it"


def test_a_list_alone_stays() -> None:
    """So does text with brackets that is no list."""
    events = read(talk("Go.", FIRST, "See [x] there.", "I see [x] there."))
    assert current_plans(events) == events
