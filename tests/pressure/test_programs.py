"""Programs: a server's call, the calls that its code makes, and its result yield as one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import ContextSession, project
from polycontext.pressure import ContextProjector

Message = dict[str, Any]
ANTHROPIC, RESPONSES = "anthropic", "openai-responses"


def anthropic_program(number: int, calls: int = 2, lines: int = 40) -> list[Message]:
    """Return a run of code that calls a tool of the client, one call after another."""
    name = f"srvtoolu_{number}"
    caller = {"type": "code_execution_20260120", "tool_id": name}
    start = {
        "type": "server_tool_use",
        "id": name,
        "name": "code_execution",
        "input": {"code": "x"},
    }
    done = {"type": "code_execution_result", "stdout": "ok", "stderr": "", "return_code": 0}
    end = {
        "type": "code_execution_tool_result",
        "tool_use_id": name,
        "content": {**done, "content": []},
    }
    messages: list[Message] = []
    for call in range(calls):
        use = {
            "type": "tool_use",
            "id": f"toolu_{number}_{call}",
            "name": "look",
            "input": {"n": number},
        }
        result = {
            "type": "tool_result",
            "tool_use_id": use["id"],
            "content": f"{number} plums\n" * lines,
        }
        messages += [
            {
                "role": "assistant",
                "content": [*([] if call else [start]), {**use, "caller": caller}],
            },
            {"role": "user", "content": [result]},
        ]
    said = {"type": "text", "text": "Counted."}
    return [*messages, {"role": "assistant", "content": [end, said]}]


def responses_program(number: int, calls: int = 2, lines: int = 40) -> list[Message]:
    """Return a program of OpenAI's, which calls a tool of the client."""
    name = f"call_p{number}"
    caller = {"caller": {"type": "program", "caller_id": name}}
    items: list[Message] = [
        {
            "type": "program",
            "id": f"cm_{number}",
            "call_id": name,
            "code": "x",
            "fingerprint": "ZmY=",
        }
    ]
    for call in range(calls):
        called = {"call_id": f"call_{number}_{call}", **caller}
        arguments = json.dumps({"n": number})
        items += [
            {"type": "function_call", "name": "look", "arguments": arguments, **called},
            {"type": "function_call_output", "output": f"{number} plums\n" * lines, **called},
        ]
    end = {"type": "program_output", "id": f"cmo_{number}", "call_id": name, "result": "ok"}
    return [*items, {**end, "status": "completed"}, {"role": "assistant", "content": "Counted."}]


MAKERS = {ANTHROPIC: anthropic_program, RESPONSES: responses_program}


def conversation(provider: str, programs: Sequence[tuple[int, int]]) -> list[Message]:
    """Return a conversation with a program of so many calls and lines for each request."""
    messages: list[Message] = [{"role": "user", "content": "Count the plums."}]
    for number, (calls, lines) in enumerate(programs):
        messages += MAKERS[provider](number, calls, lines)
        messages.append({"role": "user", "content": f"Again, at {number}."})
    return messages


def blocks_of(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the blocks or items of a list."""
    return [
        block
        for message in messages
        for block in (message["content"] if isinstance(message.get("content"), list) else [message])
    ]


def check_whole(
    messages: Sequence[Mapping[str, Any]], calls: Mapping[str, int], *, running: bool = False
) -> set[str]:
    """Fail unless each program has all of its calls and its result; return the programs' names.

    If one is still `running`, it is the last, and has some calls and no result.
    """
    starts, ends, made = list[str](), list[str](), list[str]()
    for block in blocks_of(messages):
        match block.get("type"):
            case "server_tool_use":
                starts.append(block["id"])
            case "program":
                starts.append(block["call_id"])
            case "code_execution_tool_result":
                ends.append(block["tool_use_id"])
            case "program_output":
                ends.append(block["call_id"])
            case "tool_use" | "function_call" | "function_call_output":
                caller = block["caller"]
                made.append(caller.get("tool_id") or caller["caller_id"])
            case _:
                pass
    assert starts[: len(starts) - running] == ends
    assert {name: made.count(name) for name in ends} == {name: calls[name] for name in ends}
    assert {*made} <= {*starts}
    return {*starts}


def calls_of(provider: str, programs: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Return the number of messages of the client's calls, by program."""
    name = "srvtoolu_{}" if provider == ANTHROPIC else "call_p{}"
    each = 1 if provider == ANTHROPIC else 2
    return {name.format(number): each * calls for number, (calls, _) in enumerate(programs)}


@pytest.mark.parametrize("provider", MAKERS)
@given(
    programs=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 60)), min_size=1, max_size=5),
    share=st.floats(0.05, 1),
)
def test_no_cut_keeps_half_of_a_program(
    provider: str, programs: list[tuple[int, int]], share: float
) -> None:
    """At any size, a program is whole, perhaps with results cut in place, or in the summary."""
    messages = conversation(provider, programs)
    full = project(messages, 10**6, provider=provider).tokens_before
    budget = max(int(share * full), 400)
    view = project(messages, budget, provider=provider)
    assert view.tokens_after <= budget
    calls = calls_of(provider, programs)
    gone = calls.keys() - check_whole(view.messages, calls)
    assert not gone or "[Summary of earlier messages]" in json.dumps(view.messages)


@pytest.mark.parametrize("provider", MAKERS)
@pytest.mark.parametrize("tokens", [700, 1_200, 3_000])
def test_a_session_keeps_programs_whole_while_they_run(provider: str, tokens: int) -> None:
    """Also between the answers of one program, which has no result then."""
    programs = [(3, 20)] * 5
    session = ContextSession(tokens, provider=provider)
    calls = calls_of(provider, programs)
    for message in conversation(provider, programs):
        session.extend([message], provider)
        if not session.open_calls:
            runs = session.window.atom_columns().is_running
            check_whole(session.messages(provider), calls, running=runs)


@pytest.mark.parametrize("provider", MAKERS)
def test_a_program_that_yields_leaves_lines(provider: str) -> None:
    """The summary says that a program ran, and what its calls gave."""
    messages = conversation(provider, [(1, 4)] * 6)
    full = project(messages, 10**6, provider=provider).tokens_before
    view = project(messages, full // 2, provider=provider)
    (summary,) = (text for each in view.messages if "[Summary of" in (text := json.dumps(each)))
    assert "recall" in summary
    assert " plums" in summary


@pytest.mark.parametrize("provider", MAKERS)
def test_a_pin_inside_a_program_keeps_all_of_it(provider: str) -> None:
    """A pinned result would be half of the program."""
    programs = [(2, 5)] * 4
    session = ContextSession(5_000, provider=provider)
    session.extend(conversation(provider, programs), provider)
    pinned = next(turn for turn in session.window.all_turns() if turn.tool_call_id)
    session.pin(pinned.resource_id)
    session.compress(0.01)
    calls = calls_of(provider, programs)
    assert next(iter(calls)) in check_whole(session.messages(provider), calls)


def test_units_merge_the_atoms_of_a_program_alone() -> None:
    """Other atoms keep their bounds, and an interrupted program is none."""
    session = ContextSession(100_000, provider=ANTHROPIC)
    session.extend(conversation(ANTHROPIC, [(2, 1)]), ANTHROPIC)
    columns = session.window.atom_columns()
    assert columns.bounds == [0, 1, 3, 5, 6, 7]
    merged = columns.units()
    assert merged.bounds == [0, 1, 6, 7]
    assert sum(merged.tokens) == sum(columns.tokens)
    assert [merged.is_program(atom) for atom in range(3)] == [False, True, False]

    start, result, *_ = anthropic_program(9)
    session.extend([start, result], ANTHROPIC)
    assert session.window.atom_columns().is_running
    session.add_user_turn("Stop.")
    assert not session.window.atom_columns().is_running


def test_a_plan_lowers_every_turn_of_a_program() -> None:
    """Its ceiling names each atom of the program."""
    session = ContextSession(100_000, provider=ANTHROPIC)
    session.extend(conversation(ANTHROPIC, [(2, 40)] * 3), ANTHROPIC)
    window = session.window
    plan = ContextProjector().plan_for(window, 0.001)
    heads = {atom.id for atom in window.atoms()[1:4]}
    assert heads <= plan.lowered.keys()
