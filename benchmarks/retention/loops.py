"""Generate random tool loops in windows of 500 to 3,000 tokens.

They have parallel calls, results of 1 to 20,000 tokens, and replies.
"""

import random
from collections.abc import Iterator

from attrs import field, frozen

from polycontext.window import ToolCall, Turn

WINDOWS = (500, 3_000)
MOST_RESULT = 20_000
MOST_REPLY = 2_000
MOST_PARALLEL = 4
ROUNDS = (2, 12)
TOO_LONG, FOR_GOOD = 0.02, 0.05
"""How often a user message is too long, and how often it is a standing instruction."""

_WORDS = (
    "harbour",
    "ledger",
    "valve",
    "north",
    "seven",
    "meadow",
    "copper",
    "signal",
    "quiet",
    "engine",
    "paper",
    "orbit",
    "river",
    "stone",
)
_KANJI = "港湾台帳弁北七草原銅信号静機関紙軌道川石"


@frozen
class Loop:
    """One loop: the tokens of its window, and its turns."""

    seed: int
    max_tokens: int
    turns: tuple[Turn, ...] = field(repr=False)


def loop_of(seed: int) -> Loop:
    """Return the loop of a seed, the same in every run."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    max_tokens = draw.randint(*WINDOWS)
    return Loop(seed, max_tokens, tuple(_turns(draw, max_tokens)))


def _turns(draw: random.Random, max_tokens: int) -> Iterator[Turn]:
    yield Turn("system", _prose(draw, draw.randint(10, max_tokens // 10)))
    for number in range(draw.randint(*ROUNDS)):
        yield Turn("user", _question(draw, max_tokens))
        for step in range(draw.randint(0, 4)):
            calls = [
                _call(draw, f"call_{number}_{step}_{place}")
                for place in range(draw.choice((1, 1, 1, 2, 3, MOST_PARALLEL)))
            ]
            yield Turn(
                "assistant",
                draw.choice((None, _prose(draw, draw.randint(1, 40)))),
                tool_calls=calls,
            )
            for call in draw.sample(calls, len(calls)):
                yield Turn("tool", _result(draw, _size(draw, MOST_RESULT)), tool_call_id=call.id)
        yield Turn("assistant", _prose(draw, _size(draw, MOST_REPLY)))


def _question(draw: random.Random, max_tokens: int) -> str:
    """Return a user message: mostly short, sometimes a standing instruction, rarely too long."""
    if draw.random() < TOO_LONG:
        return _prose(draw, max_tokens * 2)
    text = _prose(draw, draw.randint(1, max_tokens // 8))
    return f"From now on, never {text}" if draw.random() < FOR_GOOD else text


def _size(draw: random.Random, most: int) -> int:
    """Return a number of tokens up to `most`, distributed evenly on a logarithmic scale."""
    return int(most ** draw.random())


def _call(draw: random.Random, call_id: str) -> ToolCall:
    return ToolCall(
        call_id,
        draw.choice(("look_up", "run", "read")),
        f'{{"{draw.choice(_WORDS)}": "{_prose(draw, _size(draw, 60))}"}}',
    )


def _prose(draw: random.Random, tokens: int) -> str:
    return " ".join(draw.choices(_WORDS, k=max(1, tokens)))


def _result(draw: random.Random, tokens: int) -> str:
    """Return a result of about that many tokens.

    It is words, records, a log, one line of letters, another script, or nothing.
    """
    match draw.randrange(6):
        case 0:
            return _prose(draw, tokens)
        case 1:
            records = (
                f'{{"id": {number}, "{draw.choice(_WORDS)}": "{draw.choice(_WORDS)}"}}'
                for number in range(tokens // 10 + 1)
            )
            return f"[{', '.join(records)}]"
        case 2:
            return "\n".join(
                f"{number:05} INFO {draw.choice(_WORDS)} {draw.choice(_WORDS)}"
                for number in range(tokens // 7 + 1)
            )
        case 3:
            return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=tokens * 2))
        case 4:
            return "".join(draw.choices(_KANJI, k=tokens))
        case _:
            return draw.choice(("", "ok"))
