"""Delegation: tasks that workers do in child sessions, and an answer from their results."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from polycontext.base import require
from polycontext.base.effects import Steps, call, procedure, running, together, twin
from polycontext.window import Role, Turn
from polycontext.window.items import attachment_of

from ..context_session import ContextSession

Worker = Callable[[ContextSession], Any]
"""What works in a session until its last turn is the assistant's answer. It may be async."""


@frozen
class Delegation:
    """A worker that has others work in child sessions, and then answers from their results.

    Each task belongs to the last message of the user: the worker of ``tasks["hotel"]`` works in the
    child ``trip-t5-hotel`` of session ``trip``. All results are handed back, in the order of the
    tasks, before `then` answers in the session itself. What is stored is not done again: after a
    crash, call the delegation again with the same session.

    Args:
        tasks: the tasks by name.
        then: the worker that answers.
        options: `max_tokens`, `tells`, `system` and `tools` of the children.
        workers: those of the tasks, in order. A delegation is a worker, too.

    Raises:
        InvalidOptionError: a worker left no answer.
        Any exception of a worker and of `ContextSession.child`. Workers that are done stay so.
    """

    tasks: Mapping[str, str]
    then: Worker
    options: Mapping[str, Any]
    workers: tuple[Worker, ...]

    @procedure
    def run(self, session: ContextSession) -> Steps[None]:
        """Work in `session` until it has an answer; `arun` runs the workers concurrently."""
        if _has_answer(session):
            return
        log = reversed(session.conversation.log)
        questions = (turn for turn in log if turn.role is Role.USER and not attachment_of(turn))
        asked = next((turn.resource_id for turn in questions), "")
        children = list[ContextSession]()
        try:
            for name, task in self.tasks.items():
                child_id = f"{session.session_id}-{asked}-{name}"
                children.append((yield call(session, "child", task, child_id, **self.options)))
            given = zip(self.tasks, self.workers, children, strict=True)
            yield together([_answer(name, worker, child) for name, worker, child in given])
            for child in children:
                yield call(child, "hand_back")
        finally:
            for child in children:
                child.close()
        yield from _answer("then", self.then, session)

    arun = twin(run)

    def __call__(self, session: ContextSession) -> None:
        """Do what `run` does."""
        self.run(session)


def _answer(name: str, worker: Worker, session: ContextSession) -> Steps[None]:
    if _has_answer(session):
        return
    if isinstance(worker, Delegation):
        yield call(worker, "run", session)
    else:
        yield running(f"worker {name}", worker, session)
    legal = "a worker after which the last turn is the assistant's answer"
    require(f"worker {name}", worker, _has_answer(session), legal)


def _has_answer(session: ContextSession) -> bool:
    log = session.conversation.log
    last = log[-1] if log else Turn(Role.USER, "")
    return last.role is Role.ASSISTANT and not last.tool_calls and bool(last.text.strip())
