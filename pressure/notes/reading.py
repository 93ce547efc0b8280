"""Reading the turns of a conversation as the events that a note tells."""

import re
from collections.abc import Iterator, Sequence

from attrs import define, field

from polycontext.linearity.classification.prose import is_loaded, own_words
from polycontext.window import Role, Turn
from polycontext.window.items import attachment_of, fenced_text
from polycontext.window.items.attachment import attached_outline

from ..gist import is_pointer, unframed
from ..terms import is_prose
from .addressed import with_notices
from .calls import has_failed, read_call, read_command
from .events import ATTACHED, REFUSAL, TEAMMATE, Change, Effect, Event, Happening
from .lines import parse_summary
from .pieces import excerpt, unnamed, without_escapes
from .text_sessions import CHANGED, NUMBERED, SHELLS, call_events, read_text

_FRAME = re.compile(
    r"\s*(?:<returncode>0</returncode>|</?(?:output|stdout|stderr|tool_result|function_results)>"
    r"|\((?:Open file|Current directory|Interactive session|\d{1,9} more lines)[^\n]{0,400}\)"
    r"|bash-\$|[\w.-]{1,40}@[\w.-]{1,60}[: ][^\n]{0,100}[$%#]"
    r"|\[(?:Python Interpreter|Jupyter current working|The command completed with exit code"
    r" 0|Command finished with exit code 0)[^\n]{0,300}\])?\s*"
)
_FIRST_LINES, _LAST_LINES = 4, 8
"""How many lines at either end of a result may be a harness's frame."""
_OBSERVED = re.compile(
    r"\s{0,9}(?:<(?:returncode|output|exit_code|stdout|function_results|tool_result)>|OBSERVATION\b"
    r"|Observation:|EXECUTION RESULT of|\[?Command (?:finished|executed|output)"
    r"|\[[\w ]{1,40}(?: for '[^\n]{0,400}')?\] Result:)"
)
_OBSERVED_LAST = re.compile(r"\(Current directory: [^\n]{0,400}\)\n|\nbash-\$\s{0,9}\Z")
_OBSERVATION_HEAD = re.compile(
    r"\s{0,9}(?:OBSERVATION|Observation|EXECUTION RESULT of \[[\w. -]{1,60}\]):\s{0,9}"
)
_SENTENCE = re.compile(r"\s{0,9}[^\W\d_a-z][^\n]{20,2000}[.:!?](?:\n|\Z)")
_PERSONAL = re.compile(
    r"[^\W\d_](?=[^\n]{25})[^\n]*\b(?:i|i'm|i'll|we|we're|you|my|me|let's|please)\b", re.IGNORECASE
)
"""A first line in which somebody speaks of themselves or to somebody."""
_OPENED = re.compile(r"\(Open file: ([^\n()]{1,400})\)|\[File: ([^\n( ]{1,400}) \(")
_SLASH = re.compile(r"/(\w{2,20})(?: [^\n]{0,2000})?")
_SLASH_SAYS = re.compile(r"\A/(?:ask|code|architect|chat|plan)\s{1,9}(?=\S)")
_COMMAND = re.compile(r"<command-(name|args)>([^<]{1,9000})</command-\1>")
_OF_FILES = re.compile(r"(?i)\A\Z|grep|glob|ls\Z|lint|todo|task|agent|question|plan")
"""The names of tools whose results are about files, and of harnesses that name none."""
_UNWRITTEN = re.compile(
    r"(?i)no such file|denied|read-only|cannot|can't|is a directory|no space|not found|error|fatal"
)
_OF_TEXT = (Change.INSERT, Change.REPLACE, Change.WRITE)
_HEAD = _LAST_LINE = 400
_COMPLAINS = re.compile(
    r"(?:Please (?:always )?(?:provide|format|include|use)\b|Your (?:last )?(?:output|response)\b)"
    r"[^\n]{0,200}\b(?:triple backticks|EXACTLY ONE|<response_example>|format|parse|command)",
    re.IGNORECASE,
)
"""The complaint of a harness about the form of a message, which is no request."""
_REFUSED = re.compile(
    r"^[ \t]{0,9}The user (?:doesn't want to (?:proceed with this|take this action)"
    r"|denied this operation|rejected permission to use)",
    re.IGNORECASE | re.MULTILINE,
)
_OBJECTS = re.compile(
    r"(?:the user said|for the rejection|the following feedback):|</?feedback>"
    r"|\n\nNote: The user's next message"
    r"|The user wants to clarify these questions\.[^\0]{0,400}?asked:",
    re.IGNORECASE,
)
"""How hosts tell that the user did not allow a call, and what stands around what the user said."""
_ANSWERS = re.compile(
    r"\s{0,9}(?:User has answered your questions|Your questions have been answered):", re.IGNORECASE
)
_GO_ON = ". You can now continue"
_OF_USER = re.compile(r"(?i)question|exit_?plan|ask_?(?:user|human|follow)")
_ASKED_FIRST = re.compile(r"\s{0,9}\[(?:write|replace|insert|apply|search_and|ask|attempt)_\w+")
"""The names of tools that only ask the user, and how a result of tools begins that ask first."""
_UNANSWERED = re.compile(r"(?:- [^\n]*\n\s*\(No answer provided\)\s*)+")
_TEAMMATE = re.compile(
    r"<teammate-message\s[^<>]{0,200}?teammate_id=\"([^\"<>]{1,60})\"[^<>]{0,2000}>"
)
_COMMIT = re.compile(r"\[[^\]\n]{1,200} ([0-9a-f]{6,40})\]")


def attached_label(turn: Turn) -> str:
    """Return how a note names an attachment, or "" if `turn` is not one."""
    attachment = attachment_of(turn)
    return f"{ATTACHED} {attachment.type} {attachment.name}" if attachment else ""


@define
class _Reader:
    """Collects the events of turns."""

    notices: bool
    spoken: bool
    """Whether the assistant has said or called something."""
    events: list[Event] = field(factory=list)
    calls: dict[str | None, int] = field(factory=dict)
    hosted: bool = False
    """Whether the user's last command was one to the host."""
    expands: str = ""
    """The name of the user's command of which the host gives the text next, or ""."""
    called: bool = False
    """Whether the assistant has made a call."""
    opened: str = ""
    """The file that an editor said is open."""

    def read(self, turn: Turn, number: int) -> None:
        base = Event("", number, turn.resource_id)
        if turn.role is Role.TOOL:
            self._result(turn, base)
        elif turn.is_gist:
            self._summary(turn, base)
        elif attachment_of(turn):
            outline = "\n".join(entry.text for entry in attached_outline(turn))
            self.events.append(
                base._replace(
                    happening=Happening.CALL, name=ATTACHED, effect=Effect.READ,
                    text=outline or excerpt(fenced_text(turn.text)[1]),
                    path=attached_label(turn).removeprefix(f"{ATTACHED} "),
                )
            )  # fmt: skip
        elif turn.role is Role.ASSISTANT:
            self.spoken = True
            self.expands = ""
            self._spoken(turn, base)
        elif turn.role is Role.USER:
            self._heard(turn, base)
        elif turn.text.strip():
            self.events.append(
                base._replace(happening=Happening.LINE, name=str(turn.role), text=turn.text.strip())
            )

    def _summary(self, turn: Turn, base: Event) -> None:
        for line in parse_summary(turn):
            text = f"{line.label}{line.text}"
            self.events.append(
                base._replace(happening=Happening.LINE, name=line.heading, text=text)
            )

    def _heard(self, turn: Turn, base: Event) -> None:
        text = without_escapes(turn.text)
        place = self._last_command()
        # The task may end as a harness's observations do, and comes before anything is said.
        if self.spoken and is_observation(text, awaited=place >= 0):
            if place < 0:
                place = len(self.events)
                self.events.append(base._replace(happening=Happening.CALL, effect=Effect.RUN))
            elif (code := self.events[place]).happening == Happening.CODE:
                made = read_command(code.text.strip().removeprefix("$ "))
                shell = code._replace(name=code.name or "shell")
                self.events[place : place + 1] = call_events(made, shell, None)
            self._answered(place, _OBSERVATION_HEAD.sub("", text, count=1), turn, base)
            return
        expands, self.expands = self.expands or "skill" * is_loaded(text), ""
        if expands:
            # The host puts the text of a skill, or of the command that the user named, behind it.
            text = excerpt(text)
            self.events.append(
                base._replace(happening=Happening.CALL, effect=Effect.READ, name=expands, text=text)
            )
            return
        for name, told in _of_teammates(text):
            label = f"{TEAMMATE} {name}"
            self.events.append(
                base._replace(happening=Happening.CALL, effect=Effect.RUN, name=TEAMMATE,
                              path=label, text=excerpt(told))
            )  # fmt: skip
        named = dict(_COMMAND.findall(text))
        if named.keys() == {"name", "args"}:
            self.expands, text = named["name"], " ".join(named.values())
        said = _SLASH_SAYS.sub("", unnamed(own_words(text), turn.name or "").strip())
        if not self.expands and (command := _SLASH.fullmatch(said)):
            # What the host prints about it follows.
            self.hosted = True
            effect = Effect.EDIT if command[1] == "undo" else Effect.READ
            self.events.append(
                base._replace(happening=Happening.CALL, name=f"/{command[1]}", effect=effect)
            )
        elif said and not (self.spoken and _COMPLAINS.match(said)):
            self.hosted = False
            self.events.append(
                base._replace(
                    happening=Happening.ASK, text=excerpt(said, demands=True), name=turn.name or ""
                )
            )

    def _last_command(self) -> int:
        """Return the place of the command at the end of the message before, -1 if there is none.

        It is a shell's block of code, or one of no language.
        """
        last = self.events[-1].turn if self.events else -1
        for place in reversed(range(len(self.events))):
            event = self.events[place]
            if event.turn != last or event.happening == Happening.OUTPUT:
                break
            if event.happening == Happening.CODE:
                return place if event.name in ("", *SHELLS) and not event.path else -1
            if event.happening == Happening.CALL:
                return place if event.command and not event.text else -1
        return -1

    def _spoken(self, turn: Turn, base: Event) -> None:
        named = base._replace(name=turn.name or "")
        text = excerpt(unnamed(without_escapes(turn.text), turn.name or "").strip())
        self.called = self.called or bool(turn.tool_calls)
        said = read_text(text, named, hosted=self.hosted, calls=self.called)
        self.called = self.called or any(event.effect for event in said)
        self.events += said
        self.hosted = False
        for call in turn.tool_calls:
            self.calls[call.id] = len(self.events)
            self.events += call_events(read_call(call), base._replace(name=call.name), None)

    def _result(self, turn: Turn, base: Event) -> None:
        place = self.calls.pop(turn.tool_call_id, -1)
        if place < 0:
            place = len(self.events)
            self.events.append(
                base._replace(happening=Happening.CALL, name=turn.name or "", effect=Effect.READ)
            )
        text = "" if is_pointer(turn) else unframed(turn.text) if turn.is_gist else turn.text
        self._answered(place, text, turn, base)

    def _answered(self, place: int, text: str, turn: Turn, base: Event) -> None:
        """Give a call its result, and state of its edits whether they failed.

        What the user answered or objected to it is the user's.
        """
        call = self.events[place]
        said, text = _heard_of(text) if _is_by_host(call, turn) else ("", text)
        refused = text == REFUSAL
        failed = (
            refused
            or turn.metadata.get("is_error") is True
            or has_failed(text, Effect(call.effect), shell=bool(call.command))
        )
        changed = CHANGED.search(text) if call.effect == Effect.EDIT and not call.path else None
        call = call._replace(path=changed[1]) if changed else call
        if opened := [*_OPENED.finditer(f"{text[:400]}\n{text[-2_000:]}")]:
            self.opened = next(filter(None, opened[-1].groups()))
        shown = _shown(text, call.command)
        if self.notices and shown and not failed and call.effect != Effect.EDIT:
            is_file = bool(call.command or call.path or _OF_FILES.search(call.name))
            shown = with_notices(shown, turn.resource_id, is_file=is_file)
        if call.effect == Effect.EDIT and not failed:
            # The lines around the edit as they are now.
            shown = "\n".join(filter(NUMBERED.match, shown.split("\n")))
        if said:
            # What the user said tells it all.
            self.events[place] = call._replace(text="", failed=failed, effect=Effect.READ)
        elif call.effect != Effect.THINK:
            self.events[place] = call._replace(text=shown, failed=failed)
        for edit in range(place + 1, len(self.events)):
            event = self.events[edit]
            if event.happening != Happening.EDIT or event.turn != call.turn:
                break
            path = event.path or (call.path or self.opened if event.change in _OF_TEXT else "")
            if event.change == Change.COMMIT and (commit := _COMMIT.search(text)):
                path = commit[1]
            # Where a script does more than edit, something else may be what failed.
            is_whole = refused or call.effect == Effect.EDIT
            is_unwritten = failed and (is_whole or _says_unwritten(text, path))
            self.events[edit] = event._replace(failed=is_unwritten, path=path)
        if said and not _UNANSWERED.fullmatch(said):
            said = excerpt(said, demands=True)
            self.events.append(base._replace(happening=Happening.ASK, text=said))


def _of_teammates(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the words of each message of another agent that is no notification."""
    for part in text.split("</teammate-message>")[:-1]:
        tag = _TEAMMATE.search(part)
        told = part[tag.end() :].strip() if tag else ""
        if tag and told and told[0] != "{":
            yield tag[1], told


def _is_by_host(call: Event, turn: Turn) -> bool:
    """Return whether a result that tells what the user said can only be the host's: no page's."""
    return (
        turn.metadata.get("is_error") is True
        or call.effect == Effect.EDIT
        or _OF_USER.search(call.name) is not None
        or (turn.role is Role.USER and _ASKED_FIRST.match(turn.text) is not None)
    )


def _heard_of(result: str) -> tuple[str, str]:
    """Return what the user said to a call, if a host tells that, and what is left of its result."""
    if answers := _ANSWERS.match(result):
        said = result[answers.end() :].partition(_GO_ON)[0].strip()
        return said if said.startswith('"') else said.partition("\n")[0], ""
    if _REFUSED.search(result[:_HEAD]):
        return next(filter(None, map(str.strip, _OBJECTS.split(result)[1:])), ""), REFUSAL
    return "", result


def _says_unwritten(text: str, path: str) -> bool:
    """Return whether an output says that a file could not be written."""
    name = path.rpartition("/")[2]
    ends = f"{text[:2_000]}\n{text[-2_000:]}"
    return any(name in line for line in ends.splitlines() if _UNWRITTEN.search(line))


def read_events(
    turns: Sequence[Turn], first: int, *, before: Sequence[Event] = (), notices: bool = True
) -> list[Event]:
    """Return the events `before` and those of `turns`, which are numbered from `first`.

    The first turn may answer a command among the events before. With `notices`, a notice replaces
    text in a tool's result that commands the assistant.
    """
    reader = _Reader(notices, spoken=first > 0, events=[*before])
    for number, turn in enumerate(turns, first):
        reader.read(turn, number)
    return reader.events


def is_observation(text: str, *, awaited: bool) -> bool:
    """Return whether a user's message is what a harness observed; `awaited` after a command."""
    if _OBSERVED.match(text) or _OBSERVED_LAST.search(text[-1_000:]):
        return True
    is_said = is_prose(text) or _SENTENCE.match(text) or _PERSONAL.match(text[:_LAST_LINE].strip())
    return awaited and len(text) > 0 and not is_said


def _shown(text: str, command: str) -> str:
    """Return a result without escape codes, the frames of a harness and its `command`."""
    lines = without_escapes(text).strip().split("\n")
    last = max(_FIRST_LINES, len(lines) - _LAST_LINES)
    ends = (lines[:_FIRST_LINES], lines[last:])
    prompted = f" {command}" if command else "\n"
    first, end = (
        [line for line in part if not (_FRAME.fullmatch(line) or line.endswith(prompted))]
        for part in ends
    )
    return excerpt("\n".join((*first, *lines[_FIRST_LINES:last], *end)))
