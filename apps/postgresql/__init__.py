"""The PostgreSQL store, for many machines; requires the extra `postgresql`."""

from polycontext.base import require_extra

# Checked before the import below, so that the error names the extra to install.
for _module in ("sqlalchemy", "psycopg"):
    require_extra(_module, extra="postgresql", purpose="a PostgreSQL store")

from .store import PostgreSQLStore  # noqa: E402

__all__ = ["PostgreSQLStore"]
