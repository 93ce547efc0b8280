"""Rows of a request to a model, each shortened where it stands (docs/gateway.md).

What a row becomes depends on the row and on those before it, never on time, on a store or on
earlier requests. So a row that was sent once is sent in the same words with every later request,
and the provider's prompt cache holds.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from math import inf
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from attrs import field, frozen

from polycontext.pressure import excerpt_of, pasted_spans
from polycontext.window import TokenCounter, default_counter

Row = Mapping[str, Any]

SHORT, LONG = 500, 1_500
"""The characters up to which a result stays, and up to which it is only written more densely."""

PASTED = 8_000
"""The characters, about 2,000 tokens, from which a pasted block of a user's is shortened."""

REPEATED = 800
"""The characters from which a text that occurred before is replaced by a reference."""

_MOST = 12_000
"""The most characters of an excerpt."""

_REMEMBERED, _BEGINNING = 20_000_000, 60
"""The most characters that are remembered, and how many of a repeated text are told."""

_MARK = re.compile(r"hash=[0-9a-f]{24}\]$")
_RETRIEVES = re.compile(r"(?:\w+__)?headroom_retrieve")
_PROGRAM = re.compile(r"\s*<(?:returncode|exit_code|output|stdout|stderr|observation)\b")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_TEXTS = ("text", "input_text", "output_text")  # no sets: a type may be an object


@frozen
class CompressedRequest:
    """The rows to send, as many as were given, and the texts that the excerpts in them stand for.

    `originals` are by their hash, `tokens` counted before and after. A `warning` says what failed.
    """

    rows: Sequence[Row]
    originals: Mapping[str, str] = field(factory=dict)
    tokens: tuple[int, int] = (0, 0)
    transforms: tuple[str, ...] = ()
    warning: str = ""


def hash_of(text: str) -> str:
    """Return the name of a text: 24 hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class Depth(NamedTuple):
    """How far a text is shortened.

    An excerpt has `share` of its characters, but at least `least`, and is used if it takes no more
    than `worth` of them.
    """

    share: float
    least: int
    worth: float


SENT = Depth(0.25, 1_200, 0.85)
"""For rows that are compressed when they are sent first: any saving lasts."""

RESENT = Depth(0.1, 600, 0.2)
"""For rows that were sent whole before, because a gateway withheld them from the first request. The
provider processes them again, at 12 times the price of what it reads from its cache or more, so
that only a large saving pays within a few requests."""


class RequestCompressor:
    """A compressor of rows in OpenAI's and Anthropic's formats; what it remembers saves only time.

    It can be used from any thread.
    """

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self._counter, self._known = counter or default_counter(), _Memory()
        # Load here what is loaded once, such as the tokenizer. Otherwise the first request may miss
        # its deadline, and rows that are then sent unchanged break a prefix.
        self._counter.count(excerpt_of("".join(f"{n}\n" for n in range(LONG)), SHORT))

    def compress(self, rows: Sequence[Row], until: float = inf) -> CompressedRequest:
        """Return the rows with the results of tools and the pasted blocks shortened.

        Rows of the system and of models stay, and so do results of `headroom_retrieve`, short ones
        and rows of unknown form.

        Laws: there are as many rows, in the same order and with the same roles; the rows of a
        longer list begin with those of a shorter one; compressing again changes nothing.

        Raises:
            TimeoutError: the monotonic clock is past `until` before all rows are read.
        """
        request, sent, tokens = _Request(self._known), list[Row](), [0, 0]
        for row in rows:
            if monotonic() > until:
                raise TimeoutError
            sent.append(request.sent(row))
            tokens[0] += (size := self._tokens(row))
            tokens[1] += size if sent[-1] is row else self._tokens(sent[-1])
        transforms = tuple(sorted(request.applied))
        return CompressedRequest(sent, request.originals, (tokens[0], tokens[1]), transforms)

    def _tokens(self, row: Row) -> int:
        return sum(
            self._known.get(hash_of(text), partial(self._counter.count, text))
            for part in _parts(row)
            for key in ("content", "output", "arguments", "text")
            if isinstance(text := part.get(key), str)
        )


class _Request:
    """The rows of a request until now: which texts occurred, and which calls retrieve."""

    def __init__(self, known: "_Memory") -> None:
        self.originals, self.applied = dict[str, str](), set[str]()
        self._known, self._depth = known, RESENT
        self._results, self._pasted = set[str](), set[str]()
        self._retrieves: dict[object, bool] = {}

    def sent(self, row: Row) -> Row:
        role, kind = row.get("role"), row.get("type")
        # A result without a call before it shows that the gateway withholds rows of models; it
        # withholds the last exchange as well, so that results come here a request late.
        if role == "assistant" or kind in _CALLS:
            self._depth = SENT
            self._retrieves |= _retrieving(row)
        if kind in _OUTPUTS:
            return self._result(row, "call_id", "output")
        if role in ("tool", "function"):
            return self._result(row, "tool_call_id", "content")
        return _with(row, "content", self._user_text, self._result) if role == "user" else row

    def _result(self, row: Row, call: str = "tool_use_id", key: str = "content") -> Row:
        """Return a result of a tool; what the model retrieved is not taken away again."""
        if self._retrieves.get(str(row.get(call))) or _RETRIEVES.fullmatch(str(row.get("name"))):
            return row
        return _with(row, key, self._shortened)

    def _user_text(self, text: str) -> str:
        if _PROGRAM.match(text):  # an agent whose tools answer in messages of the user
            return self._shortened(text, is_pasted=True)
        for start, end in reversed(pasted_spans(text, PASTED)):
            block = self._shortened(text[start:end], is_pasted=True)
            text = f"{text[:start]}{block}{text[end:]}"
        return text

    def _shortened(self, text: str, *, is_pasted: bool = False) -> str:
        if len(text) <= SHORT or _MARK.search(text[-40:]):
            return text
        name = hash_of(text)
        # Gateways may withhold messages of the user from one request and not from the next, so a
        # result refers to results alone.
        if len(text) > REPEATED and name in self._results | (self._pasted if is_pasted else set()):
            told, how = _reference(text, name), "reference"
        else:
            key, make = f"{name} {self._depth.share}", partial(_excerpt, text, name, self._depth)
            told, how = self._known.get(key, make) or text, "excerpt"
        (self._pasted if is_pasted else self._results).add(name)
        if told != text:
            self.originals[name] = text
            self.applied.add(how)
        return told


def _excerpt(text: str, name: str, depth: Depth) -> str:
    """Return the excerpt of a text with its mark, or "" if it is not worth it."""
    size = len(text)
    most = int(depth.worth * size)
    whole = most if size <= LONG else min(size // 2, most, _MOST)
    told = excerpt_of(text, min(_MOST, max(depth.least, int(depth.share * size))), whole)
    told = f"{told}\n[Excerpt of {size:,} characters. Retrieve the whole with hash={name}]"
    return told if len(told) <= most else ""


def _reference(text: str, name: str) -> str:
    beginning = " ".join(text[: 4 * _BEGINNING].split())[:_BEGINNING].strip()
    return (
        f'[Repeats an earlier text of {len(text):,} characters that begins "{beginning}". '
        f"Retrieve it with hash={name}]"
    )


def _with(
    row: Row, key: str, text: Callable[[str], str], result: Callable[[Row], Row] | None = None
) -> Row:
    """Return the row with the texts of a field, and the results in it, rewritten."""

    def rewritten(each: Any) -> Any:
        if not isinstance(each, dict):
            return each
        if result and each.get("type") == "tool_result":
            return result(each)
        return _with(each, "text", text) if each.get("type") in _TEXTS else each

    given = row.get(key)
    if isinstance(given, str):
        value: Any = text(given)
    else:
        value = [*map(rewritten, given)] if isinstance(given, list) and key != "text" else given
    return row if value == given else {**row, key: value}


def _parts(value: Any) -> Iterator[Row]:
    """Yield a row, its blocks and its calls."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each
            for key in ("content", "output", "tool_calls", "function"):
                yield from _parts(each.get(key))


def _retrieving(row: Row) -> dict[object, bool]:
    """Return the ids of the calls in a row, and whether they retrieve an original."""
    return {
        str(part.get("call_id") or part.get("id")): _RETRIEVES.fullmatch(name) is not None
        for part in _parts(row)
        if isinstance(name := (part.get("function") or part).get("name"), str)
    }


class _Memory:
    """Values by the hash of a text; the least recently used go first."""

    def __init__(self) -> None:
        self._size, self._lock, self._values = 0, Lock(), OrderedDict[str, Any]()

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        with self._lock:
            if name in self._values:
                self._values.move_to_end(name)
                return self._values[name]
        value = make()
        with self._lock:
            if name not in self._values:  # another thread may have been first
                self._values[name], self._size = value, self._size + _cost(value)
            while self._size > _REMEMBERED:
                self._size -= _cost(self._values.popitem(last=False)[1])
        return value


def _cost(value: Any) -> int:
    return 200 + (len(value) if isinstance(value, str) else 0)
