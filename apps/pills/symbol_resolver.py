"""Python symbols as context: their source, which is read from files without importing them."""

from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path

from attrs import evolve, field, frozen

from polycontext.window.items.attachment import Definition, definitions

from .errors import CannotAttachError, InvalidPillNameError, PillError, Reason
from .file_resolver import FileResolver, as_paths
from .pill import PillType, check_name
from .resolver import DEFAULT_LIMIT, Candidate, Resolved, clipped


@frozen
class SymbolResolver:
    """Resolves dotted names of Python functions, classes, methods and variables in `roots`.

    The full name is the file's path and the name within it: ``src.agent.Agent.run``. A trailing
    part of it (``Agent.run``) is enough if it is unique. `limit` is in characters.
    """

    type = PillType.SYMBOL
    roots: tuple[Path, ...] = field(converter=as_paths)
    limit: int = DEFAULT_LIMIT

    def resolve(self, name: str) -> Resolved:
        """Return the current source of the definition.

        If a file defines a name several times, the last definition counts, as in Python.

        Raises:
            InvalidPillNameError: The name is not a dotted name.
            CannotAttachError: No definition or several definitions match, or the file is not
                available (see `FileResolver`).
        """
        if not all(check_name(name).split(".")):
            raise InvalidPillNameError(
                name, "is not a dotted name", "a name such as src.agent.Agent.run"
            )
        if "/" in name or not name.rpartition(".")[2].isidentifier():
            raise _undefined(name)
        path, definition, text = self._at_its_path(name) or self._anywhere(name)
        # Split lines as Python counts them: form feeds and Unicode separators do not end a line.
        lines = StringIO(text, newline="").readlines()
        source = "".join(lines[definition.first_line - 1 : definition.last_line])
        resolved = clipped(
            name, self.type, source, self.limit, path=path, first_line=definition.first_line
        )
        return evolve(resolved, source=f"{self.type} {_full_name(path, definition)}")

    def entries(self) -> Iterator[Candidate]:
        """Yield every symbol by its full name, with file and line.

        This parses every Python file that is not ignored.
        """
        for path, definition, _ in self._all():
            yield Candidate(
                _full_name(path, definition), self.type, f"{path}:{definition.first_line}"
            )

    def _at_its_path(self, name: str) -> tuple[str, Definition, str] | None:
        """Look up a full name in the file that it names, which avoids a search."""
        steps = name.split(".")
        for length in range(len(steps) - 1, 0, -1):
            module = "/".join(steps[:length])
            for path in (f"{module}.py", f"{module}/__init__.py"):
                found = [
                    each for each in self._in_file(path) if each[1].name == ".".join(steps[length:])
                ]
                if found:
                    return found[-1]
        return None

    def _anywhere(self, name: str) -> tuple[str, Definition, str]:
        named = ((_full_name(path, each), (path, each, text)) for path, each, text in self._all())
        found = {
            full_name: place for full_name, place in named if f".{full_name}".endswith(f".{name}")
        }
        if not found:
            raise _undefined(name)
        if len(found) > 1:
            shown = ", ".join(sorted(found)[:5])
            raise CannotAttachError(
                name, f"{len(found)} definitions end so", shown, Reason.AMBIGUOUS
            )
        return next(iter(found.values()))

    def _all(self) -> Iterator[tuple[str, Definition, str]]:
        for candidate in FileResolver(self.roots).entries():
            if candidate.name.endswith(".py"):
                yield from self._in_file(candidate.name)

    def _in_file(self, path: str) -> Iterator[tuple[str, Definition, str]]:
        """Yield the definitions of a file, or nothing if it is missing or cannot be read."""
        with suppress(PillError):
            text, real_path = FileResolver(self.roots).read(path)
            for definition in definitions(text) or ():
                yield real_path, definition, text


def _undefined(name: str) -> CannotAttachError:
    legal = "the name of a class or function, such as src.agent.Agent.run"
    return CannotAttachError(
        name, "is defined nowhere beneath the roots", legal, Reason.SYMBOL_NOT_FOUND
    )


def _full_name(path: str, definition: Definition) -> str:
    module = path.removesuffix(".py").removesuffix("__init__").strip("/").replace("/", ".")
    return f"{module}.{definition.name}" if module else definition.name
