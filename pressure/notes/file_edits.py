"""Edits as the final state of each file: what was overwritten, undone or reverted is not told."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from polycontext.window.items.attachment import outline_of

from .asks import CALLED, TASKS, finished_before
from .events import Change, Event, Happening
from .file_history import FileHistory, Step, signed_lines
from .items import Item, Section, left_out
from .thinning import count_lines

EDITED, RECENT, COMMITTED, FINISHED = 74.0, 12.0, 80.0, 25.0
"""The score of the edits of a file, what the newest have more, that of commits, and what
finished ones have less."""

_MOST_STEPS, _MANY_LINES, _MOST_LINES, _FEW_LINES = 6, 60, 14, 2
_LONGEST_LINE, _LONGEST_TEXT = 300, 100_000
_WRITES = re.compile(
    r"""\bopen\(\s{0,9}((?:["']([^"'\n]{1,200})["']|(\w{1,60}))),\s{0,9}["'][wa]"""
)
_QUOTED = re.compile(r"(\"{3}|'{3})([^\n]{0,300}\n.*?)\1", re.DOTALL)
"""What opens a file to write it, by its path or a name for that, and lines that a script quotes."""

_WORD = re.compile(r"\w")
_DIFF_CALL = re.compile(
    r"\bgit (?:--no-pager )?diff(?: --cached| --staged| --| [\w./]{1,200}){0,9}\s*(?:[|&;]|\Z)"
)


def edit_items(
    events: Sequence[Event], standing: Sequence[Event] = (), *, total: int
) -> list[Item]:
    """Return the items that tell the edits among `events`, in the section Done.

    A file is told in its final state. `standing` are the events of the messages that stay: what
    they undo or overwrite is not told, either. A failed edit is told only if nothing later edited
    the file. `total` is the number of turns.
    """
    finished, called = (finished_before(events, standing, tasks) for tasks in (TASKS, CALLED))
    return [*_items(_history(events, standing), events, max(1, total), finished, called)]


def _history(events: Sequence[Event], standing: Sequence[Event]) -> FileHistory:
    files, scripts = FileHistory(), dict[str, Event]()
    for place, event in (*enumerate(events), *((-1, event) for event in standing)):
        if event.happening == Happening.EDIT:
            files.add(place, event)
            is_written = event.change == Change.WRITE and not event.failed
            if is_written and (edit := _edit_of_script(event)):
                scripts[event.path.rpartition("/")[2]] = edit
        elif event.command and not event.failed and scripts:
            for name in [name for name in scripts if _runs(event.command, name)]:
                made = scripts.pop(name)
                files.add(place, made._replace(turn=event.turn, id=event.id))
        elif "diff --git " in event.text and _DIFF_CALL.search(event.command):
            files.compare(place, event)
    return files


def _items(
    files: FileHistory, events: Sequence[Event], total: int, finished: int, called: int
) -> Iterator[Item]:
    def item(place: int, score: float, *variants: str) -> Item:
        recency = RECENT * events[place].turn / total
        whole = tuple(dict.fromkeys(filter(None, variants)))
        return Item(Section.DONE, place, score + recency, whole)

    for path, steps in files.steps.items():
        last = max((step.event for step in steps), default=-1)
        variants = [*_variants(path, steps)] if last >= 0 else []
        if variants:
            # Of what was finished, a few lines are enough.
            if last < called:
                brief = [each for each in variants if each.count("\n") <= _FEW_LINES + 1]
                variants = brief or variants[-1:]
            first = min(step.event for step in steps if step.event >= 0)
            told = item(last, EDITED - FINISHED * (last < finished), *variants)
            yield told._replace(began=first)
    for path, steps in files.failed.items():
        last = steps[-1].event
        if last >= finished and not any(step.event < 0 for step in steps):
            says = f"failed to edit {path or 'a file'}"
            lines = _listed(*changed_lines(steps[-1].edit), _FEW_LINES)
            yield item(last, EDITED, f"{says}{_told(lines)}", says)
    gone = {path: step.event for path, step in files.removed.items() if step.event >= 0}
    if gone:
        path = [*gone][-1]
        count = f"removed {len(gone)} files, the last: {path}" if len(gone) > 1 else ""
        yield item(gone[path], EDITED, f"removed {', '.join(gone)}", count)
    for path, place in files.undone.items():
        if place >= 0 and not files.steps.get(path):
            yield item(place, EDITED, f"put back {path}; the edits before are undone")
    yield from _commits(files, item)


def _commits(files: FileHistory, item: Callable[..., Item]) -> Iterator[Item]:
    for commits, says in (
        (files.commits, "committed"),
        (files.uncommitted, "undone, not in the files any more"),
    ):
        names = {
            f"{number} {event.text}".strip().removeprefix("#"): place
            for number, (place, event) in commits.items()
            if place >= 0
        }
        if names:
            *earlier, last = names
            told = "\n".join((f"{says}:", *names)) if earlier else f"{says}: {last}"
            short = f"{says}: {left_out(len(earlier), 'commit')} {last}" if earlier else ""
            yield item(names[last], COMMITTED, told, short)


def _variants(path: str, steps: Sequence[Step]) -> Iterator[str]:
    """Yield how the edits of a file are told, from long to short."""
    name = path or "a file"
    # Of edits that name no file, only the last can be understood.
    told = [*_standing(steps if path else steps[-1:])]
    if not told:
        is_known = steps[-1].edit.text or steps[-1].edit.before
        if not is_known or steps[-1].edit.change == Change.WRITE:
            yield f"{'created' if steps[-1].edit.change == Change.WRITE else 'edited'} {name}"
        return
    number = len(told)
    is_written = number == 1 and told[0].edit.change == Change.WRITE
    verb = f"{'wrote' if is_written else 'edited'} {name}"
    if number > 1:
        for limit in (_MANY_LINES, _MOST_LINES):
            shown = [each.text(limit) for each in told[-_MOST_STEPS:]]
            earlier = [left_out(number - len(shown), "earlier edit")] if number > len(shown) else []
            yield "\n".join((f"{verb}:", *earlier, *shown))
        verb = f"{verb}, {number} edits"
    # A whole new file is read again where it is needed.
    for limit in (_MANY_LINES, _MOST_LINES, _FEW_LINES)[number > 1 or is_written :]:
        yield f"{verb}{', last' if number > 1 else ''}{_told(told[-1].text(limit))}"
    yield verb


class _Shown(NamedTuple):
    """The lines of an edit that still stand, and those that they replace."""

    edit: Event
    old: Sequence[str]
    new: Sequence[str]

    def text(self, limit: int) -> str:
        """Return the change in at most `limit` lines and a mark for the others."""
        if self.edit.change == Change.SUBSTITUTE:
            expression = self.edit.text
            return f"sed {expression}" if len(expression) <= _LONGEST_LINE else "sed"
        if self.edit.change == Change.WRITE and len(self.new) > limit:
            return _outlined(self.edit.text, self.new, limit)
        return _listed(self.old, self.new, limit)


def _standing(steps: Sequence[Step]) -> Iterator[_Shown]:
    """Yield what stands of edits: no line that a later one of them removed.

    An edit most of whose lines a later one writes again is overwritten by it.
    """
    shown, gone, later = list[_Shown](), set[str](), list[set[str]]()
    for step in reversed(steps):
        old, new = changed_lines(step.edit)
        left = [line for line in new if line.strip() not in gone]
        lines = {*map(str.strip, new)}
        is_written_again = any(2 * len(lines & each) > len(lines) for each in later[-_MOST_STEPS:])
        told = step.event >= 0 and not is_written_again
        later += [lines] * (len(lines) >= _FEW_LINES)
        if told and (left or (old and not new) or step.edit.change == Change.SUBSTITUTE):
            shown.append(_Shown(step.edit, old, left))
        gone.update(map(str.strip, old))
    yield from reversed(shown)


def changed_lines(edit: Event) -> tuple[list[str], list[str]]:
    """Return the lines that an edit removes, and those that it adds."""
    match edit.change:
        case Change.SUBSTITUTE:
            return [], []
        case Change.WRITE | Change.INSERT:
            return [], [*filter(str.strip, edit.text.split("\n"))]
        case Change.DIFF:
            old, new = signed_lines(edit.text, "-"), signed_lines(edit.text, "+")
        case _:
            before, after = edit.before.split("\n"), edit.text.split("\n")
            stays = {*map(str.strip, before)} & {*map(str.strip, after)}
            old = [line for line in before if line.strip() not in stays]
            new = [line for line in after if line.strip() not in stays]
    return [*filter(str.strip, old)], [*filter(str.strip, new)]


def _told(text: str) -> str:
    return f":\n{text}" if text[:2] in ("- ", "+ ") else f": {text}" if text else ""


def _listed(old: Sequence[str], new: Sequence[str], limit: int) -> str:
    total = len(old) + len(new)
    if total > limit:
        if limit == _FEW_LINES:  # Brackets alone tell nothing.
            old, new = ([line for line in lines if _WORD.search(line)] for lines in (old, new))
        # What stands now comes first, with a line of what it replaces.
        shown = min(len(old), max(1, limit - len(new)))
        old, new = old[:shown], new[: limit - shown]
    margin = min((len(line) - len(line.lstrip()) for line in (*old, *new)), default=0)
    lines = [f"- {line[margin:]}" for line in old] + [f"+ {line[margin:]}" for line in new]
    kept = [line for line in lines if len(line) <= _LONGEST_LINE]
    omitted = [left_out(total - len(kept), "line")] if total > len(kept) else []
    return "\n".join((*kept, *omitted))


def _edit_of_script(written: Event) -> Event | None:
    """Return the edit that a script makes when it runs, with the lines that it quotes."""
    script = written.text[:_LONGEST_TEXT]
    opened = _WRITES.search(script)
    # What is only written is a result of the script.
    is_edited = opened and len(re.findall(rf"\bopen\(\s*{re.escape(opened[1])}", script)) > 1
    path = (opened[2] or _named_path(script, opened[3])) if opened and is_edited else ""
    if not path:
        return None
    # What the script calls is no line of the file.
    quoted = "\n".join(text.strip("\n") for _, text in _QUOTED.findall(script))
    return written._replace(path=path, change=Change.INSERT, text=quoted)


def _named_path(script: str, name: str) -> str:
    """Return the path that a script gives a name, "" if it gives none."""
    found = re.search(rf"""\b{name}\s*=\s*["']([^"'\n]{{1,200}})["']""", script)
    return found[1] if found else ""


def _runs(command: str, name: str) -> bool:
    return re.search(rf"(?:^|[\s/]){re.escape(name)}(?:\s|$)", command) is not None


def _outlined(text: str, lines: Sequence[str], limit: int) -> str:
    number = count_lines(lines)
    size = f"{number:,} line{'' if number == 1 else 's'}"
    most = max(_FEW_LINES, limit // 4)
    names = [entry.text for entry in outline_of(text[:_LONGEST_TEXT])][:most]
    return f"{size}; {'; '.join(names)}" if names else size
