"""The laws of agents: a memory is its journal, and answers are data."""

from collections.abc import Callable
from typing import Any

from polycontext.base.law import agree, holds, law
from polycontext.polynomial import ContextMachine, ContextSession
from polycontext.polynomial.journal import PatchEvent, replayed

from ..forms import Form, data_of
from ..memory import AgentMemory

_MEMORY = 'docs/agents.md, "What is remembered"'
_REGIONS = 'docs/machine.md, "Regions"'
_FORMS = 'docs/agents.md, "What each node answers"'


@law(_MEMORY)
def the_memory_of_a_prefix_is_a_prefix_of_the_memory(
    agent_session: ContextSession,
    revision: int,
    recollect: Callable[[ContextSession], AgentMemory],
) -> None:
    """What is remembered at a revision is what is remembered after a rewind to it."""
    history, counter = agent_session.history, agent_session.window.counter
    machine = agent_session.conversation.machine
    again = ContextSession.history.load("".join(history.export()), counter=counter, machine=machine)
    if revision < history.revision:
        again.history.rewind(revision)
    agree(recollect(again), recollect(history.at(revision)), revision=revision)


@law(_REGIONS)
def the_context_of_an_agent_is_that_of_a_plain_session(agent_session: ContextSession) -> None:
    """What the context's machine knows leads where it leads there, and nothing else moves it."""
    history, table = agent_session.history, ContextMachine.table
    for before, event, after in replayed(history.events(), history.at(0).conversation):
        if isinstance(event, PatchEvent) or event.kind not in table.kinds:
            agree((after.state, after.window), (before.state, before.window), event=event)
        else:
            targets = table.targets(before.state, event.kind)
            holds(after.state in targets, "a state of the plain machine", after.state, event=event)


@law(_FORMS)
def reading_an_answer_again_changes_nothing(
    form: type[Form], answer: object, read: Callable[[type[Form], object], Any]
) -> None:
    """An answer that is read, written as data and read again is the same answer."""
    once = read(form, answer)
    agree(read(form, data_of(once)), once, form=form, answer=answer)
