"""Erase words from random sessions and look for them everywhere.

Each text of a session has a mark of its own. After an erasure the session and its forks still open
with every budget, all other words stand, and the marks of erased texts are in no event and no byte
of the store's files.
"""

import random
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

from attrs import define, field

from polycontext.base import PolycontextError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import TurnEvent, is_erased
from polycontext.window import ContextItem, ItemType, Turn
from tests.polynomial.conversations import WORDS

_MARK = re.compile(r"M\d+x")
_SESSION = "s"


def marks(text: object) -> set[str]:
    """Return the marks in a text, or in what an object is printed as."""
    return set(_MARK.findall(text if isinstance(text, str) else repr(text)))


def marks_in_files(path: Path) -> set[str]:
    """Return the marks in the rows, decompressed, and in the raw bytes of a store's files."""
    found = set[str]()
    with closing(sqlite3.connect(path)) as db:
        named = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        for (table,) in db.execute(named).fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - a table of its own
                for value in row:
                    if isinstance(value, bytes):
                        with suppress(zlib.error):
                            value = zlib.decompress(value)  # noqa: PLW2901 - the same, readable
                        found |= marks(value.decode("utf-8", "replace"))
                    elif isinstance(value, str):
                        found |= marks(value)
    for each in path.parent.glob(f"{path.name}*"):
        found |= marks(each.read_bytes().decode("latin-1"))
    return found


@define
class Life:
    """A random session in a file, with its forks, that is opened with changing budgets."""

    path: Path
    random: random.Random
    session: ContextSession = field(init=False)
    name: str = _SESSION
    forks: int = 0
    _texts: int = 0

    def __attrs_post_init__(self) -> None:
        self.session = self.open(self.name)

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the budgets that sessions are opened with."""
        return (60, 400) if self.path.stem.endswith("1") else (120, 1500)

    def open(self, name: str, size: int | None = None) -> ContextSession:
        """Open a session with one of the budgets."""
        room = size or self.random.choice(self.sizes)
        return ContextSession.open(self.path, name, max_tokens=room, counter=WORDS)

    def text(self, words: int = 25) -> str:
        """Return a new text with a mark of its own."""
        self._texts += 1
        said = (f"w{self.random.randint(0, 999)}" for _ in range(self.random.randint(1, words)))
        return f"M{self._texts}x {' '.join(said)}"

    def act(self) -> None:
        """Do something with the session, or be refused."""
        acts: Mapping[Callable[[], object], int] = {
            self._ask: 34,
            self._answer: 20,
            self._call: 9,
            self._attach: 4,
            self._patch: 5,
            self._clear: 5,
            lambda: self.session.add_system(self.text(5)): 2,
            lambda: self.session.compress(self.random.choice((0.2, 0.5, 0.8))): 6,
            self._edit: 6,
            lambda: self.session.history.rewind(
                self.random.randint(0, self.session.history.revision)
            ): 7,
            lambda: self.session.recall(self._any()): 4,
            lambda: self.session.pin(self._any()): 3,
            self._fork: 3,
            self.reopen: 5,
        }
        [act] = self.random.choices([*acts], [*acts.values()])
        with suppress(PolycontextError, IndexError):
            act()

    def reopen(self) -> None:
        """Close the session and open it again."""
        self.session.close()
        self.session = self.open(self.name)

    def _clear(self) -> None:
        self.session.clear(keep_system=self.random.random() < 0.5)

    def _any(self) -> str:
        return self.random.choice(self.session.log()).resource_id

    def _ask(self) -> None:
        self.session.add_user_turn(self.text(1200 if self.random.random() < 0.2 else 25))

    def _answer(self) -> None:
        self.session.add_assistant_turn(self.text())

    def _call(self) -> None:
        call = {"name": "look", "arguments": f'{{"q":"{self.text()}"}}'}
        name = f"c{self._texts}"
        made = {"id": name, "type": "function", "function": call}
        result = self.text(800 if self.random.random() < 0.4 else 25)
        self.session.extend(
            [
                {"role": "assistant", "content": self.text(), "tool_calls": [made]},
                {"role": "tool", "tool_call_id": name, "content": result},
            ]
        )

    def _attach(self) -> None:
        name = f"notes{self.random.randint(0, 2)}.md"
        item = ContextItem(self.text(60), ItemType.FILE, {"filename": name})
        self.session.attach(item, source=name)

    def _patch(self) -> None:
        said = self.session.log()[-1].text
        change = [{"op": "add", "path": "/last", "value": said}]
        self.session.documents.patch(
            "notes",
            lambda data: (
                [{"op": "add", "path": "", "value": {}}, *change] if data is None else change
            ),
        )

    def _edit(self) -> None:
        users = [turn.resource_id for turn in self.session.log() if turn.role == "user"]
        self.session.history.edit(self.random.choice(users), self.text())

    def _fork(self) -> None:
        if self.forks < 2:
            self.forks += 1
            self.name = f"f{self.forks}"
            fork = self.session.history.fork(self.name)
            self.session.close()
            self.session = fork


def faults_of(seed: int, folder: Path) -> Iterator[str]:
    """Live through a random session, erase words of it twice, and yield everything wrong."""
    life = Life(folder / f"life{seed % 2}.db", random.Random(seed))  # noqa: S311 - no secret
    for _ in range(life.random.randint(4, 40)):
        life.act()
    life.reopen()
    for _ in range(2):
        said = [
            event.turn for event in life.session.history.events() if isinstance(event, TurnEvent)
        ]
        if said:
            yield from _erase(life, life.random.choice(said))
    life.session.close()


def _erase(life: Life, chosen: Turn) -> Iterator[str]:
    """Erase one turn or what has expired, and yield everything wrong afterwards."""
    session, before = life.session, {turn.resource_id: turn for turn in life.session.log()}
    what = life.random.choice(("forget", "forget", "expire", "keep some"))
    try:
        if what == "forget":
            session.history.forget(chosen.resource_id)
        elif what == "expire":
            session.history.retain(days=0, max_bytes=0)
        else:
            session.history.retain(max_bytes=life.random.randint(0, 3000))
    except PolycontextError as error:
        yield f"{what}: refused: {error}"
        return
    shown = marks([*session.window.all_turns(), session.conversation.documents])
    events, log = marks(session.history.events()), session.log()
    session.close()
    files = marks_in_files(life.path)
    gone = marks([chosen.text, *(call.arguments for call in chosen.tool_calls)])
    left = {
        "forget": gone & (files | events),
        # A fork keeps its own copies of what has expired elsewhere.
        "expire": (events if life.forks else events | files) - shown,
        "keep some": set[str](),
    }[what]
    if left:
        yield f"{what}: left: {left}"
    yield from (f"{what}: {fault}" for fault in _opening_faults(life, log))
    life.session = life.open(life.name)
    for turn in life.session.log():
        if not is_erased(turn) and turn != before.get(turn.resource_id, turn):
            yield f"{what}: changed: {turn.resource_id}"


def _opening_faults(life: Life, log: tuple[Turn, ...]) -> Iterator[str]:
    """Open the session and its forks with every budget, and yield what is wrong at any revision."""
    names = {life.name, _SESSION, *(f"f{number}" for number in range(1, life.forks + 1))}
    for name, size in product(sorted(names), life.sizes):
        try:
            with life.open(name, size) as opened:
                for revision in range(opened.history.revision + 1):
                    opened.history.at(revision)
                if name == life.name and opened.log() != log:
                    yield "another log: after opening"
        except PolycontextError as error:
            yield f"destroyed: {error}"
