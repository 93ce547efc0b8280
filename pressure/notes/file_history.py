"""The history of files: which edits stand after others overwrote, reverted or undid them."""

import re
from fnmatch import fnmatch
from typing import NamedTuple

from attrs import define, field

from .events import Change, Event, Happening
from .patches import edits_of_patch

_MOST_FILES, _MOST_COMPARED = 200, 20
"""With how many files a path, and with how many edits before it an edit is compared."""

_EXPRESSION = re.compile(r"[\d,$ ]{0,20}s([^\w\s])(.{1,2000}?)\1(.{0,2000}?)\1\w{0,4}", re.DOTALL)
_OF_TEXT = (Change.WRITE, Change.INSERT, Change.REPLACE)
_Files = dict[str, list["Step"]]
"""The edits that stand, by file."""


@define(eq=False)
class Step:
    """An edit of a file that stands so far; `event` is -1 if it is in the messages that stay."""

    event: int
    edit: Event


class _Commit(NamedTuple):
    """A commit with its event, and the edits that stood before and after it."""

    number: str
    event: int
    edit: Event
    before: _Files
    after: _Files


@define
class FileHistory:
    """The edits that stand, by file, and the commits."""

    steps: _Files = field(factory=dict)
    failed: _Files = field(factory=dict)
    removed: dict[str, Step] = field(factory=dict)
    undone: dict[str, int] = field(factory=dict)
    """The event that put back each file that was put back."""
    committed: list[_Commit] = field(factory=list)
    uncommitted: dict[str, tuple[int, Event]] = field(factory=dict)
    _head: _Files = field(factory=dict)
    """The edits that are committed."""
    _shelved: _Files = field(factory=dict)
    _versions: dict[str, list[list[Step]]] = field(factory=dict)
    """What stood in each file before each of its edits."""

    @property
    def commits(self) -> dict[str, tuple[int, Event]]:
        """Return the commits that stand, by number, with their events."""
        return {commit.number: (commit.event, commit.edit) for commit in self.committed}

    def add(self, place: int, edit: Event) -> None:
        """Apply an edit."""
        path = self._known(edit.path) if edit.path else ""
        is_kept = edit.change in (*_OF_TEXT, Change.DIFF, Change.SUBSTITUTE)
        if is_kept and edit.failed:
            text = edit.text.strip()
            if text and any(text in step.edit.text for step in self.steps.get(path, ())):
                return  # It had been applied before.
            self.failed.setdefault(path, []).append(Step(place, edit))
        elif is_kept:
            self._change(place, path, edit)
        elif not edit.failed:
            self._go_back(place, path, edit)

    def _go_back(self, place: int, path: str, edit: Event) -> None:
        match edit.change:
            case Change.UNDO:
                self._undo(place, edit.path)
            case Change.SHELVE:
                before = {name: [*steps] for name, steps in self.steps.items()}
                self._undo(place, "")
                self._shelved = {
                    name: steps for name, steps in before.items() if steps != self.steps[name]
                }
            case Change.UNSHELVE:
                self.steps |= self._shelved
                self.undone = {
                    name: at for name, at in self.undone.items() if name not in self._shelved
                }
                self._shelved = {}
            case Change.COMMIT:
                number = edit.path or f"#{len(self.committed) + len(self.uncommitted)}"
                after = {name: [*steps] for name, steps in self.steps.items()}
                self.committed.append(_Commit(number, place, edit, self._head, after))
                self._head = after
            case Change.UNCOMMIT:
                self._uncommit(place, edit)
            case Change.REVERT:
                if versions := self._versions.get(path):
                    self.steps[path] = versions.pop()
            case _:
                steps = [*self.steps.pop(path, ()), *self.failed.pop(path, ())]
                self.undone.pop(path, None)
                if not any(step.edit.change == Change.WRITE for step in steps):
                    self.removed[path] = Step(place, edit)

    def compare(self, place: int, call: Event) -> None:
        """Take the state of the files that are not committed from what ``git diff`` printed."""
        for path, change, before, text in edits_of_patch(call.text):
            name = self._known(path)
            edit = call._replace(
                happening=Happening.EDIT, path=name, change=change, before=before, text=text
            )
            if change != Change.REMOVE:
                self.steps[name] = [*self._head.get(name, ()), Step(place, edit)]

    def _known(self, path: str) -> str:
        """Return the path under which a file is known: one may be the end of the other."""
        path = path.removeprefix("./")
        if path in self.steps or len(self.steps) > _MOST_FILES:
            return path
        ends = _ends_of(path)
        return next((name for name in self.steps if _is_one(ends, _ends_of(name))), path)

    def _undo(self, place: int, path: str) -> None:
        for name, steps in self.steps.items():
            head = self._head.get(name, [])
            if steps != head and (not path or _is_in(name, path.removeprefix("./"))):
                self.steps[name] = [*head]
                self.undone[name] = place

    def _uncommit(self, place: int, edit: Event) -> None:
        commit = next(
            (one for one in reversed(self.committed) if _is_same(one.number, edit.path)), None
        )
        if commit or edit.path:
            number, told = (commit.number, commit.edit) if commit else (edit.path, edit)
            self.uncommitted[number] = (place, told if told.text else edit)
        if commit is None:
            # A commit that nobody told is that of the last edits.
            turns = (step.edit.turn for steps in self.steps.values() for step in steps)
            last = max(turns, default=-1)
            for name, versions in self._versions.items():
                while versions and any(step.edit.turn == last for step in self.steps.get(name, ())):
                    self.steps[name] = versions.pop()
            return
        self.committed.remove(commit)
        for files in (self.steps, self._head):
            for name, after in commit.after.items():
                before = commit.before.get(name, [])
                gone = [step for step in after if step not in before]
                stays = [step for step in files.get(name, ()) if step not in gone]
                files[name] = [*(step for step in before if step not in stays), *stays]

    def _change(self, place: int, path: str, edit: Event) -> None:
        # A block that failed beside others of its message failed after all.
        ends = _ends_of(path)
        others = [name for name in self.failed if name == path or _is_one(ends, _ends_of(name))]
        failed = [
            step for name in others for step in self.failed.pop(name) if step.edit.turn == edit.turn
        ]
        self.failed |= {path: failed} if failed else {}
        self.removed.pop(path, None)
        before = self.steps.setdefault(path, [])
        steps = [*before]
        if edit.change == Change.WRITE:
            if not edit.text and steps:
                return  # It was there, and is only touched.
            steps.clear()
        elif edit.change == Change.REPLACE:
            edit = _merged(steps, edit)
        elif edit.change == Change.SUBSTITUTE:
            edit = _substituted(steps, edit)
        elif edit.change == Change.DIFF:
            _replace_diffs(steps, edit)
        if edit.change != Change.REPLACE or edit.before.strip() != edit.text.strip():
            steps.append(Step(place, edit))
        self._versions.setdefault(path, []).append(before)
        self.steps[path] = steps


def _is_in(name: str, path: str) -> bool:
    """Return whether a file is meant by a path, which may be a folder or a pattern."""
    folder = f"/{path.strip('/')}/"
    return (
        f"/{name}".endswith(folder[:-1])
        or f"/{path}".endswith(f"/{name}")
        or folder in f"/{name}"
        or ("*" in path and fnmatch(name, path))
    )


def _ends_of(path: str) -> str:
    return "/" + path.replace("\\", "/").lstrip("/")


def _is_one(path: str, other: str) -> bool:
    return path.endswith(other) or other.endswith(path)


def _is_same(commit: str, other: str) -> bool:
    return commit.startswith(other) or other.startswith(commit)


def _merged(steps: list[Step], edit: Event) -> Event:
    """Return an edit as one with those before it that it overwrites or that hold its place.

    These are removed from `steps`.
    """
    for step in steps[: -_MOST_COMPARED - 1 : -1]:
        old = step.edit
        if old.change not in _OF_TEXT or not old.text.strip():
            continue
        if (old.before, old.text) == (edit.before, edit.text):
            steps.remove(step)
        elif edit.before.strip() and edit.before in old.text:
            steps.remove(step)
            text = old.text.replace(edit.before, edit.text, 1)
            return old._replace(text=text, turn=edit.turn, id=edit.id)
        elif old.change == Change.REPLACE and old.text in edit.before:
            steps.remove(step)
            edit = edit._replace(before=edit.before.replace(old.text, old.before, 1))
    return edit


def _substituted(steps: list[Step], edit: Event) -> Event:
    new = _EXPRESSION.match(edit.text)
    for step in steps[: -_MOST_COMPARED - 1 : -1]:
        old = _EXPRESSION.match(step.edit.text) if step.edit.change == Change.SUBSTITUTE else None
        if new and old and old[3].strip() and old[3].strip() in new[2]:
            steps.remove(step)
            if old[3] == new[2] and new[3] == old[2]:
                return edit._replace(change=Change.REPLACE, before="", text="")
    return edit


def signed_lines(diff: str, sign: str) -> list[str]:
    """Return the lines of a diff that have a sign, without it."""
    return [
        line[1:]
        for line in diff.split("\n")
        if line.startswith(sign) and line[:3] not in ("+++", "---")
    ]


def _replace_diffs(steps: list[Step], edit: Event) -> None:
    gone = {*filter(str.strip, signed_lines(edit.text, "-"))}
    for step in steps[-_MOST_COMPARED:] if gone else ():
        if step.edit.change == Change.DIFF:
            added = {*filter(str.strip, signed_lines(step.edit.text, "+"))}
            if added and added <= gone:
                steps.remove(step)
