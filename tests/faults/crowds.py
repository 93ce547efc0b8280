"""Many writers of one session at once: what each says is there once, in the order it said it."""

from pathlib import Path

from tests.faults.numbered_commands import Tally, opened
from tests.faults.processes import joined, started

PROCESSES = 4


def crowd_of_processes(tally: Tally, place: Path | str, each: int) -> Tally:
    """Let four processes, each with a session object of its own, say so many things each."""

    def write(own: Tally) -> None:
        with opened(place) as session:
            for number in range(each):
                session.add_user_turn(f"{own.rounds}/{number}")
                own.acknowledged += 1

    children = [started(Tally("", rounds=writer), write) for writer in range(PROCESSES)]
    tally.acknowledged = sum(joined(*child).acknowledged for child in children)
    return judged(tally, place, PROCESSES, each)


def judged(tally: Tally, place: Path | str, writers: int, each: int) -> Tally:
    """Count the turns that are lost, doubled, out of order or wrongly numbered."""
    with opened(place) as session:
        log = session.log()
    said = [turn.text or "" for turn in log]
    tally.rounds = writers
    tally.lost = writers * each - len(set(said))
    tally.duplicated = len(said) - len(set(said))
    numbers = [int(turn.resource_id[1:]) for turn in log]
    tally.half += numbers != sorted(set(numbers))
    for writer in range(writers):
        own = [text for text in said if text.startswith(f"{writer}/")]
        tally.half += own != [f"{writer}/{number}" for number in range(each)]
    return tally
