"""Sessions do what they did when the record was made; ``just golden`` compares all 10,000, these tests a sample of them."""

import pytest

from polycontext.polynomial import ContextState
from tests.golden.record import FULL_SEEDS, difference, first_difference, recorded_prints, recorded_sessions
from tests.golden.sessions import CHANGED, SEEDS, play

SAMPLE = range(7, SEEDS, 25)
CHUNK = 20
COMMANDS = {
    "add", "add_system", "add_user_turn", "add_assistant_turn", "add_tool_turn", "attach", "compress", "clear", "recall", "promote", "signal",
    "round_trip",
}  # fmt: skip
TWINS = {f"a{name}" for name in COMMANDS - {"promote", "signal", "round_trip"}}


@pytest.mark.parametrize("seed", FULL_SEEDS)
def test_a_session_goes_step_by_step_as_recorded(seed: int) -> None:
    """After every command the state, the error, the turns with their classes, the tokens and the messages are the recorded ones."""
    assert (parted := first_difference(seed, recorded_sessions()[seed], play(seed))) is None, parted


@pytest.mark.parametrize("first", range(0, len(SAMPLE), CHUNK), ids=lambda first: f"{SAMPLE[first]}-{SAMPLE[first + CHUNK - 1]}")
def test_sampled_sessions_end_as_recorded(first: int) -> None:
    """The digest of all that happened in a session is the recorded one."""
    parted = [told for seed in SAMPLE[first : first + CHUNK] if (told := difference(seed, play(seed))) is not None]
    assert not parted, "\n\n".join(parted)


def test_the_sessions_in_full_are_those_of_the_digests() -> None:
    """Both files of the record were written by the same code."""
    assert list(recorded_sessions()) == list(FULL_SEEDS)
    assert len(recorded_prints()) == SEEDS
    assert [difference(seed, record) for seed, record in recorded_sessions().items()] == [None] * len(FULL_SEEDS)


def test_a_difference_names_seed_step_and_both_sides() -> None:
    """One changed fact in the middle of a session is found, and told with what was expected and what was found."""
    seed = FULL_SEEDS[3]
    changed = [*recorded_sessions()[seed]]
    changed[5] = {**changed[5], "tokens": -1}
    told = difference(seed, changed)
    assert told is not None
    assert told.startswith(f"seed {seed}, step 5: ")
    assert '+ "tokens": -1' in told
    assert f'- "tokens": {recorded_sessions()[seed][5]["tokens"]}' in told


def test_the_record_knows_every_command_in_every_state() -> None:
    """The sessions in full reach all states, and run every command and its twin; in every state but those that change on purpose."""
    met = {pair for record in recorded_sessions().values() for pair in _commands(record)}
    run = {(state, name) for state in ContextState for name in COMMANDS} - CHANGED.keys()
    assert {(state, _plain(name)) for state, name in met} >= run
    assert {name for _, name in met} >= TWINS


def _plain(name: str) -> str:
    return name[1:] if name in TWINS else name


def _commands(record: list[dict[str, object]]) -> list[tuple[ContextState, str]]:
    """Return every command that was run, with the state it met."""
    state, pairs = ContextState.EMPTY, list[tuple[ContextState, str]]()
    for step in record[1:]:
        command = step["command"]
        assert isinstance(command, dict)
        if "skipped" not in step:
            pairs.append((state, command["do"]))
            state = ContextState(str(step["state"]))
    return pairs
