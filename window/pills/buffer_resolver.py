"""Named buffers as context: texts that live in the caller's own hands."""

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from polycontext.window.pills._names import check_name, is_name
from polycontext.window.pills.candidate import Candidate
from polycontext.window.pills.errors import BufferNotFoundError
from polycontext.window.pills.pill import PillType
from polycontext.window.pills.resolved import DEFAULT_LIMIT, Resolved, clipped


@frozen
class BufferResolver:
    """Resolve names of `buffers`, a mapping of name to text that may change meanwhile: it is read when a pill is sent.

    >>> BufferResolver({"*scratch*": "notes"}).resolve("*scratch*").content
    'notes'
    """

    buffers: Mapping[str, str] = field(hash=False)
    limit: int = DEFAULT_LIMIT

    @property
    def type(self) -> PillType:
        """Return `PillType.BUFFER`."""
        return PillType.BUFFER

    def resolve(self, name: str) -> Resolved:
        """Return the text of the buffer as it is now.

        Raises:
            InvalidPillNameError: the name cannot stand in a pill. BufferNotFoundError: no such buffer.
        """
        text = self.buffers.get(check_name(name))
        if text is None:
            legal = ", ".join(sorted(self.buffers)[:5]) or "nothing, there is no buffer"
            raise BufferNotFoundError(name, "is no buffer", legal)
        return clipped(name, self.type, text, self.limit)

    def entries(self) -> Iterator[Candidate]:
        """Yield the buffers whose names can stand in a pill."""
        return (Candidate(name, self.type) for name in self.buffers if is_name(name))
