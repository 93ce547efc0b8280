"""Part one text along its structure: the records and keys of JSON, the hunks of a diff, lines, sentences.

Pieces form a tree and, in the order they stand in, the text. What keeps a piece
keeps those above it (a record its array, a hunk its file), so that what is left
reads as what it was. Structures are told by their form alone, in time linear in
the text.
"""

import re

from attrs import Factory, define

from polycontext.window.text.segments import LIMIT, MAX_CHARS, Span, safe_cut, split

WHOLE_RECORD = 90
"""An object or array of up to this many characters is one piece."""

UNIT = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\.|."
"""A pattern of what is one letter to the reader of JSON."""

MOST_LINES = 20_000
"""A text of more lines than this has several in a piece."""

_LEAST_A_PIECE = 40
"""How many characters a piece of JSON has on average where it has more than `MOST_LINES` of them; else its brackets say too little."""

_HUNK_CHARS = 600
_LONG_STRING = LIMIT + LIMIT // 2
_CHUNK = re.compile(rf"(?s:(?>{UNIT}){{{LIMIT // 2},{LIMIT}}}(?<=[\s,;])|(?>{UNIT}){{1,{LIMIT}}})")
_LINE = re.compile(r"[^\n]*+\n?(?:[ \t\r]*+\n)*+")
_PREFIX = re.compile(r"[^{\[]{0,200}(?=[{\[])")
_SCALAR = r"(?:-?+\d[\d.eE+-]*+|true|false|null|NaN|-?+Infinity)"
_JSON = re.compile(
    rf"\s*+(?:(?P<run>(?:{_SCALAR}\s*+,\s*+){{2,20}})|(?P<member>(?:\"[^\"\\]{{0,40}}\"\s*+:\s*+)?(?:\"[^\"\\]{{0,48}}\"|{_SCALAR})\s*+,)"
    r"|(?P<string>\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\\?\Z))|(?P<opening>[{\[])|(?P<closing>[}\]])|(?P<comma>,)|(?P<rest>:|"
    + _SCALAR
    + "))",
    re.DOTALL,
)
_DIFF = re.compile(
    r"^(?P<file>(?:(?:diff|index|old|new|deleted|similarity|rename|copy|Index:|={9})[^\n]*\n){0,8}--- [^\n]*\n\+\+\+ [^\n]*\n)(?=@@ )"
    r"|^(?P<hunk>@@ -\d[^\n]*\n?)",
    re.MULTILINE,
)


@define(eq=False)
class Piece:
    """Hold where a piece stands, the index of the piece above it, and how many of that one's items come before it.

    A piece with others in it has `items` of a `unit`; its end stands at `close`.
    """

    start: int
    end: int
    above: int
    nth: int
    unit: str = ""
    items: int = 0
    close: Span | None = None


@define
class _Tree:
    """Grow the pieces of `text` from its start; `at` is where the next one begins."""

    text: str
    at: int = 0
    pieces: list[Piece] = Factory(lambda self: [Piece(0, 0, 0, 0, "lines", close=(len(self.text), len(self.text)))], takes_self=True)

    def add(self, end: int, above: int, unit: str = "") -> int:
        """Add what stands between the last piece and `end`; return its index."""
        parent = self.pieces[above]
        self.pieces.append(Piece(self.at, end, above, parent.items, unit))
        parent.items += 1
        self.at = end
        return len(self.pieces) - 1

    def add_short(self, end: int, above: int, items: int = 1) -> None:
        """Add what stands between the last piece and `end`, to the last piece where both are short."""
        last = self.pieces[-1]
        if last.unit or last.above != above or end - last.start > LIMIT:
            self.add(end, above)
            items -= 1
        else:
            last.end = self.at = end
        self.pieces[above].items += items

    def close(self, index: int, end: int) -> None:
        """End the piece at `index` with what stands between the last piece and `end`; a short one is whole."""
        piece = self.pieces[index]
        if end - piece.start <= WHOLE_RECORD and piece.unit != "letters":
            del self.pieces[index + 1 :]
            piece.end, piece.unit, piece.items = end, "", 0
        else:
            piece.close = (self.at, end)
        self.at = end

    def lengthen(self, index: int, end: int) -> None:
        """Let the ended piece at `index` end later."""
        piece = self.pieces[index]
        if piece.close:
            piece.close = (piece.close[0], end)
        else:
            piece.end = end
        self.at = end


def pieces_of(text: str) -> list[Piece]:
    r"""Return the pieces of `text` in order; the first one, empty, is above all others.

    >>> text = '{"ok": true, "found": [{"id": "A7", "of": "Mia"}, {"id": "B9", "of": "Li"}], "pages": 1, "more": "none of them"}'
    >>> [text[piece.start : piece.end] for piece in pieces_of(text)[1:]]
    ['{', '"ok": true,', ' "found": [{"id": "A7", "of": "Mia"}, {"id": "B9", "of": "Li"}],', ' "pages": 1, "more": "none of them"']
    """
    for read in (_json, _diff):
        tree = _Tree(text)
        if read(tree):
            return tree.pieces
    tree = _Tree(text)
    _add_lines(tree, len(text), 0, len(text) // MOST_LINES)
    return tree.pieces


def _add_lines(tree: _Tree, end: int, above: int, together: int = 0) -> None:
    """Add the lines up to `end`, as many in a piece as have `together` characters; blank ones go with the one before."""
    while tree.at < end:
        place = start = tree.at
        while place < end and (place == start or place - start < together):
            place = min(_LINE.match(tree.text, place, end).end(), end)  # type: ignore[union-attr]
        if place - start <= max(MAX_CHARS, 2 * together):
            tree.add(place, above)
        else:
            for _, stop in split(tree.text[start:place]):
                tree.add(start + stop, above)


def _diff(tree: _Tree) -> bool:
    """Read a unified diff: files, in them hunks, in these lines; tell whether `tree` is one."""
    file = hunk = 0
    for match in _DIFF.finditer(tree.text):
        if match["hunk"] and not file:
            return False
        _add_lines(tree, match.start(), hunk, _HUNK_CHARS if hunk else 0)
        if match["file"]:
            tree.pieces[0].unit = "files"
            file = hunk = tree.add(match.end(), 0, "hunks")
        else:
            hunk = tree.add(match.end(), file, "lines")
    if file:
        _add_lines(tree, len(tree.text), hunk, _HUNK_CHARS)
    return file > 0


def _json(tree: _Tree) -> bool:
    """Read JSON, or lines of it, behind a prefix or none, cut off at its end or not; tell whether `tree` is that."""
    prefix = _PREFIX.match(tree.text)
    if prefix and prefix.end():
        tree.add(prefix.end(), 0)
    return prefix is not None and _JsonReader(tree).read()


@define
class _JsonReader:
    """Read JSON into `tree`: which pieces are `opened`, which was `closed` last, whether a value or key is `pending`."""

    tree: _Tree
    opened: list[int] = Factory(lambda: [0])
    closed: int = 0
    pending: bool = False

    def read(self) -> bool:
        """Read up to the end; tell whether all of it was JSON."""
        text, at = self.tree.text, self.tree.at
        most = MOST_LINES + len(text) // _LEAST_A_PIECE
        while match := _JSON.match(text, at):
            if not self._read(match, at) or len(self.tree.pieces) > most:
                return False
            at = match.end()
        if text[at:].strip():
            return False
        if self.pending:
            self.tree.add_short(at, self.opened[-1])
        for index in self.opened:
            self.tree.pieces[index].close = (self.tree.at, self.tree.at if index else len(text))
        return True

    def _read(self, match: re.Match[str], at: int) -> bool:
        """Read one token, white space before it from `at` on; tell whether it is legal."""
        kind, end, tree, above = match.lastgroup or "", match.end(), self.tree, self.opened[-1]
        start, pending, self.pending = match.start(kind), self.pending, False
        match kind:
            case "opening":
                self.opened.append(tree.add(end, above, "keys" if tree.text[start] == "{" else "items"))
            case _ if not above:
                return False
            case "closing":
                if (tree.text[start] == "}") != (tree.pieces[above].unit == "keys"):
                    return False
                if pending:
                    tree.add_short(at, above)
                self.closed = self.opened.pop()
                tree.close(self.closed, end)
            case "run" | "member":
                tree.add_short(end, above, tree.text.count(",", start, end) if kind == "run" else 1)
            case "comma" if self.closed and not pending:
                tree.lengthen(self.closed, end)
            case "comma":
                tree.add_short(end, above)
            case "string" if end - start > _LONG_STRING:
                self.closed = _add_string(tree, start + 1, end, above)
            case _:
                self.pending = True
        return True


def _add_string(tree: _Tree, start: int, end: int, above: int) -> int:
    """Add the string whose first letter is at `start`, in pieces that part no escape; return its index."""
    index = tree.add(start, above, "letters")
    inner = end - (tree.text[end - 1] == '"')
    for match in _CHUNK.finditer(tree.text, start, inner):
        stop = safe_cut(tree.text, match.end())
        if stop > tree.at:
            tree.add(stop, index)
    tree.close(index, end)
    return index
