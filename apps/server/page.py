"""The page: files that are built from `web/` and come with the package, for whoever opens the server's address in a browser (docs/page.md)."""

import os
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "page"
"""Where the built page lies."""

POLICY = (
    # The editor of messages writes its own style sheet; scripts are those of the server alone.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a browser may load for the page, and who may frame it: its own server alone, and nobody."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Names stay the same from one version to the next, so a browser asks each time whether they are what it has.
    "Cache-Control": "no-cache",
}


class Page(StaticFiles):
    """Hand out the page, and tell browsers what it may do.

    Law: no file outside of its folder is handed out, and each that is carries the policy.
    """

    def __init__(self) -> None:
        # In a development install each file of the package is a link to the one in the tree.
        super().__init__(directory=FOLDER, html=True, follow_symlink=True)

    def file_response(self, full_path: str | Path, stat_result: os.stat_result, scope: Scope, status_code: int = 200) -> Response:  # type: ignore[override]
        """Return a file with the policy, or that it has not changed."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers.update(_HEADERS)
        return answer
