"""The options of commands that work on the rows of a data set."""

from typing import Annotated, Any

from attrs import frozen

from polycontext.bulk import Pool, RowCompressor
from polycontext.window.providers import AUTO

from .command import COUNT, option
from .options import KeepRecent, MessageFormat, Repair


def pool_of(workers: int | None) -> Pool:
    """Return that many processes, or one for each core."""
    return Pool(workers) if workers else Pool()


@frozen(kw_only=True)
class RowOptions:
    """How each row is read and shortened."""

    form: MessageFormat
    keep_recent: KeepRecent
    repair: Repair
    max_row: Annotated[
        int,
        option(
            "The longest row of JSON to read, in MB; longer ones are rejected.",
            type=COUNT,
            default=3,
            metavar="MB",
        ),
    ]
    """In MB of 2**20 bytes."""

    def compressor(self, max_tokens: int | None, **more: Any) -> RowCompressor:
        """Return the compressor to this size; `more` are further options of it."""
        return RowCompressor(
            max_tokens,
            provider=self.form or AUTO,
            keep_recent=self.keep_recent,
            repair=self.repair,
            most_row_bytes=self.max_row * 2**20,
            **more,
        )
