"""What recorded sessions are made of: dice that fall alike on every Python, and texts of many kinds from word lists of our own.

Only `Random.random` promises the same numbers in every version of Python, so everything is made from it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draw the same things from the same seed, always."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - a record must be repeatable, not secret

    def chance(self, share: float) -> bool:
        """Return true in that share of the throws."""
        return self._random.random() < share

    def number(self, least: int, most: int) -> int:
        """Return a whole number, both ends included."""
        return least + int(self._random.random() * (most - least + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of `options`."""
        return options[int(self._random.random() * len(options))]

    def several(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Return some of `options`, perhaps one of them twice."""
        return [self.pick(options) for _ in range(self.number(least, most))] if options else []

    def weighted(self, weights: Mapping[T, int]) -> T:
        """Return a key, each as often as its weight says."""
        left = self.number(1, sum(weights.values()))
        for option, weight in weights.items():
            left -= weight
            if left <= 0:
                return option
        raise AssertionError(weights)


NOUNS = (
    "harbour", "lantern", "ledger", "bakery", "orchard", "telescope", "ferry", "violin", "bridge", "archive", "glacier", "windmill",
    "printer", "meadow", "compass", "kettle",
)  # fmt: skip
VERBS = (
    "opens", "repairs", "counts", "carries", "paints", "moves", "finds", "closes", "tunes", "waters", "folds", "records", "sells",
    "borrows", "weighs", "measures",
)  # fmt: skip
ADJECTIVES = (
    "green", "quiet", "broken", "second", "narrow", "early", "wooden", "northern", "bright", "heavy", "borrowed", "round", "late",
    "salted", "empty", "careful",
)  # fmt: skip
NAMES = ("Ida", "Tomas", "Noor", "Wen", "Pavel", "Amara", "Lucia", "Bjarne")
DATES = ("2031-02-11", "2031-03-04", "2031-07-19", "2031-12-30")
FOLDERS = ("core", "tools", "web", "store", "tests", "docs")
FILES = ("lamp.py", "tide.py", "ledger.ts", "crane.rs", "notes.md", "config.toml")
FAULTS = ("KeyError: 'berth'", "ValueError: depth must be positive", "TimeoutError: pier 7 did not answer", "TypeError: None is no rope")
CJK = (
    "港の灯台は夜に光る。", "船は三時に出ます。", "请把第二座桥的图纸发给我。", "仓库里有四十二箱苹果。", "오늘은", "바람이", "강합니다.", "資料は机の上にあります。",
)  # fmt: skip
RULES = (
    "From now on, write every date as day and month.",
    "You must never delete the ledger of the harbour.",
    "Always answer in one sentence.",
    "Please do not use the ferry on Sundays, under any circumstances.",
    "今後は必ず日本語で答えてください。",
    "Ab jetzt bitte nur noch auf Deutsch antworten.",
)
THANKS = ("ok", "Thanks!", "Great, thank you so much! 👍", "got it", "谢谢", "yes", "no", "go ahead", "Danke", "ok?", "👍")
BLANKS = ("", " ", "\n\n")
SAYINGS = {"word": THANKS, "rule": RULES, "blank": BLANKS}
EMPTY_RESULTS = ("[]", "{}", "null", " ", "")
STARTS = (
    "You are a harbour master's assistant.",
    "Be brief. Never invent a berth number.",
    "Answer with facts from the ledger only.",
)
QUESTIONS = ("Which {} is {}?", "Shall I {} the {}?", "Where does the {} stand, {}?")


def path(dice: Dice) -> str:
    """Return the path of a file."""
    return f"{dice.pick(FOLDERS)}/{dice.pick(FOLDERS)}/{dice.pick(FILES)}"


def sentence(dice: Dice) -> str:
    """Return a plain sentence with a name, a number or a date in it at times."""
    subject = f"{dice.pick(NAMES)}'s {dice.pick(NOUNS)}" if dice.chance(0.3) else f"The {dice.pick(ADJECTIVES)} {dice.pick(NOUNS)}"
    end = dice.pick(("", f" on {dice.pick(DATES)}", f" for {dice.number(2, 990)} crowns", f" near the {dice.pick(NOUNS)}"))
    return f"{subject} {dice.pick(VERBS)} the {dice.pick(ADJECTIVES)} {dice.pick(NOUNS)}{end}."


def question(dice: Dice) -> str:
    """Return a question."""
    return dice.pick(QUESTIONS).format(dice.pick(NOUNS), dice.pick(ADJECTIVES))


def code(dice: Dice) -> str:
    """Return a function in Python."""
    name, other = dice.pick(NOUNS), dice.pick(NOUNS)
    return f'def {name}_{dice.number(1, 99)}({other}: int) -> int:\n    """{sentence(dice)}"""\n    return {other} * {dice.number(2, 60)}\n'


def data(dice: Dice) -> str:
    """Return a JSON object on one line."""
    found = {dice.pick(NOUNS): dice.pick((dice.number(0, 5000), dice.pick(NAMES), None, True)) for _ in range(4)}
    return json.dumps({"id": dice.number(1000, 9999), "at": dice.pick(DATES), **found})


def fault(dice: Dice) -> str:
    """Return the end of a traceback."""
    return (
        f'Traceback (most recent call last):\n  File "{path(dice)}", line {dice.number(1, 400)}, in {dice.pick(NOUNS)}\n{dice.pick(FAULTS)}'
    )


def log_line(dice: Dice) -> str:
    """Return a line as a server writes it."""
    level = dice.pick(("INFO", "WARN", "ERROR"))
    return f"{dice.pick(DATES)}T0{dice.number(0, 9)}:12:45Z {level} {path(dice)} {dice.pick(NOUNS)}={dice.number(0, 99999)}"


def bullet(dice: Dice) -> str:
    """Return an item of a list."""
    return f"- {dice.pick(ADJECTIVES)} {dice.pick(NOUNS)}: `{path(dice)}`"


KINDS: tuple[tuple[Callable[[Dice], str], str], ...] = (
    (sentence, " "),
    (sentence, " "),
    (sentence, "\n\n"),
    (code, "\n"),
    (data, "\n"),
    (lambda dice: dice.pick(CJK), ""),
    (fault, "\n\n"),
    (log_line, "\n"),
    (bullet, "\n"),
)


def passage(dice: Dice, characters: int) -> str:
    """Return a text of one kind, about so long; a rule or a question may stand in it."""
    make, separator = dice.pick(KINDS)
    pieces = [make(dice)]
    while sum(map(len, pieces)) < characters:
        pieces.append(make(dice))
    if dice.chance(0.08):
        pieces.insert(dice.number(0, len(pieces)), dice.pick(RULES))
    if dice.chance(0.12):
        pieces.append(question(dice))
    return separator.join(pieces)


def speech(dice: Dice, max_tokens: int) -> str:
    """Return what somebody says: mostly short, sometimes a large part of a window of `max_tokens`, now and then more than all of it."""
    lengths = {
        "short": (5, 120),
        "middle": (100, 100 + max_tokens // 3),
        "long": (max_tokens // 3, 2 * max_tokens),
        "huge": (2 * max_tokens, 4 * max_tokens),
        "giant": (4 * max_tokens, 7 * max_tokens),
    }
    kind = dice.weighted({"word": 12, "rule": 6, "blank": 2, "short": 34, "middle": 28, "long": 14, "huge": 3, "giant": 1})
    return passage(dice, dice.number(*lengths[kind])) if kind in lengths else dice.pick(SAYINGS[kind])


def answer(dice: Dice, max_tokens: int) -> str:
    """Return what a tool answers."""
    return dice.pick(EMPTY_RESULTS) if dice.chance(0.1) else speech(dice, max_tokens)
