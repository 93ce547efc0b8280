"""JSON data beside a conversation, in the same commits: companions and patched documents."""

from copy import deepcopy
from typing import Any, Unpack

import orjson

from polycontext.base import guided, require
from polycontext.base.effects import Steps, procedure, twin
from polycontext.window.providers import AUTO

from ..inputs import ContextOutput
from .commands import (
    Change,
    Companion,
    Messages,
    Patch,
    Together,
    WriteOptions,
    build_extend,
)
from .writer import SessionPart


@guided
class Documents(SessionPart):
    """JSON data by name: each name is a companion, saved as it is now, or a patched document."""

    def get(self, name: str) -> Any:
        """Return the JSON data last saved under `name`, or None."""
        conversation = self._session.conversation
        if name in conversation.documents:
            # The conversation's own data must not change.
            return deepcopy(conversation.documents[name])
        saved = conversation.companions.get(name)
        return None if saved is None else orjson.loads(saved)

    def accompany(self, name: str, companion: Companion) -> None:
        """Save `companion` under `name` with every commit from now on.

        Raises:
            InvalidOptionError: `patch` already keeps a document under that name.
        """
        require(
            "name",
            name,
            name not in self._session.conversation.documents,
            "a name under which nothing is kept by `patch`",
        )
        self._session._writer.companions[name] = companion

    @procedure
    def save(self, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """Save the companions as they are now, without an input."""
        return self._session._write(Together(()), **when)

    asave = twin(save)

    @procedure
    def patch(
        self, name: str, change: Change, *, turns: Messages = (), **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Change the JSON document `name` as an event of the journal, in one commit with `turns`.

        `change` is called with the data, or None if there are none, and must not modify them. It
        returns a JSON Patch (RFC 6902: add, remove, replace, test), or None if there is nothing to
        do. If another writer was first, it is called again with that writer's data. `get` reads the
        document. Rewinding and forking restore earlier data, too.

        Raises:
            InvalidDataError: the returned value is not a patch of the data.
            InvalidOptionError: a companion has that name.
            Any error that `change` raises, or that `extend` raises for the turns. Then nothing has
            happened.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.documents.patch(
        ...     "order", lambda data: [{"op": "add", "path": "", "value": {"seats": 1}}]
        ... )
        >>> _ = session.documents.patch(
        ...     "order",
        ...     lambda data: [{"op": "replace", "path": "/seats", "value": data["seats"] + 1}],
        ... )
        >>> session.documents.get("order")
        {'seats': 2}
        """

        def build() -> Together:
            added = build_extend(self._session.conversation, turns, AUTO).commands
            return Together((Patch(name, change), *added))

        return self._session._write(build, **when)

    apatch = twin(patch)
