"""Of a list of tasks that is written again and again, what is open in the last one is told."""

import json

import pytest

from polycontext.pressure.notes.plans import current_plans, with_tasks
from polycontext.window import Turn
from tests.pressure.notes.conversations import called, read, talk
from tests.pressure.notes.extractive_samples import summarise

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


def made(number: int, subject: str) -> list[Turn]:
    """Return a call that makes a task, with its result."""
    result = f"Task #{number} created successfully: {subject}"
    return called("TaskCreate", result, subject=subject, description="As agreed.")


def put(number: int, **change: str) -> list[Turn]:
    """Return a call that changes a task, with its result."""
    return called("TaskUpdate", f"Updated task #{number} status", taskId=str(number), **change)


def test_of_tasks_that_are_written_one_by_one_the_open_ones_are_told() -> None:
    """Their calls are told no other way, and one that a later call in the view closed is none."""
    tasks = [*made(1, "Drain it"), *made(2, "Mend it"), *made(3, "Paint it")]
    changes = [*put(1, status="completed"), *put(2, status="in_progress")]
    turns = [*talk("Mend the pump."), *tasks, *changes]
    text = summarise(turns, 1_000)
    assert "Open:\n- [ ] #2 Mend it\n - [ ] #3 Paint it" in text
    assert "TaskUpdate" not in text
    later = read(put(3, status="deleted"))
    assert json.loads(with_tasks(read(turns), later)[-1].arguments) == {"tasks": "- [ ] #2 Mend it"}


@pytest.mark.parametrize("change", [{}, {"status": "completed"}, {"status": "deleted"}])
def test_a_task_of_which_nobody_knows_that_it_is_open_is_not_told(change: dict[str, str]) -> None:
    """Some recordings leave out what a change was."""
    assert "Open" not in summarise([*talk("Go."), *made(1, "Drain it"), *put(1, **change)], 1_000)


def test_a_task_that_anybody_calls_done_is_not_open() -> None:
    """Other agents close it in lists of their own."""
    turns = [*talk("Go."), *made(1, "Drain it"), *talk("See.", "Task #1 is done: it is dry.")]
    assert "Open" not in summarise(turns, 1_000)


def test_a_task_is_told_by_its_latest_name() -> None:
    """A list that was shown tells all of them, and a call that failed changes nothing."""
    shown = called("TaskList", "#1 [completed] Drain it\n#4 [pending] Oil it")
    failed = called("TaskUpdate", "Error: no such task", taskId="4", status="completed")
    events = read([*shown, *put(4, subject="Oil the pump"), *failed])
    assert json.loads(with_tasks(events)[-1].arguments) == {"tasks": "- [ ] #4 Oil the pump"}
